//! Mode changes: the system prompt, the model and the stored record.
//!
//! All modes offer the same tools: a different list would invalidate the provider's cache, and a call that does not fit
//! the mode is denied with the reason.

use crate::session::Session;
use policy::{ApprovalMode, Mode};
use session::{Body, Error, Item, ItemId, NoticeLevel};
use std::path::PathBuf;
use std::sync::Arc;

/// The mode of a session without a recorded mode.
pub(crate) const DEFAULT_MODE: &str = "code";

/// The user's last choice whether changes are approved, if the session has one.
pub(crate) fn recorded_edit_approval(items: &[Arc<Item>]) -> Option<ApprovalMode> {
    items.iter().rev().find_map(|item| item.edit_approval())
}

/// The recorded mode, and the only files that may be changed in it.
fn recorded_mode(items: &[Arc<Item>]) -> (&str, &[PathBuf]) {
    let recorded = items.iter().rev().find_map(|item| item.mode());
    recorded.unwrap_or((DEFAULT_MODE, &[]))
}

impl Session {
    /// Switches to the mode of this name; notifies the user if there is none.
    pub(crate) async fn switch_mode(&mut self, name: &str) -> Result<(), Error> {
        let modes = &self.env.config.modes;
        let Some(mode) = modes.get(name).cloned() else {
            let names: Vec<&str> = modes.iter().map(|mode| mode.name.as_str()).collect();
            let text = format!("there is no mode `{name}`; the modes are {}", names.join(", "));
            self.env.notice(NoticeLevel::Warning, text).await;
            return Ok(());
        };
        if mode == self.turn.mode {
            return Ok(());
        }
        self.apply_mode(mode).await;
        self.record_mode().await
    }

    /// Uses a mode from the next request on.
    pub(crate) async fn apply_mode(&mut self, mode: Mode) {
        let (env, turn) = (&self.env, &mut self.turn);
        let model = match &mode.model {
            Some(name) if *name != turn.model.info().name() => (env.config.models)(name).map(Some),
            Some(_) => Ok(None),
            None => Ok(Some(Arc::clone(&turn.default_model))),
        };
        match model {
            Ok(Some(model)) => turn.model = model,
            Ok(None) => {}
            Err(why) => {
                let text = format!(
                    "mode `{}` continues with {}: {why}",
                    mode.name,
                    turn.model.info().name()
                );
                env.notice(NoticeLevel::Warning, text).await;
            }
        }
        turn.mode = mode;
        turn.render_system_prompt(env);
        env.events.send_queued().await;
    }

    /// Appends the mode and the user's choice about approvals if they differ from the recorded ones.
    pub(crate) async fn record_mode(&mut self) -> Result<(), Error> {
        let (name, files) = (
            self.turn.mode.name.clone(),
            self.turn.mode.only.clone().unwrap_or_default(),
        );
        let items = &self.conversation.items;
        let recorded = recorded_edit_approval(items);
        let edit_approval = self.env.policy.chosen_edit_approval().or(recorded);
        if recorded_mode(items) == (name.as_str(), files.as_slice()) && recorded == edit_approval {
            return Ok(());
        }
        let body = Body::Mode {
            name,
            files,
            edit_approval,
        };
        self.conversation.append(&self.env, ItemId::new(), body).await
    }

    /// Returns to the recorded mode after a rewind, or to the default mode if there is none of that name.
    pub(crate) async fn restore_mode(&mut self) {
        let modes = &self.env.config.modes;
        let mode = match recorded_mode(&self.conversation.items) {
            ("edit", files) if !files.is_empty() => Some(Mode::edit(files.to_vec())),
            (name, _) => match modes.get(name) {
                Some(mode) => Some(mode.clone()),
                None => {
                    let text = format!(
                        "the mode `{name}` no longer exists; the session continues in the mode `{DEFAULT_MODE}`"
                    );
                    self.env.notice(NoticeLevel::Warning, text).await;
                    modes.get(DEFAULT_MODE).cloned()
                }
            },
        };
        if let Some(mode) = mode.filter(|mode| *mode != self.turn.mode) {
            self.apply_mode(mode).await;
        }
    }
}
