//! Runs the configured hooks at the points of a session where they apply.

use crate::session::{Environment, Session};
use model::Block;
use policy::Ruling;
use session::{HookEvent, HookKind, HookOutcome, NoticeLevel};

/// The maximum size of a tool's output for a hook.
const OUTPUT_BYTES: usize = 30_000;

impl Environment {
    /// Returns whether any hook is registered for this kind of event.
    pub(crate) fn has_hooks(&self, kind: HookKind) -> bool {
        self.config.hooks.is_registered(kind)
    }

    /// Runs the hooks for an event and sends their notices to the front end.
    pub(crate) async fn run_hooks(&self, event: HookEvent) -> HookOutcome {
        let mut outcome = self.config.hooks.call(self.session, event).await;
        for text in outcome.notices.drain(..) {
            self.notice(NoticeLevel::Warning, text).await;
        }
        outcome
    }
}

/// Runs the session start hooks; their context is added to the next prompt.
pub(crate) async fn run_start_hooks(session: &mut Session) {
    if session.env.has_hooks(HookKind::SessionStart) {
        let resumed = !session.conversation.items.is_empty();
        let outcome = session.env.run_hooks(HookEvent::SessionStart { resumed }).await;
        session.conversation.hook_context.extend(outcome.context);
    }
}

/// Runs the session end hooks.
pub(crate) async fn run_end_hooks(env: &Environment) {
    if env.has_hooks(HookKind::SessionEnd) {
        env.run_hooks(HookEvent::SessionEnd).await;
    }
}

/// The reason of a hook to prevent something.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct HookObjection(pub(crate) String);

/// Runs the prompt hooks, which can prevent that the prompt is sent.
pub(crate) async fn run_prompt_hooks(env: &Environment, prompt: String) -> Result<Option<String>, HookObjection> {
    if !env.has_hooks(HookKind::UserPromptSubmit) {
        return Ok(None);
    }
    let outcome = env.run_hooks(HookEvent::UserPromptSubmit { prompt }).await;
    match outcome.ruling {
        Ruling::Deny(why) | Ruling::Ask(why) => Err(HookObjection(why)),
        Ruling::Allow | Ruling::Silent => Ok(outcome.context),
    }
}

/// Runs the hooks before a compaction and adds their context to the instructions. An objection
/// applies only to a compaction that the user requested.
pub(crate) async fn run_compact_hooks(
    env: &Environment,
    instructions: Option<String>,
    manual: bool,
) -> Result<Option<String>, HookObjection> {
    if !env.has_hooks(HookKind::PreCompact) {
        return Ok(instructions);
    }
    let outcome = env.run_hooks(HookEvent::PreCompact { manual }).await;
    match outcome.ruling {
        Ruling::Deny(why) | Ruling::Ask(why) if manual => Err(HookObjection(why)),
        Ruling::Deny(_) | Ruling::Ask(_) | Ruling::Allow | Ruling::Silent => {
            let texts: Vec<String> = instructions.into_iter().chain(outcome.context).collect();
            Ok((!texts.is_empty()).then(|| texts.join("\n")))
        }
    }
}

/// Runs the stop hooks. Returns the reason if one of them requested the model to continue.
pub(crate) async fn run_stop_hooks(session: &Session, stop_hook_active: bool) -> Option<String> {
    if !session.env.has_hooks(HookKind::Stop) {
        return None;
    }
    let mut items = session.conversation.items.iter().rev();
    let answer = items.find_map(|item| item.message()).map(|message| message.text());
    let stop = HookEvent::Stop {
        answer: answer.unwrap_or_default(),
        stop_hook_active,
    };
    match session.env.run_hooks(stop).await.ruling {
        Ruling::Deny(why) | Ruling::Ask(why) => Some(why),
        Ruling::Allow | Ruling::Silent => None,
    }
}

/// The text of a tool's output, truncated for hooks.
pub(crate) fn output_text(content: &[Block]) -> String {
    let mut text = String::new();
    for block in content {
        match block {
            Block::Text { text: more } => text.push_str(more),
            Block::Media(media) => text.push_str(&format!("[{}]", media.mime)),
        }
        text.push('\n');
    }
    if text.len() > OUTPUT_BYTES {
        let end = text.floor_char_boundary(OUTPUT_BYTES);
        let cut = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n[{cut} bytes cut]\n"));
    }
    text
}
