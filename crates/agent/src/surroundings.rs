//! What surrounds a conversation: rules, how things stand, saved prompts and commands, told beside what is said.
//!
//! Nothing that was sent before ever changes: what is new goes behind the next prompt or result. A rules file that changes is
//! told again there rather than in the system prompt, because everything behind a changed system prompt would have to be
//! paid for anew.

use crate::inbox::Inbox;
use crate::state::State;
use model::{Message, Model, Part};
use prompt::{Expanded, Fact, Known, Owner, Slash, Told};
use session::{Body, Error, Item, Level, Todo};
use std::path::PathBuf;
use std::sync::Arc;

/// Where a session learns what surrounds it. Everything may read files: it is asked on a thread where that is no harm.
pub trait Surroundings: Send + Sync {
    /// Notes about rules that hold in this mode and are not any more as the model knows them.
    fn changed_rules(&self, _mode: &str, _known: &Known) -> Vec<String> {
        Vec::new()
    }

    /// Notes about rules that hold for these files and that the model does not know.
    fn rules_for(&self, _files: &[PathBuf], _known: &Known) -> Vec<String> {
        Vec::new()
    }

    /// How things stand.
    fn facts(&self, _items: &[Arc<Item>], _known: &Known) -> Vec<Fact> {
        Vec::new()
    }

    /// What the person wants to stand behind each of their prompts.
    fn reminder(&self) -> Option<String> {
        None
    }

    /// A saved prompt or a rules file by its name; the error says what there is.
    fn saved(&self, _name: &str) -> Result<String, String> {
        Err("there is no rule or prompt of this name".into())
    }

    /// What a word after a slash calls.
    fn called(&self, _name: &str) -> Called {
        Called::Nothing
    }
}

/// What a word after a slash calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    /// A command.
    Command(Box<Slash>),
    /// Nothing: it is a path, or commands are not known here.
    Nothing,
    /// A command that does not exist.
    Unknown {
        /// Commands whose names are like it.
        near: Vec<String>,
    },
}

/// Nothing surrounds the session.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nowhere;

impl Surroundings for Nowhere {}

/// What the model has been told in notes, as far as it has been read off the items.
#[derive(Default)]
pub(crate) struct Noted {
    known: Arc<Known>,
    view: u64,
    items: usize,
}

/// A command of the prompt that is being added.
pub(crate) struct Command {
    pub(crate) expanded: Expanded,
    pub(crate) owner: Owner,
}

/// The model to go back to after a turn that a command gave to another one.
pub(crate) type Lent = Option<Arc<dyn Model>>;

/// A list of things to do that was last seen so many items ago is told again with a prompt.
const FAR: usize = 60;
/// As many things to do are told of.
const MOST_TODOS: usize = 20;

impl State {
    /// What the model has been told in notes and still sees.
    pub(crate) fn known(&mut self) -> Arc<Known> {
        let is_current = self.noted.view == self.view && self.noted.items <= self.items.len();
        if !is_current {
            let mut known = Known::default();
            prompt::view(&self.items).for_each(|item| known.read(item));
            self.noted.known = Arc::new(known);
        } else if self.noted.items < self.items.len() {
            let known = Arc::make_mut(&mut self.noted.known);
            self.items[self.noted.items..].iter().for_each(|item| known.read(item));
        }
        (self.noted.view, self.noted.items) = (self.view, self.items.len());
        Arc::clone(&self.noted.known)
    }

    /// Notes about rules for files that a tool has touched. Where the model has lost sight of earlier notes, rules that have
    /// changed since the session began are told again as well.
    pub(crate) async fn notes_after(&mut self, touched: Vec<PathBuf>) -> Vec<String> {
        let lost_sight = self.noted.view != self.view;
        if touched.is_empty() && !lost_sight {
            return Vec::new();
        }
        let (known, mode) = (self.known(), self.mode.name.clone());
        self.aside(move |around| {
            let mut notes = around.rules_for(&touched, &known);
            if lost_sight {
                notes.extend(around.changed_rules(&mode, &known));
            }
            notes
        })
        .await
        .unwrap_or_default()
    }

    /// Everything that goes behind a prompt beside what it mentions.
    pub(crate) async fn notes_with_prompt(&mut self, touched: Vec<PathBuf>, inbox: &Inbox) -> Vec<String> {
        let (known, mode, items) = (self.known(), self.mode.name.clone(), self.items.clone());
        let asked = Arc::clone(&known);
        let asked = self.aside(move |around| {
            let mut notes = around.changed_rules(&mode, &asked);
            for note in around.rules_for(&touched, &asked) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            (notes, around.facts(&items, &asked), around.reminder())
        });
        let Some((mut notes, mut facts, reminder)) = asked.await else {
            return Vec::new();
        };
        if self.depth > 0 {
            // Who is handed a part of the work need not know the whole place.
            facts.retain(|fact| fact.told != Told::Once);
        }
        let place = facts
            .iter()
            .position(|fact| fact.told == Told::Once)
            .unwrap_or(facts.len());
        facts.splice(place..place, self.todo_fact().into_iter().chain(editor_fact(inbox)));
        notes.extend(known.facts_note(&facts));
        notes.extend(
            reminder
                .and_then(|text| prompt::reminder(&text))
                .filter(|_| self.depth == 0),
        );
        notes
    }

    /// The command that a prompt calls, carried out as far as it goes without the model; the error is why it is not sent.
    pub(crate) async fn command(&mut self, message: &Message) -> Result<Option<Command>, Refusal> {
        let text = match message.parts.first() {
            Some(Part::Text { text, .. }) if self.depth == 0 => text.clone(),
            Some(_) | None => return Ok(None),
        };
        let Some(call) = prompt::invocation(&text) else {
            return Ok(None);
        };
        let name = call.name.to_owned();
        let slash = match self.aside(move |around| around.called(&name)).await {
            Some(Called::Command(slash)) => slash,
            Some(Called::Unknown { near }) => {
                let name = call.name.to_owned();
                return Err(Refusal::Unknown { name, near });
            }
            Some(Called::Nothing) | None => return Ok(None),
        };
        let expanded = slash.expand(call.arguments);
        for text in &expanded.told {
            self.notice(Level::Info, text.clone()).await;
        }
        self.choose_for(&slash).await?;
        Ok(Some(Command {
            expanded,
            owner: slash.owner,
        }))
    }

    /// Goes on in the mode and with the model that a command asks for.
    async fn choose_for(&mut self, slash: &Slash) -> Result<(), Refusal> {
        if slash.owner == Owner::Project && (slash.mode.is_some() || slash.model.is_some()) {
            let text = format!(
                "/{} may choose no mode and no model: it comes with a folder that you have not trusted",
                slash.name
            );
            self.notice(Level::Info, text).await;
            return Ok(());
        }
        if let Some(mode) = &slash.mode {
            self.switch_mode(mode).await.map_err(Refusal::Lost)?;
        }
        match slash.model.as_deref().map(|name| (self.models)(name)) {
            Some(Ok(model)) => {
                let usual = std::mem::replace(&mut self.model, model);
                self.lent.get_or_insert(usual);
            }
            Some(Err(why)) => {
                let text = format!("/{} goes on with {}: {why}", slash.name, self.model.info().name());
                self.notice(Level::Warning, text).await;
            }
            None => {}
        }
        Ok(())
    }

    /// Asks the surroundings on a thread where reading files is no harm.
    pub(crate) fn aside<T, F>(&self, ask: F) -> impl Future<Output = Option<T>> + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&dyn Surroundings) -> T + Send + 'static,
    {
        let around = Arc::clone(&self.surroundings);
        let asked = tokio::task::spawn_blocking(move || ask(around.as_ref()));
        // A panic there costs what would have been told, not the session.
        async move { asked.await.ok() }
    }

    /// The list of things to do, where the model has lost sight of it.
    fn todo_fact(&self) -> Option<Fact> {
        let open = self.todos.iter().filter(|todo| todo.status.is_open()).count();
        let seen = self.items.iter().rev().take(FAR);
        let is_seen = seen
            .take_while(|item| !matches!(item.body, Body::Summary { .. }))
            .any(|item| matches!(item.body, Body::Todos { .. }));
        (open > 0 && !is_seen).then(|| Fact {
            name: "Todo list",
            value: listed(&self.todos),
            told: Told::Changed,
        })
    }
}

/// Why a prompt is not sent.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// A hook objects, for this reason.
    Hook(String),
    /// It calls a command that does not exist.
    Unknown { name: String, near: Vec<String> },
    /// The session cannot be kept.
    Lost(Error),
}

impl Refusal {
    /// What the person is told, and what they can do about it.
    pub(crate) fn words(&self) -> (String, String) {
        match self {
            Refusal::Hook(why) => (
                format!("a hook blocked the prompt: {why}"),
                "say it differently, or change the hook in your configuration".into(),
            ),
            Refusal::Unknown { name, near } => {
                let hint = match near.is_empty() {
                    true => "`hew commands` lists them; put a space before the slash to say it to the model".into(),
                    false => format!("did you mean {}? `hew commands` lists them all", near.join(" or ")),
                };
                (format!("there is no command /{name}"), hint)
            }
            Refusal::Lost(error) => (error.to_string(), error.hint().into()),
        }
    }
}

impl Refusal {
    /// What the person is told where the turn goes on without it.
    pub(crate) fn notice(&self) -> String {
        match self {
            Refusal::Hook(why) => format!("a hook blocked what you said: {why}"),
            Refusal::Unknown { .. } | Refusal::Lost(_) => {
                let (error, hint) = self.words();
                format!("not sent: {error}; {hint}")
            }
        }
    }
}

fn listed(todos: &[Todo]) -> String {
    let line = |todo: &Todo| format!("[{}] {}", todo.status.word(), todo.text.replace('\n', " "));
    let mut lines: Vec<String> = todos.iter().take(MOST_TODOS).map(line).collect();
    if todos.len() > MOST_TODOS {
        lines.push(format!("and {} more", todos.len() - MOST_TODOS));
    }
    lines.join("; ")
}

fn editor_fact(inbox: &Inbox) -> Option<Fact> {
    let view = inbox.editor()?;
    let file = view.file.display();
    let value = match view.lines {
        Some(lines) => format!("{file}, lines {}-{} selected", lines.start(), lines.end()),
        None => file.to_string(),
    };
    Some(Fact {
        name: "Open in the person's editor",
        value,
        told: Told::Changed,
    })
}
