//! `hew tools`: lists tools with what they cost, shows one, runs one by hand.

use super::{ask, load};
use crate::args::{Global, ToolsArgs, ToolsCommand};
use crate::config::Permission;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::models::Models;
use crate::output::table::{self, Align};
use crate::output::text::describe;
use crate::output::words::plural;
use crate::output::{self};
use crate::wiring;
use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, Features, Info};
use policy::{Action, Decision, Policy};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Read;
use std::sync::Arc;
use tool::{Context, Desk, DynTool, Effect, Inquiry, Output, Registry, Report, Task};

/// What most tokenizers make of so many bytes is one token.
const BYTES_PER_TOKEN: usize = 4;
/// More input than this was not meant.
const MOST_INPUT: u64 = 32 * 1024 * 1024;

/// A tool in the JSON of `hew tools --json`.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    /// Whether the model is told of it in every request; else it has to look for it.
    listed: bool,
    /// About how many tokens telling of it takes.
    tokens: usize,
    /// Whether it only looks.
    read_only: bool,
    aliases: Vec<&'a str>,
    description: &'a str,
    input_schema: &'a Value,
}

pub(super) async fn tools(args: &ToolsArgs, global: &Global, env: &Environment) -> Result<Exit> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let config = &loaded.config;
    let info = match args.model.as_ref().or(config.model.as_ref()) {
        Some(name) => Some(Models::new(config, env).find(name)?),
        None => None,
    };
    let (permissions, _) = wiring::permissions::permissions(&loaded.layers, loaded.trust, &root, env);
    let found = wiring::modes::find(&root, loaded.trust, env);
    let registry = wiring::tools_by_hand(config, env, &root, info.as_ref(), &permissions, &found.modes).await?;
    match &args.command {
        None => list(&registry, args.json)?,
        Some(ToolsCommand::Show { name }) => show(&registry, find(&registry, name)?, args.json)?,
        Some(ToolsCommand::Run { name, input, yes }) => {
            find(&registry, name)?;
            let policy = Policy {
                level: config.permission.unwrap_or(Permission::Workspace).into(),
                permissions,
            };
            let mode = found.choose(config.mode.as_deref().unwrap_or("code"), &[])?;
            let rules = Rules {
                policy,
                mode,
                yes: *yes,
            };
            run(&registry, name, input, rules, info.as_ref(), args.json).await?;
        }
    }
    Ok(Exit::Done)
}

fn find<'a>(registry: &'a Registry, name: &str) -> Result<&'a Arc<dyn DynTool>> {
    registry.get(name).ok_or_else(|| {
        let failure = Failure::usage(format!("there is no tool `{name}`"));
        match toolbox::otherwise(name) {
            Some(what) => failure.hint(format!("in its place there is {what}")),
            None => failure.hint("`hew tools` lists them with their other names"),
        }
    })
}

fn row<'a>(registry: &Registry, tool: &'a dyn DynTool) -> Row<'a> {
    let spec = tool.spec();
    let aliases = registry.aliases_of(&spec.name).collect();
    let told = json!({"name": spec.name, "description": spec.description, "input_schema": spec.input_schema});
    Row {
        name: &spec.name,
        listed: !registry.is_deferred(&spec.name),
        tokens: told.to_string().len().div_ceil(BYTES_PER_TOKEN),
        read_only: tool.effect() == Effect::Reads,
        aliases,
        description: &spec.description,
        input_schema: &spec.input_schema,
    }
}

fn list(registry: &Registry, json: bool) -> Result<()> {
    let mut rows: Vec<Row<'_>> = registry.iter().map(|tool| row(registry, tool.as_ref())).collect();
    rows.sort_by_key(|row| (!row.listed, row.name));
    if json {
        return output::deliver(&output::pretty(&rows)?);
    }
    let columns = [
        ("tool", Align::Left),
        ("told", Align::Left),
        ("tokens", Align::Right),
        ("other names", Align::Left),
    ];
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let told = if row.listed { "always" } else { "when asked" };
            vec![
                row.name.into(),
                told.into(),
                row.tokens.to_string(),
                row.aliases.join(", "),
            ]
        })
        .collect();
    output::deliver(&table::render(&columns, &lines))?;
    let tokens = |listed: bool| -> usize {
        rows.iter()
            .filter(|row| row.listed == listed)
            .map(|row| row.tokens)
            .sum()
    };
    output::complain(&format!(
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
        return output::deliver(&output::pretty(&row)?);
    }
    let told = if row.listed {
        "in every request"
    } else {
        "when it looks for it"
    };
    let mut text = format!("{}\n\n{}\n\n", row.name, row.description);
    if !row.aliases.is_empty() {
        text.push_str(&format!("other names: {}\n", row.aliases.join(", ")));
    }
    text.push_str(&format!(
        "the model is told of it {told}, in about {} tokens\n\n",
        row.tokens
    ));
    text.push_str(&output::pretty(row.input_schema)?);
    output::deliver(&text)
}

async fn run(
    registry: &Registry,
    name: &str,
    input: &str,
    rules: Rules,
    info: Option<&Info>,
    json: bool,
) -> Result<()> {
    let input = parse(input)?;
    let Some((tool, inner)) = registry.serving(name, &input) else {
        return Err(Failure::usage(format!("there is no tool `{name}`")));
    };
    let input = inner.unwrap_or(input);
    let actions = tool
        .actions(&input)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let name = tool.spec().name.clone();
    for action in &actions {
        rules.approve(&name, action)?;
    }
    let context = Context {
        level: rules.policy.level,
        desk: Arc::new(ByHand { rules, name }),
        ..Context::alone("by-hand".into(), info.map_or(EVERYTHING, |info| info.features))
    };
    let output = tool.run(input, context).await;
    let output = output.map_err(|error| Failure::failed(error.to_string()))?;
    match json {
        true => output::deliver(&output::pretty(&told(&output))?),
        false => {
            output::deliver(&plain(&output))?;
            for change in &output.changes {
                output::complain(&format!("changed {}\n", change.path.display()));
            }
            Ok(())
        }
    }
}

/// Where nobody names a model, nothing is held back.
const EVERYTHING: Features = Features {
    tools: true,
    parallel_tools: true,
    images: true,
    pdf: true,
    reasoning: false,
    caching: false,
};

fn parse(input: &str) -> Result<Value> {
    let mut text = input.to_owned();
    if input == "-" {
        text.clear();
        std::io::stdin()
            .lock()
            .take(MOST_INPUT)
            .read_to_string(&mut text)
            .map_err(|error| Failure::usage(format!("cannot read the input: {error}")))?;
    }
    match serde_json::from_str(&text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(Failure::usage("the input must be a JSON object").hint("such as '{\"path\": \"README.md\"}'")),
        Err(error) => Err(Failure::usage(format!("the input is not JSON: {error}"))),
    }
}

/// The rules that hold for a model; what they would ask, the person is asked.
struct Rules {
    policy: Policy,
    mode: policy::Mode,
    /// Whether the person has said yes to all questions already.
    yes: bool,
}

impl Rules {
    fn approve(&self, tool: &str, action: &Action) -> Result<()> {
        match self.policy.decide(&self.mode, tool, action) {
            Decision::Allow => Ok(()),
            Decision::Deny { why } => Err(Failure::failed(format!("not allowed: {why}"))),
            Decision::Ask { .. } if self.yes => Ok(()),
            Decision::Ask { why } if ask::somebody_is_there() => {
                match ask::confirm(&format!("{tool} wants {}: {why}; go on?", describe(action))) {
                    true => Ok(()),
                    false => Err(Failure::failed("nothing was done")),
                }
            }
            Decision::Ask { why } => Err(
                Failure::failed(format!("not done: {why}, and nobody is there to be asked")).hint("--yes allows it"),
            ),
        }
    }
}

/// Holds what shows only while a tool runs to the same rules.
struct ByHand {
    rules: Rules,
    name: String,
}

impl Desk for ByHand {
    fn permit(&self, action: Action) -> BoxFuture<'static, std::result::Result<(), tool::Error>> {
        let said = self.rules.approve(&self.name, &action);
        async move { said.map_err(|failure| tool::Error::Failed(failure.what)) }.boxed()
    }

    fn ask(&self, inquiry: Inquiry) -> BoxFuture<'static, std::result::Result<String, tool::Error>> {
        tool::Nobody.ask(inquiry)
    }

    fn delegate(&self, task: Task) -> BoxFuture<'static, std::result::Result<Report, tool::Error>> {
        tool::Nobody.delegate(task)
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

fn told(output: &Output) -> Value {
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
