//! Copies a file or a folder.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::paths::{self, Came};
use crate::project::{Project, TREE, explain};

pub(crate) struct CopyPath(pub(crate) Project);

/// Copies a file or folder. Nothing may stand at the destination; if a folder does, the copy goes into it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "source", alias = "from", alias = "path")]
    source_path: String,
    #[serde(alias = "destination", alias = "to", alias = "target")]
    destination_path: String,
}

impl Tool for CopyPath {
    const NAME: &'static str = "copy_path";
    const ALIASES: &'static [&'static str] = &["copy", "copy_file", "cp"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("{} to {}", input.source_path, input.destination_path)
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let mut actions = self.0.reading_all(&input.source_path);
        let to = paths::destination(&self.0, &input.source_path, &input.destination_path);
        let writes = self.0.changing(&input.destination_path, to);
        if let (Some(Action::Write { path: to, place }), Ok(from)) = (writes.first(), self.0.locate(&input.source_path))
        {
            // Rules about single files hold for what the copy makes, too.
            let below = actions.iter().filter_map(|action| match action {
                Action::Read { path, .. } => path.strip_prefix(from.path()).ok(),
                _ => None,
            });
            let below = below.filter(|rest| !rest.as_os_str().is_empty());
            let made = below.map(|rest| Action::Write {
                path: to.join(rest),
                place: *place,
            });
            let made: Vec<Action> = made.collect();
            actions.extend(made);
        }
        actions.extend(writes);
        actions
    }

    /// Works without an await, so that a dropped call has either changed nothing or reported what it changed.
    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let from = self.0.locate(&input.source_path)?;
        let to = paths::destination(&self.0, &input.source_path, &input.destination_path)?;
        let leaves = from.copy(&to, TREE).map_err(explain)?;
        let count = paths::count_files(&leaves);
        let said = format!("copied {} to {} ({count})", from.shown(), to.shown());
        Ok(Output {
            changes: paths::changes(&to, leaves, Came::In),
            ..Output::text(said).summary(count)
        })
    }
}
