//! Where a call gets its permission: the rules first, then the person.

use crate::Approvals;
use crate::delegate::Delegate;
use crate::inbox::Inbox;
use futures::future::{BoxFuture, FutureExt as _};
use model::CallId;
use policy::{Action, Decision, Deed, Grant, Level, Mode, Policy, Scope};
use serde_json::Value;
use session::{Answer, Event, Question, QuestionId, Store, Subject};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;
use tool::{DynTool, Inquiry, Multiple, Report, Task};

/// The rules in force, shared by all calls: what is remembered for one counts for the next.
pub(crate) type Rules = Arc<Mutex<Policy>>;

/// Where one call gets its permission.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) policy: Rules,
    pub(crate) mode: Mode,
    pub(crate) approvals: Approvals,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) events: mpsc::Sender<Event>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) call: CallId,
    pub(crate) tool: String,
    /// What the call may hand work on with, if its tool does that.
    pub(crate) delegate: Option<Arc<Delegate>>,
}

/// A call that may run.
pub(crate) struct Approved {
    /// The input to run it with.
    pub(crate) input: Value,
    /// What the model must know about that input.
    pub(crate) note: Option<String>,
}

/// What came of a question about an action.
enum Permit {
    Granted,
    /// The person wants the call to run with this input.
    Instead(Value),
}

impl Desk {
    /// What the person allows in general.
    pub(crate) fn level(&self) -> Level {
        self.rules().level
    }

    /// Decides about everything that a call wants to do. The error is a sentence for the model.
    pub(crate) async fn approve(&self, tool: &dyn DynTool, input: Value) -> Result<Approved, String> {
        let mut approved = Approved { input, note: None };
        'input: loop {
            let actions = tool.actions(&approved.input).map_err(|error| error.to_string())?;
            for action in actions {
                match self.decide(&action) {
                    Decision::Allow => {}
                    Decision::Deny { why } => return Err(format!("Not allowed: {why}.")),
                    // The person wrote this input themselves.
                    Decision::Ask { .. } if approved.note.is_some() => {}
                    Decision::Ask { why } => match self.ask_about(action, why, approved.input.clone()).await? {
                        Permit::Granted => {}
                        Permit::Instead(input) => {
                            approved = Approved {
                                note: Some(format!("The person changed the input of this call to: {input}")),
                                input,
                            };
                            continue 'input;
                        }
                    },
                }
            }
            return Ok(approved);
        }
    }

    /// Refuses what is denied outright, for calls that the person asked for themselves.
    pub(crate) fn forbids(&self, tool: &dyn DynTool, input: &Value) -> Result<(), String> {
        let actions = tool.actions(input).map_err(|error| error.to_string())?;
        for action in actions {
            match self.decide(&action) {
                Decision::Deny { why } => return Err(why),
                Decision::Allow | Decision::Ask { .. } => {}
            }
        }
        Ok(())
    }

    fn decide(&self, action: &Action) -> Decision {
        self.rules().decide(&self.mode, &self.tool, action)
    }

    async fn ask_about(&self, action: Action, why: String, input: Value) -> Result<Permit, String> {
        if self.approvals == Approvals::Deny {
            return Err(format!("Not allowed: {why}, and nobody is there to be asked."));
        }
        let rules = self.rules().permissions.suggest(&Deed::from(&action));
        let subject = Subject::Permission {
            action: action.clone(),
            why,
            input,
            rules: rules.iter().map(ToString::to_string).collect(),
        };
        match self.ask_person(subject).await {
            Some(Answer::Approve { scope, rule }) => {
                self.remember(&action, scope, rule.as_deref());
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

    /// Remembers an answer for as long as it counts.
    fn remember(&self, action: &Action, scope: Scope, rule: Option<&str>) {
        let Some(mut grant) = Grant::of(&self.tool, &Deed::from(action), scope) else {
            return;
        };
        if let Some(rule) = rule.and_then(|rule| rule.parse().ok()) {
            grant.rule = rule;
        }
        Arc::make_mut(&mut self.rules().permissions.grants).remember(grant);
    }

    async fn ask_person(&self, subject: Subject) -> Option<Answer> {
        let id = QuestionId::new();
        let answer = self.inbox.listen(id);
        let question = Question {
            id,
            call: self.call.clone(),
            tool: self.tool.clone(),
            subject,
        };
        drop(self.events.send(Event::Asked { question }).await);
        let answer = answer.await;
        drop(self.events.send(Event::Answered { question: id }).await);
        answer.ok()
    }

    fn rules(&self) -> MutexGuard<'_, Policy> {
        // Nothing that is done under this lock can be left half done.
        self.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
            let subject = Subject::Inquiry {
                question: inquiry.question,
                choices: inquiry
                    .choices
                    .into_iter()
                    .map(|choice| (choice.label, choice.description))
                    .collect(),
                several: inquiry.multiple == Multiple::Several,
            };
            match desk.ask_person(subject).await {
                Some(Answer::Say { text } | Answer::Reject { reason: Some(text) }) => Ok(text),
                Some(Answer::Approve { .. }) => Ok("yes".into()),
                Some(Answer::Modify { input }) => Ok(input.to_string()),
                Some(Answer::Reject { reason: None }) => failed("the person did not want to answer"),
                None => failed("nobody answered"),
            }
        }
        .boxed()
    }

    fn delegate(&self, task: Task) -> BoxFuture<'static, Result<Report, tool::Error>> {
        match &self.delegate {
            Some(delegate) => Arc::clone(delegate).run(self.call.clone(), task),
            None => async { Err(tool::Error::Failed("work cannot be handed on here".into())) }.boxed(),
        }
    }
}
