//! Runs the user's programs.

use crate::environment::ProcessEnv;
use sandbox::{CaptureCap, ProcessRequest, ProcessStatus, Program};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// The time limit of a program: the user may have to unlock a keyring first.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Why a program failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// It could not be started.
    #[error("{0}")]
    NotStarted(String),
    /// It exited with a code other than 0.
    #[error("exit code {0}")]
    ExitCode(i32),
    /// A signal ended it.
    #[error("ended by signal {0}")]
    Signal(i32),
    /// It exceeded the time limit.
    #[error("no output within {} seconds", TIMEOUT.as_secs())]
    TimedOut,
    /// It ended for an unknown reason.
    #[error("it ended for an unknown reason")]
    Unknown,
}

/// All variables of the user, for programs that the user runs. They may need secrets, such as a token for a password
/// manager.
pub fn user_environment(env: &ProcessEnv) -> sandbox::ProcessEnvironment {
    let names: Vec<&String> = env.all().keys().collect();
    let variables = env
        .all()
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    sandbox::ProcessEnvironment::scrubbed(variables, &[] as &[&str], &names)
}

/// Runs a program with additional variables and returns its output.
pub async fn run_program(
    program: &str,
    args: &[String],
    env: &ProcessEnv,
    extra: &[(&str, &str)],
) -> Result<String, ProgramError> {
    let mut environment = user_environment(env);
    for (name, value) in extra {
        environment = environment.with(*name, *value);
    }
    let request = ProcessRequest {
        program: Program::Exec {
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
        },
        cwd: env.cwd.clone().unwrap_or_else(|| Path::new("/").into()),
        environment,
        timeout: Some(TIMEOUT),
        grace: ProcessRequest::GRACE,
        output: CaptureCap {
            head: 16 * 1024,
            tail: 0,
        },
        terminal: None,
    };
    let mut process = sandbox::spawn(&request).map_err(|error| ProgramError::NotStarted(error.to_string()))?;
    let exit = process.exit().await;
    match exit.status {
        ProcessStatus::Exited(0) => Ok(exit.output.head),
        ProcessStatus::Exited(code) => Err(ProgramError::ExitCode(code)),
        ProcessStatus::Signalled(signal) => Err(ProgramError::Signal(signal)),
        ProcessStatus::TimedOut => Err(ProgramError::TimedOut),
        ProcessStatus::Unknown => Err(ProgramError::Unknown),
    }
}
