//! Works on a whole task for a client: a session of its own, whose questions go to the client.

use model::Message;
use rmcp::model::{ContentBlock, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::{Value, json};
use session::{Answer, Command, Delivery, Ending, Event, ItemKind, Question, Subject};
use tokio::sync::{mpsc, oneshot};

use super::{Order, Session, ask};

/// What clients call it.
pub(super) const NAME: &str = "run_task";
pub(super) const DESCRIPTION: &str = "Hands a task to hew, a coding agent that reads, changes and runs this project \
    until the task is done, and returns its answer and the session, with which it can go on.";

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "task": {"type": "string", "description": "What is to be done, with all that must be known about it."},
            "mode": {"type": "string", "description": "Such as code, architect, ask or debug."},
            "session": {"type": "string", "description": "A session to go on with."},
        },
        "required": ["task"],
    })
}

/// Works on a task until it is done. The error is a sentence for the client.
pub(super) async fn run(
    sessions: &mpsc::Sender<Order>,
    input: &Value,
    context: &RequestContext<RoleServer>,
) -> Result<Vec<ContentBlock>, String> {
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    let task = text("task").ok_or("the field `task` is missing")?;
    let (reply, handed) = oneshot::channel();
    let order = Order {
        mode: text("mode"),
        resume: text("session"),
        reply,
    };
    let gone = |_| "hew is about to end".to_owned();
    sessions.send(order).await.map_err(|_| gone(()))?;
    let mut session = handed.await.map_err(|_| gone(()))??;
    let prompt = Command::Prompt {
        message: Message::user(task),
        delivery: Delivery::Queue,
    };
    session.commands.send(prompt).await.map_err(|_| gone(()))?;
    let mut progress = Progress {
        peer: context.peer.clone(),
        token: context.meta.get_progress_token(),
        steps: 0.0,
    };
    let (ending, answer) = follow(&mut session, &mut progress, &context.peer).await?;
    // It has ended, whether it hears this or not.
    drop(session.commands.send(Command::Close).await);
    match ending {
        Ending::Completed => Ok(vec![
            ContentBlock::text(answer),
            ContentBlock::text(format!("[session {}]", session.id)),
        ]),
        Ending::Failed { error, hint } => Err(format!("{error}; {hint} [session {}]", session.id)),
        other => Err(format!("it ended early ({other:?}): {answer} [session {}]", session.id)),
    }
}

/// Follows a session until its turn is over. Dropping this stops it: its commands end.
async fn follow(
    session: &mut Session,
    progress: &mut Progress,
    peer: &Peer<RoleServer>,
) -> Result<(Ending, String), String> {
    while let Some(event) = session.events.recv().await {
        match event {
            Event::TurnFinished { ending, answer } => return Ok((ending, answer)),
            Event::ItemStarted {
                kind: ItemKind::Result { tool, title, .. },
                ..
            } => progress.tell(format!("{tool} {title}")).await,
            Event::Asked { question } => {
                let (id, answer) = (question.id, answer(peer, &question).await);
                let answer = Command::Answer { question: id, answer };
                // A session that is gone says so by its events.
                drop(session.commands.send(answer).await);
            }
            Event::TurnStarted
            | Event::ItemStarted { .. }
            | Event::ItemDelta { .. }
            | Event::ItemFinished { .. }
            | Event::ItemDropped { .. }
            | Event::Answered { .. }
            | Event::Usage { .. }
            | Event::Retrying { .. }
            | Event::Notice { .. }
            | Event::Titled { .. }
            | Event::Subtask { .. } => {}
        }
    }
    Err("the session ended".into())
}

/// What the client says to a question.
async fn answer(peer: &Peer<RoleServer>, question: &Question) -> Answer {
    match &question.subject {
        Subject::Permission { why, .. } => {
            let asked = ask::allow(peer, &format!("`{}` wants to go on: {why}", question.tool)).await;
            match asked {
                Ok(()) => Answer::once(),
                Err(no) => Answer::Reject { reason: Some(no) },
            }
        }
        Subject::Inquiry { question, choices, .. } => {
            let choices: Vec<String> = choices.iter().map(|(label, _)| label.clone()).collect();
            match ask::say(peer, question, &choices).await {
                Ok(text) => Answer::Say { text },
                Err(no) => Answer::Reject { reason: Some(no) },
            }
        }
    }
}

/// Tells the client how far it is, where it wants to know.
struct Progress {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    steps: f64,
}

impl Progress {
    async fn tell(&mut self, text: String) {
        let Some(token) = self.token.clone() else { return };
        self.steps += 1.0;
        let mut said = ProgressNotificationParam::new(token, self.steps);
        said.message = Some(text);
        // Whoever does not hear it still gets the result.
        drop(self.peer.notify_progress(said).await);
    }
}
