//! A model with properties that differ from its description: its server behaves differently.

use crate::session::Session;
use futures::future::BoxFuture;
use model::{Error, Info, Model, Request, Stream};
use session::NoticeLevel;
use std::sync::Arc;

struct ObservedModel {
    model: Arc<dyn Model>,
    info: Info,
}

impl Model for ObservedModel {
    fn info(&self) -> &Info {
        &self.info
    }

    fn stream(&self, mut request: Request) -> BoxFuture<'static, Result<Stream, Error>> {
        let output = self.info.limits.output;
        // The model itself would request the reply of its description.
        if output > 0 && output != self.model.info().limits.output {
            let limit = u32::try_from(output).unwrap_or(u32::MAX);
            request.max_output = Some(request.max_output.map_or(limit, |requested| requested.min(limit)));
        }
        self.model.stream(request)
    }
}

/// Sends a request outside of a turn, again if the server rejects an optional part of it.
pub(crate) async fn stream_adapted(model: &dyn Model, request: Request) -> Result<Stream, Error> {
    loop {
        match model.stream(request.clone()).await {
            // Each part is rejected once.
            Err(Error::PartRejected { .. }) => {}
            outcome => return outcome,
        }
    }
}

impl Session {
    /// Changes the properties of the model for the rest of the session.
    fn correct_model(&mut self, correct: impl FnOnce(&mut Info)) {
        let model = Arc::clone(&self.turn.model);
        let mut info = model.info().clone();
        correct(&mut info);
        let observed: Arc<dyn Model> = Arc::new(ObservedModel { model, info });
        if self.turn.default_model.info().name() == observed.info().name() {
            self.turn.default_model = Arc::clone(&observed);
        }
        self.turn.model = observed;
        self.turn.render_system_prompt(&self.env);
    }

    /// Uses calls in the text of replies from the next request on.
    pub(crate) async fn switch_to_text_calls(&mut self, reason: &str) {
        let name = self.turn.model.info().name();
        self.correct_model(|info| info.features.tools = false);
        let text = format!("{name} {reason}; switching to tool calls in text");
        self.env.notice(NoticeLevel::Warning, text).await;
    }

    /// Uses the context window that the provider enforces, if it is smaller than the known one. Returns whether it is.
    pub(crate) async fn learn_window(&mut self, window: Option<u64>) -> bool {
        let info = self.turn.model.info();
        let is_smaller = |window: &u64| info.limits.window == 0 || *window < info.limits.window;
        let Some(window) = window.filter(is_smaller) else {
            return false;
        };
        let name = info.name();
        self.correct_model(|info| {
            info.limits.window = window;
            // A reply that was requested for a larger window would not fit.
            let share = window / 4;
            info.limits.output = match info.limits.output {
                0 => share,
                output => output.min(share),
            };
        });
        let text = format!("the context window of {name} is {window} tokens");
        self.env.notice(NoticeLevel::Info, text).await;
        true
    }
}
