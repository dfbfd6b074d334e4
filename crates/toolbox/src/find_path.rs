//! Finds files and folders by glob.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};
use workspace::{Find, Page};

use crate::caps;
use crate::project::{Project, gaps, searching};
use crate::text::count;

pub(crate) struct FindPath(pub(crate) Project);

/// Finds files and folders by glob, leaving out ignored ones.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// `*.rs` finds the name anywhere, `src/**/*.rs` a path below the searched folder.
    #[serde(alias = "glob", alias = "glob_pattern", alias = "query")]
    pattern: String,
    /// Folder to search.
    path: Option<String>,
    /// Results to skip.
    offset: Option<usize>,
}

impl Tool for FindPath {
    const NAME: &'static str = "find_path";
    const ALIASES: &'static [&'static str] = &["file_search", "glob"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        match &input.path {
            Some(path) => format!("{} in {path}", input.pattern),
            None => input.pattern.clone(),
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.reading(input.path.as_deref().unwrap_or_default())
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let folder = self.0.locate(input.path.as_deref().unwrap_or_default())?;
        let offset = input.offset.unwrap_or(0);
        let found = searching(move |stop| {
            let page = Page {
                offset,
                limit: caps::of(Self::NAME).entries,
            };
            folder.find(
                &Find {
                    pattern: &input.pattern,
                    page,
                },
                stop,
            )
        })
        .await?;
        let (shown, total) = (found.paths.len(), found.total);
        let mut notes = vec![match (shown, offset + shown < total) {
            (0, _) if total == 0 => "nothing found".to_owned(),
            (0, _) => format!("{} in all; offset {offset} is past the end", count(total, "path")),
            (_, true) => format!(
                "{}-{} of {total}; go on with offset {}",
                offset + 1,
                offset + shown,
                offset + shown
            ),
            (_, false) => count(total, "path"),
        }];
        notes.extend(gaps(found.ended, found.unreadable));
        let mut lines = found.paths;
        lines.push(format!("[{}]", notes.join("; ")));
        Ok(Output::text(lines.join("\n")).summary(count(total, "path")))
    }
}
