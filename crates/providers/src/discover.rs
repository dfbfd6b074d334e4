//! Discovers the models of local servers and probes whether a provider responds.
//!
//! Requests are sent only on demand.

mod local;
mod probe;
mod query;

pub use probe::{ProbeResult, probe};

use crate::settings::ProviderSettings;
use model::{Error, Info};
use std::time::Duration;

/// The total timeout for local servers: they respond immediately or do not run.
pub const DISCOVERY_TIMEOUT: Duration = Duration::from_millis(1500);

/// The result for one server.
#[derive(Debug)]
pub struct DiscoveredServer {
    /// The provider's name.
    pub provider: String,
    /// Its models, or the error.
    pub models: Result<Vec<Info>, Error>,
}

/// Queries servers for their models and context windows concurrently, within `patience` in total.
///
/// Ollama, LM Studio, llama.cpp and vLLM have their own endpoints; other providers are queried for OpenAI's list of
/// models.
pub async fn discover(servers: &[ProviderSettings], timeout: Duration) -> Vec<DiscoveredServer> {
    let queries = servers.iter().map(|settings| async move {
        let models = match tokio::time::timeout(timeout, local::models(settings)).await {
            Ok(models) => models,
            Err(_) => Err(Error::Stalled {
                provider: settings.provider.clone(),
                after: timeout,
            }),
        };
        DiscoveredServer {
            provider: settings.provider.clone(),
            models,
        }
    });
    futures::future::join_all(queries).await
}

#[cfg(test)]
mod tests;
