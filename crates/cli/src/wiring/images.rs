//! Who makes images.

use crate::config::Config;
use crate::failure::{Failure, Result};
use crate::models::Models;
use model::{Info, Wire};
use providers::{Painter, Settings, image_model};

/// What `image_model` says for nobody.
const NONE: &str = "none";

/// The painter of a session: the one that the configuration names, or that of the main model's provider, where it has one.
pub(super) async fn painter(
    models: &Models<'_>,
    config: &Config,
    main: &Info,
    settings: &Settings,
) -> Result<Option<Painter>> {
    let Some(name) = &config.image_model else {
        let Some(id) = image_model(&main.provider) else {
            return Ok(None);
        };
        // It is a convenience; where it cannot be used, there are no images.
        return Ok(Painter::new(settings.clone(), id).ok().flatten());
    };
    if name == NONE {
        return Ok(None);
    }
    let Some((provider, id)) = name.split_once('/') else {
        return Err(
            Failure::usage(format!("image_model: `{name}` does not name its provider"))
                .hint("write it like openai/gpt-image-1"),
        );
    };
    let painter = match provider == main.provider {
        true => Painter::new(settings.clone(), id)?,
        false => {
            let known = models.provider(provider);
            let preset = known.and_then(|known| known.preset);
            let info = Info {
                provider: provider.into(),
                id: id.into(),
                wire: preset.map_or(Wire::OpenaiChat, |preset| preset.wire),
                ..main.clone()
            };
            Painter::new(models.settings(&info).await?, id)?
        }
    };
    let none = || {
        Failure::usage(format!(
            "image_model: {provider} makes no images that hew knows how to ask for"
        ))
        .hint("OpenAI, Gemini and OpenRouter do, and servers that imitate OpenAI; `none` switches images off")
    };
    painter.ok_or_else(none).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    async fn check(config: &str, main: &str) -> String {
        let env = Environment::from([
            ("OPENAI_API_KEY", "k"),
            ("ANTHROPIC_API_KEY", "k"),
            ("GEMINI_API_KEY", "k"),
        ]);
        let config: Config = toml::from_str(config).unwrap();
        let models = Models::new(&config, &env);
        let info = models.find(main).unwrap();
        let settings = models.settings(&info).await.unwrap();
        match painter(&models, &config, &info, &settings).await {
            Ok(Some(painter)) => painter.name(),
            Ok(None) => "nobody".into(),
            Err(failure) => failure.what,
        }
    }

    #[tokio::test]
    async fn images_come_from_whom_the_person_names_or_from_the_main_models_provider() {
        for (config, main, who) in [
            ("", "openai/gpt-6-luna", "openai/gpt-image-1"),
            ("", "anthropic/claude-haiku-5-5", "nobody"),
            ("image_model = 'none'", "openai/gpt-6-luna", "nobody"),
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
                "image_model: anthropic makes no images that hew knows how to ask for",
            ),
            (
                "image_model = 'x'",
                "openai/gpt-6-luna",
                "image_model: `x` does not name its provider",
            ),
            (
                "image_model = 'nope/x'",
                "openai/gpt-6-luna",
                "there is no provider `nope`",
            ),
        ] {
            assert_eq!(check(config, main).await, who, "{config} {main}");
        }
    }
}
