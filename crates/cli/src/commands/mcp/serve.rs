//! `hew mcp serve`: what hew can do with a project, for other agents.

use super::super::run;
use super::load;
use crate::args::{Global, McpServe};
use crate::config::{Loaded, Permission};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::wiring::{self, Choice, Start, Which, modes, permissions};
use agent::{Approvals, Previews};
use policy::Policy;
use server::mcp::{Order, Served, Session};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use store::Sqlite;
use tokio::sync::mpsc;

/// What others may use: what looks, and what edits.
const OFFERED: &[&str] = &[
    "apply_patch",
    "code_definitions",
    "copy_path",
    "create_directory",
    "definition",
    "delete_path",
    "diagnostics",
    "edit_file",
    "find_path",
    "grep",
    "list_directory",
    "move_path",
    "read_file",
    "references",
    "write_file",
];
/// Tasks that wait to be begun.
const WAITING: usize = 16;

pub(super) async fn serve(args: &McpServe, global: &Global, env: &Environment) -> Result<Exit> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let (permissions, _) = permissions::permissions(&loaded.layers, loaded.trust, &root, env);
    let found = modes::find(&root, loaded.trust, env);
    let mode = found.choose(loaded.config.mode.as_deref().unwrap_or("code"), &[])?;
    let tools = wiring::tools_by_hand(&loaded.config, env, &root, None, &permissions, &found.modes).await?;
    let offered: BTreeSet<String> = OFFERED
        .iter()
        .filter_map(|name| Some(tools.get(name)?.spec().name.clone()))
        .collect();
    let (sender, mut orders) = mpsc::channel(WAITING);
    let served = Served {
        tools,
        offered,
        policy: Policy {
            level: loaded.config.permission.unwrap_or(Permission::Workspace).into(),
            permissions,
        },
        mode,
        sessions: (!args.no_tasks).then_some(sender),
    };
    let serving = server::mcp::serve(served, tokio::io::stdin(), tokio::io::stdout());
    tokio::pin!(serving);
    let mut store = None;
    loop {
        tokio::select! {
            ended = &mut serving => {
                ended.map_err(|error| Failure::failed(error.to_string()))?;
                return Ok(Exit::Done);
            }
            Some(order) = orders.recv() => {
                let Order { mode, resume, reply } = order;
                let session = begin(mode, resume, &mut store, &root, &loaded, env).await;
                // A client that is gone needs no session.
                drop(reply.send(session.map_err(|failure| failure.what)));
            }
        }
    }
}

async fn begin(
    mode: Option<String>,
    resume: Option<String>,
    store: &mut Option<Arc<Sqlite>>,
    root: &Path,
    loaded: &Loaded,
    env: &Environment,
) -> Result<Session> {
    let store = match store {
        Some(store) => Arc::clone(store),
        None => Arc::clone(store.insert(wiring::open_store(env)?)),
    };
    let mut config = loaded.config.clone();
    let which = match resume {
        Some(id) => {
            let meta = run::find(&store, Some(&id), root).await?;
            config.model = Some(meta.model);
            Which::Existing(meta.id)
        }
        None => Which::New,
    };
    config.mode = mode.or(config.mode);
    let started = wiring::start(Start {
        config: &config,
        env,
        root,
        store,
        which,
        approvals: Approvals::Ask,
        previews: Previews::Skip,
        output_schema: None,
        layers: &loaded.layers,
        trust: loaded.trust,
        files: &[],
        model: Choice::Configured,
        client: wiring::acp::Client::default(),
    })
    .await?;
    let wiring::Started { handle, id, lease, .. } = started;
    Ok(Session {
        id: id.to_string(),
        commands: handle.commands,
        events: handle.events,
        keep: Box::new((lease, handle.task)),
    })
}
