//! `hew acp`: sessions for an editor that speaks the Agent Client Protocol.

use crate::args::{Acp, Global};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output;
use crate::wiring::acp::Home;
use std::io::IsTerminal as _;
use std::sync::Arc;

/// A tool may wait for the editor while it blocks its thread, and others carry the conversation meanwhile.
const THREADS: usize = 2;

pub(super) fn acp(args: Acp, global: &Global, env: &Environment) -> Result<Exit> {
    if std::io::stdin().is_terminal() {
        output::complain(
            "hew acp speaks JSON-RPC with an editor on stdin and stdout; docs/acp.md says how to set one up\n",
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let exit = runtime.block_on(serve(args, global, env));
    // A read of the standard input cannot be taken back.
    runtime.shutdown_background();
    exit
}

async fn serve(args: Acp, global: &Global, env: &Environment) -> Result<Exit> {
    let home = Home::new(args, global.clone(), env.clone())?;
    server::acp::serve(Arc::new(home), tokio::io::stdin(), tokio::io::stdout()).await;
    Ok(Exit::Done)
}
