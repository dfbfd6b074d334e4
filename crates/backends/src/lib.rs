//! The backends of the front ends: what `tui` and `server` need from `host`, and sessions as documents.

mod acp_backend;
pub mod doctor;
mod editor_backend;
mod prediction_model;
mod remote_backend;
mod restore;
pub mod session_export;
pub mod session_markdown;
mod session_search;
mod tui_backend;
mod web_backend;
mod web_endpoint;

pub use acp_backend::AcpBackend;
pub use editor_backend::{EditorBackend, PredictionCounts};
pub use prediction_model::PredictionModel;
pub use remote_backend::{RemoteBackend, RemoteServer, pair};
pub use restore::{describe_turns, prompt_text};
pub use session_search::{FoundSession, SessionSearch};
pub use tui_backend::{
    Highlighter, TuiBackend, chosen, config_problems, open_editor, sandbox_summary, unfinished_session, version_text,
};
pub use web_backend::{DeviceFiles, WebBackend};
pub use web_endpoint::{EndpointOptions, PublishedServer, ServerFile, WebEndpoint};

use host::{atomic, config, environment, failure, grants, keys, models, paths, project};

/// Prints the warnings of a closed session to stderr.
fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        eprintln!("warning: {}", tui::format::sanitise(warning));
    }
}
