//! A session line by line, with the commands of this binary.

use super::{load_silently, run, run_command};
use crate::args::{self, GlobalArgs, OpenArgs, RunArgs, TurnArgs};
use crate::config::LoadedConfig;
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::project;
use headless::line_session::{LineChoices, LineCommands, LineSession, LineStart};
use std::path::{Path, PathBuf};

/// Runs line by line until the end of the input; all lines belong to one session.
pub(super) async fn talk(args: OpenArgs, turn: TurnArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let root = project::root(global.cwd.as_deref(), env)?;
    let session = LineSession {
        commands: BinaryCommands {
            turn: turn.clone(),
            root: &root,
            global,
            env,
        },
        version: env!("CARGO_PKG_VERSION"),
        session: args.session,
        files: turn.file,
        allowed_files: &turn.files,
        choices: LineChoices {
            model: turn.model,
            mode: turn.mode,
            effort: turn.effort,
        },
        root: &root,
        env,
    };
    let start = match args.continue_last {
        true => LineStart::Newest,
        false => LineStart::Given,
    };
    session.run(start, args.prompt).await
}

struct BinaryCommands<'a> {
    turn: TurnArgs,
    root: &'a Path,
    global: &'a GlobalArgs,
    env: &'a ProcessEnv,
}

impl BinaryCommands<'_> {
    fn turn(&self, choices: &LineChoices, file: Vec<PathBuf>) -> TurnArgs {
        TurnArgs {
            model: choices.model.clone(),
            mode: choices.mode.clone(),
            effort: choices.effort,
            file,
            ..self.turn.clone()
        }
    }
}

impl LineCommands for BinaryCommands<'_> {
    async fn run_task(
        &self,
        prompt: Vec<String>,
        files: Vec<PathBuf>,
        session: Option<String>,
        choices: &LineChoices,
    ) -> Result<()> {
        let task = RunArgs {
            prompt,
            session,
            turn: self.turn(choices, files),
            ..RunArgs::default()
        };
        run::run(task, self.global, self.env).await.map(drop)
    }

    fn run_command(&self, words: &[&str]) -> Result<()> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let mut parsed = args::parse_args(words).map_err(|error| Failure::usage(error.to_string()))?;
        parsed.global = GlobalArgs {
            log: None,
            ..self.global.clone()
        };
        // A command has its own runtime, which needs its own thread.
        let ended = std::thread::scope(|scope| scope.spawn(|| run_command(parsed, self.env)).join());
        match ended {
            Ok(ended) => ended.map(drop),
            Err(_) => Err(Failure::failed("the command crashed; this is a bug in hew")),
        }
    }

    fn load_config(&self, choices: &LineChoices) -> Result<LoadedConfig> {
        let layers = self.turn(choices, Vec::new()).layers();
        load_silently(self.root.to_owned(), self.global, self.env, layers)
    }
}
