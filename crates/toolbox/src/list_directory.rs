//! Lists a folder.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};
use workspace::{Entry, Kind, Tracked};

use crate::caps;
use crate::project::{Project, aside, explain};

/// Below this nobody needs to be warned about a file's size.
const LARGE: u64 = 100_000;

pub(crate) struct ListDirectory(pub(crate) Project);

/// Lists a folder, one level deep.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// `.` is the project root.
    #[serde(alias = "dir_path", alias = "target_directory")]
    path: String,
}

impl Tool for ListDirectory {
    const NAME: &'static str = "list_directory";
    const ALIASES: &'static [&'static str] = &["list_dir", "list_files", "ls"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.reading(&input.path)
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let folder = self.0.locate(&input.path)?;
        let listing = aside(move || folder.list(caps::of(Self::NAME).entries).map_err(explain)).await?;
        let mut lines: Vec<String> = listing.entries.iter().map(line).collect();
        if listing.total == 0 {
            lines.push("[empty directory]".into());
        } else if listing.total > listing.entries.len() {
            let (shown, total) = (listing.entries.len(), listing.total);
            lines.push(format!("[{shown} of {total} entries; use find_path for the others]"));
        }
        let summary: String = match listing.total {
            1 => "1 entry".into(),
            total => format!("{total} entries"),
        };
        Ok(Output::text(lines.join("\n")).summary(summary))
    }
}

fn line(entry: &Entry) -> String {
    let kind = match entry.kind {
        Kind::Directory => "/".to_owned(),
        Kind::File { size } if size >= LARGE => format!(" ({size} bytes)"),
        Kind::File { .. } => String::new(),
        Kind::Link => "@".to_owned(),
        Kind::Other => " (special)".to_owned(),
    };
    let ignored = match entry.tracked {
        Tracked::Yes => "",
        Tracked::Ignored => " (ignored)",
    };
    format!("{}{kind}{ignored}", entry.name)
}
