//! `hew run`: runs a task until it is done.

use super::{warn, with_set};
use crate::args::{GlobalArgs, RunArgs, TurnArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::{input, output, project};
use agent::{Approvals, Previews};
use headless::driver::{self, RunReporting};
use headless::structured_answer::AnswerSchema;
use headless::terminal_answers;
use host::sessions::{find, open_store, resume_command};
use host::system_prompt::PromptChange;
use host::{ClientServices, SessionProject, SessionRef, SessionRequest};
use session::{Command, Delivery, SessionMeta};
use std::sync::Arc;
use store::SqliteStore;

pub(super) async fn run(args: RunArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    // Invalid arguments are reported before anything is read or written.
    let expected = args.turn.output_schema.as_deref().map(AnswerSchema::read).transpose()?;
    let root = project::root(global.cwd.as_deref(), env)?;
    if args.session.is_some() || args.continue_last {
        let store = open_store(env)?;
        let meta = find(&store, args.session.as_deref(), &root).await?;
        let command = prompt(&args.prompt, &args.turn)?.ok_or_else(missing_task)?;
        return resume(meta, store, command, args.turn, expected, global, env).await;
    }
    if !args.turn.json && terminal_answers::is_interactive() {
        super::trust::ask_first(&root, env)?;
    }
    let project = load(SessionRef::New, &args.turn, global, env)?;
    let command = prompt(&args.prompt, &args.turn)?.ok_or_else(missing_task)?;
    let expected = (expected, PromptChange::default());
    open_and_drive(project, open_store(env)?, command, args.turn, expected, env).await
}

/// Resumes a session, in its own project and with its own model unless others are given.
pub(super) async fn resume(
    meta: SessionMeta,
    store: Arc<SqliteStore>,
    command: Command,
    turn: TurnArgs,
    expected: Option<AnswerSchema>,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    let project = load(SessionRef::Existing(Box::new(meta)), &turn, global, env)?;
    open_and_drive(project, store, command, turn, (expected, PromptChange::default()), env).await
}

/// Resumes a session with a change to its system prompt.
pub(super) async fn resume_changed(
    meta: SessionMeta,
    store: Arc<SqliteStore>,
    command: Command,
    turn: TurnArgs,
    change: PromptChange,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    let project = load(SessionRef::Existing(Box::new(meta)), &turn, global, env)?;
    open_and_drive(project, store, command, turn, (None, change), env).await
}

fn load(session: SessionRef, turn: &TurnArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<SessionProject> {
    let flags = with_set(turn.layers(), global)?;
    let project = SessionProject::load(session, global.cwd.as_deref(), turn.model_origin(), flags, env)?;
    warn(&project.loaded.warnings);
    Ok(project)
}

/// The prompt as a command; `None` without one.
pub(super) fn prompt(words: &[String], turn: &TurnArgs) -> Result<Option<Command>> {
    Ok(input::message(words, &turn.file)?.map(|message| Command::Prompt {
        message,
        delivery: Delivery::Queue,
    }))
}

fn missing_task() -> Failure {
    Failure::usage("there is no task").hint("describe it: hew run \"…\", or pipe it in")
}

async fn open_and_drive(
    project: SessionProject,
    store: Arc<SqliteStore>,
    command: Command,
    turn: TurnArgs,
    (expected, prompt_change): (Option<AnswerSchema>, PromptChange),
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    let resumed = matches!(project.session, SessionRef::Existing(_));
    let root = project.root.clone();
    if let Some(warning) = project::broad_project_warning(&root, project.loaded.config.permission, env) {
        output::print_stderr(&format!("warning: {warning}; -C names another directory\n"));
    }
    let command = super::slash_commands::expand_built_in(command, &project, env)?;
    let session = host::open(SessionRequest {
        project,
        env,
        store,
        approvals: match !turn.json && terminal_answers::is_interactive() {
            true => Approvals::Ask,
            false => Approvals::Deny,
        },
        previews: match turn.json {
            true => Previews::Show,
            false => Previews::Skip,
        },
        output_schema: expected.as_ref().map(AnswerSchema::for_model),
        files: &turn.files,
        model_origin: turn.model_origin(),
        client: ClientServices::default(),
        prompt_change,
    })
    .await?;
    if session.complete && command == Command::Continue {
        return Err(
            Failure::usage("the last turn of this session is finished").hint(format!(
                "describe the next task: {} \"…\"",
                resume_command(session.resources.id)
            )),
        );
    }
    let reporting = RunReporting {
        json: turn.json,
        quiet: turn.quiet,
        resumed,
        root: &root,
        prefix: "",
    };
    let servers = session.resources.mcp_servers.as_ref();
    let command = host::mcp_servers::expand_prompt_command(servers, command).await?;
    driver::drive(session, command, expected, &reporting, env).await
}
