//! `hew acp`: sessions for an editor that speaks the Agent Client Protocol.

use crate::args::{Acp, Global};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output;
use crate::wiring::acp::Home;
use std::io::IsTerminal as _;
use std::sync::Arc;
use tokio::runtime::{Builder, Handle, Runtime};

pub(super) fn acp(args: Acp, global: &Global, env: &Environment) -> Result<Exit> {
    if std::io::stdin().is_terminal() {
        output::complain(
            "hew acp speaks JSON-RPC with an editor on stdin and stdout; docs/acp.md says how to set one up\n",
        );
    }
    let cannot = |error: std::io::Error| Failure::failed(format!("cannot start: {error}"));
    let (own, wire) = (runtime().map_err(cannot)?, runtime().map_err(cannot)?);
    // A tool may wait for the editor while it blocks its thread, and another carries the conversation meanwhile.
    let there = wire.handle().clone();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let carrier = std::thread::Builder::new().name("editor".into()).spawn(move || {
        // It never comes: the other half is dropped in the end.
        drop(wire.block_on(ended));
        // A read of the standard input cannot be taken back.
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
    Builder::new_current_thread().enable_all().build()
}

async fn serve(args: Acp, global: &Global, env: &Environment, wire: &Handle) -> Result<Exit> {
    let home = Home::new(args, global.clone(), env.clone())?;
    server::acp::serve(Arc::new(home), wire, tokio::io::stdin(), tokio::io::stdout()).await;
    Ok(Exit::Done)
}
