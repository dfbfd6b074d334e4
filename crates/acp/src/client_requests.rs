//! Answers requests of an external agent: permissions, files, commands. All of them are subject to the user's rules.

use std::path::Path;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    Error, PermissionOption, PermissionOptionKind, ReadTextFileRequest, ReadTextFileResponse, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, ToolCallUpdate, ToolKind,
    WriteTextFileRequest, WriteTextFileResponse,
};
use policy::{AccessLevel, Action};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tool::ToolHost;
use workspace::{ExpectedContent, Location};

use crate::AgentEnvironment;
use crate::terminals::AgentTerminals;

/// Answers requests of one agent.
pub(crate) struct ClientRequests {
    name: String,
    environment: Arc<AgentEnvironment>,
    host: Arc<dyn ToolHost>,
    terminals: AgentTerminals,
}

impl ClientRequests {
    pub(crate) fn new(
        name: &str,
        environment: Arc<AgentEnvironment>,
        host: Arc<dyn ToolHost>,
        level: AccessLevel,
    ) -> Self {
        ClientRequests {
            name: name.to_owned(),
            terminals: AgentTerminals::new(Arc::clone(&environment), level),
            environment,
            host,
        }
    }

    pub(crate) async fn answer(&self, method: &str, params: Value) -> Result<Value, Error> {
        match method {
            "session/request_permission" => to_value(&self.permission(parse_params(params)?).await),
            "fs/read_text_file" => to_value(&self.read_file(parse_params(params)?).await?),
            "fs/write_text_file" => to_value(&self.write_file(parse_params(params)?).await?),
            "terminal/create" => {
                let request = parse_params(params)?;
                let (line, cwd) = self.terminals.command_line(&request);
                self.permit(Action::Run { command: line, cwd }).await?;
                to_value(&self.terminals.create(request)?)
            }
            "terminal/output" => to_value(&self.terminals.output(&parse_params(params)?)?),
            "terminal/wait_for_exit" => to_value(&self.terminals.wait(&parse_params(params)?).await?),
            "terminal/kill" => to_value(&self.terminals.kill(&parse_params(params)?)?),
            "terminal/release" => to_value(&self.terminals.release(&parse_params(params)?)?),
            _ => Err(Error::method_not_found().data(Value::from(method))),
        }
    }

    /// Decides a permission request by the user's rules, asking the user if required.
    async fn permission(&self, request: RequestPermissionRequest) -> RequestPermissionResponse {
        let mut allowed = true;
        for action in self.actions(&request.tool_call) {
            allowed = allowed && self.host.permit(action).await.is_ok();
        }
        // Only once: lasting grants are stored in hew's rules, not in the agent's.
        let order = match allowed {
            true => [PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways],
            false => [PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways],
        };
        let chosen = order
            .iter()
            .find_map(|kind| request.options.iter().find(|option| option.kind == *kind));
        let outcome = match chosen {
            Some(PermissionOption { option_id, .. }) => {
                RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option_id.clone()))
            }
            None => RequestPermissionOutcome::Cancelled,
        };
        RequestPermissionResponse::new(outcome)
    }

    /// The actions of an agent's tool call.
    fn actions(&self, call: &ToolCallUpdate) -> Vec<Action> {
        let fields = &call.fields;
        let input = fields.raw_input.as_ref();
        let text = |keys: &[&str]| {
            let found = keys.iter().find_map(|key| input?.get(key)?.as_str());
            found.map(str::to_owned)
        };
        let title = fields.title.clone().unwrap_or_default();
        let mut paths: Vec<_> = fields
            .locations
            .iter()
            .flatten()
            .map(|location| location.path.clone())
            .collect();
        paths.extend(text(&["file_path", "path", "abs_path"]).map(Into::into));
        let locations = paths
            .iter()
            .filter_map(|path| self.environment.workspace.locate(path).ok());
        let actions: Vec<Action> = match fields.kind.unwrap_or_default() {
            ToolKind::Read | ToolKind::Search => locations.map(|it| read_action(&it)).collect(),
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move => locations.map(|it| write_action(&it)).collect(),
            ToolKind::Execute => {
                let command = text(&["command", "cmd"]).or_else(|| {
                    let words = input?.get("command")?.as_array()?.iter();
                    Some(words.filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
                });
                let cwd = self.environment.root.clone();
                command
                    .map(|command| Action::Run { command, cwd })
                    .into_iter()
                    .collect()
            }
            ToolKind::Fetch => text(&["url"]).map(|url| Action::Fetch { url }).into_iter().collect(),
            _ => Vec::new(),
        };
        match actions.is_empty() {
            // An unknown action is decided by its title.
            true => vec![Action::Mcp {
                server: self.name.clone(),
                tool: title,
            }],
            false => actions,
        }
    }

    async fn read_file(&self, request: ReadTextFileRequest) -> Result<ReadTextFileResponse, Error> {
        let location = self.locate(&request.path)?;
        self.permit(read_action(&location)).await?;
        let text = blocking(move || location.read_text()).await?.content;
        let first = request.line.map_or(0, |line| line.saturating_sub(1) as usize);
        let most = request.limit.map_or(usize::MAX, |limit| limit as usize);
        let text = match (first, most) {
            (0, usize::MAX) => text,
            (first, most) => text.split_inclusive('\n').skip(first).take(most).collect(),
        };
        Ok(ReadTextFileResponse::new(text))
    }

    async fn write_file(&self, request: WriteTextFileRequest) -> Result<WriteTextFileResponse, Error> {
        let location = self.locate(&request.path)?;
        self.permit(write_action(&location)).await?;
        blocking(move || location.write(request.content.as_bytes(), ExpectedContent::Anything)).await?;
        Ok(WriteTextFileResponse::new())
    }

    fn locate(&self, path: &Path) -> Result<Location, Error> {
        let missing = || Error::resource_not_found(Some(path.display().to_string()));
        let location = self.environment.workspace.locate(path).map_err(|_| missing())?;
        // Ignored files are treated as missing.
        match self.environment.workspace.is_hidden(location.path()) {
            true => Err(missing()),
            false => Ok(location),
        }
    }

    async fn permit(&self, action: Action) -> Result<(), Error> {
        let permitted = self.host.permit(action).await;
        permitted.map_err(|why| Error::new(-32603, why.to_string()))
    }
}

/// The response to requests after a cancellation.
pub(crate) fn cancelled_response(method: &str) -> Result<Value, Error> {
    match method {
        "session/request_permission" => to_value(&RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled)),
        _ => Err(Error::request_cancelled()),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, workspace::Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work)
        .await
        .map_err(Error::into_internal_error)?;
    done.map_err(|error| match error {
        // Agents check whether a file exists, and recognise a missing one by this code.
        workspace::Error::Missing { path, .. } => Error::resource_not_found(Some(path)),
        error => Error::new(-32603, error.to_string()),
    })
}

fn read_action(location: &Location) -> Action {
    Action::Read {
        path: location.path().to_owned(),
        place: path_scope(location),
    }
}

fn write_action(location: &Location) -> Action {
    Action::Write {
        path: location.path().to_owned(),
        place: path_scope(location),
    }
}

fn path_scope(location: &Location) -> policy::PathArea {
    match location.place() {
        workspace::LocationPlace::Inside => policy::PathArea::Inside,
        workspace::LocationPlace::Outside => policy::PathArea::Outside,
    }
}

fn parse_params<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| Error::invalid_params().data(Value::from(error.to_string())))
}

fn to_value(answer: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(Error::into_internal_error)
}
