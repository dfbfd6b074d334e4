//! Which format the models of a family write best. The knowledge is data: `families.json`, the first fitting prefix counts.

use crate::format::Format;

const FAMILIES: &str = include_str!("families.json");

/// The format to ask a model for; JSON tool arguments when its family is not known. A vendor before the name (`vendor/model`) is ignored.
pub fn format_for(model: &str) -> Format {
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
        .and_then(|family| Format::from_name(family["format"].as_str()?))
        .unwrap_or(Format::Json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_their_formats() {
        for (model, format) in [
            ("gpt-5.1-codex", Format::ApplyPatch),
            ("gpt-4o-mini", Format::Json),
            ("openai/o4-mini", Format::ApplyPatch),
            ("claude-sonnet-4-5", Format::Json),
            ("Gemini-2.5-pro", Format::SearchReplace),
            ("some-new-model", Format::Json),
        ] {
            assert_eq!(format_for(model), format, "{model}");
        }
    }

    #[test]
    fn every_entry_names_a_format_that_can_be_asked_for() {
        let families: Vec<serde_json::Value> = serde_json::from_str(FAMILIES).unwrap();
        for family in families {
            let format = Format::from_name(family["format"].as_str().unwrap());
            assert!(format.is_some_and(|format| format != Format::Auto), "{family}");
            assert!(family["prefix"].as_str().is_some_and(|prefix| !prefix.is_empty()));
        }
    }
}
