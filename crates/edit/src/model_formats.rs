//! The best edit format of each model family. The data is in `families.json`; the first matching prefix applies.

use crate::format::EditFormat;

const FAMILIES: &str = include_str!("families.json");

/// The format to request from a model; JSON tool arguments if the family is unknown. A vendor prefix (`vendor/model`)
/// is ignored.
pub fn format_for(model: &str) -> EditFormat {
    let model = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let families: serde_json::Value = serde_json::from_str(FAMILIES).unwrap_or_default();
    let entries = families.as_array().map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .find(|family| {
            family["prefix"]
                .as_str()
                .is_some_and(|prefix| model.starts_with(prefix))
        })
        .and_then(|family| EditFormat::from_name(family["format"].as_str()?))
        .unwrap_or(EditFormat::Json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_their_formats() {
        for (model, format) in [
            ("gpt-5.1-codex", EditFormat::ApplyPatch),
            ("gpt-4o-mini", EditFormat::Json),
            ("openai/o4-mini", EditFormat::ApplyPatch),
            ("claude-sonnet-4-5", EditFormat::Json),
            ("Gemini-2.5-pro", EditFormat::SearchReplace),
            ("some-new-model", EditFormat::Json),
        ] {
            assert_eq!(format_for(model), format, "{model}");
        }
    }

    #[test]
    fn every_entry_names_an_existing_format() {
        let families: Vec<serde_json::Value> = serde_json::from_str(FAMILIES).unwrap();
        for family in families {
            let format = EditFormat::from_name(family["format"].as_str().unwrap());
            assert!(format.is_some_and(|format| format != EditFormat::Auto), "{family}");
            assert!(family["prefix"].as_str().is_some_and(|prefix| !prefix.is_empty()));
        }
    }
}
