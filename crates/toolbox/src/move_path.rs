//! Moves or renames a file or a folder.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::paths::{self, Came};
use crate::project::{Project, TREE, explain};

pub(crate) struct MovePath(pub(crate) Project);

/// Moves or renames a file or folder. Nothing may stand at the destination; if a folder does, it goes into that.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "source", alias = "from", alias = "path", alias = "old_path")]
    source_path: String,
    #[serde(alias = "destination", alias = "to", alias = "target", alias = "new_path")]
    destination_path: String,
}

impl Tool for MovePath {
    const NAME: &'static str = "move_path";
    const ALIASES: &'static [&'static str] = &["move", "move_file", "mv", "rename", "rename_file", "rename_path"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("{} to {}", input.source_path, input.destination_path)
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let mut actions = self
            .0
            .changing(&input.source_path, self.0.locate_entry(&input.source_path));
        let to = paths::destination(&self.0, &input.source_path, &input.destination_path);
        actions.extend(self.0.changing(&input.destination_path, to));
        actions
    }

    /// Works without an await, so that a dropped call has either changed nothing or reported what it changed.
    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let from = self.0.locate_entry(&input.source_path)?;
        let to = paths::destination(&self.0, &input.source_path, &input.destination_path)?;
        paths::refuse_project(&from, "moved")?;
        let leaves = from.leaves(TREE).map_err(explain)?;
        from.shift(&to, TREE).map_err(explain)?;
        self.0.reads.moved(from.path(), to.path());
        let count = paths::count_files(&leaves);
        let mut changes = paths::changes(&from, leaves.clone(), Came::Out);
        changes.extend(paths::changes(&to, leaves, Came::In));
        let said = format!("moved {} to {} ({count})", from.shown(), to.shown());
        Ok(Output {
            changes,
            ..Output::text(said).summary(count)
        })
    }
}
