//! `hew`: a coding agent in one binary.

mod args;
mod commands;
#[cfg(test)]
mod docs;
mod exit;
mod input;
mod output;

use exit::ExitStatus;
use host::{
    atomic, config, environment, failure, grants, keys, log, mcp_cache, models, nearest, paths, project, trust,
};
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
            output::print_failure(&failure);
            ExitStatus::from(&failure).into()
        }
    }
}
