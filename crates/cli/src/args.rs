//! The command line: one definition for parsing, help, the man page and shell completions.

mod acp;
mod canary;
mod changes;
mod code_search;
mod command_files;
mod eval;
mod help_groups;
mod history;
mod ledger;
mod login;
mod mcp;
mod open;
mod predict;
mod prompt;
mod replay;
mod rules;
mod run;
mod serve;
mod stats;
mod tools;
mod usage_error;

pub(crate) use acp::{AcpArgs, AgentsCommand};
pub(crate) use canary::{CanaryAddArgs, CanaryCommand, CanaryRunArgs};
pub(crate) use changes::ChangesArgs;
pub(crate) use code_search::{IndexCommand, SearchArgs, SessionsSearchArgs};
pub(crate) use command_files::{CommandsArgs, CommandsSubcommand, PromptsCommand, PromptsListArgs};
pub(crate) use eval::EvalArgs;
pub(crate) use history::{DiffArgs, RedoArgs, RestoreArgs, RewindArgs, UndoArgs};
pub(crate) use ledger::{CostArgs, PromptDiffArgs, PromptExplainArgs};
pub(crate) use login::{LoginArgs, LogoutArgs};
pub(crate) use mcp::{McpAddArgs, McpCommand, McpServeArgs};
pub(crate) use open::OpenArgs;
pub(crate) use predict::{PredictArgs, PredictCommand, PredictEvalArgs};
pub(crate) use prompt::{PromptShowArgs, PromptSubcommand};
pub(crate) use replay::ReplayArgs;
pub(crate) use rules::{ModesArgs, PermissionsCommand, PermissionsTestArgs, RuleEffect, TrustArgs};
pub(crate) use run::{ResumeArgs, RunArgs, TurnArgs};
pub(crate) use serve::{ServeArgs, ServeCommand};
pub(crate) use stats::StatsArgs;
pub(crate) use tools::{ToolsArgs, ToolsCommand};

use crate::exit;
use crate::failure::Result;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;

/// A coding agent: reads, edits and runs your project until the task is done
#[derive(Debug, Parser)]
#[command(name = "hew", version, max_term_width = 100, after_help = exit::TABLE)]
#[command(override_usage = "hew [OPTIONS] [\"TASK\"]\n       hew [OPTIONS] <COMMAND>")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(flatten)]
    pub(crate) open: OpenArgs,
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GlobalArgs {
    /// Run in this folder instead of the current one
    #[arg(short = 'C', long, global = true, overrides_with = "cwd", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Set any configuration key for this run, such as `limits.steps=20`
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Write a debug log to this file; it contains no secrets and no conversation text
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
    /// The options of a turn that every command accepts.
    #[arg(skip)]
    pub(crate) turn: TurnArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run a task until it is done
    #[command(after_help = exit::TABLE)]
    Run(Box<RunArgs>),
    /// Resume a session
    #[command(after_help = exit::TABLE)]
    Resume(Box<ResumeArgs>),
    /// Continue a session in a copy; the original stays unchanged
    Fork {
        /// Session id or prefix; by default the newest session of this project
        session: Option<String>,
    },
    /// List, show, export and delete sessions
    Sessions {
        #[command(flatten)]
        list: SessionsListArgs,
        #[command(subcommand)]
        command: Option<SessionsCommand>,
    },
    /// Summarise a session to free space in the model's window
    Compact(CompactArgs),
    /// Apply edits of any format from stdin, all or none
    Apply(ApplyArgs),
    /// Review a session's changes; accept or reject them one by one
    Changes(ChangesArgs),
    /// Undo the file changes of the last turn, including those made by commands
    Undo(UndoArgs),
    /// Redo what `hew undo` reverted
    Redo(RedoArgs),
    /// Show a session's file changes as a patch
    Diff(DiffArgs),
    /// Rewind a session to an earlier message, with or without the files
    Rewind(RewindArgs),
    /// List models with prices and capabilities
    Models(ModelsArgs),
    /// List the model's tools with their token cost; show or run one
    Tools(ToolsArgs),
    /// Show prompts and requests
    Prompt {
        #[command(subcommand)]
        command: PromptSubcommand,
    },
    /// Find code by meaning, words or symbol
    Search(SearchArgs),
    /// Show, build or delete the index of `hew search`
    Index {
        #[command(subcommand)]
        command: Option<IndexCommand>,
    },
    /// Sum up request costs by model, day, session, tool or prompt section
    Cost(CostArgs),
    /// Run hew and other agents on a suite of tasks and compare them
    Eval(Box<EvalArgs>),
    /// Rerun your recorded tasks and detect whether a model or hew got worse
    Canary {
        #[command(subcommand)]
        command: CanaryCommand,
    },
    /// Show statistics: tokens, times, tools, edits and how much of them remained
    Stats(StatsArgs),
    /// Build the requests of a session again, unchanged or with a change, and compare them
    Replay(ReplayArgs),
    /// Show and change the configuration
    Config {
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },
    /// Show, change and test permission rules
    Permissions {
        #[command(subcommand)]
        command: Option<PermissionsCommand>,
    },
    /// Trust a folder: its configuration may then allow actions, select models and run hooks
    Trust(TrustArgs),
    /// List the available modes
    Modes(ModesArgs),
    /// Show the language servers of this folder, or a file's diagnostics
    Lsp(LspArgs),
    /// List or show slash commands
    Commands(CommandsArgs),
    /// Manage saved prompts, for `@rule:NAME` or for every session
    Prompts {
        #[command(flatten)]
        list: PromptsListArgs,
        #[command(subcommand)]
        command: Option<PromptsCommand>,
    },
    /// Serve an editor over the Agent Client Protocol on stdin and stdout
    Acp(AcpArgs),
    /// Predict edits for an editor over the Language Server Protocol on stdin and stdout
    Predict(PredictArgs),
    /// Serve sessions to browsers and programs over HTTP
    Serve(Box<ServeArgs>),
    /// List and test other agents for subtasks
    Agents {
        #[command(subcommand)]
        command: AgentsCommand,
    },
    /// List, add, test and serve MCP servers
    Mcp {
        #[command(subcommand)]
        command: McpCommand,
    },
    /// Store API keys in the system keyring or in a file
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// Sign in to a provider with a subscription instead of an API key
    Login(LoginArgs),
    /// Sign out of a provider and remove its tokens
    Logout(LogoutArgs),
    /// List the providers that you are signed in to
    Accounts {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Check the configuration and whether each provider answers
    Doctor(DoctorArgs),
    /// Run a demo with a scripted model: no key, no network
    Demo(DemoArgs),
    /// Print the JSON schema of `hew run --json`, `hew changes --json` or the configuration
    Schema {
        /// The schema
        #[arg(value_enum)]
        of: SchemaKind,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the man page, or write all man pages to a folder
    Man {
        /// Write a page for each command to this folder
        #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LspArgs {
    /// Start the server for this file
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    /// Session id or prefix, or `last`; by default the newest session of this project
    pub(crate) session: Option<String>,
    /// Extra instructions for the summary
    pub(crate) instructions: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// The root of all paths; files outside it are not changed
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub(crate) root: PathBuf,
    /// The file for edits without a path, relative to the root
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// The format of the edit text
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) format: EditFormatArg,
    /// Check only; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON: the position and match of each edit, or the reason for a refusal
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EditFormatArg {
    /// Detected from the text
    Auto,
    /// `*** Begin Patch`
    ApplyPatch,
    /// SEARCH/REPLACE blocks
    SearchReplace,
    /// `<old_text>` and `<new_text>`
    Xml,
    /// Tool arguments: a path and old and new text
    Json,
    /// A unified diff; line numbers may be wrong
    Unified,
    /// A whole file, with or without a code fence
    Whole,
}

impl From<EditFormatArg> for edit::EditFormat {
    fn from(format: EditFormatArg) -> Self {
        match format {
            EditFormatArg::Auto => edit::EditFormat::Auto,
            EditFormatArg::ApplyPatch => edit::EditFormat::ApplyPatch,
            EditFormatArg::SearchReplace => edit::EditFormat::SearchReplace,
            EditFormatArg::Xml => edit::EditFormat::Xml,
            EditFormatArg::Json => edit::EditFormat::Json,
            EditFormatArg::Unified => edit::EditFormat::Unified,
            EditFormatArg::Whole => edit::EditFormat::Whole,
        }
    }
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions of this project, newest first
    List(SessionsListArgs),
    /// Print the conversation of a session
    Show {
        /// Session id or prefix; by default the newest session of this project
        id: Option<String>,
        /// Include thinking and complete tool results
        #[arg(long)]
        full: bool,
    },
    /// Export a session as Markdown or JSON
    Export {
        /// Session id or prefix; by default the newest session of this project
        id: Option<String>,
        /// The format
        #[arg(long, short, value_enum, default_value = "markdown")]
        format: ExportFormat,
        /// Write a file that others can replay (`hew replay FILE`), with masked secrets; -o names it
        #[arg(long, conflicts_with = "format")]
        bundle: bool,
        /// Write to this file instead of stdout
        #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
    /// Find conversations by meaning or words
    Search(SessionsSearchArgs),
    /// Delete sessions and their data
    #[command(visible_alias = "rm")]
    Delete {
        /// Session ids or prefixes
        #[arg(required = true)]
        ids: Vec<String>,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SessionsListArgs {
    /// Include the sessions of all projects
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Maximum number of sessions (default 20)
    #[arg(long, short = 'n', value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// For reading
    Markdown,
    /// Complete data for programs
    Json,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ModelsArgs {
    /// Only models with this text in their name
    pub(crate) filter: Option<String>,
    /// Only models of this provider
    #[arg(long, short, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Only models with a key or a local server
    #[arg(long, short)]
    pub(crate) usable: bool,
    /// Also list the models of local (Ollama, LM Studio, llama.cpp, vLLM) and configured servers
    #[arg(long)]
    pub(crate) discover: bool,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the effective configuration
    Show {
        /// Show the source of each value
        #[arg(long)]
        origin: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the paths of the configuration files
    Path,
    /// Print one value
    Get {
        /// The key, such as `limits.steps`
        key: String,
    },
    /// Set a value in your configuration file
    Set {
        /// The key, such as `model`
        key: String,
        /// The value
        value: String,
        /// Write to the project's file, .hew/config.toml, instead
        #[arg(long)]
        project: bool,
    },
    /// Remove a value from your configuration file
    Unset {
        /// The key
        key: String,
        /// Write to the project's file, .hew/config.toml, instead
        #[arg(long)]
        project: bool,
    },
    /// Open your configuration file in $VISUAL or $EDITOR and check it afterwards
    Edit {
        /// Open the project's file, .hew/config.toml, instead
        #[arg(long)]
        project: bool,
    },
    /// Print the JSON schema of configuration files, for editors
    Schema,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum KeysCommand {
    /// Store a provider's key, read from stdin, in the keyring or in a file
    Set {
        /// The provider, such as `anthropic`
        provider: String,
        /// Store it in keys.toml next to your configuration, with private permissions, instead of the keyring
        #[arg(long)]
        file: bool,
    },
    /// Remove a provider's key from the keyring and from the file
    #[command(visible_alias = "rm", alias = "delete")]
    Remove {
        /// The provider
        provider: String,
    },
    /// List the providers with a key and its source
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorArgs {
    /// Send no requests to providers
    #[arg(long)]
    pub(crate) offline: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DemoArgs {
    /// Create the project here instead of in a temporary folder; it must not exist
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) at: Option<PathBuf>,
    /// Run at full speed instead of a readable pace
    #[arg(long)]
    pub(crate) fast: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    /// The lines of `hew run --json`
    Events,
    /// Configuration files
    Config,
    /// The output of `hew changes --json`
    Changes,
}

impl SessionsListArgs {
    /// The default number of listed sessions.
    const DEFAULT_LIMIT: usize = 20;

    /// The maximum number of listed sessions.
    pub(crate) fn most(&self) -> usize {
        self.limit.unwrap_or(Self::DEFAULT_LIMIT)
    }

    /// These options merged with those given before the word `list`.
    pub(crate) fn or(&self, before: &SessionsListArgs) -> SessionsListArgs {
        SessionsListArgs {
            all: self.all || before.all,
            limit: self.limit.or(before.limit),
            json: self.json || before.json,
        }
    }

    /// Whether no option is set.
    pub(crate) fn is_silent(&self) -> bool {
        !self.all && !self.json && self.limit.is_none()
    }
}

/// Parses the command line; prints `--help` itself.
pub(crate) fn parse() -> Result<Cli> {
    // Only the parser handles arguments that are not Unicode, because they can be paths.
    let Ok(arguments) = std::env::args_os()
        .skip(1)
        .map(OsString::into_string)
        .collect::<Result<Vec<_>, _>>()
    else {
        let parsed = try_parse_from(std::env::args_os());
        return Ok(parsed.unwrap_or_else(|error| usage_error::exit(&error)));
    };
    parse_args(arguments.clone()).map_err(|error| {
        // The parser reports all other errors and prints `--help`.
        usage_error::explain(&error, &arguments).unwrap_or_else(|| usage_error::exit(&error))
    })
}

fn try_parse_from(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut matches = definition().try_get_matches_from(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut definition()))
}

/// Parses arguments. A task, which is an argument that is not a command, may be anywhere among the flags.
pub(crate) fn parse_args(mut words: Vec<String>) -> Result<Cli, clap::Error> {
    help_as_option(&mut words);
    command_first(&mut words);
    let mut task = Vec::new();
    loop {
        let mark = (!task.is_empty()).then(|| "--".to_owned());
        let name = std::iter::once("hew".to_owned());
        let all = name.chain(words.clone()).chain(mark).chain(task.clone());
        let error = match try_parse_from(all.map(OsString::from)) {
            Ok(mut hew) => {
                hew.global.turn = hew.open.for_every_command();
                return Ok(hew);
            }
            Err(error) => error,
        };
        match usage_error::task(&error, &words, !task.is_empty()) {
            Some(at) => task.push(words.remove(at)),
            None => return Err(error),
        }
    }
}

/// Replaces `help` before options by `--help`, because the help command accepts no options: `hew help -C . run` becomes
/// `hew -C . run --help`.
fn help_as_option(words: &mut Vec<String>) {
    let is_option = |word: &String| word.starts_with('-') && !matches!(word.as_str(), "-h" | "--help");
    if words.first().is_some_and(|word| word == "help") && words.iter().any(is_option) {
        words.remove(0);
        words.push("--help".to_owned());
    }
}

/// Moves the command before the options that precede it, so that they are parsed as its own: `hew -m X run` becomes
/// `hew run -m X`.
fn command_first(words: &mut Vec<String>) {
    let definition = definition();
    let takes_value = |word: &str| {
        let (long, short) = (word.strip_prefix("--"), word.strip_prefix('-'));
        let is_same = |arg: &&clap::Arg| match (long, short) {
            (Some(long), _) => arg.get_long_and_visible_aliases().unwrap_or_default().contains(&long),
            (None, Some(short)) => arg.get_short().is_some_and(|own| short.chars().eq([own])),
            (None, None) => false,
        };
        let known = definition.get_arguments().find(is_same);
        known.is_some_and(|arg| arg.get_action().takes_values())
    };
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match word.strip_prefix('-') {
            Some("-") => return,
            Some(_) => at += if takes_value(word) { 2 } else { 1 },
            None if definition.find_subcommand(word).is_some() => {
                let command = words.remove(at);
                return words.insert(0, command);
            }
            None => return,
        }
    }
}

/// The clap definition, for the man page and completions.
pub(crate) fn definition() -> clap::Command {
    help_groups::grouped(Cli::command())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
    }

    #[test]
    fn options_may_precede_the_command_or_follow_it() {
        let options: &[(&[&str], &str)] = &[
            (&["-C", "/tmp"], "Some(\"/tmp\")"),
            (&["--cwd=/tmp"], "Some(\"/tmp\")"),
            (&["--set", "limits.steps=2"], "limits.steps=2"),
            (&["--log", "run.log"], "run.log"),
            (&["-m", "run"], "Some(\"run\")"),
            (&["-mdemo/x"], "demo/x"),
            (&["--model", "demo/x"], "demo/x"),
            (&["--mode", "ask"], "Some(\"ask\")"),
            (&["--permission", "read-only"], "Some(ReadOnly)"),
            (&["--effort", "high"], "Some(High)"),
            (&["--plain"], ""),
        ];
        let commands = definition();
        let names: Vec<&str> = commands.get_subcommands().map(clap::Command::get_name).collect();
        assert!(names.len() >= 31, "{names:?}");
        for name in names {
            let words: Vec<&str> = match name {
                "prompt" => vec![name, "show"],
                "agents" | "canary" | "mcp" | "keys" => vec![name, "list"],
                "schema" => vec![name, "config"],
                "completions" => vec![name, "bash"],
                "eval" => vec![name, "suite"],
                "search" => vec![name, "words"],
                "logout" => vec![name, "copilot"],
                name => vec![name],
            };
            for (option, expected) in options {
                for all in [[option, &words[..]].concat(), [&words[..], option].concat()] {
                    let parsed = parse_args(all.iter().map(ToString::to_string).collect());
                    let parsed = parsed.unwrap_or_else(|error| panic!("{all:?}: {error}"));
                    assert!(parsed.command.is_some(), "{all:?}");
                    let global = format!("{:?}", parsed.global);
                    assert!(global.contains(expected), "{all:?}: {global}");
                }
            }
        }
        for words in [
            &["help", "-C", ".", "run"][..],
            &["help", "run", "-C", "."],
            &["help", "run"],
        ] {
            let error = parse_args(words.iter().map(ToString::to_string).collect()).unwrap_err();
            assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{words:?}");
            assert!(error.to_string().starts_with("Run a task"), "{words:?}: {error}");
        }
        let run = |words: &[&str]| {
            format!(
                "{:?}",
                parse_args(words.iter().map(ToString::to_string).collect()).unwrap()
            )
        };
        for words in [
            &["-m", "a/b", "run", "x"][..],
            &["run", "-m", "a/b", "x"],
            &["run", "x", "-m", "a/b"],
        ] {
            assert!(run(words).contains("Run(RunArgs { prompt: [\"x\"]"), "{}", run(words));
        }
        assert!(run(&["--continue", "run", "x"]).contains("continue_last: true"));
        assert!(run(&["--file", "run", "run", "x"]).contains("file: [\"run\"]"));
    }

    #[test]
    fn the_help_of_each_command_is_complete() {
        let mut texts = String::new();
        let mut definition = definition().term_width(100);
        definition.build();
        explain(definition, "", &mut texts);
        insta::assert_snapshot!(texts);
    }

    fn explain(mut command: clap::Command, prefix: &str, out: &mut String) {
        let name = format!("{prefix}{}", command.get_name());
        let mut command_for_help = command.clone().bin_name(&name);
        out.push_str(&format!("$ {name} --help\n{}\n\n", command_for_help.render_long_help()));
        let subcommands: Vec<clap::Command> = command.get_subcommands_mut().map(|sub| sub.clone()).collect();
        for sub in subcommands.into_iter().filter(|sub| sub.get_name() != "help") {
            explain(sub, &format!("{name} "), out);
        }
    }
}
