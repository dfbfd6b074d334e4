//! `hew tools`: lists tools with their token cost, shows one, runs one.

use super::load;
use crate::args::{GlobalArgs, ToolsArgs, ToolsCommand};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::models::ModelRegistry;
use crate::output::format::plural;
use crate::output::table::{self, ColumnAlign};
use crate::output::{self};
use headless::manual_call::{ManualApprover, ManualCallError, run_call};
use model::{Block, Info};
use policy::Policy;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Read;
use std::sync::Arc;
use tool::{DynTool, Output, Registry, ToolEffect};

/// The average number of bytes per token.
const BYTES_PER_TOKEN: usize = 4;
/// The maximum size of the input.
const MAX_INPUT: u64 = 32 * 1024 * 1024;

/// A tool in the JSON of `hew tools --json`.
#[derive(Serialize)]
struct ToolJson<'a> {
    name: &'a str,
    /// Whether every request lists it; otherwise the model has to search for it.
    listed: bool,
    /// The approximate number of tokens of its description.
    tokens: usize,
    /// Whether it is read-only.
    read_only: bool,
    aliases: Vec<&'a str>,
    description: &'a str,
    input_schema: &'a Value,
}

pub(super) async fn tools(args: &ToolsArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let config = &loaded.config;
    let info = match args.model.as_ref().or(config.model.as_ref()) {
        Some(name) => Some(ModelRegistry::new(config, env).find(name)?),
        None => None,
    };
    let (permissions, _) = host::permissions::load(&loaded.layers, loaded.trust, &root, env);
    let found = host::project_context::load_modes(&root, loaded.trust, env);
    let registry = host::tools::manual_tools(config, env, &root, info.as_ref(), &permissions, &found.modes).await?;
    match &args.command {
        None | Some(ToolsCommand::List) => list(&registry, args.json)?,
        Some(ToolsCommand::Show { name }) => show(&registry, find(&registry, name)?, args.json)?,
        Some(ToolsCommand::Run { name, input, yes }) => {
            find(&registry, name)?;
            let policy = Policy {
                level: config.permission.into(),
                permissions,
            };
            let mode = found.choose(&config.mode, &[])?;
            let approver = ManualApprover {
                policy,
                mode,
                yes: *yes,
            };
            run(&registry, name, input, &approver, info.as_ref(), args.json).await?;
        }
    }
    Ok(ExitStatus::Done)
}

fn find<'a>(registry: &'a Registry, name: &str) -> Result<&'a Arc<dyn DynTool>> {
    registry.get(name).ok_or_else(|| {
        let failure = Failure::usage(format!("there is no tool `{name}`"));
        match toolbox::peer_tool_hint(name) {
            Some(what) => failure.hint(format!("use instead: {what}")),
            None => failure.hint("`hew tools` lists them with their other names"),
        }
    })
}

fn row<'a>(registry: &Registry, tool: &'a dyn DynTool) -> ToolJson<'a> {
    let spec = tool.spec();
    let aliases = registry.aliases_of(&spec.name).collect();
    let definition = json!({"name": spec.name, "description": spec.description, "input_schema": spec.input_schema});
    ToolJson {
        name: &spec.name,
        listed: !registry.is_deferred(&spec.name),
        tokens: definition.to_string().len().div_ceil(BYTES_PER_TOKEN),
        read_only: tool.effect() == ToolEffect::ReadOnly,
        aliases,
        description: &spec.description,
        input_schema: &spec.input_schema,
    }
}

fn list(registry: &Registry, json: bool) -> Result<()> {
    let mut rows: Vec<ToolJson<'_>> = registry.iter().map(|tool| row(registry, tool.as_ref())).collect();
    rows.sort_by_key(|row| (!row.listed, row.name));
    if json {
        return output::print_checked(&output::pretty(&rows)?);
    }
    let columns = [
        ("tool", ColumnAlign::Left),
        ("listed", ColumnAlign::Left),
        ("tokens", ColumnAlign::Right),
        ("other names", ColumnAlign::Left),
    ];
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let listed = if row.listed { "always" } else { "when asked" };
            vec![
                row.name.into(),
                listed.into(),
                row.tokens.to_string(),
                row.aliases.join(", "),
            ]
        })
        .collect();
    output::print_checked(&table::render(&columns, &lines))?;
    let tokens = |listed: bool| -> usize {
        rows.iter()
            .filter(|row| row.listed == listed)
            .map(|row| row.tokens)
            .sum()
    };
    output::print_stderr(&format!(
        "{} cost about {} tokens in every request; the others would cost {}\n",
        plural(rows.iter().filter(|row| row.listed).count() as u64, "tool"),
        tokens(true),
        tokens(false)
    ));
    Ok(())
}

fn show(registry: &Registry, tool: &Arc<dyn DynTool>, json: bool) -> Result<()> {
    let row = row(registry, tool.as_ref());
    if json {
        return output::print_checked(&output::pretty(&row)?);
    }
    let listed = if row.listed {
        "in every request"
    } else {
        "on demand (find_tools)"
    };
    let mut text = format!("{}\n\n{}\n\n", row.name, row.description);
    if !row.aliases.is_empty() {
        text.push_str(&format!("other names: {}\n", row.aliases.join(", ")));
    }
    text.push_str(&format!("listed: {listed}, about {} tokens\n\n", row.tokens));
    text.push_str(&output::pretty(row.input_schema)?);
    output::print_checked(&text)
}

async fn run(
    registry: &Registry,
    name: &str,
    input: &str,
    approver: &ManualApprover,
    info: Option<&Info>,
    json: bool,
) -> Result<()> {
    let called = run_call(registry, name, parse(input)?, approver, info).await;
    let output = called.map_err(|error| match error {
        ManualCallError::UnknownTool => Failure::usage(format!("there is no tool `{name}`")),
        ManualCallError::InvalidInput(error) => Failure::usage(error.to_string()),
        ManualCallError::Refused(failure) => failure,
        ManualCallError::Failed(error) => Failure::failed(error.to_string()),
    })?;
    match json {
        true => output::print_checked(&output::pretty(&output_json(&output))?),
        false => {
            output::print_checked(&plain(&output))?;
            for change in &output.changes {
                output::print_stderr(&format!("changed {}\n", change.path.display()));
            }
            Ok(())
        }
    }
}

fn parse(input: &str) -> Result<Value> {
    let mut text = input.to_owned();
    if input == "-" {
        text.clear();
        std::io::stdin()
            .lock()
            .take(MAX_INPUT)
            .read_to_string(&mut text)
            .map_err(|error| Failure::usage(format!("cannot read the input: {error}")))?;
    }
    match serde_json::from_str(&text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(Failure::usage("the input must be a JSON object").hint("such as '{\"path\": \"README.md\"}'")),
        Err(error) => Err(Failure::usage(format!("the input is not JSON: {error}"))),
    }
}

fn plain(output: &Output) -> String {
    let mut text = String::new();
    for block in &output.content {
        match block {
            Block::Text { text: part } => text.push_str(part),
            Block::Media(media) => text.push_str(&format!("[{}, {} bytes]", media.mime, media.data.len())),
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

fn output_json(output: &Output) -> Value {
    let content: Vec<Value> = output
        .content
        .iter()
        .map(|block| match block {
            Block::Text { text } => json!({"type": "text", "text": text}),
            Block::Media(media) => json!({"type": "media", "mime": media.mime, "bytes": media.data.len()}),
        })
        .collect();
    let changes: Vec<Value> = output
        .changes
        .iter()
        .map(|change| {
            let what = match (&change.before, &change.after) {
                (None, _) => "created",
                (Some(_), None) => "deleted",
                (Some(_), Some(_)) => "modified",
            };
            json!({"path": change.path.to_string_lossy(), "change": what})
        })
        .collect();
    json!({"content": content, "summary": output.summary, "changes": changes})
}
