//! Calls one tool for a client, after the rules have been asked.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, Features};
use policy::{Action, Decision};
use rmcp::model::ContentBlock;
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;
use tool::{Context, Error, Inquiry, Report, Task};

use super::{Served, ask};

/// Calls a tool. The error is a sentence for the client.
pub(super) async fn call(
    served: &Arc<Served>,
    name: &str,
    input: Value,
    context: &RequestContext<RoleServer>,
) -> Result<Vec<ContentBlock>, String> {
    let tool = served
        .tools
        .get(name)
        .filter(|tool| served.offered.contains(&tool.spec().name));
    let Some(tool) = tool.cloned() else {
        let names: Vec<&str> = served.offered.iter().map(String::as_str).collect();
        return Err(format!("there is no tool `{name}`; there are {}", names.join(", ")));
    };
    let desk = Arc::new(Desk {
        served: Arc::clone(served),
        tool: tool.spec().name.clone(),
        peer: context.peer.clone(),
    });
    for action in tool.actions(&input).map_err(|error| error.to_string())? {
        desk.permit_now(&action).await?;
    }
    let features = Features {
        tools: true,
        parallel_tools: true,
        images: true,
        pdf: false,
        reasoning: false,
        caching: false,
    };
    let call = Context {
        level: served.policy.level,
        desk,
        ..Context::alone(context.id.to_string().as_str().into(), features)
    };
    let output = tool.run(input, call).await.map_err(|error| error.to_string())?;
    let content = output.content.into_iter().map(|block| match block {
        Block::Text { text } => ContentBlock::text(text),
        Block::Media(media) => ContentBlock::image(STANDARD.encode(&media.data), media.mime),
    });
    Ok(content.collect())
}

/// Where a tool turns while it runs for a client.
struct Desk {
    served: Arc<Served>,
    tool: String,
    peer: Peer<RoleServer>,
}

impl Desk {
    async fn permit_now(&self, action: &Action) -> Result<(), String> {
        match self.served.policy.decide(&self.served.mode, &self.tool, action) {
            Decision::Allow => Ok(()),
            Decision::Deny { why } => Err(format!("Not allowed: {why}.")),
            Decision::Ask { why } => {
                let question = format!("`{}` wants to go on: {why}", self.tool);
                let asked = ask::allow(&self.peer, &question).await;
                asked.map_err(|no| format!("Not allowed: {why}. {no}"))
            }
        }
    }
}

impl tool::Desk for Desk {
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), Error>> {
        let desk = Desk {
            served: Arc::clone(&self.served),
            tool: self.tool.clone(),
            peer: self.peer.clone(),
        };
        async move { desk.permit_now(&action).await.map_err(Error::Failed) }.boxed()
    }

    fn ask(&self, inquiry: Inquiry) -> BoxFuture<'static, Result<String, Error>> {
        let peer = self.peer.clone();
        async move {
            let choices: Vec<String> = inquiry.choices.into_iter().map(|choice| choice.label).collect();
            ask::say(&peer, &inquiry.question, &choices)
                .await
                .map_err(Error::Failed)
        }
        .boxed()
    }

    fn delegate(&self, _: Task) -> BoxFuture<'static, Result<Report, Error>> {
        async { Err(Error::Failed("work cannot be handed on from here".into())) }.boxed()
    }
}
