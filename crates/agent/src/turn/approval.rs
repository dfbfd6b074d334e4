//! Approval of tool calls: evaluates the policy and asks the user where necessary.

use super::call_failure::CallFailure;
use crate::Approvals;
use crate::session::Environment;
use crate::subtasks::SubtaskSpawner;
use futures::future::{BoxFuture, FutureExt as _};
use model::CallId;
use policy::{
    AccessLevel, Action, ApprovalMode, ApprovalSettings, Decision, Grant, GrantScope, Mode, Policy, Rule, Ruling,
    ToolGroup,
};
use serde_json::Value;
use session::{
    Answer, ApprovalOutcome, CallEnd, Event, GrantStore, GrantStoreError, HookEvent, HookKind, NoticeLevel, Question,
    QuestionId, QuestionSubject,
};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tool::{
    CallInput, ChoiceLimit, ContextError, DynTool, EscalationGrant, SubtaskReport, SubtaskRequest, UserQuestion,
};

/// The choices of a confirmation.
const CONTINUE: &str = "Continue";
const STOP: &str = "Stop";

/// The policy in force, shared by all calls, so that a grant for one call applies to the next.
#[derive(Clone)]
pub(crate) struct SharedPolicy {
    state: Arc<Mutex<PolicyState>>,
    store: Option<Arc<dyn GrantStore>>,
    /// Notified when the policy allows more.
    relaxed: watch::Sender<()>,
}

struct PolicyState {
    policy: Policy,
    /// The configured approvals.
    configured: ApprovalSettings,
    /// What the user chose in this session instead.
    chosen: Option<ApprovalMode>,
    /// The persistent grants as last read from the grant store.
    stored: Arc<Vec<Grant>>,
}

/// Decides about one call, or about the turn itself.
#[derive(Clone)]
pub(crate) struct Approver {
    pub(crate) env: Arc<Environment>,
    pub(crate) mode: Mode,
    /// The call; `None` for questions of the turn.
    pub(crate) call: Option<CallId>,
    pub(crate) tool: String,
    /// Starts subtasks, if the tool delegates work.
    pub(crate) subtasks: Option<Arc<SubtaskSpawner>>,
    pub(crate) progress: Arc<CallProgress>,
}

/// The progress of a call, as recovery and timing need it.
#[derive(Debug, Default)]
pub(crate) struct CallProgress {
    /// The tool has been started.
    pub(crate) begun: AtomicBool,
    /// The user is being asked and has not answered.
    pub(crate) asks: AtomicBool,
    /// Milliseconds spent waiting for the user.
    pub(crate) waited: AtomicU64,
    /// Why the call did not run.
    pub(crate) issue: OnceLock<CallEnd>,
    /// The answer of the user, as an index of `ApprovalOutcome::ALL`.
    pub(crate) approval: AtomicUsize,
}

/// An approved call.
pub(crate) struct ApprovedCall {
    /// The input to run it with.
    pub(crate) input: CallInput,
    /// Notes for the model about the input and the call.
    pub(crate) notes: Vec<String>,
    /// The approved actions.
    pub(crate) actions: Vec<Action>,
}

/// The result of an approval request.
enum ApprovalResult {
    Granted,
    /// The user changed the input.
    Modified(Value),
    /// The user allowed network access in the sandbox.
    Network,
}

/// Whether the user explicitly requested a lookup.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MentionIntent {
    Explicit,
    /// The text only resembles a mention, or approvals cannot be requested.
    Possible,
}

/// What requires an approval.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ApprovalCause {
    /// The policy, until it allows the action.
    Policy,
    /// A hook.
    Hook,
}

/// The author of a call's input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InputAuthor {
    Model,
    User,
}

impl SharedPolicy {
    pub(crate) fn new(policy: Policy, store: Option<Arc<dyn GrantStore>>) -> Self {
        let stored = Arc::default();
        SharedPolicy {
            state: Arc::new(Mutex::new(PolicyState {
                configured: policy.permissions.approval,
                chosen: None,
                policy,
                stored,
            })),
            store,
            relaxed: watch::Sender::new(()),
        }
    }

    /// The current permission level.
    pub(crate) fn level(&self) -> AccessLevel {
        self.lock().policy.level
    }

    /// Sets the permission level, effective for later calls and those that wait for an approval.
    pub(crate) fn set_level(&self, level: AccessLevel) {
        self.lock().policy.level = level;
        self.relaxed.send_replace(());
    }

    /// Sets whether changes and commands are approved by the user, effective for later calls and those that wait for an
    /// approval.
    pub(crate) fn set_edit_approval(&self, mode: ApprovalMode) {
        let mut state = self.lock();
        state.chosen = Some(mode);
        let commands = match mode {
            ApprovalMode::Ask => Some(ApprovalMode::Ask),
            ApprovalMode::Allow => state.configured.commands,
        };
        state.policy.permissions.approval = ApprovalSettings {
            writes: Some(mode),
            commands,
            ..state.configured
        };
        drop(state);
        self.relaxed.send_replace(());
    }

    /// Whether the user approves changes, if the user chose that in this session.
    pub(crate) fn chosen_edit_approval(&self) -> Option<ApprovalMode> {
        self.lock().chosen
    }

    /// The grants of this session.
    pub(crate) fn session_grants(&self) -> Vec<Grant> {
        let state = self.lock();
        let grants = state.policy.permissions.grants.iter();
        grants
            .filter(|grant| grant.scope == GrantScope::Session)
            .cloned()
            .collect()
    }

    /// Revokes a grant, effective from the next call.
    pub(crate) fn revoke(&self, rule: &Rule) {
        Arc::make_mut(&mut self.lock().policy.permissions.grants).revoke(rule);
    }

    /// The current policy, including the persistent grants of the grant store.
    pub(crate) fn current(&self) -> Policy {
        let stored = self.store.as_ref().map(|store| store.current());
        let mut state = self.lock();
        if let Some(stored) = stored.filter(|stored| !Arc::ptr_eq(stored, &state.stored)) {
            let grants = Arc::make_mut(&mut state.policy.permissions.grants);
            grants.retain(|grant| grant.scope == GrantScope::Session);
            for grant in stored.iter() {
                grants.add(grant.clone());
            }
            state.stored = stored;
        }
        state.policy.clone()
    }

    /// Stores a grant in its scope. The error explains why it could not be stored; the grant then applies to the session.
    fn add_grant(&self, mut grant: Grant) -> Result<(), GrantStoreError> {
        let saved = match (&self.store, grant.scope) {
            (_, GrantScope::Once | GrantScope::Session) | (None, _) => Ok(()),
            (Some(store), GrantScope::Project | GrantScope::Always) => store.save(&grant),
        };
        if self.store.is_none() || saved.is_err() {
            grant.scope = grant.scope.min(GrantScope::Session);
        }
        if grant.scope <= GrantScope::Session {
            Arc::make_mut(&mut self.lock().policy.permissions.grants).add(grant);
        }
        self.relaxed.send_replace(());
        saved
    }

    fn lock(&self) -> MutexGuard<'_, PolicyState> {
        // No operation under this lock can be left incomplete.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Approver {
    /// Decides about all actions of a call.
    pub(crate) async fn approve(&self, tool: &dyn DynTool, input: CallInput) -> Result<ApprovedCall, CallFailure> {
        let mut approved = ApprovedCall {
            input,
            notes: Vec::new(),
            actions: Vec::new(),
        };
        let mut hooks = self.run_pre_hooks(&mut approved).await?;
        let mut author = InputAuthor::Model;
        'input: loop {
            approved.actions = tool.actions(&approved.input).map_err(|error| {
                self.progress.set_issue(CallEnd::InvalidInput);
                CallFailure::InvalidInput(error)
            })?;
            self.reject_denied(&approved.actions)?;
            let mut is_checked = false;
            for action in approved.actions.clone() {
                let (why, cause) = match (self.decide(&action), author, &hooks) {
                    (Decision::Deny { why }, ..) => return Err(self.denied(why)),
                    // The user wrote this input.
                    (Decision::Ask { .. } | Decision::Allow, InputAuthor::User, _) => continue,
                    (Decision::Allow, InputAuthor::Model, Ruling::Ask(reason)) => (reason.clone(), ApprovalCause::Hook),
                    (Decision::Allow, ..) | (Decision::Ask { .. }, _, Ruling::Allow) => continue,
                    (Decision::Ask { why }, _, Ruling::Ask(_)) => (why, ApprovalCause::Hook),
                    (Decision::Ask { why }, ..) => (why, ApprovalCause::Policy),
                };
                if author == InputAuthor::Model && !std::mem::replace(&mut is_checked, true) {
                    self.check(tool, &approved).await?;
                }
                match self
                    .request_approval(action, (why, cause), Value::clone(&approved.input))
                    .await?
                {
                    ApprovalResult::Granted if matches!(hooks, Ruling::Ask(_)) => hooks = Ruling::Silent,
                    // Only a blocked command can get network access.
                    ApprovalResult::Granted | ApprovalResult::Network => {}
                    ApprovalResult::Modified(input) => {
                        let note = format!("The user changed the input of this call to: {input}");
                        approved.notes.push(note);
                        approved.input = input.into();
                        author = InputAuthor::User;
                        continue 'input;
                    }
                }
            }
            return match hooks {
                // No action of the call needs an approval, but a hook requests one.
                Ruling::Ask(why)
                    if author == InputAuthor::Model && !self.confirm(&format!("{why}. Continue?")).await =>
                {
                    self.progress.set_issue(CallEnd::Refused);
                    self.progress.set_approval(ApprovalOutcome::Refused);
                    Err(CallFailure::DeniedByUser)
                }
                Ruling::Ask(_) | Ruling::Allow | Ruling::Deny(_) | Ruling::Silent => Ok(approved),
            };
        }
    }

    /// Fails if an action is denied, so that the user is not asked about the others.
    fn reject_denied(&self, actions: &[Action]) -> Result<(), CallFailure> {
        for action in actions {
            if let Decision::Deny { why } = self.decide(action) {
                return Err(self.denied(why));
            }
        }
        Ok(())
    }

    fn denied(&self, why: String) -> CallFailure {
        self.progress.set_issue(CallEnd::Denied);
        CallFailure::Denied(why)
    }

    /// Fails if the call is certain to fail. A call is not checked if it changes files that the model may not read, because
    /// the error could reveal their content.
    async fn check(&self, tool: &dyn DynTool, call: &ApprovedCall) -> Result<(), CallFailure> {
        let is_readable = |action: &Action| match action.clone() {
            Action::Write { path, place } => matches!(self.decide(&Action::Read { path, place }), Decision::Allow),
            Action::Read { .. } => matches!(self.decide(action), Decision::Allow),
            _ => true,
        };
        let is_asked = self.env.config.approvals != Approvals::Deny;
        match is_asked && call.actions.iter().all(is_readable) {
            true => tool.check(&call.input).await.map_err(CallFailure::InvalidInput),
            false => Ok(()),
        }
    }

    /// Returns an error for denied actions of a mention. With `MentionIntent::Possible`, actions that need an approval are
    /// denied too.
    pub(crate) fn check_mention(&self, actions: &[Action], intent: MentionIntent) -> Result<(), ContextError> {
        for action in actions {
            match self.decide(action) {
                Decision::Deny { why } => return Err(ContextError::Failed(why)),
                Decision::Ask { why } if intent == MentionIntent::Possible => {
                    return Err(ContextError::Failed(why));
                }
                Decision::Allow | Decision::Ask { .. } => {}
            }
        }
        Ok(())
    }

    /// Runs the pre-tool hooks, which can change the input and add notes for the model.
    async fn run_pre_hooks(&self, approved: &mut ApprovedCall) -> Result<Ruling, CallFailure> {
        let (Some(call), true) = (&self.call, self.env.has_hooks(HookKind::PreToolUse)) else {
            return Ok(Ruling::Silent);
        };
        let event = HookEvent::PreToolUse {
            call: call.clone(),
            tool: self.tool.clone(),
            input: Value::clone(&approved.input),
        };
        let outcome = self.env.run_hooks(event).await;
        if let Ruling::Deny(why) = outcome.ruling {
            self.progress.set_issue(CallEnd::Denied);
            return Err(CallFailure::DeniedByHook(why));
        }
        if let Some(input) = outcome.input.filter(|input| *input != *approved.input) {
            let note = format!("A hook changed the input of this call to: {input}");
            approved.notes.push(note);
            approved.input = input.into();
        }
        approved.notes.extend(outcome.context);
        Ok(outcome.ruling)
    }

    fn decide(&self, action: &Action) -> Decision {
        let mut policy = self.env.policy.current();
        if let Action::Subtask { mode } = action
            && policy.permissions.approval.subtasks.is_none()
            && policy.level != AccessLevel::Full
            && self.widens_permissions(mode)
        {
            policy.permissions.approval.subtasks = Some(ApprovalMode::Ask);
        }
        policy.decide(&self.mode, &self.tool, action)
    }

    /// Returns whether a subtask in another mode could do more than this mode. Modes that only delegate are exempt.
    fn widens_permissions(&self, mode: &str) -> bool {
        if mode.is_empty() || self.mode.groups == [ToolGroup::Modes] {
            return false;
        }
        let Some(other) = self.env.config.modes.get(mode) else {
            return true;
        };
        let edits_more = self.mode.only.is_some() && other.only != self.mode.only && other.includes(ToolGroup::Edit);
        let mut rules = self.mode.files.iter();
        let loses_rule = rules.any(|rule| other.includes(rule.group) && !other.files.contains(rule));
        edits_more || loses_rule || other.groups.iter().any(|group| !self.mode.includes(*group))
    }

    /// Asks the user to approve an action. A change of the policy that allows it is an approval too.
    async fn request_approval(
        &self,
        action: Action,
        (why, cause): (String, ApprovalCause),
        input: Value,
    ) -> Result<ApprovalResult, CallFailure> {
        if self.env.config.approvals == Approvals::Deny {
            self.progress.set_issue(CallEnd::Denied);
            return Err(CallFailure::NoApprovals(why));
        }
        let rules = self.env.policy.lock().policy.permissions.suggest(&action);
        let subject = QuestionSubject::Permission {
            action: action.clone(),
            reason: why,
            input,
            rules: rules.iter().map(|rules| offer_text(rules)).collect(),
        };
        let mut changes = self.env.policy.relaxed.subscribe();
        let allowed = async {
            while cause == ApprovalCause::Policy && changes.changed().await.is_ok() {
                if matches!(self.decide(&action), Decision::Allow) {
                    return Some(Answer::once());
                }
            }
            std::future::pending().await
        };
        let answer = self.ask_user(subject, allowed).await;
        let outcome = match &answer {
            Some(Answer::Approve { .. } | Answer::ApproveNetwork) => ApprovalOutcome::Approved,
            Some(Answer::Modify { .. }) => ApprovalOutcome::Modified,
            Some(Answer::Reject { .. } | Answer::Text { .. }) | None => {
                self.progress.set_issue(CallEnd::Refused);
                ApprovalOutcome::Refused
            }
        };
        self.progress.set_approval(outcome);
        match answer {
            Some(Answer::Approve { scope, rule }) => {
                let chosen = rules.iter().find(|rules| Some(offer_text(rules)) == rule);
                self.add_grants(&action, scope, chosen.map_or(&[], Vec::as_slice)).await;
                Ok(ApprovalResult::Granted)
            }
            Some(Answer::ApproveNetwork) => Ok(ApprovalResult::Network),
            Some(Answer::Modify { input }) => Ok(ApprovalResult::Modified(input)),
            Some(Answer::Reject { reason: Some(reason) } | Answer::Text { text: reason }) => {
                Err(CallFailure::DeniedForReason(reason))
            }
            Some(Answer::Reject { reason: None }) => Err(CallFailure::DeniedByUser),
            None => Err(CallFailure::NotAnswered),
        }
    }

    /// Asks the user whether to continue; no answer means no.
    pub(crate) async fn confirm(&self, question: &str) -> bool {
        if self.env.config.approvals == Approvals::Deny {
            return false;
        }
        let subject = QuestionSubject::Inquiry {
            question: question.to_owned(),
            choices: vec![(CONTINUE.into(), None), (STOP.into(), None)],
            multiple: false,
        };
        match self.ask_user(subject, std::future::pending()).await {
            Some(Answer::Approve { .. } | Answer::ApproveNetwork) => true,
            Some(Answer::Text { text }) => text == CONTINUE,
            Some(Answer::Reject { .. } | Answer::Modify { .. }) | None => false,
        }
    }

    /// Stores the grants that an answer implies: for the chosen rules, or for exactly this action.
    async fn add_grants(&self, action: &Action, scope: GrantScope, rules: &[Rule]) {
        let Some(exact) = Grant::exact(&self.tool, action, scope) else {
            return;
        };
        let grant = |rule: &Rule| Grant {
            rule: rule.clone(),
            ..exact.clone()
        };
        let grants = match rules {
            [] => vec![exact.clone()],
            rules => rules.iter().map(grant).collect(),
        };
        for grant in grants {
            if let Err(error) = self.env.policy.add_grant(grant) {
                let text = format!("the approval applies to this session only: {error}");
                self.env.notice(NoticeLevel::Warning, text).await;
                return;
            }
        }
    }

    /// Asks the user and waits for the answer, or until `settled` gives one.
    async fn ask_user(
        &self,
        subject: QuestionSubject,
        settled: impl Future<Output = Option<Answer>>,
    ) -> Option<Answer> {
        let id = QuestionId::new();
        let answer = self.env.inbox.wait_for_answer(id);
        let notification = self.run_notification_hooks(&subject);
        let question = Question {
            id,
            call: self.call.clone(),
            tool: self.tool.clone(),
            subject,
        };
        let asked = Instant::now();
        self.progress.asks.store(true, Ordering::Relaxed);
        self.env.events.send(Event::QuestionAsked { question }).await;
        let answer = tokio::select! {
            answer = answer => answer.ok(),
            answer = settled => answer,
            // This future never completes: notification hooks do not delay the answer, and the answer cancels them.
            () = notification => None,
        };
        self.progress.asks.store(false, Ordering::Relaxed);
        let waited = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.progress.waited.fetch_add(waited, Ordering::Relaxed);
        self.env.events.send(Event::QuestionAnswered { question: id }).await;
        answer
    }

    /// Runs the notification hooks for a question; never completes.
    fn run_notification_hooks(&self, subject: &QuestionSubject) -> BoxFuture<'static, ()> {
        if !self.env.has_hooks(HookKind::Notification) {
            return std::future::pending().boxed();
        }
        let text = match subject {
            QuestionSubject::Permission { reason, .. } => format!("{} asks for permission: {reason}", self.tool),
            QuestionSubject::Inquiry { question, .. } => question.clone(),
        };
        let env = Arc::clone(&self.env);
        async move {
            env.run_hooks(HookEvent::Notification { text }).await;
            std::future::pending().await
        }
        .boxed()
    }

    /// Asks the user a question of the model. After the configured time, the first choice counts as the answer.
    async fn ask_question(&self, question: UserQuestion) -> Result<String, tool::Error> {
        let failed = |why: &str| Err(tool::Error::Failed(why.into()));
        if self.env.config.approvals == Approvals::Deny {
            return failed("questions cannot be asked in this session; decide yourself, and state your assumptions");
        }
        let first = question.choices.first().map(|choice| choice.label.clone());
        let timeout = self.env.policy.lock().policy.permissions.approval.followup_timeout_ms;
        let timeout = first.as_ref().and(timeout).map(Duration::from_millis);
        let choices = question.choices.into_iter();
        let subject = QuestionSubject::Inquiry {
            question: question.question,
            choices: choices.map(|choice| (choice.label, choice.description)).collect(),
            multiple: question.limit == ChoiceLimit::Several,
        };
        let timed_out = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
            None
        };
        match (self.ask_user(subject, timed_out).await, first) {
            (Some(Answer::Text { text } | Answer::Reject { reason: Some(text) }), _) => Ok(text),
            (Some(Answer::Approve { .. } | Answer::ApproveNetwork), _) => Ok("yes".into()),
            (Some(Answer::Modify { input }), _) => Ok(input.to_string()),
            (Some(Answer::Reject { reason: None }), _) => failed("the user declined to answer"),
            (None, Some(first)) if timeout.is_some() && !self.env.inbox.is_disconnected() => {
                let text = format!("the question was not answered in time; using the first choice: {first}");
                self.env.notice(NoticeLevel::Warning, text).await;
                Ok(format!(
                    "{first}\n(The question was not answered in time; this is the first suggestion.)"
                ))
            }
            (None, _) => failed("the question was not answered"),
        }
    }
}

/// Rules that are offered together, as text.
fn offer_text(rules: &[Rule]) -> String {
    rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl tool::ToolHost for Approver {
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), tool::Error>> {
        let granted = self.permit_escalation(action, Vec::new());
        async move { granted.await.map(drop) }.boxed()
    }

    fn permit_escalation(
        &self,
        action: Action,
        evidence: Vec<String>,
    ) -> BoxFuture<'static, Result<EscalationGrant, tool::Error>> {
        let approver = self.clone();
        async move {
            let result = match approver.decide(&action) {
                Decision::Allow => return Ok(EscalationGrant::Unconfined),
                Decision::Deny { why } => Err(CallFailure::Denied(why)),
                Decision::Ask { why } => {
                    let why = match evidence.is_empty() {
                        true => why,
                        false => format!("the sandbox blocked it: {}", evidence.join("; ")),
                    };
                    let cause = ApprovalCause::Policy;
                    approver.request_approval(action, (why, cause), Value::Null).await
                }
            };
            match result {
                Ok(ApprovalResult::Granted) => Ok(EscalationGrant::Unconfined),
                Ok(ApprovalResult::Network) => Ok(EscalationGrant::Network),
                // The call is already running, so its input can no longer change.
                Ok(ApprovalResult::Modified(_)) => Err(tool::Error::Failed(CallFailure::DeniedByUser.to_string())),
                Err(failure) => Err(tool::Error::Failed(failure.to_string())),
            }
        }
        .boxed()
    }

    fn ask(&self, question: UserQuestion) -> BoxFuture<'static, Result<String, tool::Error>> {
        let approver = self.clone();
        async move { approver.ask_question(question).await }.boxed()
    }

    fn delegate(&self, request: SubtaskRequest) -> BoxFuture<'static, Result<SubtaskReport, tool::Error>> {
        let Some(subtasks) = &self.subtasks else {
            let why = "subtasks are not available in this session";
            return async move { Err(tool::Error::Failed(why.into())) }.boxed();
        };
        let approver = Approver {
            subtasks: None,
            ..self.clone()
        };
        let call = self.call.clone().unwrap_or_else(|| "".into());
        Arc::clone(subtasks).run(approver, call, request)
    }

    fn warn(&self, text: String) -> BoxFuture<'static, ()> {
        let env = Arc::clone(&self.env);
        async move { env.notice(NoticeLevel::Warning, text).await }.boxed()
    }
}
