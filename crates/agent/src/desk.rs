//! Where a call gets its permission: the rules first, then the person.

use crate::Approvals;
use crate::delegate::Delegate;
use crate::hooked::Hooked;
use crate::inbox::Inbox;
use futures::future::{BoxFuture, FutureExt as _};
use model::CallId;
use policy::{Action, Auto, Decision, Deed, Grant, Group, Level, Mode, Modes, Policy, Rule, Ruling, Scope};
use serde_json::Value;
use session::{Answer, Event, Happening, Keeper, Moment, Question, QuestionId, Store, Subject};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tool::{DynTool, Inquiry, Multiple, Report, Task};

/// The rules in force, shared by all calls: what is remembered for one counts for the next.
#[derive(Clone)]
pub(crate) struct Rules {
    book: Arc<Mutex<Book>>,
    keeper: Option<Arc<dyn Keeper>>,
}

struct Book {
    policy: Policy,
    /// The answers that were kept beyond the session when it was last looked.
    kept: Arc<Vec<Grant>>,
}

/// Where one call gets its permission.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) rules: Rules,
    pub(crate) mode: Mode,
    pub(crate) modes: Modes,
    pub(crate) approvals: Approvals,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) events: mpsc::Sender<Event>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) hooked: Hooked,
    /// The call, where it is about one.
    pub(crate) call: Option<CallId>,
    pub(crate) tool: String,
    /// What the call may hand work on with, if its tool does that.
    pub(crate) delegate: Option<Arc<Delegate>>,
    /// How far the call has come.
    pub(crate) course: Arc<Course>,
}

/// How far a call has come, for whoever has to tell about it from outside.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// Whether its tool was set to work.
    pub(crate) begun: AtomicBool,
    /// Whether the person is being asked and has not answered.
    pub(crate) asks: AtomicBool,
    /// For how many milliseconds the person was waited for.
    pub(crate) waited: AtomicU64,
}

/// A call that may run.
pub(crate) struct Approved {
    /// The input to run it with.
    pub(crate) input: Value,
    /// What the model must know about that input and this call.
    pub(crate) notes: Vec<String>,
    /// What was decided about.
    pub(crate) actions: Vec<Action>,
}

/// What came of a question about an action.
enum Permit {
    Granted,
    /// The person wants the call to run with this input.
    Instead(Value),
}

/// Whether the person surely wants a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Surely,
    /// Their words only look like it, or nobody is there who could have written them.
    Perhaps,
}

/// Who wrote the input of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Author {
    Model,
    Person,
}

impl Rules {
    pub(crate) fn new(policy: Policy, keeper: Option<Arc<dyn Keeper>>) -> Self {
        Rules {
            book: Arc::new(Mutex::new(Book {
                policy,
                kept: Arc::default(),
            })),
            keeper,
        }
    }

    /// Allows more or less in general, from the next call on.
    pub(crate) fn set_level(&self, level: Level) {
        self.lock().policy.level = level;
    }

    /// Takes back an answer, from the next call on.
    pub(crate) fn revoke(&self, rule: &Rule) {
        Arc::make_mut(&mut self.lock().policy.permissions.grants).revoke(rule);
    }

    /// The rules as they stand now, with the answers that are kept at this moment.
    pub(crate) fn now(&self) -> Policy {
        let kept = self.keeper.as_ref().map(|keeper| keeper.current());
        let mut book = self.lock();
        if let Some(kept) = kept.filter(|kept| !Arc::ptr_eq(kept, &book.kept)) {
            let grants = Arc::make_mut(&mut book.policy.permissions.grants);
            grants.retain(|grant| grant.scope == Scope::Session);
            for grant in kept.iter() {
                grants.remember(grant.clone());
            }
            book.kept = kept;
        }
        book.policy.clone()
    }

    /// Remembers an answer for as long as it counts; says what went wrong where it could not be kept that long.
    fn remember(&self, mut grant: Grant) -> Result<(), String> {
        let kept = match (&self.keeper, grant.scope) {
            (_, Scope::Once | Scope::Session) | (None, _) => Ok(()),
            (Some(keeper), Scope::Project | Scope::Always) => keeper.keep(&grant),
        };
        if self.keeper.is_none() || kept.is_err() {
            grant.scope = grant.scope.min(Scope::Session);
        }
        if grant.scope <= Scope::Session {
            Arc::make_mut(&mut self.lock().policy.permissions.grants).remember(grant);
        }
        kept
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        // Nothing that is done under this lock can be left half done.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    /// What the person allows in general.
    pub(crate) fn level(&self) -> Level {
        self.rules.lock().policy.level
    }

    /// Decides about everything that a call wants to do. The error is a sentence for the model.
    pub(crate) async fn approve(&self, tool: &dyn DynTool, input: Value) -> Result<Approved, String> {
        let mut approved = Approved {
            input,
            notes: Vec::new(),
            actions: Vec::new(),
        };
        let mut hooks = self.ask_hooks(&mut approved).await?;
        let mut author = Author::Model;
        'input: loop {
            approved.actions = tool.actions(&approved.input).map_err(|error| error.to_string())?;
            for action in approved.actions.clone() {
                let why = match (self.decide(&action), author, &hooks) {
                    (Decision::Deny { why }, ..) => return Err(format!("Not allowed: {why}.")),
                    // The person wrote this input themselves.
                    (Decision::Ask { .. } | Decision::Allow, Author::Person, _) => continue,
                    (Decision::Allow, Author::Model, Ruling::Ask(said)) => said.clone(),
                    (Decision::Allow, ..) | (Decision::Ask { .. }, _, Ruling::Allow) => continue,
                    (Decision::Ask { why }, ..) => why,
                };
                match self.ask_about(action, why, approved.input.clone()).await? {
                    Permit::Granted if matches!(hooks, Ruling::Ask(_)) => hooks = Ruling::Silent,
                    Permit::Granted => {}
                    Permit::Instead(input) => {
                        let note = format!("The person changed the input of this call to: {input}");
                        approved.notes.push(note);
                        approved.input = input;
                        author = Author::Person;
                        continue 'input;
                    }
                }
            }
            return match hooks {
                // The call wants nothing that needs a question by itself, but a hook does.
                Ruling::Ask(why) if author == Author::Model && !self.confirm(&format!("{why}. Go on?")).await => {
                    Err("The person said no.".into())
                }
                Ruling::Ask(_) | Ruling::Allow | Ruling::Deny(_) | Ruling::Silent => Ok(approved),
            };
        }
    }

    /// Refuses what is denied outright, for calls that the person asked for themselves; with `Wanted::Perhaps` also what would
    /// have to be asked.
    pub(crate) fn forbids(&self, tool: &dyn DynTool, input: &Value, wanted: Wanted) -> Result<(), String> {
        let actions = tool.actions(input).map_err(|error| error.to_string())?;
        for action in actions {
            match self.decide(&action) {
                Decision::Deny { why } => return Err(why),
                Decision::Ask { why } if wanted == Wanted::Perhaps => return Err(why),
                Decision::Allow | Decision::Ask { .. } => {}
            }
        }
        Ok(())
    }

    /// What hooks say to a call. They may change its input and add something that the model shall know.
    async fn ask_hooks(&self, approved: &mut Approved) -> Result<Ruling, String> {
        let (Some(call), true) = (&self.call, self.hooked.hears(Moment::PreToolUse)) else {
            return Ok(Ruling::Silent);
        };
        let happening = Happening::PreToolUse {
            call: call.clone(),
            tool: self.tool.clone(),
            input: approved.input.clone(),
        };
        let reaction = self.hooked.call(happening).await;
        if let Ruling::Deny(why) = reaction.ruling {
            return Err(format!("A hook blocked this call: {why}"));
        }
        if let Some(input) = reaction.input.filter(|input| *input != approved.input) {
            approved
                .notes
                .push(format!("A hook changed the input of this call to: {input}"));
            approved.input = input;
        }
        approved.notes.extend(reaction.context);
        Ok(reaction.ruling)
    }

    fn decide(&self, action: &Action) -> Decision {
        let mut policy = self.rules.now();
        if let Action::Subtask { mode } = action
            && policy.permissions.approval.subtasks.is_none()
            && policy.level != Level::Full
            && self.widens(mode)
        {
            policy.permissions.approval.subtasks = Some(Auto::Ask);
        }
        policy.decide(&self.mode, &self.tool, action)
    }

    /// Whether work in another mode could do more than this mode may. A mode that does nothing but hand on work is meant to.
    fn widens(&self, mode: &str) -> bool {
        if mode.is_empty() || self.mode.groups == [Group::Modes] {
            return false;
        }
        let Some(other) = self.modes.get(mode) else {
            return true;
        };
        let edits_more = self.mode.only.is_some() && other.only != self.mode.only && other.includes(Group::Edit);
        let mut rules = self.mode.files.iter();
        let loses_rule = rules.any(|rule| other.includes(rule.group) && !other.files.contains(rule));
        edits_more || loses_rule || other.groups.iter().any(|group| !self.mode.includes(*group))
    }

    async fn ask_about(&self, action: Action, why: String, input: Value) -> Result<Permit, String> {
        if self.approvals == Approvals::Deny {
            return Err(format!("Not allowed: {why}, and nobody is there to be asked."));
        }
        let rules = self.rules.lock().policy.permissions.suggest(&Deed::from(&action));
        let subject = Subject::Permission {
            action: action.clone(),
            why,
            input,
            rules: rules.iter().map(ToString::to_string).collect(),
        };
        match self.ask_person(subject, None).await {
            Some(Answer::Approve { scope, rule }) => {
                self.remember(&action, scope, rule.as_deref()).await;
                Ok(Permit::Granted)
            }
            Some(Answer::Modify { input }) => Ok(Permit::Instead(input)),
            Some(Answer::Reject { reason: Some(reason) } | Answer::Say { text: reason }) => {
                Err(format!("The person said no: {reason}"))
            }
            Some(Answer::Reject { reason: None }) => Err("The person said no.".into()),
            None => Err("Nobody answered the question whether this is allowed.".into()),
        }
    }

    /// Asks the person whether to go on; no answer means no.
    pub(crate) async fn confirm(&self, question: &str) -> bool {
        if self.approvals == Approvals::Deny {
            return false;
        }
        let subject = Subject::Inquiry {
            question: question.to_owned(),
            choices: vec![(GO_ON.into(), None), (STOP.into(), None)],
            several: false,
        };
        match self.ask_person(subject, None).await {
            Some(Answer::Approve { .. }) => true,
            Some(Answer::Say { text }) => text == GO_ON,
            Some(Answer::Reject { .. } | Answer::Modify { .. }) | None => false,
        }
    }

    /// Remembers an answer for as long as it counts.
    async fn remember(&self, action: &Action, scope: Scope, rule: Option<&str>) {
        let Some(mut grant) = Grant::of(&self.tool, &Deed::from(action), scope) else {
            return;
        };
        if let Some(rule) = rule.and_then(|rule| rule.parse().ok()) {
            grant.rule = rule;
        }
        if let Err(why) = self.rules.remember(grant) {
            let text = format!("the answer counts for this session only: {why}");
            self.notice(text).await;
        }
    }

    async fn notice(&self, text: String) {
        let level = session::Level::Warning;
        // A front end that is gone needs no notices.
        drop(self.events.send(Event::Notice { level, text }).await);
    }

    /// Asks, and waits for the answer, at most so long.
    async fn ask_person(&self, subject: Subject, patience: Option<Duration>) -> Option<Answer> {
        let id = QuestionId::new();
        let answer = self.inbox.listen(id);
        let told = self.notification(&subject);
        let question = Question {
            id,
            call: self.call.clone(),
            tool: self.tool.clone(),
            subject,
        };
        let asked = Instant::now();
        self.course.asks.store(true, Ordering::Relaxed);
        drop(self.events.send(Event::Asked { question }).await);
        let late = async {
            match patience {
                Some(patience) => tokio::time::sleep(patience).await,
                None => std::future::pending().await,
            }
        };
        let answer = tokio::select! {
            answer = answer => answer.ok(),
            () = late => None,
            // It never ends: whoever is told does not hold up the answer, and the answer ends the telling.
            () = told => None,
        };
        self.course.asks.store(false, Ordering::Relaxed);
        let waited = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.course.waited.fetch_add(waited, Ordering::Relaxed);
        drop(self.events.send(Event::Answered { question: id }).await);
        answer
    }

    /// Tells hooks that the person is asked; never ends.
    fn notification(&self, subject: &Subject) -> BoxFuture<'static, ()> {
        if !self.hooked.hears(Moment::Notification) {
            return std::future::pending().boxed();
        }
        let text = match subject {
            Subject::Permission { why, .. } => format!("{} asks for permission: {why}", self.tool),
            Subject::Inquiry { question, .. } => question.clone(),
        };
        let hooked = self.hooked.clone();
        async move {
            hooked.call(Happening::Notification { text }).await;
            std::future::pending().await
        }
        .boxed()
    }
}

/// The answers to a question whether to go on.
const GO_ON: &str = "Go on";
const STOP: &str = "Stop";

impl tool::Desk for Desk {
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), tool::Error>> {
        let desk = self.clone();
        async move {
            let permit = match desk.decide(&action) {
                Decision::Allow => return Ok(()),
                Decision::Deny { why } => Err(format!("Not allowed: {why}.")),
                Decision::Ask { why } => desk.ask_about(action, why, Value::Null).await,
            };
            match permit {
                Ok(Permit::Granted) => Ok(()),
                // There is no input to change any more: the call runs already.
                Ok(Permit::Instead(_)) => Err(tool::Error::Failed("The person said no.".into())),
                Err(why) => Err(tool::Error::Failed(why)),
            }
        }
        .boxed()
    }

    fn ask(&self, inquiry: Inquiry) -> BoxFuture<'static, Result<String, tool::Error>> {
        let desk = self.clone();
        async move {
            let failed = |why: &str| Err(tool::Error::Failed(why.into()));
            if desk.approvals == Approvals::Deny {
                return failed("nobody is there to be asked; decide by yourself, and say what you assumed");
            }
            let first = inquiry.choices.first().map(|choice| choice.label.clone());
            let patience = desk.rules.lock().policy.permissions.approval.followup_timeout_ms;
            let patience = first.as_ref().and(patience).map(Duration::from_millis);
            let subject = Subject::Inquiry {
                question: inquiry.question,
                choices: inquiry
                    .choices
                    .into_iter()
                    .map(|choice| (choice.label, choice.description))
                    .collect(),
                several: inquiry.multiple == Multiple::Several,
            };
            match (desk.ask_person(subject, patience).await, first) {
                (Some(Answer::Say { text } | Answer::Reject { reason: Some(text) }), _) => Ok(text),
                (Some(Answer::Approve { .. }), _) => Ok("yes".into()),
                (Some(Answer::Modify { input }), _) => Ok(input.to_string()),
                (Some(Answer::Reject { reason: None }), _) => failed("the person did not want to answer"),
                (None, Some(first)) if patience.is_some() && !desk.inbox.is_deserted() => {
                    desk.notice(format!(
                        "nobody answered in time, so the first answer was taken: {first}"
                    ))
                    .await;
                    Ok(format!(
                        "{first}\n(Nobody answered in time, so the first suggestion was taken.)"
                    ))
                }
                (None, _) => failed("nobody answered"),
            }
        }
        .boxed()
    }

    fn delegate(&self, task: Task) -> BoxFuture<'static, Result<Report, tool::Error>> {
        match &self.delegate {
            Some(delegate) => {
                let desk = Desk {
                    delegate: None,
                    ..self.clone()
                };
                let call = self.call.clone().unwrap_or_else(|| "".into());
                Arc::clone(delegate).run(desk, call, task)
            }
            None => async { Err(tool::Error::Failed("work cannot be handed on here".into())) }.boxed(),
        }
    }
}
