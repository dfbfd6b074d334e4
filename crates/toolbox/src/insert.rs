//! Inserts lines into a file.

use edit::{Edit, Format, Place};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::edit_file::write_edits;
use crate::project::Project;

pub(crate) struct Insert(pub(crate) Project);

/// Inserts whole lines into a file that was read.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    /// The text goes after this line; 0 is the top. Without it, it goes to the end.
    #[serde(alias = "insert_line", alias = "insertLine")]
    line: Option<usize>,
    #[serde(
        alias = "content",
        alias = "insert_text",
        alias = "new_str",
        alias = "new_string",
        alias = "new_text"
    )]
    text: String,
}

impl Tool for Insert {
    const NAME: &'static str = "insert";
    const ALIASES: &'static [&'static str] = &["insert_text"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        match input.line {
            Some(line) => format!("{}:{line}", input.path),
            None => input.path.clone(),
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.writing(&input.path)
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let file = self.0.locate(&input.path)?;
        let place = input.line.map_or(Place::End, Place::After);
        let edit = Edit {
            names: Vec::new(),
            naming: edit::Naming::Stated,
            change: edit::Change::Insert {
                place,
                text: input.text,
            },
        };
        write_edits(&self.0, file, vec![edit], Format::Json).await
    }
}
