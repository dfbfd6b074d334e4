//! Calls one tool for a client, subject to the rules.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, Features};
use policy::{Action, Decision};
use rmcp::model::ContentBlock;
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;
use tool::{CallContext, CallInput, DynTool, Error, SubtaskReport, SubtaskRequest, UserQuestion};

use super::{CallError, McpService, elicitation};

/// Calls a tool.
pub(super) async fn call(
    served: &Arc<McpService>,
    name: &str,
    input: Value,
    context: &RequestContext<RoleServer>,
) -> Result<Vec<ContentBlock>, CallError> {
    let is_offered = |tool: &Arc<dyn DynTool>| served.offered.contains(&tool.spec().name);
    let resolved = served.tools.resolve_call(name, &input);
    let Some((tool, adapted)) = resolved.filter(|(tool, _)| is_offered(tool)) else {
        return Err(CallError::UnknownTool {
            name: name.to_owned(),
            available: served.offered.iter().cloned().collect(),
        });
    };
    let host = Arc::new(McpToolHost {
        served: Arc::clone(served),
        tool: tool.spec().name.clone(),
        peer: context.peer.clone(),
    });
    let input = CallInput::from(adapted.unwrap_or(input));
    for action in tool.actions(&input)? {
        host.check_permission(&action).await?;
    }
    let features = Features {
        tools: true,
        parallel_tools: true,
        images: true,
        pdf: false,
        reasoning: false,
        caching: false,
    };
    let call = CallContext {
        level: served.policy.level,
        host,
        ..CallContext::detached(context.id.to_string().as_str().into(), features)
    };
    let output = tool.run(input, call).await?;
    let content = output.content.into_iter().map(|block| match block {
        Block::Text { text } => ContentBlock::text(text),
        Block::Media(media) => ContentBlock::image(STANDARD.encode(&media.data), media.mime),
    });
    Ok(content.collect())
}

/// The host of a tool that runs for a client.
struct McpToolHost {
    served: Arc<McpService>,
    tool: String,
    peer: Peer<RoleServer>,
}

impl McpToolHost {
    async fn check_permission(&self, action: &Action) -> Result<(), CallError> {
        match self.served.policy.decide(&self.served.mode, &self.tool, action) {
            Decision::Allow => Ok(()),
            Decision::Deny { why } => Err(CallError::Denied(why)),
            Decision::Ask { why } => {
                let question = format!("`{}` needs approval: {why}", self.tool);
                let asked = elicitation::ask_permission(&self.peer, &question).await;
                asked.map_err(|error| CallError::NotApproved { reason: why, error })
            }
        }
    }
}

impl tool::ToolHost for McpToolHost {
    fn permit(&self, action: Action) -> BoxFuture<'static, Result<(), Error>> {
        let host = McpToolHost {
            served: Arc::clone(&self.served),
            tool: self.tool.clone(),
            peer: self.peer.clone(),
        };
        async move {
            host.check_permission(&action)
                .await
                .map_err(|error| Error::Failed(error.to_string()))
        }
        .boxed()
    }

    fn ask(&self, inquiry: UserQuestion) -> BoxFuture<'static, Result<String, Error>> {
        let peer = self.peer.clone();
        async move {
            let choices: Vec<String> = inquiry.choices.into_iter().map(|choice| choice.label).collect();
            elicitation::ask_text(&peer, &inquiry.question, &choices)
                .await
                .map_err(|error| Error::Failed(error.to_string()))
        }
        .boxed()
    }

    fn delegate(&self, _: SubtaskRequest) -> BoxFuture<'static, Result<SubtaskReport, Error>> {
        async { Err(Error::Failed("subtasks are not available in this session".into())) }.boxed()
    }
}
