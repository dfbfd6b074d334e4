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
use prompt::{Frame, Kept, Rendered, Scene};
use serde_json::json;
use toolbox::JobsView;

/// What most tokenizers make of so many bytes is one token.
const BYTES_PER_TOKEN: usize = 4;

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
    let rendered = wiring::system::preview(&scene, &around, &workspace, &found.modes, loaded.trust, env);
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
    let parts: Vec<_> = rendered
        .parts
        .iter()
        .map(|(name, bytes)| json!({"name": name, "tokens": bytes.div_ceil(BYTES_PER_TOKEN)}))
        .collect();
    json!({
        "model": info.name(),
        "mode": mode,
        "protocol": scene.protocol().name(),
        "family": prompt::family(&info.id).map(|family| family.name),
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

/// Who is told this, and about how much it costs.
fn summary(request: &Request, rendered: &Rendered, info: &Info, mode: &str) -> String {
    let tokens = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN);
    let system: usize = request.system.iter().map(|block| block.len()).sum();
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len())
        .sum();
    let parts: Vec<String> = rendered
        .parts
        .iter()
        .map(|(name, bytes)| format!("{name} {}", tokens(*bytes)))
        .collect();
    format!(
        "for {} in mode {mode}: about {} tokens, {} of them for the system prompt ({}) and {} for {} tools\n",
        info.name(),
        tokens(system + tools),
        tokens(system),
        parts.join(", "),
        tokens(tools),
        request.tools.len(),
    )
}
