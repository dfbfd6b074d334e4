//! What a house knows of the things around a session: changes, jobs, servers, rules, settings, providers.

use session::Body;
use std::path::PathBuf;

/// Something that was done, and what the log keeps of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    /// What was done, in a sentence; empty where nobody needs to hear of it.
    pub told: String,
    /// What the session keeps of it.
    pub keep: Option<Body>,
}

/// A file that the session changed, as far as its changes wait to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileChanges {
    /// The file, relative to the project where it lies inside it.
    pub path: PathBuf,
    /// What happened to it: `created`, `modified` or `deleted`.
    pub status: String,
    /// Why its changes cannot be shown line by line, where they cannot.
    pub why: Option<String>,
    /// Its changes, from top to bottom.
    pub hunks: Vec<Hunk>,
}

/// A change to accept or to take back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// Names it.
    pub id: String,
    /// The first line in the file as it is, counted from 1.
    pub line: usize,
    /// The lines before.
    pub before: String,
    /// The lines now.
    pub after: String,
    /// Whether a person's own edits are part of it.
    pub mixed: bool,
    /// Whether it can be taken back.
    pub rejectable: bool,
}

/// What is decided about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is good.
    Accept,
    /// It is taken back.
    Reject,
}

/// A command in the background.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Job {
    /// Its number.
    pub id: u32,
    /// The command.
    pub command: String,
    /// What it does now, or how it ended, in a few words.
    pub state: String,
    /// Whether it runs.
    pub running: bool,
    /// The end of what it printed.
    pub printed: String,
}

/// A server that tools use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Server {
    /// `MCP` or `LSP`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// How it is, in a few words.
    pub state: String,
    /// How well that is.
    pub health: Health,
    /// What it offers, or what went wrong, line by line.
    pub about: Vec<String>,
}

/// How well something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Health {
    /// It works.
    Good,
    /// It is not needed, or not there yet.
    #[default]
    Idle,
    /// It does not work.
    Bad,
}

/// A rule about what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// `allow`, `ask` or `deny`.
    pub effect: String,
    /// The rule.
    pub rule: String,
    /// Who said so.
    pub origin: String,
    /// Whether it can be taken back from here.
    pub revocable: bool,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setting {
    /// Its key, such as `limits.steps`.
    pub key: String,
    /// Its value as it is written; empty where it is not set.
    pub value: String,
    /// Where the value comes from.
    pub origin: String,
    /// What it means.
    pub about: String,
    /// The values that it may have, where there are few.
    pub choices: Vec<String>,
}

/// A provider of models, for setting up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provider {
    /// Its name in the configuration.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// How it can be used now.
    pub access: Access,
    /// Models of it to begin with, the best first.
    pub models: Vec<String>,
}

/// Where the key of a provider is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// In the system's keyring.
    Keyring,
    /// In a file that only its owner can read.
    File,
    /// Nowhere: it is used until the program ends.
    Now,
}

/// How a provider can be used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Access {
    /// A key was found here.
    Key(String),
    /// A server on this machine answers.
    Local,
    /// It needs a key, which this variable would hold.
    #[default]
    NeedsKey,
    /// It does not answer.
    Absent(String),
}
