//! Models of servers on this machine: detection if no model is configured, and facts that the servers report.

use super::lookup::apply_overrides;
use super::{ModelRegistry, url};
use crate::failure::{RecoveryAction, Result};
use model::Info;
use providers::ProviderSettings;
use providers::discover::{self, DISCOVERY_TIMEOUT, DiscoveredModel, DiscoveredServer};

/// The main model of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct MainModel {
    /// The model.
    pub info: Info,
    /// How it was chosen.
    pub choice: MainModelChoice,
}

/// How the main model was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainModelChoice {
    /// By the configuration, or by the available keys.
    Configured,
    /// No model is configured; a server on this machine has it.
    Detected,
}

impl MainModel {
    /// Notifies the user which model was detected.
    pub fn notice(&self) -> Option<String> {
        let name = self.info.name();
        match self.choice {
            MainModelChoice::Configured => None,
            MainModelChoice::Detected => Some(format!(
                "no model is configured: using {name}, which runs on this machine; `hew config set model {name}` makes it permanent"
            )),
        }
    }
}

impl ModelRegistry<'_> {
    /// The main model: the configured one, that of the first provider with a key, or the best of the local servers.
    pub async fn main_model(&self) -> Result<MainModel> {
        let failure = match self.main_name().await {
            Ok(name) => {
                let info = self.find_served(&name).await?;
                let choice = MainModelChoice::Configured;
                return Ok(MainModel { info, choice });
            }
            Err(failure) => failure,
        };
        if failure.recovery != RecoveryAction::Setup || !self.config.local_models {
            return Err(failure);
        }
        let servers = discover::discover(&self.local_servers(), DISCOVERY_TIMEOUT).await;
        let best = best_model(&servers).map(|model| MainModel {
            info: self.with_configuration(model.info.clone()),
            choice: MainModelChoice::Detected,
        });
        let loading = servers
            .iter()
            .find(|server| matches!(server.models, Err(model::Error::Overloaded { .. })));
        best.ok_or(match loading {
            Some(server) => failure.hint(format!(
                "{} is still loading its model; try again soon",
                server.provider
            )),
            None => failure,
        })
    }

    /// Finds a model. If it runs on a local server, its features and limits are those that the server reports.
    pub async fn find_served(&self, name: &str) -> Result<Info> {
        let info = self.find(name)?;
        let Some(provider) = self.provider(&info.provider).filter(|provider| provider.is_local()) else {
            return Ok(info);
        };
        let key = self.immediate_key(&provider);
        let Ok(settings) = self.settings_with(&info, &provider, key) else {
            return Ok(info);
        };
        let served = discover::describe(&settings, &info.id, DISCOVERY_TIMEOUT).await;
        Ok(served.map_or(info.clone(), |served| {
            let id = info.id;
            self.with_configuration(Info { id, ..served.info })
        }))
    }

    /// The servers on this machine to query for models.
    pub fn local_servers(&self) -> Vec<ProviderSettings> {
        let providers = self.providers();
        let local = providers.iter().filter(|provider| provider.is_local());
        let settings = local.filter_map(|provider| {
            let key = self.immediate_key(provider);
            self.settings_with(&self.representative(provider), provider, key).ok()
        });
        settings.filter(|server| url::is_loopback(&server.base_url)).collect()
    }

    /// Applies the configuration to a description by a server.
    fn with_configuration(&self, mut info: Info) -> Info {
        if let Some(entry) = self.config.models.get(&info.name()) {
            apply_overrides(&mut info, entry);
        }
        self.complete(info)
    }
}

/// The best model of all servers.
pub fn best_model(servers: &[DiscoveredServer]) -> Option<&DiscoveredModel> {
    let models = servers
        .iter()
        .filter_map(|server| server.models.as_ref().ok())
        .flatten();
    // The first of equal models: the servers are in a fixed order.
    models.reduce(|best, model| if model.rank() > best.rank() { model } else { best })
}
