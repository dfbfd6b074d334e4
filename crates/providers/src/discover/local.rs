//! Lists the models and context windows of local servers.

use super::DiscoveredModel;
use super::query::{QueryMethod, query};
use crate::presets::{Hosting, preset};
use crate::settings::ProviderSettings;
use crate::wire::chat::path_to;
use model::{Error, Features, Info, ModelPrices, PriceTier, TokenLimits};
use serde_json::{Map, Value, json};

/// The maximum number of models per server; others are ignored.
const MAX_MODELS: usize = 200;

/// The models of one server, or only the one with this id.
pub(super) async fn models(settings: &ProviderSettings, only: Option<&str>) -> Result<Vec<DiscoveredModel>, Error> {
    let found = match settings.provider.as_str() {
        "ollama" => ollama(settings, only).await?,
        "lmstudio" => lmstudio(settings).await?,
        "llamacpp" => llamacpp(settings).await?,
        _ => None,
    };
    let mut found = match found {
        Some(models) => models,
        None => openai_models(settings).await?,
    };
    found.retain(|model| match only {
        Some(id) => same_model(&model.info.id, id),
        None => !has_other_purpose(&model.info.id),
    });
    Ok(found)
}

/// Whether a model cannot chat, by its name: not all servers report the kind of a model.
fn has_other_purpose(id: &str) -> bool {
    let id = id.to_lowercase();
    ["embed", "rerank", "whisper"].iter().any(|kind| id.contains(kind))
}

/// Whether two ids name the same model: Ollama's default tag may be omitted.
fn same_model(known: &str, asked: &str) -> bool {
    known == asked || known.strip_suffix(":latest") == Some(asked)
}

/// Facts that a server reports about a model.
struct LocalModel<'a> {
    id: &'a str,
    window: u64,
    parameters: u64,
    tools: bool,
    images: bool,
    reasoning: bool,
    /// Whether it is in memory.
    loaded: bool,
}

impl LocalModel<'_> {
    fn describe(self, settings: &ProviderSettings) -> DiscoveredModel {
        let free = PriceTier {
            input: 0.0,
            output: 0.0,
            cache_read: None,
            cache_write: None,
            cache_write_1h: None,
        };
        let local = preset(&settings.provider).is_some_and(|preset| preset.hosting == Hosting::Local);
        let info = Info {
            provider: settings.provider.clone(),
            id: self.id.to_string(),
            wire: settings.wire,
            limits: TokenLimits {
                window: self.window,
                output: 0,
            },
            parameters: match self.parameters {
                0 => model::parameters_in(self.id),
                known => known,
            },
            features: Features {
                tools: self.tools,
                parallel_tools: self.tools,
                images: self.images,
                pdf: false,
                reasoning: self.reasoning,
                caching: true,
            },
            prices: local.then_some(ModelPrices { base: free, long: None }),
            deprecated_on: None,
            options: Map::new(),
        };
        DiscoveredModel {
            info,
            loaded: self.loaded,
        }
    }
}

/// Ollama: a list of names and details for each.
async fn ollama(settings: &ProviderSettings, only: Option<&str>) -> Result<Option<Vec<DiscoveredModel>>, Error> {
    let root = root(settings);
    let (tags, loaded) = futures::future::join(
        query(settings, &format!("{root}/api/tags"), QueryMethod::Get),
        query(settings, &format!("{root}/api/ps"), QueryMethod::Get),
    )
    .await;
    let Some(tags) = tags? else { return Ok(None) };
    // The context lengths of loaded models; older versions do not report them.
    let loaded = loaded.ok().flatten().unwrap_or_default();
    let names: Vec<&str> = items(&tags, "models")
        .filter_map(|model| model.get("name")?.as_str())
        .filter(|name| only.is_none_or(|id| same_model(name, id)))
        .take(MAX_MODELS)
        .collect();
    let shown = names.iter().map(|name| async move {
        let shown = query(
            settings,
            &format!("{root}/api/show"),
            QueryMethod::Post(&json!({"model": name})),
        )
        .await;
        (*name, shown.ok().flatten().unwrap_or_default())
    });
    let shown = futures::future::join_all(shown).await;
    let models = shown
        .into_iter()
        .filter(|(_, shown)| has_capability(shown, "completion").unwrap_or(true));
    let known = models.map(|(name, shown)| {
        let size = shown.pointer("/details/parameter_size").and_then(Value::as_str);
        LocalModel {
            id: name,
            window: ollama_window(name, &shown, &loaded),
            parameters: size.map_or(0, model::parameters_in),
            loaded: ollama_running(name, &loaded).is_some(),
            tools: has_capability(&shown, "tools").unwrap_or(true),
            images: has_capability(&shown, "vision").unwrap_or(false),
            reasoning: has_capability(&shown, "thinking").unwrap_or(false),
        }
        .describe(settings)
    });
    Ok(Some(known.collect()))
}

/// The context window: as loaded, as set by the model's author, or as trained.
fn ollama_window(name: &str, shown: &Value, loaded: &Value) -> u64 {
    let now = ollama_running(name, loaded).and_then(|model| model.get("context_length")?.as_u64());
    let parameters = shown.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let set = parameters
        .lines()
        .find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    let facts = shown.get("model_info").and_then(Value::as_object);
    let trained = facts.and_then(|facts| {
        let fact = facts.iter().find(|(key, _)| key.ends_with(".context_length"));
        fact.and_then(|(_, length)| length.as_u64())
    });
    now.or(set).or(trained).unwrap_or(0)
}

fn ollama_running<'a>(name: &str, loaded: &'a Value) -> Option<&'a Value> {
    items(loaded, "models").find(|model| model.get("name").is_some_and(|own| own == name))
}

/// Whether the list of capabilities contains this one; `None` if there is no list.
fn has_capability(model: &Value, capability: &str) -> Option<bool> {
    let capabilities = model.get("capabilities")?.as_array()?;
    Some(capabilities.iter().any(|own| own == capability))
}

/// LM Studio: its own list has more details than OpenAI's.
async fn lmstudio(settings: &ProviderSettings) -> Result<Option<Vec<DiscoveredModel>>, Error> {
    let list = async |version: &str| {
        let address = format!("{}/api/{version}/models", root(settings));
        query(settings, &address, QueryMethod::Get).await
    };
    let Some(response) = list("v0").await? else {
        let response = list("v1").await?;
        return Ok(response.map(|response| lmstudio_v1(&response, settings)));
    };
    let is_chat_model =
        |model: &&Value| matches!(model.get("type").and_then(Value::as_str), Some("llm" | "vlm") | None);
    let known = items(&response, "data").filter(is_chat_model).filter_map(|model| {
        let number = |key: &str| model.get(key).and_then(Value::as_u64);
        let known = LocalModel {
            id: model.get("id")?.as_str()?,
            window: number("loaded_context_length")
                .or_else(|| number("max_context_length"))
                .unwrap_or(0),
            parameters: 0,
            // The server loads a model on demand; older versions do not report the state.
            loaded: model.get("state").is_none_or(|state| state == "loaded"),
            // A list without this capability belongs to a model without it.
            tools: has_capability(model, "tool_use").unwrap_or(true),
            images: model.get("type").is_some_and(|kind| kind == "vlm"),
            reasoning: false,
        };
        Some(known.describe(settings))
    });
    Ok(Some(known.take(MAX_MODELS).collect()))
}

/// The models of the newer list, which names the loaded instances of each.
fn lmstudio_v1(response: &Value, settings: &ProviderSettings) -> Vec<DiscoveredModel> {
    let chat_models = items(response, "models").filter(|model| model.get("type").is_none_or(|kind| kind == "llm"));
    let known = chat_models.filter_map(|model| {
        let capability = |name: &str| model.pointer(&format!("/capabilities/{name}")).and_then(Value::as_bool);
        let instance = model.pointer("/loaded_instances/0");
        let window = instance.and_then(|instance| instance.pointer("/config/context_length"));
        let window = window.or_else(|| model.get("max_context_length"));
        let size = model.get("params_string").and_then(Value::as_str);
        let known = LocalModel {
            id: model.get("key")?.as_str()?,
            window: window.and_then(Value::as_u64).unwrap_or(0),
            parameters: size.map_or(0, model::parameters_in),
            loaded: instance.is_some(),
            tools: capability("trained_for_tool_use").unwrap_or(true),
            images: capability("vision").unwrap_or(false),
            reasoning: false,
        };
        Some(known.describe(settings))
    });
    known.take(MAX_MODELS).collect()
}

/// llama.cpp: one model and the server's properties, or several models with their own.
async fn llamacpp(settings: &ProviderSettings) -> Result<Option<Vec<DiscoveredModel>>, Error> {
    let root = root(settings);
    let (models, props) = futures::future::join(
        query(settings, &format!("{root}/v1/models"), QueryMethod::Get),
        query(settings, &format!("{root}/props"), QueryMethod::Get),
    )
    .await;
    let Some(models) = models? else { return Ok(None) };
    let props = &props.ok().flatten().unwrap_or_default();
    let root = &root;
    let known = items(&models, "data").take(MAX_MODELS).map(|model| async move {
        let id = model.get("id")?.as_str()?;
        // A server of several models states which are loaded, and the properties of each.
        let status = model.pointer("/status/value");
        let own_props = match status {
            Some(status) if status == "loaded" => {
                let mut url = reqwest::Url::parse(&format!("{root}/props")).ok()?;
                url.query_pairs_mut().append_pair("model", id);
                query(settings, url.as_str(), QueryMethod::Get).await.ok().flatten()
            }
            Some(_) | None => None,
        };
        let props = own_props.as_ref().unwrap_or(props);
        let served = props
            .pointer("/default_generation_settings/n_ctx")
            .and_then(Value::as_u64);
        let trained = model.pointer("/meta/n_ctx_train").and_then(Value::as_u64);
        let known = LocalModel {
            id,
            window: served.filter(|window| *window > 0).or(trained).unwrap_or(0),
            parameters: model.pointer("/meta/n_params").and_then(Value::as_u64).unwrap_or(0),
            loaded: status.is_none_or(|status| status == "loaded"),
            tools: llamacpp_tools(props),
            images: props.pointer("/modalities/vision") == Some(&Value::Bool(true)),
            reasoning: false,
        };
        Some(known.describe(settings))
    });
    let known = futures::future::join_all(known).await;
    Ok(Some(known.into_iter().flatten().collect()))
}

/// Whether the chat template renders tools: as the server reports, or by the template itself.
fn llamacpp_tools(props: &Value) -> bool {
    if let Some(caps) = props.get("chat_template_caps").and_then(Value::as_object)
        && let Some(supported) = caps.get("supports_tools").and_then(Value::as_bool)
    {
        return supported;
    }
    let template = props.get("chat_template").and_then(Value::as_str);
    props.get("chat_template_tool_use").is_some() || template.is_none_or(|template| template.contains("tool"))
}

/// OpenAI's list of models, with the context lengths that vLLM and others add.
async fn openai_models(settings: &ProviderSettings) -> Result<Vec<DiscoveredModel>, Error> {
    let base = settings.base_url.trim_end_matches('/');
    let path = path_to("models", "", settings);
    let Some(response) = query(settings, &format!("{base}{path}"), QueryMethod::Get).await? else {
        return Err(Error::NotFound {
            provider: settings.provider.clone(),
            detail: "it has no list of models".to_string(),
        });
    };
    let known = items(&response, "data").filter_map(|model| {
        let lengths = [
            "max_model_len",
            "context_length",
            "context_window",
            "max_context_length",
            "max_input_tokens",
        ];
        let known = LocalModel {
            id: model.get("id")?.as_str()?,
            window: lengths.iter().find_map(|key| model.get(*key)?.as_u64()).unwrap_or(0),
            parameters: 0,
            loaded: true,
            tools: true,
            images: false,
            reasoning: false,
        };
        Some(known.describe(settings))
    });
    Ok(known.take(MAX_MODELS).collect())
}

/// The base of the server's own endpoints, above OpenAI's.
fn root(settings: &ProviderSettings) -> &str {
    let base = settings.base_url.trim_end_matches('/');
    base.strip_suffix("/v1").unwrap_or(base)
}

fn items<'a>(response: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    // Some servers send a bare list.
    let items = response.get(key).unwrap_or(response).as_array();
    items.into_iter().flatten()
}
