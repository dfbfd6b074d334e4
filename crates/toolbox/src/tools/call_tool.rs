//! Calls a deferred tool, so that the tool list and the provider's cache of it stay unchanged.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::ToolSpec;
use policy::Action;
use serde_json::{Map, Value, json};
use tool::{
    Availability, CallContext, CallInput, CallPreview, DynTool, Error, ModelClass, Output, PeerAgent, RebuiltTool,
    Registry, ToolEffect, ToolFacts, ToolListing, ToolSet, adapted,
};

use crate::tools::find_tools;

/// The tool's name.
pub(crate) const NAME: &str = "call_tool";

/// Facts about the tool.
pub(crate) const FACTS: ToolFacts = ToolFacts {
    listing: ToolListing::Listed,
    sets: &[ToolSet::AskProfile],
    exceptions: &[
        (ModelClass::SmallWindow, Availability::Hidden),
        (ModelClass::Small, Availability::Hidden),
    ],
    peers: &[(PeerAgent::RooCode, &["use_mcp_tool"])],
    ..ToolFacts::DEFAULT
};

/// Forwards a call. `resolve` forwards valid calls, so `run` only reports errors.
pub(crate) struct CallTool {
    spec: ToolSpec,
    /// What to use instead of the tool of a call that cannot be forwarded.
    hint: Option<String>,
}

impl CallTool {
    pub(crate) fn new() -> Self {
        CallTool {
            spec: ToolSpec {
                name: NAME.into(),
                description: format!("Calls a tool found with {}.", find_tools::NAME),
                input_schema: json!({
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "input": {"type": "object"}},
                    "required": ["name", "input"],
                }),
            },
            hint: None,
        }
    }
}

impl DynTool for CallTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        &["use_tool"]
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::ReadOnly
    }

    fn facts(&self) -> ToolFacts {
        FACTS
    }

    fn title(&self, input: &CallInput) -> String {
        name(input).unwrap_or_default().to_owned()
    }

    fn actions(&self, input: &CallInput) -> Result<Vec<Action>, Error> {
        Err(self.refusal(input))
    }

    fn rebuilt_for(&self, tools: &Registry) -> RebuiltTool {
        match find_tools::are_needed(tools) {
            true => RebuiltTool::Unchanged,
            false => RebuiltTool::Removed,
        }
    }

    fn is_forwarder(&self) -> bool {
        true
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        None
    }

    fn resolve(&self, input: &Value, tools: &Registry) -> Option<(Arc<dyn DynTool>, Value)> {
        let (named, inner) = (name(input)?, inner(input)?);
        let Some(tool) = target(input, named, tools) else {
            let hint = server_hint(input, tools).or_else(|| tools.hint_for(named));
            let refusing = CallTool {
                spec: self.spec.clone(),
                hint: Some(hint?),
            };
            return Some((Arc::new(refusing), input.clone()));
        };
        if tool.spec().name == NAME {
            return None;
        }
        let inner = adapted(tool.as_ref(), named, &inner).unwrap_or(inner);
        // The target may forward the call as well.
        let further = tool.resolve(&inner, tools);
        Some(further.unwrap_or((tool, inner)))
    }

    fn run(self: Arc<Self>, input: CallInput, _: CallContext) -> BoxFuture<'static, Result<Output, Error>> {
        async move { Err(self.refusal(&input)) }.boxed()
    }
}

impl CallTool {
    fn refusal(&self, input: &Value) -> Error {
        let detail = match (name(input), inner(input), &self.hint) {
            (None, ..) => "missing field `name`".to_owned(),
            (Some(_), None, _) => "input: it must be an object".to_owned(),
            (Some(name), Some(_), None) => format!("there is no tool named `{name}`; {} shows all", find_tools::NAME),
            (Some(name), Some(_), Some(hint)) => format!("there is no tool named `{name}`. {hint}"),
        };
        Error::Input {
            tool: NAME.into(),
            detail,
        }
    }
}

/// The tool with this name, of the named server if there is one. A tool of another server is not meant.
fn target(input: &Value, named: &str, tools: &Registry) -> Option<Arc<dyn DynTool>> {
    let Some(server) = server(input) else {
        return tools.find(named);
    };
    let of_server = tools.find(&format!("mcp__{server}__{named}"));
    of_server.or_else(|| {
        tools
            .find(named)
            .filter(|tool| tool.source().is_none_or(|source| source == server))
    })
}

/// The tools of the named server, or the servers with tools if it has none.
fn server_hint(input: &Value, tools: &Registry) -> Option<String> {
    let server = server(input)?;
    let dynamic = tools.dynamic().map(|dynamic| dynamic.tools()).unwrap_or_default();
    let (mut servers, mut own) = (BTreeSet::new(), BTreeSet::new());
    for tool in tools.iter().chain(&dynamic) {
        match tool.source() {
            Some(source) if source == server => own.insert(format!("`{}`", tool.spec().name)),
            Some(source) => servers.insert(format!("`{source}`")),
            None => false,
        };
    }
    let list = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    Some(match (own.is_empty(), servers.is_empty()) {
        (false, _) => format!("The tools of the server `{server}`: {}.", list(own)),
        (true, false) => format!(
            "`{server}` is not a server with tools; such servers are {}.",
            list(servers)
        ),
        (true, true) => "No server with tools is connected.".to_owned(),
    })
}

fn server(input: &Value) -> Option<&str> {
    ["server_name", "serverName", "server"]
        .iter()
        .find_map(|key| input.get(key)?.as_str())
}

fn name(input: &Value) -> Option<&str> {
    ["name", "tool", "tool_name", "toolName"]
        .iter()
        .find_map(|key| input.get(key)?.as_str())
}

/// The input of the forwarded call. It may be JSON text or missing.
fn inner(input: &Value) -> Option<Value> {
    let given = ["input", "arguments", "args", "parameters"]
        .iter()
        .find_map(|key| input.get(key));
    match given {
        Some(Value::Object(fields)) => Some(Value::Object(fields.clone())),
        Some(Value::String(text)) => serde_json::from_str(text).ok().filter(Value::is_object),
        Some(Value::Null) | None => Some(Value::Object(Map::new())),
        Some(_) => None,
    }
}
