//! Answers what another agent asks of us: permissions, files, commands. All of it passes the person's rules.

use std::path::Path;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    Error, PermissionOption, PermissionOptionKind, ReadTextFileRequest, ReadTextFileResponse, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, ToolCallUpdate, ToolKind,
    WriteTextFileRequest, WriteTextFileResponse,
};
use policy::{Action, Level};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tool::Desk;
use workspace::{Expect, Location};

use crate::Place;
use crate::terminals::Terminals;

/// Answers one agent.
pub(crate) struct Answering {
    name: String,
    place: Arc<Place>,
    desk: Arc<dyn Desk>,
    terminals: Terminals,
}

impl Answering {
    pub(crate) fn new(name: &str, place: Arc<Place>, desk: Arc<dyn Desk>, level: Level) -> Self {
        Answering {
            name: name.to_owned(),
            terminals: Terminals::new(Arc::clone(&place), level),
            place,
            desk,
        }
    }

    pub(crate) async fn answer(&self, method: &str, params: Value) -> Result<Value, Error> {
        match method {
            "session/request_permission" => answered(&self.permission(read(params)?).await),
            "fs/read_text_file" => answered(&self.read_file(read(params)?).await?),
            "fs/write_text_file" => answered(&self.write_file(read(params)?).await?),
            "terminal/create" => {
                let request = read(params)?;
                let (line, cwd) = self.terminals.line(&request);
                self.permit(Action::Run { command: line, cwd }).await?;
                answered(&self.terminals.create(request)?)
            }
            "terminal/output" => answered(&self.terminals.output(&read(params)?)?),
            "terminal/wait_for_exit" => answered(&self.terminals.wait(&read(params)?).await?),
            "terminal/kill" => answered(&self.terminals.kill(&read(params)?)?),
            "terminal/release" => answered(&self.terminals.release(&read(params)?)?),
            _ => Err(Error::method_not_found().data(Value::from(method))),
        }
    }

    /// Whether the agent may do something itself: the person's rules decide, and the person where they say so.
    async fn permission(&self, request: RequestPermissionRequest) -> RequestPermissionResponse {
        let mut allowed = true;
        for action in self.actions(&request.tool_call) {
            allowed = allowed && self.desk.permit(action).await.is_ok();
        }
        // Only once: what counts for longer is kept in our rules, not in the agent's.
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

    /// What a call of the agent does, in the terms of our rules.
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
            .map(|place| place.path.clone())
            .collect();
        paths.extend(text(&["file_path", "path", "abs_path"]).map(Into::into));
        let places = paths.iter().filter_map(|path| self.place.workspace.locate(path).ok());
        let actions: Vec<Action> = match fields.kind.unwrap_or_default() {
            ToolKind::Read | ToolKind::Search => places.map(|it| reading(&it)).collect(),
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move => places.map(|it| writing(&it)).collect(),
            ToolKind::Execute => {
                let command = text(&["command", "cmd"]).or_else(|| {
                    let words = input?.get("command")?.as_array()?.iter();
                    Some(words.filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
                });
                let cwd = self.place.root.clone();
                command
                    .map(|command| Action::Run { command, cwd })
                    .into_iter()
                    .collect()
            }
            ToolKind::Fetch => text(&["url"]).map(|url| Action::Fetch { url }).into_iter().collect(),
            _ => Vec::new(),
        };
        match actions.is_empty() {
            // What cannot be named is asked about by its title.
            true => vec![Action::Mcp {
                server: self.name.clone(),
                tool: title,
            }],
            false => actions,
        }
    }

    async fn read_file(&self, request: ReadTextFileRequest) -> Result<ReadTextFileResponse, Error> {
        let place = self.locate(&request.path)?;
        self.permit(reading(&place)).await?;
        let text = blocking(move || place.read_text()).await?.content;
        let first = request.line.map_or(0, |line| line.saturating_sub(1) as usize);
        let most = request.limit.map_or(usize::MAX, |limit| limit as usize);
        let text = match (first, most) {
            (0, usize::MAX) => text,
            (first, most) => text.split_inclusive('\n').skip(first).take(most).collect(),
        };
        Ok(ReadTextFileResponse::new(text))
    }

    async fn write_file(&self, request: WriteTextFileRequest) -> Result<WriteTextFileResponse, Error> {
        let place = self.locate(&request.path)?;
        self.permit(writing(&place)).await?;
        blocking(move || place.write(request.content.as_bytes(), Expect::Anything)).await?;
        Ok(WriteTextFileResponse::new())
    }

    fn locate(&self, path: &Path) -> Result<Location, Error> {
        let missing = || Error::resource_not_found(Some(path.display().to_string()));
        let place = self.place.workspace.locate(path).map_err(|_| missing())?;
        // What ignore files hide is not there for anybody.
        match self.place.workspace.hides(place.path()) {
            true => Err(missing()),
            false => Ok(place),
        }
    }

    async fn permit(&self, action: Action) -> Result<(), Error> {
        let permitted = self.desk.permit(action).await;
        permitted.map_err(|why| Error::new(-32603, why.to_string()))
    }
}

/// The answer to what an agent still wants after it was told to stop.
pub(crate) fn cancelled(method: &str) -> Result<Value, Error> {
    match method {
        "session/request_permission" => answered(&RequestPermissionResponse::new(RequestPermissionOutcome::Cancelled)),
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
        // Agents look before they make a file, and tell what is missing by this code.
        workspace::Error::Missing { path, .. } => Error::resource_not_found(Some(path)),
        error => Error::new(-32603, error.to_string()),
    })
}

fn reading(place: &Location) -> Action {
    Action::Read {
        path: place.path().to_owned(),
        place: side(place),
    }
}

fn writing(place: &Location) -> Action {
    Action::Write {
        path: place.path().to_owned(),
        place: side(place),
    }
}

fn side(place: &Location) -> policy::Place {
    match place.place() {
        workspace::Place::Inside => policy::Place::Inside,
        workspace::Place::Outside => policy::Place::Outside,
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| Error::invalid_params().data(Value::from(error.to_string())))
}

fn answered(answer: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(Error::into_internal_error)
}
