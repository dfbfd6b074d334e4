//! `hew acp`: sessions for an editor over the Agent Client Protocol.

use super::session_flags;
use crate::args::{AcpArgs, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use backends::AcpBackend;
use std::io::IsTerminal as _;
use std::sync::Arc;
use tokio::runtime::{Builder, Handle, Runtime};

pub(super) fn acp(args: AcpArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    if std::io::stdin().is_terminal() {
        output::print_stderr(
            "hew acp exchanges JSON-RPC messages with an editor on stdin and stdout; see docs/acp.md\n",
        );
    }
    let cannot = |error: std::io::Error| Failure::failed(format!("cannot start: {error}"));
    let (own, wire) = (runtime().map_err(cannot)?, runtime().map_err(cannot)?);
    // A tool may block its thread while it waits for the editor; another thread handles the connection meanwhile.
    let there = wire.handle().clone();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let carrier = std::thread::Builder::new().name("editor".into()).spawn(move || {
        // The message is never sent: the sender is dropped at the end.
        drop(wire.block_on(ended));
        // A read of the standard input cannot be cancelled.
        wire.shutdown_background();
    });
    let carrier = carrier.map_err(cannot)?;
    let exit = own.block_on(serve(args, global, env, &there));
    own.shutdown_background();
    drop(end);
    match carrier.join() {
        Ok(()) => exit,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().event_interval(1).build()
}

async fn serve(args: AcpArgs, global: &GlobalArgs, env: &ProcessEnv, wire: &Handle) -> Result<ExitStatus> {
    let home = AcpBackend::new(session_flags(&args.turn(), global)?, env.clone())?;
    server::acp::serve(Arc::new(home), wire, tokio::io::stdin(), tokio::io::stdout()).await;
    Ok(ExitStatus::Done)
}
