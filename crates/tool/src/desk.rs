//! Where a tool turns while it runs: to the rules, to the person, to a helper.

use crate::Error;
use futures::future::{BoxFuture, FutureExt as _};
use policy::Action;

/// Where a tool turns while it runs. A call is cancelled by dropping the tool's future, and so is what it waits for here.
pub trait Desk: Send + Sync {
    /// Asks the rules, and the person where they say so, about something that shows only while the tool runs: a redirect to
    /// another host, a command that the sandbox stopped.
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), Error>>;

    /// Asks the person something; the answer is in their words.
    fn ask(&self, inquiry: Inquiry) -> BoxFuture<'static, Result<String, Error>>;

    /// Hands a part of the work to a conversation of its own and waits for what comes of it.
    fn delegate(&self, task: Task) -> BoxFuture<'static, Result<Report, Error>>;
}

/// Something that the model wants to know from the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquiry {
    /// The question.
    pub question: String,
    /// Answers to choose from; the person may always say something else.
    pub choices: Vec<Choice>,
    /// Whether several may be chosen.
    pub multiple: Multiple,
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The answer.
    pub label: String,
    /// What it would mean.
    pub description: Option<String>,
}

/// How many answers may be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Multiple {
    /// One.
    #[default]
    One,
    /// One or more.
    Several,
}

/// A part of the work for a conversation of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// A few words on what it is, for the person.
    pub title: String,
    /// What is to be done.
    pub prompt: String,
    /// The mode in which it works; without one, the mode of the conversation that hands it over.
    pub mode: Option<String>,
    /// Who does it.
    pub worker: Worker,
    /// A conversation to go on with, instead of a new one.
    pub resume: Option<String>,
    /// Whether whoever hands it over waits for it.
    pub waiting: Waiting,
}

/// Whether whoever hands work over waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// The report comes when the work is done.
    #[default]
    UntilDone,
    /// The report comes at once, and the news when the work is done.
    NotAtAll,
}

/// Who does a part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Worker {
    /// The model of the conversation that hands it over, with all of its tools.
    #[default]
    Main,
    /// The small model, with the tools that only look.
    Scout,
}

/// What came of a part of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The conversation in which it was done.
    pub session: String,
    /// What was said at its end.
    pub text: String,
}

/// Nobody: what was approved before the tool ran is all that it may do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Desk for Nobody {
    fn permit(&self, _: Action) -> BoxFuture<'static, Result<(), Error>> {
        async { Err(Error::Failed("nobody is there to allow it".into())) }.boxed()
    }

    fn ask(&self, _: Inquiry) -> BoxFuture<'static, Result<String, Error>> {
        async { Err(Error::Failed("nobody is there to be asked".into())) }.boxed()
    }

    fn delegate(&self, _: Task) -> BoxFuture<'static, Result<Report, Error>> {
        async { Err(Error::Failed("nobody is there to hand the work to".into())) }.boxed()
    }
}
