//! Panels for the model's notes, skills and modes.

use super::PanelError;
use futures::future::{BoxFuture, FutureExt as _};
use prompt::panel::{ChangeChannel, Panel, PanelContext, Volatility};

use super::PanelSources;
use crate::support::mode_names::list_modes;
use crate::support::notes::{self, NoteName, NoteScope, NoteStore};
use crate::support::project::run_blocking;
use crate::support::skills;

/// Maximum bytes of all notes.
const NOTES_BYTES: usize = 4_000;
/// Maximum bytes of one note.
const NOTE_BYTES: usize = 1_500;

/// Notes for the user and the project.
pub(super) struct MemoriesPanel(pub(super) NoteStore);

impl Panel for MemoriesPanel {
    fn name(&self) -> &str {
        "memories"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    /// The model writes the notes itself.
    fn change_channel(&self) -> ChangeChannel {
        ChangeChannel::Conversation
    }

    fn snapshot<'a>(&'a self, context: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        let (notebook, session) = (self.0.clone(), context.session.to_owned());
        async move {
            run_blocking(move || Ok(memories(&notebook, &session)))
                .await
                .ok()
                .flatten()
        }
        .boxed()
    }
}

fn memories(notebook: &NoteStore, session: &str) -> Option<String> {
    let mut text = String::new();
    let mut left = Vec::new();
    for scope in [NoteScope::User, NoteScope::Project] {
        for shown in notebook.list(scope, session).ok()? {
            let Some((_, rest)) = shown.split_once('/') else {
                continue;
            };
            let name = NoteName {
                scope,
                rest: rest.to_owned(),
            };
            let note = notebook
                .locate(&name, session)
                .ok()
                .and_then(|note| note.read_text().ok());
            let Some(note) = note else { continue };
            let content = note.content.trim();
            match text.len() + content.len().min(NOTE_BYTES) > NOTES_BYTES {
                true => left.push(shown),
                false => text.push_str(&format!(
                    "## {shown}\n{}\n",
                    prompt::budget::cut_middle(content, NOTE_BYTES)
                )),
            }
        }
    }
    if !left.is_empty() {
        text.push_str(&format!("More notes (read with memory): {}\n", left.join(", ")));
    }
    Some(text).filter(|text| !text.is_empty())
}

/// The session's scratchpad.
pub(super) struct ScratchpadPanel(pub(super) NoteStore);

impl Panel for ScratchpadPanel {
    fn name(&self) -> &str {
        "scratchpad"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    /// The tool returns the whole page.
    fn change_channel(&self) -> ChangeChannel {
        ChangeChannel::Conversation
    }

    fn snapshot<'a>(&'a self, context: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        let (notebook, session) = (self.0.clone(), context.session.to_owned());
        async move {
            let text = run_blocking(move || {
                let name = NoteName {
                    scope: NoteScope::Session,
                    rest: notes::SCRATCHPAD.into(),
                };
                let page = notebook.locate(&name, &session)?;
                Ok(page.read_text().map_err(crate::support::project::tool_error)?.content)
            });
            text.await.ok()
        }
        .boxed()
    }
}

/// The names of skills and modes.
pub(super) struct LibraryPanel {
    text: String,
}

impl LibraryPanel {
    pub(super) fn of(sources: &PanelSources) -> Self {
        let mut text = String::new();
        if !sources.modes.is_empty() {
            text.push_str(&format!("Modes: {}\n", list_modes(&sources.modes)));
        }
        for (name, description) in skills::catalogue_of(&sources.skills, &sources.project.workspace) {
            text.push_str(&format!("Skill {name}: {description}\n"));
        }
        LibraryPanel { text }
    }
}

impl Panel for LibraryPanel {
    fn name(&self) -> &str {
        "library"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Session
    }

    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        let text = self.text.clone();
        async move { Some(text).filter(|text| !text.is_empty()) }.boxed()
    }
}

/// The instructions of a skill.
pub(super) struct SkillPanel {
    name: String,
    text: String,
}

impl SkillPanel {
    pub(super) fn of(sources: &PanelSources, name: &str) -> Result<Self, PanelError> {
        let text = skills::instructions(&sources.skills, &sources.project.workspace, name)
            .ok_or_else(|| PanelError::NoSkill(name.into()))?;
        Ok(SkillPanel {
            name: format!("skill:{name}"),
            text,
        })
    }
}

impl Panel for SkillPanel {
    fn name(&self) -> &str {
        &self.name
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    fn snapshot<'a>(&'a self, _: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        let text = self.text.clone();
        async move { Some(text) }.boxed()
    }
}
