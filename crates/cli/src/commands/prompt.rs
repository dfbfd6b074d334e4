//! `hew prompt`: shows what a model is told.

use super::ledger::{self, Form};
use super::load;
use crate::args::{Global, Prompt as Args, PromptShow};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Result;
use crate::models::Models;
use crate::output;
use crate::wiring;
use model::{Info, Request};
use prompt::tokens::{Exact, Family};
use prompt::{Frame, Kept, Rendered, Scene};
use serde_json::json;
use toolbox::JobsView;

pub(super) async fn prompt(args: &Args, global: &Global, env: &Environment) -> Result<Exit> {
    match args {
        Args::Show(args) => match &args.request {
            Some(request) => {
                let form = if args.json { Form::Json } else { Form::Text };
                ledger::show(request, form, global, env).await
            }
            None => show(args, global, env).await,
        },
        Args::Explain(args) => ledger::explain(args, global, env).await,
        Args::Diff(args) => ledger::diff(args, global, env).await,
    }
}

/// What would be sent now, without a session.
async fn show(args: &PromptShow, global: &Global, env: &Environment) -> Result<Exit> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let config = &loaded.config;
    let models = Models::new(config, env);
    let name = match args.model.as_ref().or(config.model.as_ref()) {
        Some(name) => name.clone(),
        None => models.default_name().await?,
    };
    let info = models.find(&name)?;
    let found = wiring::modes::find(&root, loaded.trust, env);
    let mode = args.mode.as_deref().or(config.mode.as_deref()).unwrap_or("code");
    let mode = found.choose(mode, &[])?;
    let (permissions, _) = wiring::permissions::permissions(&loaded.layers, loaded.trust, &root, env);
    let tools = wiring::tools_for(config, env, &root, &info, &permissions, &found.modes).await?;
    let workspace = wiring::open_workspace(&root, &permissions)?;
    let around = wiring::around(config, loaded.trust, &workspace, JobsView::default(), env);
    let own: Vec<_> = tools.deferred().collect();
    let further: Vec<&str> = own.iter().map(|tool| tool.spec().name.as_str()).collect();
    let listed = tools.specs();
    let scene = Scene {
        mode: &mode,
        model: &info,
        listed: &listed,
        further: &further,
    };
    let place = wiring::mcp::Place {
        config,
        layers: &loaded.layers,
        root: &root,
        trust: loaded.trust,
        env,
        further: &[],
    };
    let servers = wiring::mcp::definitions(place).0.into_iter().filter(|it| !it.disabled);
    let servers: Vec<String> = servers.map(|server| server.name).collect();
    let rendered = wiring::system::preview(&scene, &around, &workspace, &found.modes, servers, loaded.trust, env);
    for problem in &rendered.problems {
        output::complain(&format!("warning: {problem}\n"));
    }
    let frame = Frame {
        tools: listed.clone(),
        system: rendered.blocks.clone(),
        protocol: scene.protocol(),
        ..Frame::default()
    };
    let request = prompt::assemble(&frame, &[], &mut Kept::default()).request;
    match args.json {
        true => output::deliver(&output::pretty(&as_json(
            &request, &rendered, &info, &mode.name, &scene,
        ))?)?,
        false => {
            output::deliver(&as_text(&request))?;
            output::complain(&summary(&request, &rendered, &info, &mode.name));
        }
    }
    Ok(Exit::Done)
}

fn as_json(request: &Request, rendered: &Rendered, info: &Info, mode: &str, scene: &Scene<'_>) -> serde_json::Value {
    let counted = Counted::of(request, rendered, info);
    let parts: Vec<_> = counted
        .parts
        .iter()
        .map(|(name, tokens)| json!({"name": name, "tokens": tokens}))
        .collect();
    json!({
        "model": info.name(),
        "mode": mode,
        "protocol": scene.protocol().name(),
        "family": prompt::family(&info.id).map(|family| family.name),
        "tokenizer": counted.by,
        "tokens": counted.system + counted.tools,
        "sections": parts,
        "system": request.system,
        "tools": request.tools.iter().collect::<Vec<_>>(),
    })
}

fn as_text(request: &Request) -> String {
    let mut text = request.system.join("\n\n");
    text.push('\n');
    for tool in request.tools.iter() {
        text.push_str(&format!(
            "\n## {}\n{}\n{}\n",
            tool.name, tool.description, tool.input_schema
        ));
    }
    text
}

/// How many tokens something has.
struct Counted {
    /// The tokenizer, where it is public: then it is exact.
    by: Option<&'static str>,
    system: u64,
    tools: u64,
    /// Sections of the system prompt.
    parts: Vec<(String, u64)>,
}

impl Counted {
    fn of(request: &Request, rendered: &Rendered, info: &Info) -> Self {
        let family = Family::of(info);
        let exact = Exact::load(family);
        let count = |text: &str| match &exact {
            Some(exact) => exact.count(text),
            None => family.estimate(text),
        };
        let system: u64 = request.system.iter().map(|block| count(block)).sum();
        let bytes: usize = rendered.parts.iter().map(|(_, bytes)| bytes).sum();
        let share = |part: usize| system * part as u64 / bytes.max(1) as u64;
        let tools = match request.tools.is_empty() {
            true => 0,
            false => count(&serde_json::to_string(&*request.tools).unwrap_or_default()),
        };
        Counted {
            by: exact.and(family.tokenizer()),
            system,
            tools,
            parts: rendered
                .parts
                .iter()
                .map(|(name, bytes)| (name.to_string(), share(*bytes)))
                .collect(),
        }
    }
}

/// Who is told this, and how much it costs.
fn summary(request: &Request, rendered: &Rendered, info: &Info, mode: &str) -> String {
    let Counted {
        by,
        system,
        tools,
        parts,
    } = Counted::of(request, rendered, info);
    let parts: Vec<String> = parts.iter().map(|(name, tokens)| format!("{name} {tokens}")).collect();
    format!(
        "for {} in mode {mode}: {} {} tokens{}, {system} of them for the system prompt ({}) and {tools} for {} tools\n",
        info.name(),
        if by.is_some() { "exactly" } else { "about" },
        system + tools,
        by.map(|by| format!(" of {by}")).unwrap_or_default(),
        parts.join(", "),
        request.tools.len(),
    )
}
