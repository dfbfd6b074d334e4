//! Parses shell commands: every simple command of a line, the files it writes, and what is unknown before it runs.
//!
//! A real grammar parses the line. Everything that the grammar or this module is not sure about becomes an
//! [`UnclearReason`], and such a line needs approval.

mod dangers;
mod destruction;
mod evaluation;
mod hazardous_options;
mod parse;
mod programs;
mod quote;
mod read_only;
mod sed;
mod syntax_tree;
mod targets;
mod word;
mod wrappers;

pub use dangers::{CommandDanger, command_danger};
pub use destruction::{DestroyedTarget, deletes_folders, destroyed_targets};
pub use parse::parse;
pub use targets::ResolvedTarget;
pub use word::ShellWord;

pub(crate) use hazardous_options::{hazardous_option, running_option};
pub(crate) use programs::{
    GLOBAL_VALUES, basename, carries_no_command, dashed_subcommand, harmless_variable, is_git_subcommand,
    is_interpreter, is_shell, is_standard, join, redirects_programs, shows_no_content,
};
pub(crate) use targets::{DisclosedPath, cd_target};
pub(crate) use word::WordPiece;

use std::fmt;

/// A parsed command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// Every simple command that may run, including those inside substitutions, functions and wrappers such as `env`.
    pub commands: Vec<SimpleCommand>,
    /// Commands that only run another command, such as a leading `env`. They need no allow rule, but may be denied.
    pub wrappers: Vec<SimpleCommand>,
    /// Files written by redirection, or by programs known to write their file arguments.
    pub writes: Vec<FileTarget>,
    /// Files read by redirection.
    pub reads: Vec<FileTarget>,
    /// What is unknown before it runs.
    pub unclear: Vec<UnclearReason>,
}

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Variables set for this command only.
    pub env: Vec<(String, ShellWord)>,
    /// The program and its arguments.
    pub words: Vec<ShellWord>,
    /// Whether more arguments are added at run time, as by `xargs`.
    pub open_ended: bool,
    /// The possible working directories.
    pub folders: Vec<WorkingDir>,
}

/// A file that a command accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTarget {
    /// Its path as written.
    pub path: ShellWord,
    /// The directories that the path may be relative to.
    pub folders: Vec<WorkingDir>,
    /// What accesses it.
    pub by: TargetSource,
}

/// What accesses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetSource {
    /// The shell, by redirection.
    Redirection,
    /// A program that gets the file as an argument.
    Program,
}

/// The working directory of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkingDir {
    /// A path relative to the starting directory; empty for that directory itself, otherwise absolute or starting with
    /// `~`.
    At(String),
    /// Unknown before the line runs.
    Unknown,
}

impl WorkingDir {
    /// The directory, unless it is unknown.
    pub(crate) fn known(&self) -> Option<&str> {
        match self {
            WorkingDir::At(folder) => Some(folder),
            WorkingDir::Unknown => None,
        }
    }
}

/// Why a line cannot be judged from its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnclearReason {
    /// The grammar cannot parse it.
    Unparsed,
    /// It is too long or too deeply nested.
    TooLarge,
    /// It contains invisible characters, or characters that shells interpret differently.
    UnusualCharacters,
    /// The name of a program is unknown before it runs.
    Program(String),
    /// A string that is run as a command is unknown before it runs.
    Dynamic(String),
    /// An expansion that runs or hides commands.
    Expansion(String),
    /// A variable that changes the behaviour of programs.
    Variable(String),
    /// A program that runs its input.
    Input(String),
    /// A wrapper without a visible command.
    Wrapper(String),
    /// A network connection by redirection.
    Network(String),
}

impl fmt::Display for UnclearReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnclearReason::Unparsed => f.write_str("the command cannot be parsed"),
            UnclearReason::TooLarge => f.write_str("the command is too large to analyze"),
            UnclearReason::UnusualCharacters => f.write_str("the command contains invisible or unusual characters"),
            UnclearReason::Program(word) => write!(f, "the program `{word}` is only known at run time"),
            UnclearReason::Dynamic(name) => write!(f, "what `{name}` runs is only known at run time"),
            UnclearReason::Expansion(text) => write!(f, "the expansion `{text}` may hide commands"),
            UnclearReason::Variable(name) => write!(f, "setting `{name}` changes the behaviour of programs"),
            UnclearReason::Input(name) => write!(f, "`{name}` runs its input"),
            UnclearReason::Wrapper(name) => write!(f, "the command that `{name}` runs is not visible"),
            UnclearReason::Network(path) => write!(f, "`{path}` is a network connection"),
        }
    }
}

impl SimpleCommand {
    /// The program as written, if known.
    pub fn program(&self) -> Option<String> {
        self.words.first().and_then(ShellWord::plain)
    }

    /// The last component of the program's path, if known.
    pub fn name(&self) -> Option<String> {
        self.program().map(|program| basename(&program).to_owned())
    }
}

impl fmt::Display for SimpleCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gap = "";
        for (name, value) in &self.env {
            write!(f, "{gap}{name}={value}")?;
            gap = " ";
        }
        for word in &self.words {
            write!(f, "{gap}{word}")?;
            gap = " ";
        }
        Ok(())
    }
}
