//! The model that generates images.

use crate::config::Config;
use crate::failure::{Failure, Result};
use crate::models::ModelRegistry;
use model::{Info, Wire};
use providers::{ImageModel, ProviderSettings, default_image_model};

/// The value of `image_model` for no model.
const NONE: &str = "none";

/// The image model of a session: the configured one, or that of the main model's provider, if it has one.
pub(crate) async fn image_model(
    models: &ModelRegistry<'_>,
    config: &Config,
    main: &Info,
    settings: &ProviderSettings,
) -> Result<Option<ImageModel>> {
    let Some(name) = &config.image_model else {
        let Some(id) = default_image_model(&main.provider) else {
            return Ok(None);
        };
        // It is optional.
        return Ok(ImageModel::new(settings.clone(), id).ok().flatten());
    };
    if name == NONE {
        return Ok(None);
    }
    let Some((provider, id)) = name.split_once('/') else {
        return Err(
            Failure::usage(format!("image_model: `{name}` has no provider")).hint("write it like openai/gpt-image-1")
        );
    };
    let painter = match provider == main.provider {
        true => ImageModel::new(settings.clone(), id)?,
        false => {
            let known = models.provider(provider);
            let preset = known.and_then(|known| known.preset);
            let info = Info {
                provider: provider.into(),
                id: id.into(),
                wire: preset.map_or(Wire::OpenaiChat, |preset| preset.wire),
                ..main.clone()
            };
            ImageModel::new(models.settings(&info).await?, id)?
        }
    };
    let none = || {
        Failure::usage(format!(
            "image_model: {provider} does not generate images with a supported API"
        ))
        .hint("OpenAI, Gemini, OpenRouter and OpenAI-compatible servers do; `none` disables images")
    };
    let configured = models.find(name).ok().and_then(|info| info.prices);
    let painter = painter.ok_or_else(none)?;
    Ok(Some(painter.with_prices(configured)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::ProcessEnv;

    async fn check(config: &str, main: &str) -> String {
        let env = ProcessEnv::from([
            ("OPENAI_API_KEY", "k"),
            ("ANTHROPIC_API_KEY", "k"),
            ("GEMINI_API_KEY", "k"),
        ]);
        let config: Config = toml::from_str(config).unwrap();
        let models = ModelRegistry::new(&config, &env);
        let info = models.find(main).unwrap();
        let settings = models.settings(&info).await.unwrap();
        match image_model(&models, &config, &info, &settings).await {
            Ok(Some(painter)) => painter.name(),
            Ok(None) => "none".into(),
            Err(failure) => failure.message,
        }
    }

    #[tokio::test]
    async fn the_image_model_is_the_configured_one_or_that_of_the_main_models_provider() {
        for (config, main, expected) in [
            ("", "openai/gpt-6-luna", "openai/gpt-image-1"),
            ("", "anthropic/claude-haiku-5-5", "none"),
            ("image_model = 'none'", "openai/gpt-6-luna", "none"),
            (
                "image_model = 'openai/dall-e-3'",
                "openai/gpt-6-luna",
                "openai/dall-e-3",
            ),
            (
                "image_model = 'gemini/x-image'",
                "anthropic/claude-haiku-5-5",
                "gemini/x-image",
            ),
            (
                "image_model = 'own/flux'\nproviders.own = {wire = 'openai-chat', base_url = 'http://127.0.0.1:1'}",
                "anthropic/claude-haiku-5-5",
                "own/flux",
            ),
            (
                "image_model = 'anthropic/x'",
                "openai/gpt-6-luna",
                "image_model: anthropic does not generate images with a supported API",
            ),
            (
                "image_model = 'x'",
                "openai/gpt-6-luna",
                "image_model: `x` has no provider",
            ),
            (
                "image_model = 'nope/x'",
                "openai/gpt-6-luna",
                "there is no provider `nope`",
            ),
        ] {
            assert_eq!(check(config, main).await, expected, "{config} {main}");
        }
    }
}
