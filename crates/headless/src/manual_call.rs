//! Runs a tool call outside a session: the permission rules apply, and approvals are asked for on the terminal.

use crate::failure::{Failure, Result};
use crate::output::text::describe;
use crate::terminal_answers;
use futures::future::{BoxFuture, FutureExt as _};
use model::{Features, Info};
use policy::{Action, Decision, Mode, Policy};
use serde_json::Value;
use std::sync::Arc;
use tool::{CallContext, CallInput, Output, Registry, SubtaskReport, SubtaskRequest, ToolHost, UserQuestion};

/// Why a call has no output.
#[derive(Debug)]
pub enum ManualCallError {
    /// There is no tool with this name outside a session.
    UnknownTool,
    /// The input is not valid for the tool.
    InvalidInput(tool::Error),
    /// It was not approved.
    Refused(Failure),
    /// The tool failed.
    Failed(tool::Error),
}

/// Runs a call.
pub async fn run_call(
    registry: &Registry,
    name: &str,
    input: Value,
    approver: &ManualApprover,
    info: Option<&Info>,
) -> std::result::Result<Output, ManualCallError> {
    let Some((tool, inner)) = registry.resolve_call(name, &input) else {
        return Err(ManualCallError::UnknownTool);
    };
    let input = CallInput::from(inner.unwrap_or(input));
    let actions = tool.actions(&input).map_err(ManualCallError::InvalidInput)?;
    let name = tool.spec().name.clone();
    for action in &actions {
        approver.approve(&name, action).map_err(ManualCallError::Refused)?;
    }
    let context = CallContext {
        level: approver.policy.level,
        host: Arc::new(ManualHost {
            approver: approver.clone(),
            name,
        }),
        ..CallContext::detached("manual".into(), info.map_or(EVERYTHING, |info| info.features))
    };
    tool.run(input, context).await.map_err(ManualCallError::Failed)
}

/// Without a model, all kinds of content are possible.
const EVERYTHING: Features = Features {
    tools: true,
    parallel_tools: true,
    images: true,
    pdf: true,
    reasoning: false,
    caching: false,
};

/// Applies the rules for the model's calls; approvals are asked for on the terminal.
#[derive(Debug, Clone)]
pub struct ManualApprover {
    /// The rules.
    pub policy: Policy,
    /// The mode that the rules apply in.
    pub mode: Mode,
    /// Whether all approvals are given in advance.
    pub yes: bool,
}

impl ManualApprover {
    fn approve(&self, tool: &str, action: &Action) -> Result<()> {
        match self.policy.decide(&self.mode, tool, action) {
            Decision::Allow => Ok(()),
            Decision::Deny { why } => Err(Failure::failed(format!("not allowed: {why}"))),
            Decision::Ask { .. } if self.yes => Ok(()),
            Decision::Ask { why } if terminal_answers::is_interactive() => {
                match terminal_answers::confirm(&format!("{tool} wants {}: {why}; continue?", describe(action))) {
                    true => Ok(()),
                    false => Err(Failure::failed("nothing was done")),
                }
            }
            Decision::Ask { why } => Err(Failure::failed(format!(
                "not run: {why}, and there is no terminal to ask on"
            ))
            .hint("--yes allows it")),
        }
    }
}

/// Applies the rules to actions that appear only while a tool runs.
struct ManualHost {
    approver: ManualApprover,
    name: String,
}

impl ToolHost for ManualHost {
    fn permit(&self, action: Action) -> BoxFuture<'static, std::result::Result<(), tool::Error>> {
        let approved = self.approver.approve(&self.name, &action);
        async move { approved.map_err(|failure| tool::Error::Failed(failure.message)) }.boxed()
    }

    fn ask(&self, inquiry: UserQuestion) -> BoxFuture<'static, std::result::Result<String, tool::Error>> {
        tool::DetachedHost.ask(inquiry)
    }

    fn delegate(&self, task: SubtaskRequest) -> BoxFuture<'static, std::result::Result<SubtaskReport, tool::Error>> {
        tool::DetachedHost.delegate(task)
    }
}
