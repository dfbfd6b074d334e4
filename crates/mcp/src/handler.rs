//! Handles requests and notifications of a server: roots, sampling, elicitation, progress, logs.

#![expect(deprecated, reason = "existing servers still use it")]

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

use crate::calls::McpCalls;
use crate::definition::{ElicitationPolicy, SamplingPolicy};
use crate::offer_changes::OfferChanges;
use crate::server_log::ServerLog;
use crate::{elicitation, sampling};

/// The client side of a connection.
#[derive(Clone)]
pub(crate) struct McpClientHandler {
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    pub(crate) sampling: SamplingPolicy,
    pub(crate) elicitation: ElicitationPolicy,
    pub(crate) model: Option<Arc<dyn Model>>,
    pub(crate) calls: McpCalls,
    /// Notified when the server's offer changes.
    pub(crate) changed: Arc<OfferChanges>,
    pub(crate) log: ServerLog,
}

impl McpClientHandler {
    /// Elicits input from the user; cancelled if no call is active.
    async fn elicit(&self, params: ElicitRequestParams) -> ElicitResult {
        match self.calls.begin_question() {
            Some((context, _asking)) => elicitation::elicit(&self.name, params, self.elicitation, &context).await,
            None => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    async fn sample(&self, params: CreateMessageRequestParams) -> Result<CreateMessageResult, ErrorData> {
        let Some(model) = &self.model else {
            return Err(ErrorData::invalid_request("no model is available", None));
        };
        let Some((context, _asking)) = self.calls.begin_question() else {
            return Err(ErrorData::invalid_request("no active call for this request", None));
        };
        sampling::sample(&self.name, params, self.sampling, model, &context).await
    }

    fn roots(&self) -> ListRootsResult {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        ListRootsResult::new(vec![Root::new(file_url(&self.root)).with_name(name)])
    }

    /// Answers the input requests of a server.
    pub(crate) async fn input_responses(&self, required: &InputRequiredResult) -> Result<InputResponses, ErrorData> {
        let mut answers = InputResponses::new();
        for (key, request) in required.input_requests.iter().flatten() {
            let answer = match request.clone() {
                InputRequest::Elicitation(request) => serde_json::to_value(self.elicit(request.params).await),
                InputRequest::CreateMessage(request) => serde_json::to_value(self.sample(request.params).await?),
                InputRequest::ListRoots(_) => serde_json::to_value(self.roots()),
                _ => Ok(json!({})),
            };
            answers.insert(key.clone(), answer.unwrap_or_default());
        }
        Ok(answers)
    }
}

impl ClientHandler for McpClientHandler {
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.sample(params).await
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.elicit(params).await)
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let of = params.total.map(|total| format!("/{total}")).unwrap_or_default();
        let message = params.message.map(|message| format!(" {message}")).unwrap_or_default();
        let mut text = format!("{}{of}{message}\n", params.progress);
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
        self.changed.report();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.report();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.report();
    }

    fn get_info(&self) -> ClientConfig {
        let able = json!({"roots": {}, "elicitation": {"form": {}, "url": {}}});
        let mut able: ClientCapabilities = serde_json::from_value(able).unwrap_or_default();
        if self.model.is_some() && self.sampling != SamplingPolicy::Deny {
            able.sampling = Some(Default::default());
        }
        let us = Implementation::new("hew", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(able, us).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// The file URL of a directory.
fn file_url(path: &Path) -> String {
    url::Url::from_file_path(path).map_or_else(|()| format!("file://{}", path.display()), |url| url.to_string())
}
