//! The configuration of edit predictions.

use super::ProjectAccess::OwnProvider;
use super::bounds;
use super::key::config_table;

config_table! {
    /// Edit predictions for editors (`hew predict`).
    pub struct PredictConfig {
        /// The model that predicts edits, as `provider/id`. Without it, the small model.
        #[serde(deserialize_with = "bounds::model_name")]
        model: Option<String> [env: Some("HEW_PREDICT_MODEL"), project: OwnProvider],
        /// The prompt format, such as `qwen`, `starcoder` or `chat`. Without it, that of the model's family.
        format: Option<String> [env: Some("HEW_PREDICT_FORMAT")],
        /// The maximum number of requests on one day.
        daily_requests: Option<u32> [env: Some("HEW_PREDICT_DAILY_REQUESTS")],
    }
}
