//! Runs a whole task for a client in a session, and forwards its questions to the client.

use model::Message;
use rmcp::model::{ContentBlock, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value, json};
use session::{Answer, Command, Delivery, Event, ItemStart, Question, QuestionSubject, TurnEnd};
use tokio::sync::{mpsc, oneshot};

use super::{CallError, McpSession, SessionOrder, elicitation};

/// The name of the tool.
pub(super) const NAME: &str = "run_task";
pub(super) const DESCRIPTION: &str = "Delegates a task to hew, a coding agent that reads, changes and runs this project \
    until the task is done. Returns the answer and the session, which can be continued.";

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "task": {"type": "string", "description": "The task, with all necessary information."},
            "mode": {"type": "string", "description": "For example code, architect, ask or debug."},
            "session": {"type": "string", "description": "The session to continue."},
        },
        "required": ["task"],
    })
}

/// Runs a task until it is done.
pub(super) async fn run(
    sessions: &mpsc::Sender<SessionOrder>,
    input: &Value,
    context: &RequestContext<RoleServer>,
) -> Result<Vec<ContentBlock>, CallError> {
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    let task = text("task").ok_or(CallError::MissingTask)?;
    let (reply, handed) = oneshot::channel();
    let order = SessionOrder {
        mode: text("mode"),
        resume: text("session"),
        reply,
    };
    sessions.send(order).await.map_err(|_| CallError::ShuttingDown)?;
    let mut session = handed.await.map_err(|_| CallError::ShuttingDown)??;
    let prompt = Command::Prompt {
        message: Message::user(task),
        delivery: Delivery::Queue,
    };
    session
        .commands
        .send(prompt)
        .await
        .map_err(|_| CallError::ShuttingDown)?;
    let mut progress = TaskProgress {
        peer: context.peer.clone(),
        token: context.meta.get_progress_token(),
        steps: 0.0,
    };
    let (ending, answer) = follow(&mut session, &mut progress, &context.peer).await?;
    // The session has ended in any case.
    drop(session.commands.send(Command::Close).await);
    match ending {
        TurnEnd::Completed => Ok(vec![
            ContentBlock::text(answer),
            ContentBlock::text(format!("[session {}]", session.id)),
        ]),
        TurnEnd::Failed { error, hint } => Err(CallError::TaskFailed {
            message: format!("{error}; {hint}"),
            session: session.id,
        }),
        other => Err(CallError::TaskFailed {
            message: format!("ended early ({}): {answer}", other.name()),
            session: session.id,
        }),
    }
}

/// Follows a session until its turn ends. Dropping the future stops the session.
async fn follow(
    session: &mut McpSession,
    progress: &mut TaskProgress,
    peer: &Peer<RoleServer>,
) -> Result<(TurnEnd, String), CallError> {
    while let Some(event) = session.events.recv().await {
        match event {
            Event::TurnFinished { ending, answer } => return Ok((ending, answer)),
            Event::ItemStarted {
                kind: ItemStart::Result { tool, title, .. },
                ..
            } => progress.report(format!("{tool} {title}")).await,
            Event::QuestionAsked { question } => {
                let (id, answer) = (question.id, answer(peer, &question).await);
                let answer = Command::Answer { question: id, answer };
                // A session that has ended reports it by its events.
                drop(session.commands.send(answer).await);
            }
            Event::TurnStarted
            | Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::QuestionAnswered { .. }
            | Event::Usage { .. }
            | Event::Retrying { .. }
            | Event::Notice { .. }
            | Event::TitleChanged { .. }
            | Event::Rewound { .. }
            | Event::Subtask { .. } => {}
        }
    }
    Err(CallError::SessionEnded)
}

/// Asks the client to answer a question.
async fn answer(peer: &Peer<RoleServer>, question: &Question) -> Answer {
    match &question.subject {
        QuestionSubject::Permission { reason: why, .. } => {
            let asked = elicitation::ask_permission(peer, &format!("`{}` needs approval: {why}", question.tool)).await;
            match asked {
                Ok(()) => Answer::once(),
                Err(error) => Answer::Reject {
                    reason: Some(error.to_string()),
                },
            }
        }
        QuestionSubject::Inquiry { question, choices, .. } => {
            let choices: Vec<String> = choices.iter().map(|(label, _)| label.clone()).collect();
            match elicitation::ask_text(peer, question, &choices).await {
                Ok(text) => Answer::Text { text },
                Err(error) => Answer::Reject {
                    reason: Some(error.to_string()),
                },
            }
        }
    }
}

/// Reports progress to the client, if requested.
struct TaskProgress {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    steps: f64,
}

impl TaskProgress {
    async fn report(&mut self, text: String) {
        let Some(token) = self.token.clone() else { return };
        self.steps += 1.0;
        let mut notification = ProgressNotificationParam::new(token, self.steps);
        notification.message = Some(text);
        // Best effort: the result is sent in any case.
        drop(self.peer.notify_progress(notification).await);
    }
}
