//! Asks servers what they have: local ones for their models, any provider whether it answers at all.
//!
//! Nothing here happens unless it is called for.

mod ask;
mod local;
mod probe;

pub use probe::{Answer, probe};

use crate::settings::Settings;
use model::{Error, Info};
use std::time::Duration;

/// How long all local servers together may take: they are on this machine and answer at once, or are not there.
pub const PATIENCE: Duration = Duration::from_millis(1500);

/// What one server said.
#[derive(Debug)]
pub struct Found {
    /// The provider's name.
    pub provider: String,
    /// Its models, or why they are not known.
    pub models: Result<Vec<Info>, Error>,
}

/// Asks servers for their models and context windows, all at once, and waits no longer than `patience` in total.
///
/// Ollama, LM Studio, llama.cpp and vLLM are asked in their own ways; any other provider for OpenAI's list of models.
pub async fn discover(servers: &[Settings], patience: Duration) -> Vec<Found> {
    let asked = servers.iter().map(|settings| async move {
        let models = match tokio::time::timeout(patience, local::models(settings)).await {
            Ok(models) => models,
            Err(_) => Err(Error::Stalled {
                provider: settings.provider.clone(),
                after: patience,
            }),
        };
        Found {
            provider: settings.provider.clone(),
            models,
        }
    });
    futures::future::join_all(asked).await
}

#[cfg(test)]
mod tests;
