//! The prompt editor: handles keys and pastes and produces prompts and commands.

mod attachments;
mod completion_popup;
mod completion_sources;
mod draft;
mod draw;
mod editor;
mod history;
mod kill_ring;
mod layout;
mod paste;
mod text;
mod undo;
mod vim;

#[cfg(test)]
mod tests;

use crate::action::{AppAction, KeyResponse};
use crate::backend::{ClipboardContent, PickerItem, UserError};
use crate::input::Input;
use crate::keys::{KeyAction, KeyChord, KeyContext};
use crate::slash::{self, ArgumentKind, SlashOutcome};
use crate::view::{PendingResult, ViewContext};
use attachments::Attachment;
use completion_popup::CompletionPopup;
pub(crate) use completion_popup::highlight_matches;
use completion_sources::CompletionSources;
use crossterm::event::{KeyCode, KeyEvent};
use draft::DraftSaver;
pub(crate) use editor::{EditOutcome, TextEditor};
use history::{HistorySearch, PromptHistory};
use model::{Message, Part, PartOrigin, Role};
use paste::PasteContent;
use session::Delivery;
use undo::EditKind;
use vim::Vim;

/// The prompt editor.
#[derive(Default)]
pub(crate) struct Composer {
    editor: TextEditor,
    history: PromptHistory,
    search: Option<HistorySearch>,
    popup: Option<CompletionPopup>,
    /// Start of the word with a dismissed completion list.
    dismissed_word: Option<usize>,
    vim: Option<Vim>,
    drafts: DraftSaver,
    completions: CompletionSources,
    /// Pending clipboard read.
    clipboard: Option<PendingResult<ClipboardContent>>,
    /// Running shell commands.
    running_shells: Vec<(String, PendingResult<String>)>,
    /// Output of shell commands to send with the next prompt.
    shell_outputs: Vec<Part>,
    scroll: usize,
}

impl Composer {
    /// Handles a key or a paste.
    pub(crate) fn handle(&mut self, input: Input, cx: &ViewContext<'_>) -> KeyResponse {
        self.request_completions(cx);
        match input {
            Input::Paste(text) => self.paste(&text, cx),
            Input::Key(key) => self.key(key, cx),
            Input::Focus(_) => KeyResponse::Ignored,
        }
    }

    /// Performs an action bound to a key sequence, a slash command or a palette entry.
    pub(crate) fn perform(&mut self, action: KeyAction, cx: &ViewContext<'_>) -> KeyResponse {
        let is_empty = self.editor.as_str().is_empty();
        match action {
            KeyAction::Send => self.submit(Delivery::Steer, cx),
            KeyAction::Queue if cx.state.is_working() && !is_empty => self.submit(Delivery::Queue, cx),
            KeyAction::Queue => KeyResponse::Handled,
            KeyAction::HistorySearch => {
                let before = self.editor.as_str().to_owned();
                self.popup = None;
                self.search = Some(HistorySearch {
                    before,
                    ..HistorySearch::default()
                });
                KeyResponse::Handled
            }
            KeyAction::Editor => KeyResponse::Action(AppAction::OpenEditor),
            KeyAction::PasteImage => {
                self.clipboard = Some(cx.start(cx.backend.clipboard()));
                KeyResponse::Handled
            }
            KeyAction::ToggleVim => {
                self.vim = if self.vim.is_some() { None } else { Some(Vim::default()) };
                let word = if self.vim.is_some() { "on" } else { "off" };
                KeyResponse::Action(AppAction::Flash(format!("Vim keys {word}")))
            }
            KeyAction::DeleteForward if is_empty => KeyResponse::Ignored,
            action => {
                let done = self.editor.perform(action);
                self.apply_edit_outcome(done, cx)
            }
        }
    }

    /// Turns Vim keys on or off.
    pub(crate) fn set_vim(&mut self, on: bool) {
        self.vim = on.then(Vim::default);
    }

    /// The Vim mode for the status line.
    pub(crate) fn badge(&self) -> Option<&'static str> {
        self.vim.as_ref().map(Vim::badge)
    }

    /// Applies the results of background operations; returns actions for the app.
    pub(crate) fn apply_results(&mut self, cx: &ViewContext<'_>) -> Vec<AppAction> {
        let mut actions: Vec<AppAction> = self
            .editor
            .attachments
            .apply_results()
            .map(AppAction::Notice)
            .into_iter()
            .collect();
        actions.extend(self.insert_clipboard(cx));
        if self.completions.apply_results(&mut self.history, &mut self.editor) {
            // The candidates changed, so the list is rebuilt.
            self.popup = None;
            self.text_changed(cx);
        }
        if self.completions.files_outdated && self.completions.files_result.is_none() {
            self.completions.files_outdated = false;
            self.request_files(cx);
        }
        let mut index = 0;
        while let Some((line, pending)) = self.running_shells.get(index) {
            let Some(answer) = pending.take() else {
                index += 1;
                continue;
            };
            actions.push(AppAction::Notice(shell_notice(line, &answer)));
            if let Ok(printed) = answer {
                self.shell_outputs
                    .push(session::shell_output_part(line, printed.trim_end()));
            }
            self.running_shells.remove(index);
        }
        if self.popup.as_mut().is_some_and(CompletionPopup::step) {
            cx.redraw.request();
        }
        actions
    }

    /// The text with attachments expanded.
    pub(crate) fn text(&self) -> String {
        self.editor.attachments.expand(self.editor.as_str())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.editor.as_str().is_empty()
    }

    /// Clears the text and attached shell output; undo restores the text.
    pub(crate) fn clear(&mut self, cx: &ViewContext<'_>) {
        self.editor.set("");
        self.search = None;
        self.shell_outputs.clear();
        self.text_changed(cx);
    }

    /// Clears only the text.
    pub(crate) fn clear_text(&mut self, cx: &ViewContext<'_>) {
        if !self.is_empty() {
            self.editor.set("");
            self.text_changed(cx);
        }
    }

    /// Whether keys go to the history search or the completion list.
    pub(crate) fn is_choosing(&self) -> bool {
        self.search.is_some() || self.popup.as_ref().is_some_and(|popup| !popup.is_empty())
    }

    /// Replaces the text.
    pub(crate) fn set_text(&mut self, text: impl AsRef<str>) {
        self.editor.set(text.as_ref());
        self.popup = None;
        self.history.stop_stepping();
    }

    /// Inserts text at the caret.
    pub(crate) fn insert(&mut self, text: &str) {
        self.editor.insert(text);
    }

    /// Appends an undelivered message to the text for editing.
    pub(crate) fn restore_message(&mut self, message: &Message) {
        if !self.is_empty() {
            self.editor.perform(KeyAction::TextEnd);
            self.editor.insert("\n");
        }
        self.editor.insert(&session::user_text(message));
        for part in &message.parts {
            match part {
                Part::Media(media) => {
                    let label = format!("[image {}]", self.editor.attachments.images() + 1);
                    self.editor.attach(label, Attachment::Image(media.clone()));
                }
                Part::Text {
                    origin: PartOrigin::Shell,
                    ..
                } => self.shell_outputs.push(part.clone()),
                Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => {}
            }
        }
    }

    /// Saves the draft now.
    pub(crate) fn flush(&self, cx: &ViewContext<'_>) {
        self.drafts.flush(cx.backend.as_ref());
    }

    /// Custom commands.
    pub(crate) fn commands(&self) -> &[PickerItem] {
        &self.completions.commands
    }

    /// Requests completion candidates and history once.
    fn request_completions(&mut self, cx: &ViewContext<'_>) {
        if !self.completions.requested && tokio::runtime::Handle::try_current().is_ok() {
            self.completions.requested = true;
            self.completions.files_result = Some(cx.start(cx.backend.files()));
            self.completions.commands_result = Some(cx.start(cx.backend.custom_commands()));
            self.completions.prompts_result = Some(cx.start(cx.backend.prompt_history()));
        }
    }

    /// Lists the files again while one is being mentioned, because some may be new.
    fn request_files(&mut self, cx: &ViewContext<'_>) {
        if self.popup.as_ref().is_some_and(|popup| popup.word.sigil == '@') {
            match &self.completions.files_result {
                Some(_) => self.completions.files_outdated = true,
                None => self.completions.files_result = Some(cx.start(cx.backend.files())),
            }
        }
    }

    /// Requests the custom commands again, because the opened session may define more.
    pub(crate) fn request_commands(&mut self, cx: &ViewContext<'_>) {
        if tokio::runtime::Handle::try_current().is_ok() {
            self.completions.commands_result = Some(cx.start(cx.backend.custom_commands()));
        }
    }

    /// Requests the saved draft.
    pub(crate) fn request_draft(&mut self, cx: &ViewContext<'_>) {
        self.request_completions(cx);
        self.completions.draft_result = Some(cx.start(cx.backend.load_draft()));
    }

    fn key(&mut self, event: KeyEvent, cx: &ViewContext<'_>) -> KeyResponse {
        let key = KeyChord::from(event);
        if self.search.is_some() {
            return self.search_key(key, cx);
        }
        if let Some(response) = self.popup_key(key, cx) {
            return response;
        }
        if let Some(vim) = &mut self.vim
            && let Some(done) = vim.handle_key(key, &mut self.editor)
        {
            return self.apply_edit_outcome(done, cx);
        }
        if key.types() == Some('?') && self.is_empty() && self.vim.is_none() {
            return KeyResponse::Action(AppAction::Key(KeyAction::Help));
        }
        match cx.keys.action(KeyContext::Composer, key) {
            Some(action) if action.binding().context == KeyContext::Composer => self.perform(action, cx),
            Some(_) => KeyResponse::Ignored,
            None => match key.types() {
                Some(c) => {
                    self.editor.type_char(c);
                    let response = self.text_changed(cx);
                    self.request_files(cx);
                    response
                }
                None => KeyResponse::Ignored,
            },
        }
    }

    /// Handles a key while the completion list is open. Returns `None` if the list ignores it.
    fn popup_key(&mut self, key: KeyChord, cx: &ViewContext<'_>) -> Option<KeyResponse> {
        let popup = self.popup.as_mut().filter(|popup| !popup.is_empty())?;
        match cx.keys.action(KeyContext::Completion, key)? {
            KeyAction::CompletionUp => popup.select_next(false),
            KeyAction::CompletionDown => popup.select_next(true),
            KeyAction::Dismiss => {
                self.dismissed_word = Some(popup.word.range.start);
                self.popup = None;
            }
            KeyAction::Accept if key.code() == KeyCode::Enter && popup.is_untouched_argument() => return None,
            KeyAction::Accept => return Some(self.accept(key, cx)),
            _ => return None,
        }
        Some(KeyResponse::Handled)
    }

    fn accept(&mut self, key: KeyChord, cx: &ViewContext<'_>) -> KeyResponse {
        let Some(popup) = self.popup.take() else {
            return KeyResponse::Handled;
        };
        let (Some(name), Some(replacement)) = (popup.selected(), popup.replacement()) else {
            return KeyResponse::Handled;
        };
        let is_complete = match popup.word.argument {
            Some(kind) => kind != ArgumentKind::PanelVerb,
            None => {
                popup.word.sigil == '/'
                    && slash::find(name).is_some_and(|command| !command.arguments.starts_with(char::is_alphabetic))
            }
        };
        let runs = is_complete && key.code() == KeyCode::Enter;
        self.editor
            .splice(popup.word.range.clone(), &replacement, EditKind::Other);
        if runs {
            self.submit(Delivery::Steer, cx)
        } else {
            self.text_changed(cx)
        }
    }

    /// Handles a key during history search.
    fn search_key(&mut self, key: KeyChord, cx: &ViewContext<'_>) -> KeyResponse {
        let Some(search) = &mut self.search else {
            return KeyResponse::Handled;
        };
        let action = cx.keys.action(KeyContext::Composer, key);
        match (action, key.code(), key.types()) {
            (Some(KeyAction::HistorySearch), ..) => {
                search.skip += 1;
                if self.history.find(search).is_none() {
                    search.skip -= 1;
                }
            }
            (_, KeyCode::Esc, _) | (Some(KeyAction::Cancel | KeyAction::Leave), ..) => {
                let before = std::mem::take(&mut search.before);
                self.search = None;
                self.editor.set(&before);
                return self.text_changed(cx);
            }
            (_, KeyCode::Backspace, _) => {
                search.query.pop();
                search.skip = 0;
            }
            (_, _, Some(c)) => {
                search.query.push(c);
                search.skip = 0;
            }
            (_, _, None) => {
                self.search = None;
                return match key.code() {
                    KeyCode::Enter | KeyCode::Tab => self.text_changed(cx),
                    _ => action.map_or(KeyResponse::Handled, |action| self.perform(action, cx)),
                };
            }
        }
        if let Some(found) = self.search.as_ref().and_then(|search| self.history.find(search)) {
            self.editor.set(found);
        }
        KeyResponse::Handled
    }

    fn apply_edit_outcome(&mut self, done: EditOutcome, cx: &ViewContext<'_>) -> KeyResponse {
        match done {
            EditOutcome::Changed => self.text_changed(cx),
            EditOutcome::Moved => self.caret_moved(),
            EditOutcome::NotAnEdit => KeyResponse::Ignored,
            EditOutcome::AtTop => self.recall_above(cx),
            EditOutcome::AtBottom => match self.history.newer() {
                Some(text) => self.recall(&text, cx),
                None => {
                    self.editor.perform(KeyAction::TextEnd);
                    KeyResponse::Handled
                }
            },
        }
    }

    /// Handles Up on the first row: go to its start, then edit the queued prompt, then show earlier prompts.
    fn recall_above(&mut self, cx: &ViewContext<'_>) -> KeyResponse {
        if self.editor.text().caret() > 0 && !self.history.is_stepping() {
            self.editor.perform(KeyAction::TextStart);
            return KeyResponse::Handled;
        }
        if self.is_empty() && cx.state.queue.iter().any(|queued| queued.delivery == Delivery::Queue) {
            return KeyResponse::Action(AppAction::EditQueued);
        }
        let now = self.text();
        match self.history.older(&now) {
            Some(text) => self.recall(&text, cx),
            None => KeyResponse::Handled,
        }
    }

    fn recall(&mut self, text: &str, cx: &ViewContext<'_>) -> KeyResponse {
        self.editor.set(text);
        self.popup = None;
        // A recalled command does not open the completion list, which would capture the arrow keys.
        self.dismissed_word = Some(0);
        self.drafts.schedule(self.text(), cx.backend);
        KeyResponse::Handled
    }

    fn text_changed(&mut self, cx: &ViewContext<'_>) -> KeyResponse {
        self.history.stop_stepping();
        self.drafts.schedule(self.text(), cx.backend);
        let word = completion_popup::word_at_caret(self.editor.as_str(), self.editor.text().caret());
        let Some(word) = word.filter(|word| self.dismissed_word != Some(word.range.start)) else {
            if completion_popup::word_at_caret(self.editor.as_str(), self.editor.text().caret()).is_none() {
                self.dismissed_word = None;
            }
            self.popup = None;
            return KeyResponse::Handled;
        };
        // Indexing is slow, so symbols are requested on first use.
        if word.sigil == '#' && !std::mem::replace(&mut self.completions.requested_symbols, true) {
            self.completions.symbols_result = Some(cx.start(cx.backend.symbols()));
        }
        match &mut self.popup {
            Some(popup)
                if popup.word.sigil == word.sigil
                    && popup.word.range.start == word.range.start
                    // A lone slash has other candidates.
                    && (word.sigil != '/' || popup.word.query.is_empty() == word.query.is_empty()) =>
            {
                popup.update_word(word)
            }
            Some(_) | None => {
                let pool = match word.argument {
                    Some(kind) => self.completions.arguments(kind, cx),
                    None => self.completions.source_for(word.sigil, &word.query),
                };
                self.popup = Some(CompletionPopup::open(word, pool));
            }
        }
        if self.popup.as_mut().is_some_and(CompletionPopup::step) {
            cx.redraw.request();
        }
        KeyResponse::Handled
    }

    fn caret_moved(&mut self) -> KeyResponse {
        let word = completion_popup::word_at_caret(self.editor.as_str(), self.editor.text().caret());
        if word.is_none_or(|word| self.popup.as_ref().is_none_or(|popup| popup.word != word)) {
            self.popup = None;
        }
        KeyResponse::Handled
    }

    fn paste(&mut self, text: &str, cx: &ViewContext<'_>) -> KeyResponse {
        self.search = None;
        match paste::classify(text) {
            PasteContent::Text(text) => self.editor.insert(&text),
            PasteContent::Folded { label, text } => self.editor.attach(label, Attachment::Text(text.into())),
            PasteContent::Images(paths) => {
                for path in paths {
                    let name = path.rsplit(['/', '\\']).next().unwrap_or(&path).to_owned();
                    self.attach_image(&name, cx.start(cx.backend.read_image(path)));
                }
            }
            PasteContent::TooLong => {
                let most = paste::MAX_BYTES >> 20;
                return KeyResponse::Action(AppAction::Flash(format!(
                    "paste exceeds {most} MB; save it to a file and mention it with @"
                )));
            }
        }
        self.text_changed(cx)
    }

    /// Inserts the clipboard contents when they have been read.
    fn insert_clipboard(&mut self, cx: &ViewContext<'_>) -> Option<AppAction> {
        let found = self.clipboard.as_ref()?.take()?;
        self.clipboard = None;
        let response = match found {
            Ok(ClipboardContent::Image(media)) => {
                let label = format!("[image {}: clipboard]", self.editor.attachments.images() + 1);
                self.editor.attach(label, Attachment::Image(media));
                self.text_changed(cx)
            }
            Ok(ClipboardContent::Text(text)) => self.paste(&text, cx),
            Err(error) => return Some(AppAction::Flash(error.to_string())),
        };
        match response {
            KeyResponse::Action(action) => Some(action),
            KeyResponse::Handled | KeyResponse::Ignored => None,
        }
    }

    fn attach_image(&mut self, name: &str, pending: PendingResult<model::Media>) {
        let number = self.editor.attachments.images() + 1;
        self.editor
            .attach(format!("[image {number}: {name}]"), Attachment::Reading(pending));
    }

    /// Submits the text: a prompt, a shell command or a slash command.
    fn submit(&mut self, delivery: Delivery, cx: &ViewContext<'_>) -> KeyResponse {
        let caret = self.editor.text().caret();
        let line_end = self.editor.text().line_end(caret);
        if caret == line_end && self.editor.as_str()[..caret].ends_with('\\') {
            self.editor.splice(caret - 1..caret, "\n", EditKind::Other);
            return self.text_changed(cx);
        }
        if self.editor.as_str().trim().is_empty() {
            return KeyResponse::Handled;
        }
        if self.clipboard.is_some() {
            let words = "still reading the clipboard; press again in a moment";
            return KeyResponse::Action(AppAction::Flash(words.into()));
        }
        let text = self.text();
        if let Some(line) = text.strip_prefix('!').map(str::trim).filter(|line| !line.is_empty()) {
            let pending = cx.start(cx.backend.run_shell(line.to_owned()));
            self.running_shells.push((line.to_owned(), pending));
            self.reset_after_submit(&text, cx);
            return KeyResponse::Handled;
        }
        match slash::run(text.trim_end(), &self.completions.commands, cx) {
            SlashOutcome::Action(action) => {
                self.reset_after_submit(&text, cx);
                KeyResponse::Action(action)
            }
            SlashOutcome::Invalid(why) => KeyResponse::Action(AppAction::Flash(why)),
            SlashOutcome::NotBuiltIn => match self.message() {
                Ok(message) => {
                    self.reset_after_submit(&text, cx);
                    KeyResponse::Action(AppAction::Submit { message, delivery })
                }
                Err(error) => KeyResponse::Action(AppAction::Flash(error.to_string())),
            },
        }
    }

    /// The text as a message: text first, then images.
    fn message(&mut self) -> Result<Message, UnreadyImage> {
        // Failures were reported when they occurred.
        drop(self.editor.attachments.apply_results());
        let mut parts = vec![Part::text(self.text().trim_end())];
        parts.extend(self.shell_outputs.iter().cloned());
        for character in self.editor.as_str().chars() {
            match self.editor.attachments.get(character) {
                Some(Attachment::Image(media)) => parts.push(Part::Media(media.clone())),
                Some(Attachment::Reading(_)) => return Err(UnreadyImage::Reading),
                Some(Attachment::Failed(why)) => return Err(UnreadyImage::Failed(why.to_string())),
                Some(Attachment::Text(_)) | None => {}
            }
        }
        Ok(Message {
            role: Role::User,
            parts,
        })
    }

    /// Resets the composer after submission.
    fn reset_after_submit(&mut self, text: &str, cx: &ViewContext<'_>) {
        self.history.push(text);
        cx.backend.save_prompt(text.to_owned());
        self.editor = TextEditor::default();
        if !text.starts_with(['!', '/']) {
            self.shell_outputs.clear();
        }
        self.popup = None;
        self.dismissed_word = None;
        self.scroll = 0;
        if let Some(vim) = &mut self.vim {
            vim.reset();
        }
        self.drafts.schedule(String::new(), cx.backend);
        self.drafts.flush(cx.backend.as_ref());
    }
}

/// Why a message with an image cannot be sent yet.
#[derive(Debug, thiserror::Error)]
enum UnreadyImage {
    #[error("still reading an image; press again in a moment")]
    Reading,
    #[error("cannot send an image: {0}; delete it first")]
    Failed(String),
}

fn shell_notice(line: &str, answer: &Result<String, UserError>) -> String {
    match answer {
        Ok(printed) if printed.trim().is_empty() => format!("! {line}\n(no output)"),
        Ok(printed) => format!("! {line}\n{}", printed.trim_end()),
        Err(error) => format!("! {line}\n{error}"),
    }
}
