//! Where the providers issue API keys, and what their addresses look like.

/// The page of a provider where keys are issued, by the name of its preset.
const KEY_PAGES: &[(&str, &str)] = &[
    ("anthropic", "https://console.anthropic.com/settings/keys"),
    ("openai", "https://platform.openai.com/api-keys"),
    ("gemini", "https://aistudio.google.com/apikey"),
    ("openrouter", "https://openrouter.ai/settings/keys"),
    ("azure", "https://portal.azure.com"),
    ("bedrock", "https://console.aws.amazon.com/bedrock"),
    ("vertex", "https://console.cloud.google.com/apis/credentials"),
    ("xai", "https://console.x.ai"),
    ("mistral", "https://console.mistral.ai/api-keys"),
    ("deepseek", "https://platform.deepseek.com/api_keys"),
    ("groq", "https://console.groq.com/keys"),
    ("cerebras", "https://cloud.cerebras.ai"),
    ("fireworks", "https://app.fireworks.ai/settings/users/api-keys"),
    ("together", "https://api.together.ai/settings/api-keys"),
    ("moonshot", "https://platform.moonshot.ai/console/api-keys"),
    ("zai", "https://z.ai/manage-apikey/apikey-list"),
    ("huggingface", "https://huggingface.co/settings/tokens"),
    ("github-copilot", "https://github.com/settings/copilot"),
    ("chatgpt", "https://chatgpt.com"),
    ("vercel", "https://vercel.com/dashboard/ai-gateway/api-keys"),
];

/// The page where a provider issues keys, if known.
pub fn key_page(provider: &str) -> Option<&'static str> {
    KEY_PAGES
        .iter()
        .find(|(name, _)| *name == provider)
        .map(|(_, page)| *page)
}

/// Examples of the address of providers that have one for each account.
const ADDRESS_EXAMPLES: &[(&str, &str)] = &[("azure", "https://NAME.openai.azure.com")];

/// An example of a provider's address, if the address depends on the account.
pub fn address_example(provider: &str) -> Option<&'static str> {
    ADDRESS_EXAMPLES
        .iter()
        .find(|(name, _)| *name == provider)
        .map(|(_, example)| *example)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::{AuthScheme, Hosting, presets};

    #[test]
    fn each_provider_with_a_key_has_a_page() {
        for preset in presets() {
            let page = key_page(preset.name);
            assert_eq!(page.is_some(), preset.hosting == Hosting::Cloud, "{}", preset.name);
            assert!(page.is_none_or(|page| page.starts_with("https://")), "{page:?}");
            let needs_address = preset.base_url.is_empty() && preset.quirks.auth.header().is_some();
            let has_region = preset.quirks.auth == AuthScheme::Google;
            assert_eq!(
                address_example(preset.name).is_some(),
                needs_address && !has_region,
                "{}",
                preset.name
            );
        }
    }
}
