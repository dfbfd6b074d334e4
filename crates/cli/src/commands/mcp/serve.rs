//! `hew mcp serve`: hew's tools and tasks for other agents.

use super::super::{warn, with_set};
use super::load;
use crate::args::{GlobalArgs, McpServeArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use agent::{Approvals, Previews};
use host::project_context::load_modes;
use host::sessions::{find, open_store};
use host::{
    ClientServices, ModelOrigin, RunningSession, SessionProject, SessionRef, SessionRequest, SessionResources,
    permissions,
};
use policy::Policy;
use server::mcp::{McpService, McpSession, OpenSessionError, SessionOrder};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::SqliteStore;
use tokio::sync::mpsc;
use tool::ToolSet;

/// The maximum number of tasks that wait to be started.
const MAX_QUEUED: usize = 16;
/// The time limit for closing sessions at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn serve(args: &McpServeArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let (permissions, _) = permissions::load(&loaded.layers, loaded.trust, &root, env);
    let found = load_modes(&root, loaded.trust, env);
    let mode = found.choose(&loaded.config.mode, &[])?;
    let tools = host::tools::manual_tools(&loaded.config, env, &root, None, &permissions, &found.modes).await?;
    let offered: BTreeSet<String> = toolbox::names_in(ToolSet::McpServer)
        .into_iter()
        .filter_map(|name| Some(tools.get(name)?.spec().name.clone()))
        .collect();
    let (sender, mut orders) = mpsc::channel(MAX_QUEUED);
    let served = McpService {
        tools,
        offered,
        policy: Policy {
            level: loaded.config.permission.into(),
            permissions,
        },
        mode,
        sessions: (!args.no_tasks).then_some(sender),
    };
    let mut serving = Box::pin(server::mcp::serve(served, tokio::io::stdin(), tokio::io::stdout()));
    // Unbounded, because `Drop` cannot wait; it has at most one entry per session.
    let (ended, mut ended_sessions) = mpsc::unbounded_channel::<SessionResources>();
    let mut store = None;
    loop {
        tokio::select! {
            result = &mut serving => {
                drop((serving, ended));
                let close_all = async {
                    while let Some(session) = ended_sessions.recv().await {
                        warn(&session.close().await);
                    }
                };
                // A session that does not close within the limit can be resumed from its log.
                drop(tokio::time::timeout(CLOSE_TIMEOUT, close_all).await);
                result.map_err(|error| Failure::failed(error.to_string()))?;
                return Ok(ExitStatus::Done);
            }
            Some(session) = ended_sessions.recv() => drop(tokio::spawn(SessionResources::close(session))),
            Some(order) = orders.recv() => {
                let SessionOrder { mode, resume, reply } = order;
                let session = open(mode, resume, &mut store, &ended, &root, global, env).await;
                // The client has disconnected.
                drop(reply.send(session.map_err(|failure| OpenSessionError(failure.message))));
            }
        }
    }
}

async fn open(
    mode: Option<String>,
    resume: Option<String>,
    store: &mut Option<Arc<SqliteStore>>,
    ended: &mpsc::UnboundedSender<SessionResources>,
    root: &Path,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<McpSession> {
    let store = match store {
        Some(store) => Arc::clone(store),
        None => Arc::clone(store.insert(open_store(env)?)),
    };
    let session = match resume {
        Some(id) => SessionRef::Existing(Box::new(find(&store, Some(&id), root).await?)),
        None => SessionRef::New,
    };
    let flags = with_set(Vec::new(), global)?;
    let mut project = SessionProject::load(session, global.cwd.as_deref(), ModelOrigin::Configured, flags, env)?;
    project.loaded.config.mode = mode.unwrap_or(project.loaded.config.mode);
    let RunningSession {
        commands,
        events,
        resources,
        ..
    } = host::open(SessionRequest {
        project,
        env,
        store,
        approvals: Approvals::Ask,
        previews: Previews::Skip,
        output_schema: None,
        files: &[],
        model_origin: ModelOrigin::Configured,
        client: ClientServices::default(),
        prompt_change: Default::default(),
    })
    .await?;
    Ok(McpSession {
        id: resources.id.to_string(),
        commands,
        events,
        keep: Box::new(SendOnDrop(Some(resources), ended.clone())),
    })
}

/// Returns the resources of a session when the server drops it, so that they are closed.
struct SendOnDrop(Option<SessionResources>, mpsc::UnboundedSender<SessionResources>);

impl Drop for SendOnDrop {
    fn drop(&mut self) {
        // Without a receiver the process is about to end.
        if let Some(resources) = self.0.take() {
            drop(self.1.send(resources));
        }
    }
}
