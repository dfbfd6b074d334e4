//! The ways in which local servers tell what models they have and how long a conversation may be.

use super::ask::{Ask, ask};
use crate::presets::{Place, preset};
use crate::settings::Settings;
use crate::wire::chat::path_to;
use model::{Error, Features, Info, Limits, Prices, Tier};
use serde_json::{Map, Value, json};

/// More models than this nobody has on one machine; the rest is not asked about.
const MOST: usize = 200;

/// The models of one server.
pub(super) async fn models(settings: &Settings) -> Result<Vec<Info>, Error> {
    let found = match settings.provider.as_str() {
        "ollama" => ollama(settings).await?,
        "lmstudio" => lmstudio(settings).await?,
        "llamacpp" => llamacpp(settings).await?,
        _ => None,
    };
    match found {
        Some(models) => Ok(models),
        None => listed(settings).await,
    }
}

/// What is known about a model.
struct Known<'a> {
    id: &'a str,
    window: u64,
    tools: bool,
    images: bool,
    reasoning: bool,
}

impl Known<'_> {
    fn into_info(self, settings: &Settings) -> Info {
        let free = Tier {
            input: 0.0,
            output: 0.0,
            cache_read: None,
            cache_write: None,
            cache_write_1h: None,
        };
        let local = preset(&settings.provider).is_some_and(|preset| preset.place == Place::Local);
        Info {
            provider: settings.provider.clone(),
            id: self.id.to_string(),
            wire: settings.wire,
            limits: Limits {
                window: self.window,
                output: 0,
            },
            features: Features {
                tools: self.tools,
                parallel_tools: self.tools,
                images: self.images,
                pdf: false,
                reasoning: self.reasoning,
                caching: true,
            },
            prices: local.then_some(Prices { base: free, long: None }),
            deprecated_on: None,
            options: Map::new(),
        }
    }
}

/// Ollama: a list of names, and a description of each.
async fn ollama(settings: &Settings) -> Result<Option<Vec<Info>>, Error> {
    let root = root(settings);
    let (tags, loaded) = futures::future::join(
        ask(settings, &format!("{root}/api/tags"), Ask::Get),
        ask(settings, &format!("{root}/api/ps"), Ask::Get),
    )
    .await;
    let Some(tags) = tags? else { return Ok(None) };
    // Which models are loaded, and how long their conversations really are; older versions do not say.
    let loaded = loaded.ok().flatten().unwrap_or_default();
    let names: Vec<&str> = list(&tags, "models")
        .filter_map(|model| model.get("name")?.as_str())
        .take(MOST)
        .collect();
    let shown = names.iter().map(|name| async move {
        let shown = ask(
            settings,
            &format!("{root}/api/show"),
            Ask::Post(&json!({"model": name})),
        )
        .await;
        (*name, shown.ok().flatten().unwrap_or_default())
    });
    let shown = futures::future::join_all(shown).await;
    let models = shown
        .into_iter()
        .filter(|(_, shown)| can(shown, "completion").unwrap_or(true));
    let known = models.map(|(name, shown)| {
        Known {
            id: name,
            window: ollama_window(name, &shown, &loaded),
            tools: can(&shown, "tools").unwrap_or(true),
            images: can(&shown, "vision").unwrap_or(false),
            reasoning: can(&shown, "thinking").unwrap_or(false),
        }
        .into_info(settings)
    });
    Ok(Some(known.collect()))
}

/// How long a conversation may be: as the model is loaded now, as its author set it, or as it was trained.
fn ollama_window(name: &str, shown: &Value, loaded: &Value) -> u64 {
    let running = list(loaded, "models").find(|model| model.get("name").is_some_and(|own| own == name));
    let now = running.and_then(|model| model.get("context_length")?.as_u64());
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

/// Whether a list of capabilities has this one; `None` where there is no list.
fn can(model: &Value, capability: &str) -> Option<bool> {
    let capabilities = model.get("capabilities")?.as_array()?;
    Some(capabilities.iter().any(|own| own == capability))
}

/// LM Studio: its own list says more than OpenAI's.
async fn lmstudio(settings: &Settings) -> Result<Option<Vec<Info>>, Error> {
    let Some(answer) = ask(settings, &format!("{}/api/v0/models", root(settings)), Ask::Get).await? else {
        return Ok(None);
    };
    let talk = |model: &&Value| matches!(model.get("type").and_then(Value::as_str), Some("llm" | "vlm") | None);
    let known = list(&answer, "data").filter(talk).filter_map(|model| {
        let number = |key: &str| model.get(key).and_then(Value::as_u64);
        let known = Known {
            id: model.get("id")?.as_str()?,
            window: number("loaded_context_length")
                .or_else(|| number("max_context_length"))
                .unwrap_or(0),
            tools: can(model, "tool_use").unwrap_or(true),
            images: model.get("type").is_some_and(|kind| kind == "vlm"),
            reasoning: false,
        };
        Some(known.into_info(settings))
    });
    Ok(Some(known.take(MOST).collect()))
}

/// llama.cpp: one model, and the server's properties.
async fn llamacpp(settings: &Settings) -> Result<Option<Vec<Info>>, Error> {
    let root = root(settings);
    let (models, props) = futures::future::join(
        ask(settings, &format!("{root}/v1/models"), Ask::Get),
        ask(settings, &format!("{root}/props"), Ask::Get),
    )
    .await;
    let Some(models) = models? else { return Ok(None) };
    let props = props.ok().flatten().unwrap_or_default();
    let served = props
        .pointer("/default_generation_settings/n_ctx")
        .and_then(Value::as_u64);
    let images = props.pointer("/modalities/vision") == Some(&Value::Bool(true));
    let known = list(&models, "data").filter_map(|model| {
        let trained = model.pointer("/meta/n_ctx_train").and_then(Value::as_u64);
        let known = Known {
            id: model.get("id")?.as_str()?,
            window: served.filter(|window| *window > 0).or(trained).unwrap_or(0),
            tools: true,
            images,
            reasoning: false,
        };
        Some(known.into_info(settings))
    });
    Ok(Some(known.take(MOST).collect()))
}

/// OpenAI's list of models, with the lengths that vLLM and others add to it.
async fn listed(settings: &Settings) -> Result<Vec<Info>, Error> {
    let base = settings.base_url.trim_end_matches('/');
    let path = path_to("models", "", settings);
    let Some(answer) = ask(settings, &format!("{base}{path}"), Ask::Get).await? else {
        return Err(Error::NotFound {
            provider: settings.provider.clone(),
            detail: "it has no list of models".to_string(),
        });
    };
    let known = list(&answer, "data").filter_map(|model| {
        let lengths = [
            "max_model_len",
            "context_length",
            "context_window",
            "max_context_length",
            "max_input_tokens",
        ];
        let known = Known {
            id: model.get("id")?.as_str()?,
            window: lengths.iter().find_map(|key| model.get(*key)?.as_u64()).unwrap_or(0),
            tools: true,
            images: false,
            reasoning: false,
        };
        Some(known.into_info(settings))
    });
    Ok(known.take(MOST).collect())
}

/// Where the server's own endpoints begin: above OpenAI's.
fn root(settings: &Settings) -> &str {
    let base = settings.base_url.trim_end_matches('/');
    base.strip_suffix("/v1").unwrap_or(base)
}

fn list<'a>(answer: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    // Some servers send the list itself.
    let items = answer.get(key).unwrap_or(answer).as_array();
    items.into_iter().flatten()
}
