//! Checks that the documentation says what the program does.

use crate::config;
use crate::exit::{self, Exit};
use crate::output::events;
use providers::presets::{Place, Quirks, presets};
use serde_json::Value;

fn page(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_provider_has_its_row() {
    let page = page("providers.md");
    for preset in presets() {
        let list = |names: &[&str]| match names {
            [] => String::new(),
            names => names
                .iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let large = match (preset.large, preset.place) {
            ("", Place::Local) => "what is installed".into(),
            ("", Place::Cloud) => "your deployment".into(),
            (large, _) => format!("`{large}`"),
        };
        let row = format!(
            "| `{}` | {} | {} | {} | {large} |",
            preset.name,
            preset.title,
            list(preset.key_env),
            list(preset.url_env)
        );
        assert!(page.contains(&row), "docs/providers.md lacks\n{row}");
    }
}

#[test]
fn every_configuration_key_and_variable_is_described() {
    let (config_page, providers_page) = (page("config.md"), page("providers.md"));
    let schema = config::json_schema();
    let keys = |value: &Value| -> Vec<String> {
        let properties = value["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    };
    for key in keys(&schema) {
        assert!(config_page.contains(&format!("`{key}")), "docs/config.md lacks {key}");
    }
    for key in keys(&schema["$defs"]["Limits"]) {
        assert!(
            config_page.contains(&format!("`limits.{key}`")),
            "docs/config.md lacks limits.{key}"
        );
    }
    for key in keys(&schema["$defs"]["Web"]) {
        assert!(
            config_page.contains(&format!("| `{key}` |")),
            "docs/config.md lacks web.{key}"
        );
    }
    for (section, name) in [("Sandbox", "sandbox"), ("Terminal", "terminal")] {
        for key in keys(&schema["$defs"][section]) {
            let row = format!("| `{name}.{key}` |");
            assert!(config_page.contains(&row), "docs/config.md lacks {name}.{key}");
        }
    }
    let mcp_page = page("mcp.md");
    for key in keys(&schema["$defs"]["McpEntry"])
        .into_iter()
        .chain(keys(&schema["$defs"]["McpOAuth"]))
    {
        assert!(mcp_page.contains(&format!("`{key}`")), "docs/mcp.md lacks {key}");
    }
    for key in keys(&schema["$defs"]["ModelEntry"]) {
        assert!(config_page.contains(&key), "docs/config.md lacks {key} of models");
    }
    for key in keys(&schema["$defs"]["ProviderEntry"]) {
        assert!(
            providers_page.contains(&format!("`{key}`")),
            "docs/providers.md lacks {key}"
        );
    }
    let quirks = serde_json::to_value(Quirks::PLAIN).unwrap();
    for quirk in quirks.as_object().unwrap().keys() {
        assert!(
            providers_page.contains(&format!("| `{quirk}` |")),
            "docs/providers.md lacks {quirk}"
        );
    }
    for (variable, key) in config::VARIABLES {
        assert!(
            config_page.contains(&format!("| `{key}` | `{variable}` |")),
            "docs/config.md lacks {variable}"
        );
    }
}

#[test]
fn every_type_of_line_is_described() {
    let page = page("json-events.md");
    let schema = events::json_schema().to_string();
    let mut count = 0;
    for part in schema.split("\"const\":\"").skip(1) {
        let name = part.split('"').next().unwrap_or_default();
        assert!(page.contains(&format!("`{name}`")), "docs/json-events.md lacks {name}");
        count += 1;
    }
    assert!(count > 20, "the schema names its types: {count}");
}

#[test]
fn every_field_of_changes_is_described() {
    let page = page("json-changes.md");
    let schema = crate::commands::changes::json_schema();
    let definitions = schema["$defs"].as_object().unwrap().values();
    let mut count = 0;
    for object in definitions.chain([&schema]) {
        for key in object["properties"].as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{key}`")), "docs/json-changes.md lacks {key}");
            count += 1;
        }
    }
    assert!(count > 15, "the schema names its fields: {count}");
}

#[test]
fn every_exit_code_is_described() {
    let page = page("cli.md");
    for exit in [
        Exit::Done,
        Exit::Failed,
        Exit::Usage,
        Exit::Stopped,
        Exit::Refused,
        Exit::MaxTokens,
        Exit::Schema,
        Exit::Interrupted,
        Exit::Terminated,
    ] {
        let code = exit.code();
        assert!(page.contains(&format!("| {code} |")), "docs/cli.md lacks {code}");
        assert!(exit::TABLE.contains(&code.to_string()), "--help lacks {code}");
    }
}
