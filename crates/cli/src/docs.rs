//! Tests that the documentation matches the code.

mod examples;

use crate::config;
use crate::exit::{self, ExitStatus};
use crate::output::events;
use providers::presets::{Hosting, Quirks, presets};
use tool::ToolSet;

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
        let large = match (preset.large, preset.hosting) {
            ("", Hosting::Local) => "what is installed".into(),
            ("", Hosting::Cloud) => "your deployment".into(),
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
fn the_table_of_configuration_keys_is_generated_from_their_declarations() {
    let page = page("config.md");
    let expected = config::markdown_table();
    assert!(page.contains(&expected), "docs/config.md must contain:\n\n{expected}");
}

#[test]
fn every_key_of_servers_models_and_providers_is_described() {
    let schema = config::json_schema();
    let keys = |name: &str| -> Vec<String> {
        let properties = schema["$defs"][name]["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    };
    for (definition, file) in [
        ("McpServerConfig", "mcp.md"),
        ("McpOAuthConfig", "mcp.md"),
        ("ModelConfig", "config.md"),
        ("LspServerConfig", "config.md"),
        ("ProviderConfig", "providers.md"),
    ] {
        let page = page(file);
        for key in keys(definition) {
            assert!(page.contains(&key), "docs/{file} lacks {key}");
        }
    }
    let providers_page = page("providers.md");
    let quirks = serde_json::to_value(Quirks::OPENAI).unwrap();
    for quirk in quirks.as_object().unwrap().keys() {
        assert!(
            providers_page.contains(&format!("| `{quirk}` |")),
            "docs/providers.md lacks {quirk}"
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
    let schema = headless::output::changes_json::json_schema();
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
        ExitStatus::Done,
        ExitStatus::Failed,
        ExitStatus::Usage,
        ExitStatus::Stopped,
        ExitStatus::Refused,
        ExitStatus::MaxTokens,
        ExitStatus::Schema,
        ExitStatus::Interrupted,
        ExitStatus::Terminated,
    ] {
        let code = exit.code();
        assert!(page.contains(&format!("| {code} |")), "docs/cli.md lacks {code}");
        assert!(exit::TABLE.contains(&code.to_string()), "--help lacks {code}");
    }
}

#[test]
fn every_command_is_described() {
    let page = page("cli.md");
    for command in crate::args::definition()
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        let name = format!("`hew {}", command.get_name());
        let mut rest = page.split(&name).skip(1);
        assert!(
            rest.any(|rest| rest.starts_with(['`', ' '])),
            "docs/cli.md lacks {name}`"
        );
    }
}

#[test]
fn every_path_of_the_api_is_described_with_its_methods() {
    let page = page("web.md");
    let api = serde_json::to_value(server::http::openapi_document()).unwrap();
    for (path, methods) in api["paths"].as_object().unwrap() {
        let quoted = format!("`{}`", path.strip_prefix("/api/v1").unwrap_or(path));
        let mut rows = page
            .lines()
            .filter(|line| line.starts_with('|') && line.contains(&quoted));
        let names = methods.as_object().unwrap().keys().map(|name| name.to_uppercase());
        let methods: Vec<String> = names.filter(|name| name != "PARAMETERS").collect();
        let has_all = rows.any(|row| methods.iter().all(|method| row.contains(method)));
        assert!(has_all, "docs/web.md lacks {quoted} with {methods:?}");
    }
}

#[test]
fn the_tools_of_the_mcp_server_and_of_small_models_are_described() {
    let quoted = |name: &str| format!("`{name}`");
    let page_of_server = page("mcp.md");
    let (_, section) = page_of_server.split_once("## hew as a server").unwrap();
    // Of the edit tools, one is offered.
    let offered = toolbox::names_in(ToolSet::McpServer);
    for name in offered
        .into_iter()
        .filter(|name| !matches!(*name, "apply_patch" | "edit_lines"))
    {
        assert!(section.contains(&quoted(name)), "docs/mcp.md lacks {name}");
    }
    let providers = page("providers.md");
    let (_, rest) = providers.split_once("A small model (").unwrap();
    let (paragraph, _) = rest.split_once("\n\n").unwrap();
    for name in toolbox::names_in(ToolSet::SmallModel) {
        assert!(paragraph.contains(&quoted(name)), "docs/providers.md lacks {name}");
    }
}

#[test]
fn every_command_accepts_the_common_options() {
    fn check(command: &clap::Command, path: &str) {
        for option in ["cwd", "set", "log", "model", "mode", "permission", "effort"] {
            let has = command.get_arguments().any(|arg| arg.get_long() == Some(option));
            assert!(has, "{path} does not accept --{option}");
        }
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            check(inner, &format!("{path} {}", inner.get_name()));
        }
    }
    let mut definition = crate::args::definition();
    definition.build();
    check(&definition, "hew");
}
