//! Other agents, as the configuration has them.

use super::commands;
use crate::config::Config;
use crate::environment::Environment;
use crate::places;
use ::acp::{Agents, Definition, Files, Place};
use model::Model;
use policy::Level;
use sandbox::Confinement;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use workspace::Workspace;

/// An agent that says nothing for so long is given up, unless the configuration says otherwise.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The agents that are configured, and what is wrong with them; there is nothing where none is.
pub(crate) fn agents(
    config: &Config,
    env: &Environment,
    root: &Path,
    workspace: &Workspace,
    confinement: Option<Confinement>,
) -> (Option<Agents>, Vec<String>) {
    let home = places::home(env);
    let environment = |name: &str| env.get(name).map(str::to_owned);
    let variables = mcp::Variables {
        workspace: root,
        home: home.as_deref(),
        environment: &environment,
    };
    let (mut definitions, mut told) = (Vec::new(), Vec::new());
    for (name, entry) in config.agents.iter().filter(|(_, entry)| !entry.disabled) {
        let expand = |text: &String| mcp::expand(text, &variables);
        let args: Result<Vec<String>, String> = entry.args.iter().map(expand).collect();
        let env = entry.env.iter().map(|(name, text)| Ok((name.clone(), expand(text)?)));
        let env: Result<_, String> = env.collect();
        match (entry.command.is_empty(), args, env) {
            (false, Ok(args), Ok(env)) => definitions.push(Definition {
                name: name.clone(),
                command: entry.command.clone(),
                args,
                env,
                files: match entry.files {
                    Some(false) => Files::Own,
                    Some(true) | None => Files::Ours,
                },
                timeout: entry.timeout.map_or(TIMEOUT, |span| span.0),
            }),
            (true, ..) => told.push(format!("`agents.{name}` has no command")),
            (_, Err(why), _) | (_, _, Err(why)) => told.push(format!("`agents.{name}`: {why}")),
        }
    }
    if definitions.is_empty() {
        return (None, told);
    }
    let place = Place {
        root: root.to_owned(),
        environment: commands::environment(config, env),
        workspace: workspace.clone(),
        confinement,
    };
    (Some(Agents::new(definitions, place)), told)
}

/// The agents, as sessions know them.
pub(super) struct Source(pub(super) Agents);

impl agent::Agents for Source {
    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn open(&self, name: &str, desk: Arc<dyn tool::Desk>, level: Level) -> Result<Arc<dyn Model>, String> {
        self.0.open(name, desk, level).map_err(|fault| fault.to_string())
    }
}
