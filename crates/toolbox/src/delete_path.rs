//! Removes a file or a folder.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::paths::{self, Came};
use crate::project::{Project, TREE, explain};

pub(crate) struct DeletePath(pub(crate) Project);

/// Removes a file, a link, or a folder with all that is in it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
}

impl Tool for DeletePath {
    const NAME: &'static str = "delete_path";
    const ALIASES: &'static [&'static str] = &["delete", "delete_file", "remove", "remove_path", "rm"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.changing(&input.path, self.0.locate_entry(&input.path))
    }

    /// Works without an await, so that a dropped call has either changed nothing or reported what it changed.
    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let path = self.0.locate_entry(&input.path)?;
        paths::refuse_project(&path, "removed")?;
        let leaves = path.leaves(TREE).map_err(explain)?;
        path.remove_all().map_err(explain)?;
        self.0.reads.gone(path.path());
        let count = paths::count_files(&leaves);
        let said = format!("removed {} ({count})", path.shown());
        Ok(Output {
            changes: paths::changes(&path, leaves, Came::Out),
            ..Output::text(said).summary(count)
        })
    }
}
