//! What a server may want of us: roots, the model's answers, the person's answers; and what it tells.

#![expect(deprecated, reason = "newer servers do without, but those that exist ask for it")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::Model;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, Implementation, InputRequest, InputRequiredResult, InputResponses,
    ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, Root,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};
use serde_json::json;
use tokio::sync::Notify;

use crate::calls::Calls;
use crate::definition::Sampling;
use crate::log::Log;
use crate::{elicit, sample};

/// What stands behind a connection on our side.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    pub(crate) sampling: Sampling,
    pub(crate) model: Option<Arc<dyn Model>>,
    pub(crate) calls: Calls,
    /// Told when the server's offer has changed.
    pub(crate) changed: Arc<Notify>,
    pub(crate) log: Log,
}

impl Handler {
    /// What is answered where nobody can be asked, because no call is under way.
    async fn elicited(&self, params: ElicitRequestParams) -> ElicitResult {
        match self.calls.ask() {
            Some((context, _asking)) => elicit::elicit(&self.name, params, &context).await,
            None => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    async fn sampled(&self, params: CreateMessageRequestParams) -> Result<CreateMessageResult, ErrorData> {
        let Some(model) = &self.model else {
            return Err(ErrorData::invalid_request("there is no model to ask", None));
        };
        let Some((context, _asking)) = self.calls.ask() else {
            return Err(ErrorData::invalid_request(
                "no call is under way that this could be about",
                None,
            ));
        };
        sample::sample(&self.name, params, self.sampling, model, &context).await
    }

    fn roots(&self) -> ListRootsResult {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        ListRootsResult::new(vec![Root::new(file_url(&self.root)).with_name(name)])
    }

    /// Answers what a server wants to know before it goes on with a request.
    pub(crate) async fn answers(&self, wanted: &InputRequiredResult) -> Result<InputResponses, ErrorData> {
        let mut answers = InputResponses::new();
        for (key, request) in wanted.input_requests.iter().flatten() {
            let answer = match request.clone() {
                InputRequest::Elicitation(request) => serde_json::to_value(self.elicited(request.params).await),
                InputRequest::CreateMessage(request) => serde_json::to_value(self.sampled(request.params).await?),
                InputRequest::ListRoots(_) => serde_json::to_value(self.roots()),
                _ => Ok(json!({})),
            };
            answers.insert(key.clone(), answer.unwrap_or_default());
        }
        Ok(answers)
    }
}

impl ClientHandler for Handler {
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.sampled(params).await
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.elicited(params).await)
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let of = params.total.map(|total| format!("/{total}")).unwrap_or_default();
        let said = params.message.map(|message| format!(" {message}")).unwrap_or_default();
        let mut text = format!("{}{of}{said}\n", params.progress);
        text.truncate(text.floor_char_boundary(500));
        self.calls.progress(&params.progress_token, text);
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        let level = serde_json::to_value(params.level).unwrap_or_default();
        let level = level.as_str().unwrap_or("log").to_owned();
        let data = match params.data.as_str() {
            Some(text) => text.to_owned(),
            None => params.data.to_string(),
        };
        self.log.add(format!("[{level}] {data}"));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let able = json!({"roots": {}, "elicitation": {"form": {}, "url": {}}});
        let mut able: ClientCapabilities = serde_json::from_value(able).unwrap_or_default();
        if self.model.is_some() && self.sampling != Sampling::Deny {
            able.sampling = Some(Default::default());
        }
        let us = Implementation::new("hew", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(able, us).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// A folder as an address.
fn file_url(path: &Path) -> String {
    url::Url::from_file_path(path).map_or_else(|()| format!("file://{}", path.display()), |url| url.to_string())
}
