//! hew as an MCP server: what it can do with a project, for other agents, under the same rules.

mod ask;
mod call;
mod task;

use std::collections::BTreeSet;
use std::sync::Arc;

use policy::{Mode, Policy};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt as _};
use serde_json::Value;
use session::{Command, Event};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tool::Effect;

/// What is served.
pub struct Served {
    /// The tools of the project.
    pub tools: tool::Registry,
    /// Those of them that others may use.
    pub offered: BTreeSet<String>,
    /// The rules that every call passes.
    pub policy: Policy,
    /// What others may do at all.
    pub mode: Mode,
    /// Where sessions are ordered that work on whole tasks; without it there are none.
    pub sessions: Option<mpsc::Sender<Order>>,
}

/// A session is wanted.
pub struct Order {
    /// The mode in which it works, where another than the usual is wanted.
    pub mode: Option<String>,
    /// The session to go on with.
    pub resume: Option<String>,
    /// Where it is handed over; the error is a sentence.
    pub reply: oneshot::Sender<Result<Session, String>>,
}

/// A session that was ordered.
pub struct Session {
    /// Names it.
    pub id: String,
    /// Takes commands.
    pub commands: mpsc::Sender<Command>,
    /// Tells events.
    pub events: mpsc::Receiver<Event>,
    /// What must live as long as it does.
    pub keep: Box<dyn std::any::Any + Send>,
}

/// Why it could not be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client did not begin as it must.
    #[error("the client did not begin the conversation: {0}")]
    Greeting(String),
    /// It ended otherwise than it should.
    #[error("the conversation broke: {0}")]
    Broken(String),
}

/// Serves one client until it goes.
pub async fn serve(
    served: Served,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Error> {
    let running = Host(Arc::new(served)).serve((input, output)).await;
    let running = running.map_err(|error| Error::Greeting(error.to_string()))?;
    running
        .waiting()
        .await
        .map(drop)
        .map_err(|error| Error::Broken(error.to_string()))
}

/// What stands behind a connection.
#[derive(Clone)]
struct Host(Arc<Served>);

const INSTRUCTIONS: &str = "hew works on the project in the folder where it was started. Paths are relative to it. \
    What its rules do not allow is asked of you where you can be asked, and refused otherwise.";

impl ServerHandler for Host {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("hew", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let own = self
            .0
            .tools
            .iter()
            .filter(|tool| self.0.offered.contains(&tool.spec().name));
        let mut tools: Vec<Tool> = own
            .map(|tool| {
                let spec = tool.spec();
                let only_looks = tool.effect() == Effect::Reads;
                describe(&spec.name, &spec.description, &spec.input_schema, only_looks)
            })
            .collect();
        if self.0.sessions.is_some() {
            tools.push(describe(task::NAME, task::DESCRIPTION, &task::schema(), false));
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = Value::Object(request.arguments.unwrap_or_default());
        let name = request.name.as_ref();
        let stopped = context.ct.clone();
        let work = async {
            match &self.0.sessions {
                Some(sessions) if name == task::NAME => task::run(sessions, &input, &context).await,
                Some(_) | None => call::call(&self.0, name, input.clone(), &context).await,
            }
        };
        let result = tokio::select! {
            result = work => result,
            () = stopped.cancelled() => Err("it was cancelled".to_owned()),
        };
        Ok(match result {
            Ok(content) => CallToolResult::success(content),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
        }
        .into())
    }
}

fn describe(name: &str, description: &str, schema: &Value, only_looks: bool) -> Tool {
    let schema = schema.as_object().cloned().unwrap_or_default();
    let mut tool = Tool::new(name.to_owned(), description.to_owned(), schema);
    tool.annotations = Some(ToolAnnotations::new().read_only(only_looks));
    tool
}
