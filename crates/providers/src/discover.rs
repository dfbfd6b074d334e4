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
    pub models: Result<Vec<DiscoveredModel>, Error>,
}

/// A model of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscoveredModel {
    /// Its properties, as the server reports them.
    pub info: Info,
    /// Whether it is in memory, so that the first reply does not wait for it.
    pub loaded: bool,
}

impl DiscoveredModel {
    /// Compares models by their usefulness as the main model: loaded ones first, then those with tool calls, then by
    /// size.
    pub fn rank(&self) -> impl Ord + use<> {
        let Info {
            features,
            parameters,
            limits,
            ..
        } = &self.info;
        (self.loaded, features.tools, *parameters, limits.window)
    }
}

/// Queries servers for their models and context windows concurrently, within `timeout` in total.
///
/// Ollama, LM Studio, llama.cpp and vLLM have their own endpoints; other providers are queried for OpenAI's list of
/// models.
pub async fn discover(servers: &[ProviderSettings], timeout: Duration) -> Vec<DiscoveredServer> {
    let queries = servers.iter().map(|settings| async move {
        let models = match tokio::time::timeout(timeout, local::models(settings, None)).await {
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

/// Queries a server for one of its models; `None` if the server does not list it or does not respond in time.
pub async fn describe(settings: &ProviderSettings, id: &str, timeout: Duration) -> Option<DiscoveredModel> {
    let models = tokio::time::timeout(timeout, local::models(settings, Some(id))).await;
    models.ok()?.ok()?.into_iter().next()
}

#[cfg(test)]
mod tests;
