//! The editor's terminals, in which commands run that nothing confines.

use std::sync::OnceLock;
use std::time::Duration;

use acp::Peer;
use acp::schema::{
    CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, ReleaseTerminalRequest, SessionNotification,
    SessionUpdate, Terminal, TerminalExitStatus, TerminalOutputRequest, TerminalOutputResponse, ToolCallContent,
    ToolCallUpdate, ToolCallUpdateFields, WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};
use futures::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use tool::{Error, TerminalEnd, TerminalOrder};

/// A command that is told to end gets so long to do it.
const GRACE: Duration = Duration::from_secs(5);

/// The terminals of an editor, for one session.
pub(super) struct Terminals {
    pub(super) peer: Peer,
    /// The session, once it has a name.
    pub(super) session: OnceLock<String>,
}

impl tool::Terminals for Terminals {
    fn run(&self, order: TerminalOrder) -> BoxFuture<'static, Result<TerminalEnd, Error>> {
        let (peer, session) = (self.peer.clone(), self.session.get().cloned().unwrap_or_default());
        async move {
            let failed = |error: acp::schema::Error| Error::Failed(format!("the editor's terminal: {error}"));
            let create = CreateTerminalRequest::new(session.clone(), "sh")
                .args(vec!["-c".into(), order.command.clone()])
                .cwd(order.cwd.clone())
                .output_byte_limit(order.most);
            let created: CreateTerminalResponse = peer.ask("terminal/create", &create).await.map_err(failed)?;
            let open = Open {
                peer: peer.clone(),
                session: session.clone(),
                terminal: created.terminal_id.0.to_string(),
            };
            let shown = ToolCallContent::Terminal(Terminal::new(open.terminal.clone()));
            let update = ToolCallUpdate::new(order.call.to_string(), ToolCallUpdateFields::new().content(vec![shown]));
            let update = SessionNotification::new(session.clone(), SessionUpdate::ToolCallUpdate(update));
            peer.tell("session/update", &update).await.map_err(failed)?;
            let wait = WaitForTerminalExitRequest::new(session.clone(), open.terminal.clone());
            let waiting = peer.ask::<WaitForTerminalExitResponse>("terminal/wait_for_exit", &wait);
            let ended = match order.limit {
                None => Some(waiting.await),
                Some(limit) => tokio::time::timeout(limit, waiting).await.ok(),
            };
            let status = match ended {
                Some(ended) => Some(ended.map_err(failed)?.exit_status),
                None => {
                    open.kill().await;
                    None
                }
            };
            let output = TerminalOutputRequest::new(session, open.terminal.clone());
            let output: TerminalOutputResponse = peer.ask("terminal/output", &output).await.map_err(failed)?;
            Ok(TerminalEnd {
                how: how(status.as_ref(), order.limit),
                ok: status.is_some_and(|status| status.exit_code == Some(0)),
                output: output.output,
                cut: output.truncated,
            })
        }
        .boxed()
    }
}

/// A terminal of ours. Dropping it ends what runs there and gives it back.
struct Open {
    peer: Peer,
    session: String,
    terminal: String,
}

impl Open {
    async fn kill(&self) {
        let kill = KillTerminalRequest::new(self.session.clone(), self.terminal.clone());
        let killed = self.peer.ask::<Value>("terminal/kill", &kill);
        // The terminal is given back in any case, which ends it too.
        drop(tokio::time::timeout(GRACE, killed).await);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let release = ReleaseTerminalRequest::new(self.session.clone(), self.terminal.clone());
        let peer = self.peer.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let released = peer.ask::<Value>("terminal/release", &release);
                drop(tokio::time::timeout(GRACE, released).await);
            });
        }
    }
}

fn how(status: Option<&TerminalExitStatus>, limit: Option<Duration>) -> String {
    match status {
        None => format!("stopped after {} s", limit.unwrap_or_default().as_secs()),
        Some(status) => match (status.exit_code, &status.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "ended in an unknown way".into(),
        },
    }
}
