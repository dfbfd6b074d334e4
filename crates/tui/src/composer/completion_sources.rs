//! Completion candidates and their pending requests.

use super::completion_popup::CompletionSource;
use super::editor::TextEditor;
use super::history::PromptHistory;
use crate::backend::PickerItem;
use crate::slash::{self, ArgumentKind};
use crate::theme;
use crate::view::{PendingResult, ViewContext};
use crate::views::effort::{EFFORTS, describe as describe_effort, effort_name};
use std::sync::Arc;

/// Completion candidates and their pending requests.
#[derive(Default)]
pub(super) struct CompletionSources {
    pub(super) requested: bool,
    pub(super) requested_symbols: bool,
    pub(super) files: CompletionSource,
    /// The files that `files` contains.
    pub(super) listed: Arc<Vec<String>>,
    /// Whether a key was typed in a mention since the files were requested.
    pub(super) files_outdated: bool,
    pub(super) symbols: CompletionSource,
    pub(super) commands: Vec<PickerItem>,
    pub(super) models: CompletionSource,
    pub(super) modes: CompletionSource,
    pub(super) models_result: Option<PendingResult<Vec<PickerItem>>>,
    pub(super) modes_result: Option<PendingResult<Vec<PickerItem>>>,
    pub(super) files_result: Option<PendingResult<Arc<Vec<String>>>>,
    pub(super) symbols_result: Option<PendingResult<Arc<Vec<String>>>>,
    pub(super) commands_result: Option<PendingResult<Vec<PickerItem>>>,
    pub(super) prompts_result: Option<PendingResult<Vec<String>>>,
    pub(super) draft_result: Option<PendingResult<Option<String>>>,
}

impl CompletionSources {
    /// The candidates after a sigil and this text.
    pub(super) fn source_for(&self, sigil: char, typed: &str) -> CompletionSource {
        match sigil {
            '@' => self.files.clone(),
            '#' => self.symbols.clone(),
            _ => {
                let own = slash::COMMANDS.iter().map(|command| {
                    let takes = if command.arguments.is_empty() {
                        String::new()
                    } else {
                        format!("{} · ", command.arguments)
                    };
                    (command.name.to_owned(), format!("{takes}{}", command.description))
                });
                let files = self
                    .commands
                    .iter()
                    .map(|choice| (choice.name.clone(), choice.description.clone()));
                // A lone slash lists each command once.
                let named = if typed.is_empty() { &[] } else { slash::COMMANDS };
                let aliases = named.iter().flat_map(|command| {
                    // A plural or singular of the name would only repeat it.
                    let repeats = |alias: &str| alias.starts_with(command.name) || command.name.starts_with(alias);
                    let others = command.aliases.iter().filter(move |alias| !repeats(alias));
                    let about = format!("same as /{} · {}", command.name, command.description);
                    others.map(move |alias| ((*alias).to_owned(), about.clone()))
                });
                CompletionSource::described(own.chain(files).chain(aliases))
            }
        }
    }

    /// The candidates for an argument; models and modes are requested on first use.
    pub(super) fn arguments(&mut self, kind: ArgumentKind, cx: &ViewContext<'_>) -> CompletionSource {
        let plain = |name: &str| (name.to_owned(), String::new());
        match kind {
            ArgumentKind::Model => {
                if self.models.is_empty() && self.models_result.is_none() {
                    self.models_result = Some(cx.start(cx.backend.models()));
                }
                self.models.clone()
            }
            ArgumentKind::Mode => {
                if self.modes.is_empty() && self.modes_result.is_none() {
                    self.modes_result = Some(cx.start(cx.backend.modes()));
                }
                self.modes.clone()
            }
            ArgumentKind::Effort => {
                let named = EFFORTS.map(|effort| (effort_name(effort).to_owned(), describe_effort(effort).to_owned()));
                let default = ("default".to_owned(), "the default of this model".to_owned());
                CompletionSource::described(std::iter::once(default).chain(named))
            }
            ArgumentKind::Theme => {
                let own = cx.backend.user_themes().into_keys().map(|name| (name, String::new()));
                CompletionSource::described(theme::NAMES.iter().map(|name| plain(name)).chain(own))
            }
            ArgumentKind::PanelVerb => CompletionSource::described(["open", "close"].map(plain)),
        }
    }

    /// Applies completed requests; returns whether the candidates changed. Failed requests offer nothing.
    pub(super) fn apply_results(&mut self, history: &mut PromptHistory, editor: &mut TextEditor) -> bool {
        let mut changed = false;
        if let Some(files) = take_result(&mut self.files_result)
            && self.listed != files
        {
            self.files = CompletionSource::files(&files);
            self.listed = files;
            changed = true;
        }
        if let Some(symbols) = take_result(&mut self.symbols_result) {
            self.symbols = CompletionSource::new(symbols);
            changed = true;
        }
        for (result, source) in [
            (&mut self.models_result, &mut self.models),
            (&mut self.modes_result, &mut self.modes),
        ] {
            if let Some(items) = take_result(result) {
                let usable = items.into_iter().filter(|item| item.unavailable_reason.is_none());
                *source = CompletionSource::described(usable.map(|item| (item.name, item.description)));
                changed = true;
            }
        }
        if let Some(commands) = take_result(&mut self.commands_result) {
            self.commands = commands;
            changed = true;
        }
        if let Some(prompts) = take_result(&mut self.prompts_result) {
            history.load(prompts);
        }
        if let Some(Some(draft)) = take_result(&mut self.draft_result)
            && editor.as_str().is_empty()
        {
            editor.set(&draft);
        }
        changed
    }
}

fn take_result<T>(pending: &mut Option<PendingResult<T>>) -> Option<T> {
    let answer = pending.as_ref()?.take()?;
    *pending = None;
    answer.ok()
}
