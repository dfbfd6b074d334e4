//! Adds rules, facts and reminders of the project to prompts and results.
//!
//! Messages that were sent never change: news is appended to the next prompt or result. A changed rules file is repeated
//! there and not in the system prompt, because a changed system prompt would invalidate the provider's cache.

use crate::session::{Environment, Session};
use model::{Part, PartOrigin};
use prompt::{DeliveredNotes, Fact, FactDelivery, ProjectContext};
use session::{Body, EditorView, Item, Todo};
use std::path::PathBuf;
use std::sync::Arc;

/// The number of items after which an open todo list is repeated with a prompt.
const TODO_LOOKBACK: usize = 60;
/// The name of the fact with the file in the user's editor.
const EDITOR_FILE: &str = "Open in the user's editor";
/// The name of the fact with the diagnostics in the user's editor.
const EDITOR_DIAGNOSTICS: &str = "Diagnostics in the user's editor";
/// The maximum number of the editor's diagnostics to include.
const MAX_DIAGNOSTICS: usize = 20;
/// The maximum number of todos to repeat.
const MAX_TODOS: usize = 20;

/// The notes that the model can see, computed incrementally from the items.
#[derive(Default)]
pub(crate) struct DeliveredNotesCache {
    delivered: Arc<DeliveredNotes>,
    view: u64,
    items: usize,
}

impl DeliveredNotesCache {
    /// Updates the cache. `view` changes when earlier items become invisible.
    fn update(&mut self, items: &[Arc<Item>], view: u64) -> Arc<DeliveredNotes> {
        let is_current = self.view == view && self.items <= items.len();
        if !is_current {
            let mut delivered = DeliveredNotes::default();
            prompt::visible_items(items).for_each(|item| delivered.read(item));
            self.delivered = Arc::new(delivered);
        } else if self.items < items.len() {
            let delivered = Arc::make_mut(&mut self.delivered);
            items[self.items..].iter().for_each(|item| delivered.read(item));
        }
        (self.view, self.items) = (view, items.len());
        Arc::clone(&self.delivered)
    }
}

impl Environment {
    /// Calls the project context on a blocking thread; `None` if it panics.
    pub(crate) fn read_context<T, F>(&self, read: F) -> impl Future<Output = Option<T>> + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&dyn ProjectContext) -> T + Send + 'static,
    {
        let context = Arc::clone(&self.config.project_context);
        let task = tokio::task::spawn_blocking(move || read(context.as_ref()));
        async move { task.await.ok() }
    }
}

impl Session {
    fn delivered_notes(&mut self) -> Arc<DeliveredNotes> {
        let conversation = &mut self.conversation;
        conversation.notes.update(&conversation.items, conversation.view)
    }

    /// Notes about rules for the files that a tool touched. If earlier notes have become invisible, changed rules are
    /// repeated.
    pub(crate) async fn notes_after(&mut self, touched: Vec<PathBuf>) -> Vec<String> {
        let view_changed = self.conversation.notes.view != self.conversation.view;
        if touched.is_empty() && !view_changed {
            return Vec::new();
        }
        let (delivered, mode) = (self.delivered_notes(), self.turn.mode.name.clone());
        let notes = self.env.read_context(move |context| {
            let mut notes = context.rules_for(&touched, &delivered);
            if view_changed {
                notes.extend(context.changed_rules(&mode, &delivered));
            }
            notes
        });
        notes.await.unwrap_or_default()
    }

    /// The notes for a prompt: rules, facts and the user's reminder.
    pub(crate) async fn notes_with_prompt(&mut self, touched: Vec<PathBuf>) -> Vec<Part> {
        let (delivered, mode) = (self.delivered_notes(), self.turn.mode.name.clone());
        let (items, seen) = (self.conversation.items.clone(), Arc::clone(&delivered));
        let read = self.env.read_context(move |context| {
            let mut notes = context.changed_rules(&mode, &seen);
            for note in context.rules_for(&touched, &seen) {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            (notes, context.facts(&items, &seen), context.reminder())
        });
        let Some((rules, mut facts, reminder)) = read.await else {
            return Vec::new();
        };
        if self.turn.model.info().is_small() {
            // A small model repeats what follows the task instead of working on it.
            facts.clear();
        }
        let is_root = self.env.depth == 0;
        if !is_root {
            // A subtask does not need the description of the project.
            facts.retain(|fact| fact.delivery != FactDelivery::Once);
        }
        let is_once = |fact: &Fact| fact.delivery == FactDelivery::Once;
        let place = facts.iter().position(is_once).unwrap_or(facts.len());
        let todos = todo_fact(&self.conversation.todos, &self.conversation.items);
        let editor = editor_facts(&self.env.inbox.editor(), &delivered);
        facts.splice(place..place, todos.into_iter().chain(editor));
        let rules = rules.into_iter().map(|text| Part::with_origin(text, PartOrigin::Rules));
        let facts = delivered.facts_note(&facts);
        let facts = facts.map(|text| Part::with_origin(text, PartOrigin::Environment));
        let reminder = reminder.filter(|_| is_root);
        let reminder = reminder.and_then(|text| prompt::reminder_note(&text));
        let reminder = reminder.map(|text| Part::with_origin(text, PartOrigin::Reminder));
        rules.chain(facts).chain(reminder).collect()
    }
}

/// The todo list, if it is open and no longer visible to the model.
fn todo_fact(todos: &[Todo], items: &[Arc<Item>]) -> Option<Fact> {
    let is_open = todos.iter().any(|todo| todo.status.is_open());
    let recent = items.iter().rev().take(TODO_LOOKBACK);
    let is_visible = recent
        .take_while(|item| !matches!(item.body, Body::Summary { .. }))
        .any(|item| matches!(item.body, Body::Todos { .. }));
    (is_open && !is_visible).then(|| Fact {
        name: "Todo list",
        value: todo_list(todos),
        delivery: FactDelivery::OnChange,
    })
}

/// The active file and the diagnostics of the user's editor. Once delivered, the absence of them is a fact too.
fn editor_facts(view: &EditorView, delivered: &DeliveredNotes) -> Vec<Fact> {
    let file = view.file.as_ref().map(|file| match &view.lines {
        Some(lines) if lines.start() == lines.end() => format!("{}, line {} selected", file.display(), lines.start()),
        Some(lines) => format!("{}, lines {}-{} selected", file.display(), lines.start(), lines.end()),
        None => file.display().to_string(),
    });
    let mut diagnostics: Vec<String> = view.diagnostics.iter().take(MAX_DIAGNOSTICS).cloned().collect();
    if view.diagnostics.len() > MAX_DIAGNOSTICS {
        diagnostics.push(format!("and {} more", view.diagnostics.len() - MAX_DIAGNOSTICS));
    }
    let diagnostics = (!diagnostics.is_empty()).then(|| diagnostics.join("; "));
    let values = [(EDITOR_FILE, file), (EDITOR_DIAGNOSTICS, diagnostics)];
    let facts = values.into_iter().filter_map(|(name, value)| {
        let value = value.or_else(|| delivered.has_fact(name).then(|| "none".into()))?;
        Some(Fact {
            name,
            value: value.replace('\n', " "),
            delivery: FactDelivery::OnChange,
        })
    });
    facts.collect()
}

fn todo_list(todos: &[Todo]) -> String {
    let line = |todo: &Todo| format!("[{}] {}", todo.status.name(), todo.text.replace('\n', " "));
    let mut lines: Vec<String> = todos.iter().take(MAX_TODOS).map(line).collect();
    if todos.len() > MAX_TODOS {
        lines.push(format!("and {} more", todos.len() - MAX_TODOS));
    }
    lines.join("; ")
}
