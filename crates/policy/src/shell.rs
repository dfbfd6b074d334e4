//! Understands shell commands: every simple command in a line, what it writes, and what cannot be known before it runs.
//!
//! A real grammar reads the line. Whatever the grammar, or this module on top of it, cannot be sure of is listed as
//! [`Unclear`], and who decides about the line asks a person then.

mod hazard;
mod parse;
mod program;
mod quote;
mod reading;
mod removal;
mod target;
mod tree;
mod word;
mod wrapper;

pub use parse::parse;
pub use removal::{Danger, refusal};
pub use target::Reach;
pub use word::Word;

pub(crate) use hazard::hazard;
pub(crate) use program::{
    GLOBAL_VALUES, basename, carries_no_command, harmless_variable, is_interpreter, is_shell, is_standard,
};
pub(crate) use target::{Shown, cd_target};
pub(crate) use word::Piece;

use std::fmt;

/// A command line, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// Every simple command that may run, also those inside substitutions, functions and wrappers such as `env`.
    pub commands: Vec<Simple>,
    /// Commands that only run one of the others, such as `env` in front of it. They need no rule that allows them, but may be
    /// denied.
    pub wrappers: Vec<Simple>,
    /// The files that it writes by redirection or by programs known to write the files they are given.
    pub writes: Vec<Target>,
    /// The files that it reads by redirection.
    pub reads: Vec<Target>,
    /// What cannot be known before it runs.
    pub unclear: Vec<Unclear>,
}

/// One program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    /// Variables set for this command only.
    pub env: Vec<(String, Word)>,
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Whether more arguments are added when it runs, as `xargs` does.
    pub open_ended: bool,
    /// The folders in which it may run.
    pub folders: Vec<Folder>,
}

/// A file that a command touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its path as written.
    pub path: Word,
    /// The folders that the path may be relative to.
    pub folders: Vec<Folder>,
    /// What touches it.
    pub by: By,
}

/// What touches a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The shell, by redirection.
    Redirection,
    /// A program that is given the file as an argument.
    Program,
}

/// Where a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folder {
    /// A path relative to where the line starts; empty for that folder itself, absolute or starting with `~` otherwise.
    At(String),
    /// Nobody knows before the line runs.
    Unknown,
}

/// A reason why the line cannot be judged from its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unclear {
    /// The grammar does not understand it.
    Unparsed,
    /// It is too long or too deeply nested to look through.
    TooLarge,
    /// It holds characters that people do not see or that shells read differently.
    OddCharacters,
    /// The name of a program is only known when it runs.
    Program(String),
    /// A string that is run as a command is only known when it runs.
    Dynamic(String),
    /// An expansion that itself runs or hides commands.
    Expansion(String),
    /// A variable is set that changes what programs do.
    Variable(String),
    /// A program runs what it reads from its input.
    Input(String),
    /// A wrapper is used in a way that hides the command in it.
    Wrapper(String),
    /// It opens a network connection by redirection.
    Network(String),
}

impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unclear::Unparsed => f.write_str("the command cannot be parsed"),
            Unclear::TooLarge => f.write_str("the command is too large to look through"),
            Unclear::OddCharacters => f.write_str("the command holds invisible or unusual characters"),
            Unclear::Program(word) => write!(f, "which program `{word}` is shows only when it runs"),
            Unclear::Dynamic(name) => write!(f, "what `{name}` runs shows only when it runs"),
            Unclear::Expansion(text) => write!(f, "the expansion `{text}` may hide commands"),
            Unclear::Variable(name) => write!(f, "setting `{name}` changes what programs do"),
            Unclear::Input(name) => write!(f, "`{name}` runs whatever it reads"),
            Unclear::Wrapper(name) => write!(f, "`{name}` hides which command it runs"),
            Unclear::Network(path) => write!(f, "`{path}` is a network connection"),
        }
    }
}

impl Simple {
    /// The name of the program as written, when it is known.
    pub fn program(&self) -> Option<String> {
        self.words.first().and_then(Word::plain)
    }

    /// The last part of the program's path, when it is known.
    pub fn name(&self) -> Option<String> {
        self.program().map(|program| basename(&program).to_owned())
    }
}

impl fmt::Display for Simple {
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
