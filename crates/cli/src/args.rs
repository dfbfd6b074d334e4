//! The command line: one definition for parsing, help, the man page and shell completions.

mod acp;
mod changes;
mod ledger;
mod mcp;
mod mistake;
mod open;
mod past;
mod prompt;
mod rules;
mod shelves;
mod tools;
mod turn;

pub(crate) use acp::{Acp, Agents};
pub(crate) use changes::Changes;
pub(crate) use ledger::{By, Cost, PromptDiff, PromptExplain};
pub(crate) use mcp::{Mcp, McpAdd, McpServe};
pub(crate) use open::Open;
pub(crate) use past::{Diff, Going, Redo, Rewind, Undo};
pub(crate) use prompt::{Prompt, PromptShow};
pub(crate) use rules::{Modes, Permissions, RuleEffect, Test, Trust};
pub(crate) use shelves::{Commands, CommandsCommand, Prompts, PromptsList};
pub(crate) use tools::{Command as ToolsCommand, Tools as ToolsArgs};
pub(crate) use turn::{Resume, Run, Turn};

use crate::exit;
use crate::failure::Result;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;

/// A coding agent: it reads, changes and runs your project until the task is done
#[derive(Debug, Parser)]
#[command(name = "hew", version, max_term_width = 100, after_help = exit::TABLE)]
#[command(args_conflicts_with_subcommands = true)]
#[command(override_usage = "hew [OPTIONS] [\"TASK\"]\n       hew [OPTIONS] <COMMAND>")]
pub(crate) struct Hew {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(flatten)]
    pub(crate) open: Open,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command takes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Global {
    /// Work in this folder instead of the current one
    #[arg(short = 'C', long, global = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Set any configuration key for this run, such as `limits.steps=20`
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Write what happens to this file, for finding faults; it holds no secrets and nothing of what was said
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Work on a task until it is done
    #[command(after_help = exit::TABLE)]
    Run(Box<Run>),
    /// Go on with a session where it stopped
    #[command(after_help = exit::TABLE)]
    Resume(Box<Resume>),
    /// Go on from a session in a copy of it, which leaves it as it is
    Fork {
        /// The session, or the beginning of its id; the newest of this project if absent
        session: Option<String>,
    },
    /// List, show, export and delete sessions
    Sessions {
        #[command(flatten)]
        list: SessionsList,
        #[command(subcommand)]
        command: Option<Sessions>,
    },
    /// Make room in a session: replace what the model sees of it by notes
    Compact(Compact),
    /// Carry out edits of any format from stdin: all of them, or none
    Apply(Apply),
    /// Review what was changed in a session, and accept or reject it change by change
    Changes(Changes),
    /// Take back what the last turn changed on disk, commands included
    Undo(Undo),
    /// Make again what `hew undo` took back
    Redo(Redo),
    /// Show what a session has changed on disk, as a patch
    Diff(Diff),
    /// Go back to an earlier message of a session, with or without the files
    Rewind(Rewind),
    /// List models with their prices and abilities
    Models(Models),
    /// List the tools that a model gets, with what they cost; show one, or run one by hand
    Tools(ToolsArgs),
    /// Show what the model is told
    Prompt {
        #[command(subcommand)]
        command: Prompt,
    },
    /// Add up what requests cost, by model, day, session, tool or part of the prompt
    Cost(Cost),
    /// Show and change the configuration
    Config {
        #[command(subcommand)]
        command: Option<Config>,
    },
    /// Show, change and test what may happen without a question
    Permissions {
        #[command(subcommand)]
        command: Option<Permissions>,
    },
    /// Trust a folder: its own configuration may then allow more, choose models and run hooks
    Trust(Trust),
    /// List the modes that can be chosen
    Modes(Modes),
    /// Show which language servers serve this folder, or what one finds wrong in a file
    Lsp(Lsp),
    /// List the slash commands of this project and your own, and show what one stands for
    Commands(Commands),
    /// Keep prompts by name: for `@rule:NAME`, or for every session
    Prompts {
        #[command(flatten)]
        list: PromptsList,
        #[command(subcommand)]
        command: Option<Prompts>,
    },
    /// Serve an editor that speaks the Agent Client Protocol, on stdin and stdout
    Acp(Acp),
    /// List and test the other agents that work can be handed to
    Agents {
        #[command(subcommand)]
        command: Agents,
    },
    /// List, add, test and serve MCP servers
    Mcp {
        #[command(subcommand)]
        command: Mcp,
    },
    /// Keep API keys in the system's keyring, or in a file where there is none
    Keys {
        #[command(subcommand)]
        command: Keys,
    },
    /// Check what is configured, what is missing, and whether each provider answers
    Doctor(Doctor),
    /// Watch hew mend a small project, with a scripted model: no key and no network needed
    Demo(Demo),
    /// Print the JSON schema of what `hew run --json` or `hew changes --json` prints, or of the configuration
    Schema {
        /// Which schema
        #[arg(value_enum)]
        of: SchemaOf,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the man page, or write all of them to a folder
    Man {
        /// Write a page for each command to this folder
        #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
        out: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Lsp {
    /// A file to start its server for
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// The session, by its id or the beginning of it; the newest of the project unless said, or `last`
    pub(crate) session: Option<String>,
    /// What the notes should heed besides
    pub(crate) instructions: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// The folder that paths are relative to; nothing outside it is touched
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    pub(crate) root: PathBuf,
    /// The file for edits that name none, relative to the root
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// The format of the edit text
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) format: EditFormat,
    /// Check everything, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON: for each edit where it went and how it matched, or why not
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EditFormat {
    /// Judged by the text itself
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
    /// A whole file, in a code fence or not
    Whole,
}

impl From<EditFormat> for edit::Format {
    fn from(format: EditFormat) -> Self {
        match format {
            EditFormat::Auto => edit::Format::Auto,
            EditFormat::ApplyPatch => edit::Format::ApplyPatch,
            EditFormat::SearchReplace => edit::Format::SearchReplace,
            EditFormat::Xml => edit::Format::Xml,
            EditFormat::Json => edit::Format::Json,
            EditFormat::Unified => edit::Format::Unified,
            EditFormat::Whole => edit::Format::Whole,
        }
    }
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Sessions {
    /// List the sessions of this project, the newest first
    List(SessionsList),
    /// Print what was said and done in a session
    Show {
        /// The session, or the beginning of its id; the newest of this project if absent
        id: Option<String>,
        /// Print thinking and whole tool results too
        #[arg(long)]
        full: bool,
    },
    /// Write a session out as Markdown or JSON
    Export {
        /// The session, or the beginning of its id; the newest of this project if absent
        id: Option<String>,
        /// The format
        #[arg(long, short, value_enum, default_value = "markdown")]
        format: ExportFormat,
        /// Write to this file instead of stdout
        #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
    /// Remove sessions and everything kept for them
    #[command(visible_alias = "rm")]
    Delete {
        /// The sessions, or the beginnings of their ids
        #[arg(required = true)]
        ids: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SessionsList {
    /// The sessions of all projects
    #[arg(long, short)]
    pub(crate) all: bool,
    /// At most this many, instead of 20
    #[arg(long, short = 'n', value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// For people
    Markdown,
    /// For programs: everything
    Json,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Models {
    /// Only models whose name contains this
    pub(crate) filter: Option<String>,
    /// Only models of this provider
    #[arg(long, short, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Only models that can be used now
    #[arg(long, short)]
    pub(crate) usable: bool,
    /// Ask local servers (Ollama, LM Studio, llama.cpp, vLLM) and configured ones what they serve
    #[arg(long)]
    pub(crate) discover: bool,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Config {
    /// Print the configuration in force
    Show {
        /// Say where each value comes from
        #[arg(long)]
        origin: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print where the configuration files are
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
    /// Open your configuration file in your editor ($VISUAL or $EDITOR), and check it afterwards
    Edit {
        /// Open the project's file, .hew/config.toml, instead
        #[arg(long)]
        project: bool,
    },
    /// Print the JSON schema of configuration files, for editors
    Schema,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Keys {
    /// Keep a provider's key, read from stdin, in the keyring, or in a file where there is none
    Set {
        /// The provider, such as `anthropic`
        provider: String,
        /// Keep it in keys.toml beside your configuration, readable by you only, instead of in the keyring
        #[arg(long)]
        file: bool,
    },
    /// Remove a provider's key from the keyring and from the file
    Remove {
        /// The provider
        provider: String,
    },
    /// Say for which providers there is a key, and where it comes from
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Doctor {
    /// Ask no provider
    #[arg(long)]
    pub(crate) offline: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Demo {
    /// Make the project here instead of in the temp folder; the folder must not exist yet
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) at: Option<PathBuf>,
    /// As fast as it goes, instead of at a pace that a person can follow
    #[arg(long)]
    pub(crate) fast: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The lines of `hew run --json`
    Events,
    /// Configuration files
    Config,
    /// What `hew changes --json` prints
    Changes,
}

impl SessionsList {
    /// How many sessions are listed when nobody says how many.
    const USUAL: usize = 20;

    /// How many sessions are listed at most.
    pub(crate) fn most(&self) -> usize {
        self.limit.unwrap_or(Self::USUAL)
    }

    /// The same, with what was said before the word `list`.
    pub(crate) fn or(&self, before: &SessionsList) -> SessionsList {
        SessionsList {
            all: self.all || before.all,
            limit: self.limit.or(before.limit),
            json: self.json || before.json,
        }
    }

    /// Whether nothing is said about the list.
    pub(crate) fn is_silent(&self) -> bool {
        !self.all && !self.json && self.limit.is_none()
    }
}

/// Reads the command line; answers `--help` itself.
pub(crate) fn parse() -> Result<Hew> {
    // Words that are not Unicode are for the parser alone, which knows what may be a path.
    let Ok(said) = std::env::args_os()
        .skip(1)
        .map(OsString::into_string)
        .collect::<Result<Vec<_>, _>>()
    else {
        return Ok(Hew::parse());
    };
    understand(said.clone()).map_err(|error| {
        // The rest is explained by the parser, which also answers `--help`.
        mistake::explain(&error, &said).unwrap_or_else(|| error.exit())
    })
}

/// What words mean. A task may stand among the flags: it is what no command takes.
fn understand(mut words: Vec<String>) -> Result<Hew, clap::Error> {
    let mut task = Vec::new();
    loop {
        let mark = (!task.is_empty()).then(|| "--".to_owned());
        let name = std::iter::once("hew".to_owned());
        let all = name.chain(words.clone()).chain(mark).chain(task.clone());
        let error = match Hew::try_parse_from(all) {
            Ok(hew) => return Ok(hew),
            Err(error) => error,
        };
        match mistake::task(&error, &words, !task.is_empty()) {
            Some(at) => task.push(words.remove(at)),
            None => return Err(error),
        }
    }
}

/// The definition itself, for the man page and completions.
pub(crate) fn definition() -> clap::Command {
    Hew::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
    }

    #[test]
    fn each_command_explains_itself() {
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
