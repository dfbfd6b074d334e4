//! The list of known models, with whether their providers can be used.

use super::ModelRegistry;
use model::Info;
use providers::discover::{self, DiscoveredModel};
use std::collections::BTreeMap;

/// Which models are listed.
#[derive(Debug, Clone, Copy)]
pub struct ListingOptions<'a> {
    /// Only the models of this provider.
    pub provider: Option<&'a str>,
    /// Text in the names of the models. If it is the name of a provider, only that is asked for its models.
    pub filter: Option<&'a str>,
    /// Whether local and configured servers are asked for their models.
    pub discover: bool,
}

/// The models, and the problems of servers that were asked.
#[derive(Debug)]
pub struct ModelListing {
    /// The models, with whether their provider has a key or responded.
    pub models: Vec<(Info, bool)>,
    /// One entry for each server that failed.
    pub problems: Vec<model::Error>,
    /// How many servers were asked.
    pub asked: usize,
}

impl ModelRegistry<'_> {
    /// Lists the models of the catalogue, of the configuration and of servers that respond.
    pub async fn list(&self, options: &ListingOptions<'_>) -> ModelListing {
        let mut usable = BTreeMap::new();
        for provider in self.providers() {
            let own = provider.preset.is_none();
            // Whether a local server runs is determined by a query.
            let ready = !provider.is_local() && (own || self.key(&provider).await.unwrap_or(None).is_some());
            usable.insert(provider.name.to_string(), ready);
        }
        let mut infos: Vec<Info> = self.iter().cloned().collect();
        self.add_configured(&mut infos);
        let (mut problems, mut asked) = (Vec::new(), 0);
        if options.discover {
            let found = self.discover(options).await;
            asked = found.len();
            for found in found {
                match found.models {
                    Ok(discovered) => {
                        usable.insert(found.provider.clone(), true);
                        for DiscoveredModel { info, .. } in discovered {
                            let is_same = |known: &Info| known.provider == info.provider && known.id == info.id;
                            if !infos.iter().any(is_same) {
                                infos.push(info);
                            }
                        }
                    }
                    Err(error) => problems.push(error),
                }
            }
        }
        let is_wanted = |info: &Info| {
            options.provider.is_none_or(|name| name == info.provider)
                && options.filter.is_none_or(|text| info.name().contains(text))
        };
        let models = infos.into_iter().filter(is_wanted).map(|info| {
            let ready = usable.get(&info.provider).copied().unwrap_or(false);
            (info, ready)
        });
        ModelListing {
            models: models.collect(),
            problems,
            asked,
        }
    }

    /// Models that are only defined in the configuration.
    fn add_configured(&self, infos: &mut Vec<Info>) {
        for provider in self.providers() {
            for id in provider.entry.map_or(&[] as &[String], |entry| &entry.models) {
                let name = format!("{}/{id}", provider.name);
                if !infos.iter().any(|info| info.name() == name)
                    && let Ok(info) = self.find(&name)
                {
                    infos.push(info);
                }
            }
        }
    }

    /// Asks local and configured servers for their models.
    async fn discover(&self, options: &ListingOptions<'_>) -> Vec<discover::DiscoveredServer> {
        let mut servers = Vec::new();
        for provider in self.providers() {
            // A filter that is the name of a provider means that provider.
            let named = options
                .provider
                .or(options.filter.filter(|name| self.provider(name).is_some()));
            let asked = match named {
                Some(name) => name == provider.name,
                None => provider.is_local() || provider.preset.is_none(),
            };
            if !asked {
                continue;
            }
            let key = self.key(&provider).await.unwrap_or(None);
            let any = self.representative(&provider);
            if let Ok(settings) = self.settings_with(&any, &provider, key) {
                servers.push(settings);
            }
        }
        discover::discover(&servers, discover::DISCOVERY_TIMEOUT).await
    }
}
