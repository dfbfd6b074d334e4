//! `hew`: a coding agent in one binary.

mod args;
mod atomic;
mod commands;
mod config;
#[cfg(test)]
mod docs;
mod environment;
mod exit;
mod failure;
mod grants;
mod hooks;
mod input;
mod keys;
mod log;
mod mcp_shelf;
mod models;
mod nearest;
mod output;
mod places;
mod project;
mod trust;
mod wiring;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The process between hew and a command it runs is hew too.
    if let Some(code) = sandbox::guard() {
        return code;
    }
    // Asked often by scripts and never worth building the whole command line for.
    if let Some("--version" | "-V") = std::env::args_os().nth(1).as_deref().and_then(|arg| arg.to_str()) {
        output::print(&format!("hew {}\n", env!("CARGO_PKG_VERSION")));
        return ExitCode::SUCCESS;
    }
    match args::parse() {
        Ok(hew) => commands::dispatch(hew).into(),
        Err(failure) => {
            failure.print();
            failure.exit.into()
        }
    }
}
