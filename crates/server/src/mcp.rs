//! hew as an MCP server: its tools for other agents, under the same rules.

mod call;
mod elicitation;
mod task;

use std::collections::BTreeSet;
use std::sync::Arc;

use elicitation::ElicitationError;
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
use tool::ToolEffect;

/// The served tools and their policy.
pub struct McpService {
    /// The tools of the project.
    pub tools: tool::Registry,
    /// The tools that are available to clients.
    pub offered: BTreeSet<String>,
    /// The rules for every call.
    pub policy: Policy,
    /// The mode of clients.
    pub mode: Mode,
    /// Receives requests for task sessions; without it there is no task tool.
    pub sessions: Option<mpsc::Sender<SessionOrder>>,
}

/// A request to open a session.
pub struct SessionOrder {
    /// The mode, if not the default.
    pub mode: Option<String>,
    /// The session to resume.
    pub resume: Option<String>,
    /// Receives the session.
    pub reply: oneshot::Sender<Result<McpSession, OpenSessionError>>,
}

/// Why a session could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct OpenSessionError(pub String);

/// Why a call failed, for the client.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("it was cancelled")]
    Cancelled,
    #[error("unknown tool `{name}`; available tools: {}", .available.join(", "))]
    UnknownTool { name: String, available: Vec<String> },
    #[error("Not allowed: {0}.")]
    Denied(String),
    #[error("Not allowed: {reason}. {error}")]
    NotApproved { reason: String, error: ElicitationError },
    #[error(transparent)]
    Tool(#[from] tool::Error),
    #[error("the field `task` is missing")]
    MissingTask,
    #[error("hew is shutting down")]
    ShuttingDown,
    #[error(transparent)]
    OpenSession(#[from] OpenSessionError),
    #[error("the session ended")]
    SessionEnded,
    #[error("{message} [session {session}]")]
    TaskFailed { message: String, session: String },
}

/// A session for a task.
pub struct McpSession {
    /// Its id.
    pub id: String,
    /// Receives commands.
    pub commands: mpsc::Sender<Command>,
    /// Sends events.
    pub events: mpsc::Receiver<Event>,
    /// Kept alive as long as the session.
    pub keep: Box<dyn std::any::Any + Send>,
}

/// Why serving failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client did not initialize the connection.
    #[error("the client did not initialize the connection: {0}")]
    Handshake(String),
    /// The connection ended with an error.
    #[error("the connection failed: {0}")]
    Broken(String),
}

/// Serves one client until it disconnects.
pub async fn serve(
    served: McpService,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Error> {
    let running = McpHost(Arc::new(served)).serve((input, output)).await;
    let running = running.map_err(|error| Error::Handshake(error.to_string()))?;
    running
        .waiting()
        .await
        .map(drop)
        .map_err(|error| Error::Broken(error.to_string()))
}

/// The server side of a connection.
#[derive(Clone)]
struct McpHost(Arc<McpService>);

const INSTRUCTIONS: &str = "hew works on the project in the directory where it was started. Paths are relative to it. \
    Actions that its rules do not allow need approval through elicitation, and are denied otherwise.";

impl ServerHandler for McpHost {
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
                let only_looks = tool.effect() == ToolEffect::ReadOnly;
                tool_definition(&spec.name, &spec.description, &spec.input_schema, only_looks)
            })
            .collect();
        if self.0.sessions.is_some() {
            tools.push(tool_definition(task::NAME, task::DESCRIPTION, &task::schema(), false));
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
            () = stopped.cancelled() => Err(CallError::Cancelled),
        };
        Ok(match result {
            Ok(content) => CallToolResult::success(content),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        }
        .into())
    }
}

fn tool_definition(name: &str, description: &str, schema: &Value, only_looks: bool) -> Tool {
    let schema = schema.as_object().cloned().unwrap_or_default();
    let mut tool = Tool::new(name.to_owned(), description.to_owned(), schema);
    tool.annotations = Some(ToolAnnotations::new().read_only(only_looks));
    tool
}
