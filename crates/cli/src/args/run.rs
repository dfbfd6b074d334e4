//! Arguments of the commands that let the model work: `run` and `resume`.

use crate::config::{ConfigLayer, ConfigOrigin, EffortName, HumanDuration, PermissionLevel};
use clap::Args;
use host::ModelOrigin;
use std::path::PathBuf;
use toml::Value;

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunArgs {
    /// The task. `-` reads it from stdin; otherwise piped input is appended
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,
    /// Continue this session instead of a new one, by id or prefix
    #[arg(long, value_name = "ID", conflicts_with = "continue_last")]
    pub(crate) session: Option<String>,
    /// Continue the newest session of this project
    #[arg(short = 'c', long = "continue")]
    pub(crate) continue_last: bool,
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ResumeArgs {
    /// Session id or prefix; by default the newest session of this project
    pub(crate) id: Option<String>,
    /// The next task; without it the unfinished turn continues
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Vec<String>,
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
}

/// Options of a turn and its output.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TurnArgs {
    /// The model, as provider/id or just an id (`hew models` lists them)
    #[arg(long, short, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The model for titles and other small requests
    #[arg(long, value_name = "NAME")]
    pub(crate) small_model: Option<String>,
    /// The mode (`hew modes` lists them)
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// The only files that may be changed, relative to the project; for mode `edit` and others
    #[arg(long, value_name = "FILE", value_delimiter = ',', value_hint = clap::ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// An additional project folder: its rules apply, and its files can be read and changed
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) add_dir: Vec<PathBuf>,
    /// The profile that selects the model's tools
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// The permission level: actions that need no approval
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) permission: Option<PermissionLevel>,
    /// The reasoning effort
    #[arg(long, value_enum)]
    pub(crate) effort: Option<EffortName>,
    /// Sampling temperature, if the model supports it
    #[arg(long, value_name = "NUMBER")]
    pub(crate) temperature: Option<f64>,
    /// Maximum tokens per reply
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_output: Option<u32>,
    /// Stop after this many requests to the model
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_steps: Option<u32>,
    /// Stop after this many US dollars
    #[arg(long, value_name = "USD")]
    pub(crate) max_cost: Option<f64>,
    /// Stop after this time, such as 90s, 10m or 1h30m
    #[arg(long, value_name = "TIME")]
    pub(crate) max_time: Option<HumanDuration>,
    /// Add a text file, an image or a PDF to the prompt
    #[arg(long, short, visible_alias = "image", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Vec<PathBuf>,
    /// The answer must be JSON that matches the JSON schema in this file
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) output_schema: Option<PathBuf>,
    /// Print events as JSON lines (`hew schema events` describes them)
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only the answer and errors
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Do not generate a title
    #[arg(long)]
    pub(crate) no_title: bool,
}

impl TurnArgs {
    /// Whether no option is set that only headless runs support.
    pub(crate) fn is_for_a_person(&self) -> bool {
        !self.json && !self.quiet && self.output_schema.is_none() && self.file.is_empty()
    }

    /// How the model was chosen.
    pub(crate) fn model_origin(&self) -> ModelOrigin {
        match self.model {
            Some(_) => ModelOrigin::Requested,
            None => ModelOrigin::Configured,
        }
    }

    /// The flags that set configuration keys.
    pub(crate) fn layers(&self) -> Vec<ConfigLayer> {
        let text = |text: &Option<String>| text.clone().map(Value::String);
        let whole = |number: Option<u32>| number.map(|number| Value::Integer(number.into()));
        let set = [
            ("--model", "model", text(&self.model)),
            ("--small-model", "small_model", text(&self.small_model)),
            ("--mode", "mode", text(&self.mode)),
            ("--profile", "profile", text(&self.profile)),
            (
                "--add-dir",
                "roots",
                (!self.add_dir.is_empty()).then(|| folders(&self.add_dir)),
            ),
            ("--permission", "permission", self.permission.and_then(written)),
            ("--effort", "effort", self.effort.and_then(written)),
            ("--temperature", "temperature", self.temperature.map(Value::Float)),
            ("--max-output", "max_output", whole(self.max_output)),
            ("--no-title", "title", self.no_title.then_some(Value::Boolean(false))),
            ("--max-steps", "limits.steps", whole(self.max_steps)),
            ("--max-cost", "limits.cost", self.max_cost.map(Value::Float)),
            (
                "--max-time",
                "limits.time",
                self.max_time
                    .map(|span| Value::String(format!("{}ms", span.0.as_millis()))),
            ),
        ];
        set.into_iter()
            .filter_map(|(flag, key, value)| value.map(|value| (flag, key, value)))
            .map(|(flag, key, value)| {
                let path: Vec<String> = key.split('.').map(String::from).collect();
                ConfigLayer::single(ConfigOrigin::Flag(flag), &path, value)
            })
            .collect()
    }
}

/// Paths relative to the working directory of the process.
fn folders(paths: &[PathBuf]) -> Value {
    let absolute = paths
        .iter()
        .map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.clone()));
    Value::Array(
        absolute
            .map(|folder| Value::String(folder.display().to_string()))
            .collect(),
    )
}

fn written(choice: impl serde::Serialize) -> Option<Value> {
    Value::try_from(choice).ok()
}
