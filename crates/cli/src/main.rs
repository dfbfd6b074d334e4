//! `hew`: a coding agent in one binary.

mod args;
mod commands;
#[cfg(test)]
mod docs;
mod input;

use headless::exit::ExitStatus;
use headless::{exit, output};
use host::{
    atomic, config, environment, failure, grants, keys, log, mcp_cache, models, nearest, paths, project, trust,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    // The guard process of commands is the same binary.
    if let Some(code) = sandbox::guard() {
        return code;
    }
    // Scripts call `--version` often, so the command line definition is not built for it.
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
