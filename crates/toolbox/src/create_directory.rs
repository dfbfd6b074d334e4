//! Makes a folder.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Change, Context, Effect, Error, Output, Tool, Version};
use workspace::{Location, Made};

use crate::project::{Project, explain};

pub(crate) struct CreateDirectory(pub(crate) Project);

/// Makes a folder and those above it. Writing a file makes its folders by itself.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "dirPath", alias = "dir_path", alias = "directory")]
    path: String,
}

impl Tool for CreateDirectory {
    const NAME: &'static str = "create_directory";
    const ALIASES: &'static [&'static str] = &["create_dir", "make_directory", "mkdir"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.writing(&input.path)
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let folder = self.0.locate(&input.path)?;
        let made: Vec<Location> = match folder.is_dir() {
            true => Vec::new(),
            false => [folder.clone()].into_iter().chain(folder.missing_folders()).collect(),
        };
        let said = match folder.create_folder().map_err(explain)? {
            Made::New => format!("created {}", folder.shown()),
            Made::Before => format!("{} exists already", folder.shown()),
        };
        let changes = made.iter().rev().map(|folder| Change {
            path: folder.relative().to_owned(),
            before: None,
            after: Some(Version::folder(None)),
        });
        Ok(Output {
            changes: changes.collect(),
            ..Output::text(said)
        })
    }
}
