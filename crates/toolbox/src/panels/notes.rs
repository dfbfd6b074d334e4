//! Notes that the model keeps, and what it may load: skills and modes.

use futures::future::{BoxFuture, FutureExt as _};
use prompt::panel::{Panel, Sight, Told, Volatility};

use super::Sources;
use crate::notebook::{Name, Notebook, Scope};
use crate::project::aside;
use crate::scratchpad;
use crate::skill;

/// What all notes take together.
const NOTES_BYTES: usize = 4_000;
/// What one of them takes at most.
const NOTE_BYTES: usize = 1_500;

/// Notes that outlive the session.
pub(super) struct Memories(pub(super) Notebook);

impl Panel for Memories {
    fn name(&self) -> &str {
        "memories"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    /// Whatever the model keeps it says itself.
    fn told(&self) -> Told {
        Told::InConversation
    }

    fn snapshot<'a>(&'a self, sight: &'a Sight<'a>) -> BoxFuture<'a, Option<String>> {
        let (notebook, session) = (self.0.clone(), sight.session.to_owned());
        async move { aside(move || Ok(memories(&notebook, &session))).await.ok().flatten() }.boxed()
    }
}

fn memories(notebook: &Notebook, session: &str) -> Option<String> {
    let mut text = String::new();
    let mut left = Vec::new();
    for scope in [Scope::User, Scope::Project] {
        for shown in notebook.list(scope, session).ok()? {
            let Some((_, rest)) = shown.split_once('/') else {
                continue;
            };
            let name = Name {
                scope,
                rest: rest.to_owned(),
            };
            let note = notebook
                .locate(&name, session)
                .ok()
                .and_then(|note| note.read_text().ok());
            let Some(note) = note else { continue };
            let said = note.content.trim();
            match text.len() + said.len().min(NOTE_BYTES) > NOTES_BYTES {
                true => left.push(shown),
                false => text.push_str(&format!("## {shown}\n{}\n", prompt::budget::cut(said, NOTE_BYTES))),
            }
        }
    }
    if !left.is_empty() {
        text.push_str(&format!("More notes, to be read with memory: {}\n", left.join(", ")));
    }
    Some(text).filter(|text| !text.is_empty())
}

/// The session's page of rough notes.
pub(super) struct Page(pub(super) Notebook);

impl Panel for Page {
    fn name(&self) -> &str {
        "scratchpad"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    /// The tool answers with the whole page.
    fn told(&self) -> Told {
        Told::InConversation
    }

    fn snapshot<'a>(&'a self, sight: &'a Sight<'a>) -> BoxFuture<'a, Option<String>> {
        let (notebook, session) = (self.0.clone(), sight.session.to_owned());
        async move {
            let text = aside(move || {
                let name = Name {
                    scope: Scope::Session,
                    rest: scratchpad::PAGE.into(),
                };
                let page = notebook.locate(&name, &session)?;
                Ok(page.read_text().map_err(crate::project::explain)?.content)
            });
            text.await.ok()
        }
        .boxed()
    }
}

/// Skills and modes by name.
pub(super) struct Library {
    text: String,
}

impl Library {
    pub(super) fn of(sources: &Sources) -> Self {
        let mut text = String::new();
        if !sources.modes.is_empty() {
            text.push_str(&format!("Modes: {}\n", sources.modes.join(", ")));
        }
        for (name, description) in skill::catalogue_of(&sources.skills, &sources.project.workspace) {
            text.push_str(&format!("Skill {name}: {description}\n"));
        }
        Library { text }
    }
}

impl Panel for Library {
    fn name(&self) -> &str {
        "library"
    }

    fn volatility(&self) -> Volatility {
        Volatility::Session
    }

    fn snapshot<'a>(&'a self, _: &'a Sight<'a>) -> BoxFuture<'a, Option<String>> {
        let text = self.text.clone();
        async move { Some(text).filter(|text| !text.is_empty()) }.boxed()
    }
}

/// The instructions of a skill, kept in sight.
pub(super) struct Skill {
    name: String,
    text: String,
}

impl Skill {
    pub(super) fn of(sources: &Sources, name: &str) -> Result<Self, String> {
        let text = skill::instructions(&sources.skills, &sources.project.workspace, name)
            .ok_or_else(|| format!("there is no skill `{name}`"))?;
        Ok(Skill {
            name: format!("skill:{name}"),
            text,
        })
    }
}

impl Panel for Skill {
    fn name(&self) -> &str {
        &self.name
    }

    fn volatility(&self) -> Volatility {
        Volatility::Live
    }

    fn snapshot<'a>(&'a self, _: &'a Sight<'a>) -> BoxFuture<'a, Option<String>> {
        let text = self.text.clone();
        async move { Some(text) }.boxed()
    }
}
