//! A page for this session's rough notes.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::notebook::{Name, Notebook, Scope};
use crate::project::{aside, explain};
use crate::text::count;

/// The page, among the session's notes.
pub(crate) const PAGE: &str = "scratchpad.md";

pub(crate) struct Scratchpad(pub(crate) Notebook);

/// A page of rough notes for this session. Says what is on it; text is added, or with replace takes the place of all.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "content", alias = "cell_contents", alias = "contents")]
    text: Option<String>,
    #[serde(default)]
    replace: bool,
    #[schemars(skip)]
    #[serde(alias = "cell_title")]
    title: Option<String>,
}

impl Tool for Scratchpad {
    const NAME: &'static str = "scratchpad";
    const ALIASES: &'static [&'static str] = &[
        "scratchpad_create_cell",
        "scratchpad_edit_cell",
        "scratchpad_wipe",
        "create_cell",
        "edit_cell",
    ];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.title.clone().unwrap_or_default()
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let notebook = self.0.clone();
        aside(move || {
            let name = Name {
                scope: Scope::Session,
                rest: PAGE.into(),
            };
            let page = notebook.locate(&name, &context.session)?;
            let old = match page.exists() {
                true => page.read_text().map_err(explain)?.content,
                false => String::new(),
            };
            let new = match (&input.text, input.replace) {
                (None, false) => old,
                (None, true) => String::new(),
                (Some(text), true) => text.clone(),
                (Some(text), false) => {
                    let heading = input
                        .title
                        .as_ref()
                        .map(|title| format!("## {title}\n"))
                        .unwrap_or_default();
                    format!("{old}{heading}{}\n", text.trim_end())
                }
            };
            if input.text.is_some() || input.replace {
                notebook.write(&page, &new)?;
            }
            let lines = count(new.lines().count(), "line");
            Ok(match new.trim().is_empty() {
                true => Output::text("The page is empty."),
                false => Output::text(new).summary(lines),
            })
        })
        .await
    }
}
