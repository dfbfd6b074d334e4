//! `hew agents`: the configured agents and their capabilities.

use super::load;
use crate::args::{AgentsCommand as Args, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use acp::{AcpAgents, AgentError, AgentInfo};
use futures::StreamExt as _;
use host::{acp_agents, permissions};
use model::{Chunk, Message, Request};
use policy::AccessLevel;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) async fn agents(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let (permissions, _) = permissions::load(&loaded.layers, loaded.trust, &root, env);
    let workspace = host::project_context::open_workspace(&root, &permissions)?;
    let (found, problems) = acp_agents::load(&loaded.config, env, &root, &workspace, None);
    for problem in problems {
        output::print_stderr(&format!("warning: {problem}\n"));
    }
    match args {
        Args::List { json } => list(*json, &loaded.config),
        Args::Test { name, prompt, json } => {
            let none = || Failure::usage("no agents are configured").hint("see docs/acp.md");
            let found = found.ok_or_else(none)?;
            test(&found, name.as_deref(), prompt.as_deref(), *json).await
        }
    }
}

fn list(json: bool, config: &crate::config::Config) -> Result<ExitStatus> {
    if json {
        let all = config.agents.iter().map(|(name, entry)| {
            json!({"name": name, "command": entry.command, "args": entry.args, "disabled": entry.disabled})
        });
        output::print_checked(&output::pretty(&all.collect::<Vec<Value>>())?)?;
        return Ok(ExitStatus::Done);
    }
    if config.agents.is_empty() {
        output::print_checked("no agents are configured; see docs/acp.md\n")?;
    }
    for (name, entry) in &config.agents {
        let words = std::iter::once(&entry.command).chain(&entry.args);
        let line = words.map(String::as_str).collect::<Vec<_>>().join(" ");
        let off = if entry.disabled { "  (disabled)" } else { "" };
        output::print_checked(&format!("{name}  {line}{off}\n"))?;
    }
    Ok(ExitStatus::Done)
}

async fn test(agents: &AcpAgents, name: Option<&str>, prompt: Option<&str>, json: bool) -> Result<ExitStatus> {
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => agents.names(),
    };
    let (mut all, mut well) = (Vec::new(), true);
    for name in names {
        let about = agents.test(&name).await;
        let answer = match (&about, prompt) {
            (Ok(_), Some(prompt)) => Some(ask(agents, &name, prompt).await),
            (Ok(_) | Err(_), _) => None,
        };
        well = well && about.is_ok() && !matches!(answer, Some(Err(_)));
        match json {
            true => all.push(agent_json(&name, &about, answer.as_ref())),
            false => output::print_checked(&agent_text(&name, &about, answer.as_ref()))?,
        }
    }
    if json {
        output::print_checked(&output::pretty(&all)?)?;
    }
    Ok(if well { ExitStatus::Done } else { ExitStatus::Failed })
}

/// Sends a prompt to an agent. Actions that need approval are denied.
async fn ask(agents: &AcpAgents, name: &str, prompt: &str) -> Result<String> {
    let opened = agents.open(name, Arc::new(tool::DetachedHost), AccessLevel::ReadOnly);
    let model = opened.map_err(|error| Failure::failed(error.to_string()))?;
    let failed = |error: model::Error| Failure::failed(error.to_string());
    let request = Request {
        messages: Arc::new(vec![Arc::new(Message::user(prompt))]),
        ..Request::default()
    };
    let mut chunks = model.stream(request).await.map_err(failed)?;
    let mut answer = String::new();
    while let Some(chunk) = chunks.next().await {
        if let Chunk::Text(text) = chunk.map_err(failed)? {
            answer.push_str(&text);
        }
    }
    Ok(answer)
}

fn agent_text(name: &str, about: &Result<AgentInfo, AgentError>, answer: Option<&Result<String>>) -> String {
    let mut text = match about {
        Ok(about) => {
            let mut text = format!("{name}: {}\n", about.name);
            if !about.capabilities.is_empty() {
                text.push_str(&format!("    can: {}\n", about.capabilities.join(", ")));
            }
            if !about.login.is_empty() {
                text.push_str(&format!("    login: {}\n", about.login.join(", ")));
            }
            text
        }
        Err(fault) => format!("{name}: {fault}\n"),
    };
    match answer {
        Some(Ok(answer)) => text.push_str(&format!("    answer: {}\n", answer.trim())),
        Some(Err(why)) => text.push_str(&format!("    {why}\n")),
        None => {}
    }
    text
}

fn agent_json(name: &str, about: &Result<AgentInfo, AgentError>, answer: Option<&Result<String>>) -> Value {
    let answered = answer.and_then(|answer| answer.as_ref().ok());
    let failed = match (about, answer) {
        (Err(fault), _) => Some(fault.to_string()),
        (Ok(_), Some(Err(failure))) => Some(failure.message.clone()),
        (Ok(_), Some(Ok(_)) | None) => None,
    };
    let about = about.as_ref().ok();
    json!({
        "name": name,
        "agent": about.map(|about| &about.name),
        "can": about.map(|about| &about.capabilities),
        "login": about.map(|about| &about.login),
        "answer": answered,
        "error": failed,
    })
}
