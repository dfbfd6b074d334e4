//! Where the person writes: it takes keys and pastes, and hands over what was written.

mod chips;
mod draft;
mod draw;
mod editor;
mod history;
mod layout;
mod paste;
mod popup;
mod ring;
mod text;
mod undo;
mod vim;

#[cfg(test)]
mod tests;

use crate::house::{Choice, Clip, Trouble};
use crate::input::Input;
use crate::keys::{Context, Deed, Key};
use crate::slash::{self, Ran};
use crate::view::{Cx, Errand, Wish};
use chips::Chip;
use crossterm::event::{KeyCode, KeyEvent};
use draft::Drafts;
pub(crate) use editor::{Done, Editor};
use history::{History, Search};
use model::{Message, Part, Role};
use paste::Pasted;
pub(crate) use popup::marked;
use popup::{Pool, Popup};
use session::Delivery;
use std::sync::Arc;
use undo::Kind;
use vim::{Vim, Vimmed};

/// What the composer wants after it has taken a key.
pub(crate) enum Said {
    /// Nothing more; the key was used.
    Nothing,
    /// The key was not for it.
    Pass,
    /// The person says this.
    Prompt {
        /// What is said.
        message: Message,
        /// What happens when a turn is running.
        delivery: Delivery,
    },
    /// The prompt that was queued last is wanted back, to be written on.
    Pull,
    /// Something of the app.
    Wish(Wish),
}

/// Where the person writes.
#[derive(Default)]
pub(crate) struct Composer {
    editor: Editor,
    history: History,
    search: Option<Search>,
    popup: Option<Popup>,
    /// Where a completion list was closed: it stays closed for this word.
    dismissed: Option<usize>,
    vim: Option<Vim>,
    drafts: Drafts,
    pools: Pools,
    /// What is on the clipboard is being found out.
    clip: Option<Errand<Clip>>,
    /// Shell lines that run.
    shells: Vec<(String, Errand<String>)>,
    /// What shell lines printed, to go with the next prompt.
    carried: Vec<String>,
    scroll: usize,
}

/// What can be completed, as far as it is known.
#[derive(Default)]
struct Pools {
    asked: bool,
    asked_symbols: bool,
    files: Pool,
    symbols: Pool,
    commands: Vec<Choice>,
    files_errand: Option<Errand<Arc<Vec<String>>>>,
    symbols_errand: Option<Errand<Arc<Vec<String>>>>,
    commands_errand: Option<Errand<Vec<Choice>>>,
    prompts_errand: Option<Errand<Vec<String>>>,
    draft_errand: Option<Errand<Option<String>>>,
}

impl Composer {
    /// Takes a key or a paste.
    pub(crate) fn handle(&mut self, input: Input, cx: &Cx<'_>) -> Said {
        self.ask(cx);
        match input {
            Input::Paste(text) => self.paste(&text, cx),
            Input::Key(key) => self.key(key, cx),
            Input::Focus(_) => Said::Pass,
        }
    }

    /// Does what a pair of keys, a slash command or the palette asks for here.
    pub(crate) fn act(&mut self, deed: Deed, cx: &Cx<'_>) -> Said {
        let is_empty = self.editor.as_str().is_empty();
        match deed {
            Deed::Send => self.send(Delivery::Steer, cx),
            Deed::Queue if cx.state.is_working() && !is_empty => self.send(Delivery::Queue, cx),
            Deed::Queue => Said::Nothing,
            Deed::HistorySearch => {
                let before = self.editor.as_str().to_owned();
                self.popup = None;
                self.search = Some(Search {
                    before,
                    ..Search::default()
                });
                Said::Nothing
            }
            Deed::Editor => Said::Wish(Wish::Editor),
            Deed::PasteImage => {
                self.clip = Some(cx.fetch(cx.house.clipboard()));
                Said::Nothing
            }
            Deed::ToggleVim => {
                self.vim = if self.vim.is_some() { None } else { Some(Vim::default()) };
                let word = if self.vim.is_some() { "on" } else { "off" };
                Said::Wish(Wish::Flash(format!("vim's keys are {word}")))
            }
            Deed::DeleteForward if is_empty => Said::Pass,
            deed => {
                let done = self.editor.act(deed);
                self.after(done, cx)
            }
        }
    }

    /// Whether vim's keys are on from the beginning.
    pub(crate) fn set_vim(&mut self, on: bool) {
        self.vim = on.then(Vim::default);
    }

    /// The mode of vim's keys, in a word for the status line.
    pub(crate) fn badge(&self) -> Option<&'static str> {
        self.vim.as_ref().map(Vim::badge)
    }

    /// Takes in what was sent for; what the person should be told of it.
    pub(crate) fn settle(&mut self, cx: &Cx<'_>) -> Vec<Wish> {
        let mut wishes: Vec<Wish> = self.editor.chips.settle().map(Wish::Tell).into_iter().collect();
        wishes.extend(self.take_clip(cx));
        if self.pools.settle(&mut self.history, &mut self.editor) {
            // What can be completed has changed: the list is opened anew.
            self.popup = None;
            self.changed(cx);
        }
        let mut index = 0;
        while let Some((line, errand)) = self.shells.get(index) {
            let Some(answer) = errand.take() else {
                index += 1;
                continue;
            };
            wishes.push(Wish::Tell(shell_words(line, &answer)));
            if let Ok(printed) = answer {
                self.carried.push(session::ran(line, printed.trim_end()));
            }
            self.shells.remove(index);
        }
        if self.popup.as_mut().is_some_and(Popup::step) {
            cx.wake.wake();
        }
        wishes
    }

    /// What is written, with attachments unfolded.
    pub(crate) fn text(&self) -> String {
        self.editor.chips.expand(self.editor.as_str())
    }

    /// Whether nothing is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.editor.as_str().is_empty()
    }

    /// Forgets what is written; undo brings it back.
    pub(crate) fn clear(&mut self, cx: &Cx<'_>) {
        self.editor.set("");
        self.search = None;
        self.carried.clear();
        self.changed(cx);
    }

    /// Forgets what is written, and nothing else.
    pub(crate) fn empty(&mut self, cx: &Cx<'_>) {
        if !self.is_empty() {
            self.editor.set("");
            self.changed(cx);
        }
    }

    /// Whether keys are for a list of its own: earlier prompts that are searched, or what can be completed.
    pub(crate) fn is_choosing(&self) -> bool {
        self.search.is_some() || self.popup.as_ref().is_some_and(|popup| !popup.is_empty())
    }

    /// Puts text in place of what is there.
    pub(crate) fn set_text(&mut self, text: impl AsRef<str>) {
        self.editor.set(text.as_ref());
        self.popup = None;
        self.history.leave();
    }

    /// Puts text at the caret.
    pub(crate) fn insert(&mut self, text: &str) {
        self.editor.insert(text);
    }

    /// A message that was not sent, or wanted back, comes back to be written on. What is there stays before it.
    pub(crate) fn give_back(&mut self, message: &Message) {
        if !self.is_empty() {
            self.editor.act(Deed::TextEnd);
            self.editor.insert("\n");
        }
        self.editor.insert(&session::spoken(message));
        for part in &message.parts {
            match part {
                Part::Media(media) => {
                    let label = format!("[image {}]", self.editor.chips.images() + 1);
                    self.editor.attach(label, Chip::Image(media.clone()));
                }
                Part::Text { text, .. } if session::ran_line(text).is_some() => self.carried.push(text.clone()),
                Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => {}
            }
        }
    }

    /// What was not kept yet is kept now.
    pub(crate) fn flush(&self, cx: &Cx<'_>) {
        self.drafts.flush(cx.house.as_ref());
    }

    /// The commands that files define.
    pub(crate) fn commands(&self) -> &[Choice] {
        &self.pools.commands
    }

    /// Sends for what completion and history need, once.
    fn ask(&mut self, cx: &Cx<'_>) {
        if !self.pools.asked && tokio::runtime::Handle::try_current().is_ok() {
            self.pools.asked = true;
            self.pools.files_errand = Some(cx.fetch(cx.house.files()));
            self.pools.commands_errand = Some(cx.fetch(cx.house.commands()));
            self.pools.prompts_errand = Some(cx.fetch(cx.house.prompts()));
        }
    }

    /// Sends for the commands anew: a session that was opened may have brought some.
    pub(crate) fn ask_commands(&mut self, cx: &Cx<'_>) {
        if tokio::runtime::Handle::try_current().is_ok() {
            self.pools.commands_errand = Some(cx.fetch(cx.house.commands()));
        }
    }

    /// Sends for what was being written when the front end last ended.
    pub(crate) fn begin(&mut self, cx: &Cx<'_>) {
        self.ask(cx);
        self.pools.draft_errand = Some(cx.fetch(cx.house.draft()));
    }

    fn key(&mut self, event: KeyEvent, cx: &Cx<'_>) -> Said {
        let key = Key::from(event);
        if self.search.is_some() {
            return self.key_search(key, cx);
        }
        if let Some(said) = self.key_popup(key, cx) {
            return said;
        }
        if let Some(vim) = &mut self.vim
            && let Vimmed::Done(done) = vim.press(key, &mut self.editor)
        {
            return self.after(done, cx);
        }
        if key.types() == Some('?') && self.is_empty() && self.vim.is_none() {
            return Said::Wish(Wish::Act(Deed::Help));
        }
        match cx.keys.deed(Context::Composer, key) {
            Some(deed) if deed.binding().context == Context::Composer => self.act(deed, cx),
            Some(_) => Said::Pass,
            None => match key.types() {
                Some(c) => {
                    self.editor.type_char(c);
                    self.changed(cx)
                }
                None => Said::Pass,
            },
        }
    }

    /// A key while the completion list is open; `None` where it is not for the list.
    fn key_popup(&mut self, key: Key, cx: &Cx<'_>) -> Option<Said> {
        let popup = self.popup.as_mut().filter(|popup| !popup.is_empty())?;
        match cx.keys.deed(Context::Completion, key)? {
            Deed::CompletionUp => popup.turn(false),
            Deed::CompletionDown => popup.turn(true),
            Deed::Dismiss => {
                self.dismissed = Some(popup.word.range.start);
                self.popup = None;
            }
            Deed::Accept => return Some(self.accept(key, cx)),
            _ => return None,
        }
        Some(Said::Nothing)
    }

    fn accept(&mut self, key: Key, cx: &Cx<'_>) -> Said {
        let Some(popup) = self.popup.take() else {
            return Said::Nothing;
        };
        let (Some(name), Some(replacement)) = (popup.chosen(), popup.replacement()) else {
            return Said::Nothing;
        };
        let runs = popup.word.sigil == '/'
            && key.code() == KeyCode::Enter
            && slash::find(name).is_some_and(|command| !command.takes.starts_with(char::is_alphabetic));
        self.editor.splice(popup.word.range.clone(), &replacement, Kind::Other);
        if runs {
            self.send(Delivery::Steer, cx)
        } else {
            self.changed(cx)
        }
    }

    /// A key while earlier prompts are searched.
    fn key_search(&mut self, key: Key, cx: &Cx<'_>) -> Said {
        let Some(search) = &mut self.search else {
            return Said::Nothing;
        };
        let deed = cx.keys.deed(Context::Composer, key);
        match (deed, key.code(), key.types()) {
            (Some(Deed::HistorySearch), ..) => {
                search.skip += 1;
                if self.history.find(search).is_none() {
                    search.skip -= 1;
                }
            }
            (_, KeyCode::Esc, _) | (Some(Deed::Cancel | Deed::Leave), ..) => {
                let before = std::mem::take(&mut search.before);
                self.search = None;
                self.editor.set(&before);
                return self.changed(cx);
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
                    KeyCode::Enter | KeyCode::Tab => self.changed(cx),
                    _ => deed.map_or(Said::Nothing, |deed| self.act(deed, cx)),
                };
            }
        }
        if let Some(found) = self.search.as_ref().and_then(|search| self.history.find(search)) {
            self.editor.set(found);
        }
        Said::Nothing
    }

    fn after(&mut self, done: Done, cx: &Cx<'_>) -> Said {
        match done {
            Done::Changed => self.changed(cx),
            Done::Moved => self.moved(),
            Done::Unknown => Said::Pass,
            Done::AtTop => self.up_at_top(cx),
            Done::AtBottom => match self.history.forward() {
                Some(text) => self.recall(&text, cx),
                None => {
                    self.editor.act(Deed::TextEnd);
                    Said::Nothing
                }
            },
        }
    }

    /// Up on the first row: to its start, then the queued prompt, then earlier prompts.
    fn up_at_top(&mut self, cx: &Cx<'_>) -> Said {
        if self.editor.text().caret() > 0 && !self.history.is_visited() {
            self.editor.act(Deed::TextStart);
            return Said::Nothing;
        }
        if self.is_empty() && cx.state.queue.iter().any(|queued| queued.delivery == Delivery::Queue) {
            return Said::Pull;
        }
        let now = self.text();
        match self.history.back(&now) {
            Some(text) => self.recall(&text, cx),
            None => Said::Nothing,
        }
    }

    fn recall(&mut self, text: &str, cx: &Cx<'_>) -> Said {
        self.editor.set(text);
        self.popup = None;
        // An earlier prompt that is a command does not open its list: the arrows would get stuck in it.
        self.dismissed = Some(0);
        self.drafts.note(self.text(), cx.house);
        Said::Nothing
    }

    fn changed(&mut self, cx: &Cx<'_>) -> Said {
        self.history.leave();
        self.drafts.note(self.text(), cx.house);
        let word = popup::word(self.editor.as_str(), self.editor.text().caret());
        let Some(word) = word.filter(|word| self.dismissed != Some(word.range.start)) else {
            if popup::word(self.editor.as_str(), self.editor.text().caret()).is_none() {
                self.dismissed = None;
            }
            self.popup = None;
            return Said::Nothing;
        };
        // Reading code takes a while: names are looked for when the first is asked for.
        if word.sigil == '#' && !std::mem::replace(&mut self.pools.asked_symbols, true) {
            self.pools.symbols_errand = Some(cx.fetch(cx.house.symbols()));
        }
        match &mut self.popup {
            Some(popup) if popup.word.sigil == word.sigil && popup.word.range.start == word.range.start => {
                popup.seek(word)
            }
            Some(_) | None => {
                let pool = self.pools.of(word.sigil);
                self.popup = Some(Popup::open(word, pool));
            }
        }
        if self.popup.as_mut().is_some_and(Popup::step) {
            cx.wake.wake();
        }
        Said::Nothing
    }

    fn moved(&mut self) -> Said {
        let word = popup::word(self.editor.as_str(), self.editor.text().caret());
        if word.is_none_or(|word| self.popup.as_ref().is_none_or(|popup| popup.word != word)) {
            self.popup = None;
        }
        Said::Nothing
    }

    fn paste(&mut self, text: &str, cx: &Cx<'_>) -> Said {
        self.search = None;
        match paste::sort(text) {
            Pasted::Text(text) => self.editor.insert(&text),
            Pasted::Folded { label, text } => self.editor.attach(label, Chip::Text(text.into())),
            Pasted::Images(paths) => {
                for path in paths {
                    let name = path.rsplit(['/', '\\']).next().unwrap_or(&path).to_owned();
                    self.attach_image(&name, cx.fetch(cx.house.image(path)));
                }
            }
            Pasted::TooLong => {
                let most = paste::MOST >> 20;
                return Said::Wish(Wish::Flash(format!(
                    "that is more than {most} MB; save it to a file and mention it"
                )));
            }
        }
        self.changed(cx)
    }

    /// Puts in what was on the clipboard, when it is known; what the person should be told of it.
    fn take_clip(&mut self, cx: &Cx<'_>) -> Option<Wish> {
        let found = self.clip.as_ref()?.take()?;
        self.clip = None;
        let said = match found {
            Ok(Clip::Image(media)) => {
                let label = format!("[image {}: clipboard]", self.editor.chips.images() + 1);
                self.editor.attach(label, Chip::Image(media));
                self.changed(cx)
            }
            Ok(Clip::Text(text)) => self.paste(&text, cx),
            Err(trouble) => return Some(Wish::Flash(trouble.to_string())),
        };
        match said {
            Said::Wish(wish) => Some(wish),
            Said::Nothing | Said::Pass | Said::Prompt { .. } | Said::Pull => None,
        }
    }

    fn attach_image(&mut self, name: &str, errand: Errand<model::Media>) {
        let number = self.editor.chips.images() + 1;
        self.editor
            .attach(format!("[image {number}: {name}]"), Chip::Reading(errand));
    }

    /// Sends what is written: a prompt, a shell line or a command.
    fn send(&mut self, delivery: Delivery, cx: &Cx<'_>) -> Said {
        let caret = self.editor.text().caret();
        let line_end = self.editor.text().line_end(caret);
        if caret == line_end && self.editor.as_str()[..caret].ends_with('\\') {
            self.editor.splice(caret - 1..caret, "\n", Kind::Other);
            return self.changed(cx);
        }
        if self.editor.as_str().trim().is_empty() {
            return Said::Nothing;
        }
        if self.clip.is_some() {
            let words = "the clipboard is still being read; press again in a moment";
            return Said::Wish(Wish::Flash(words.into()));
        }
        let text = self.text();
        if let Some(line) = text.strip_prefix('!').map(str::trim).filter(|line| !line.is_empty()) {
            let errand = cx.fetch(cx.house.shell(line.to_owned()));
            self.shells.push((line.to_owned(), errand));
            self.done(&text, cx);
            return Said::Nothing;
        }
        match slash::run(text.trim_end(), &self.pools.commands, cx) {
            Ran::Wish(wish) => {
                self.done(&text, cx);
                Said::Wish(wish)
            }
            Ran::Wrong(why) => Said::Wish(Wish::Flash(why)),
            Ran::NotOne => match self.message() {
                Ok(message) => {
                    self.done(&text, cx);
                    Said::Prompt { message, delivery }
                }
                Err(why) => Said::Wish(Wish::Flash(why)),
            },
        }
    }

    /// What is written as a message: the text, then the images. The error says why it cannot be sent yet.
    fn message(&mut self) -> Result<Message, String> {
        // What is lost was told when it was lost.
        drop(self.editor.chips.settle());
        let mut parts = vec![Part::text(self.text().trim_end())];
        parts.extend(self.carried.iter().map(Part::text));
        for character in self.editor.as_str().chars() {
            match self.editor.chips.get(character) {
                Some(Chip::Image(media)) => parts.push(Part::Media(media.clone())),
                Some(Chip::Reading(_)) => return Err("an image is still being read; press again in a moment".into()),
                Some(Chip::Lost(why)) => return Err(format!("an image cannot be sent: {why}; delete it first")),
                Some(Chip::Text(_)) | None => {}
            }
        }
        Ok(Message {
            role: Role::User,
            parts,
        })
    }

    /// It was sent: an empty line again.
    fn done(&mut self, text: &str, cx: &Cx<'_>) {
        self.history.push(text);
        cx.house.remember(text.to_owned());
        self.editor = Editor::default();
        if !text.starts_with(['!', '/']) {
            self.carried.clear();
        }
        self.popup = None;
        self.dismissed = None;
        self.scroll = 0;
        if let Some(vim) = &mut self.vim {
            vim.reset();
        }
        self.drafts.note(String::new(), cx.house);
        self.drafts.flush(cx.house.as_ref());
    }
}

impl Pools {
    fn of(&self, sigil: char) -> Pool {
        match sigil {
            '@' => self.files.clone(),
            '#' => self.symbols.clone(),
            _ => {
                let own = slash::COMMANDS.iter().map(|command| {
                    let takes = if command.takes.is_empty() {
                        String::new()
                    } else {
                        format!("{} · ", command.takes)
                    };
                    (command.name.to_owned(), format!("{takes}{}", command.says))
                });
                let files = self
                    .commands
                    .iter()
                    .map(|choice| (choice.name.clone(), choice.about.clone()));
                Pool::described(own.chain(files))
            }
        }
    }

    /// Takes in what was sent for; whether other things can be completed now. What is not there is not offered.
    fn settle(&mut self, history: &mut History, editor: &mut Editor) -> bool {
        let mut changed = false;
        if let Some(files) = taken(&mut self.files_errand) {
            self.files = Pool::files(&files);
            changed = true;
        }
        if let Some(symbols) = taken(&mut self.symbols_errand) {
            self.symbols = Pool::new(symbols);
            changed = true;
        }
        if let Some(commands) = taken(&mut self.commands_errand) {
            self.commands = commands;
            changed = true;
        }
        if let Some(prompts) = taken(&mut self.prompts_errand) {
            history.load(prompts);
        }
        if let Some(Some(draft)) = taken(&mut self.draft_errand)
            && editor.as_str().is_empty()
        {
            editor.set(&draft);
        }
        changed
    }
}

fn taken<T>(errand: &mut Option<Errand<T>>) -> Option<T> {
    let answer = errand.as_ref()?.take()?;
    *errand = None;
    answer.ok()
}

fn shell_words(line: &str, answer: &Result<String, Trouble>) -> String {
    match answer {
        Ok(printed) if printed.trim().is_empty() => format!("! {line}\n(it printed nothing)"),
        Ok(printed) => format!("! {line}\n{}", printed.trim_end()),
        Err(trouble) => format!("! {line}\n{trouble}"),
    }
}
