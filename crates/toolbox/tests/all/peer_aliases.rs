//! The tools page of the documentation is generated from the tools and their names in other agents.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use model::Wire;
use providers::{ImageModel, ProviderSettings};
use tool::PeerAgent;
use toolbox::{
    Chromium, Options, PeerEquivalent, SearchEngine, SearchOptions, SourcegraphOptions, WebOptions, peer_tools,
};

use crate::code_navigation::Server;
use crate::project::TestProject;

/// Tools that need a configuration.
const OPTIONAL: &[&str] = &["codebase_search", "skill", "switch_mode"];

/// Set to write the page instead of comparing it.
const UPDATE: &str = "HEW_UPDATE_DOCS";

#[test]
fn every_peer_tool_has_an_equivalent() {
    let project = full();
    let mut wrong = Vec::new();
    for agent in PeerAgent::ALL {
        let tools = peer_tools(agent);
        for (name, equivalent) in &tools {
            let found = project.tools.get(name).map(|tool| tool.spec().name.as_str());
            let right = match equivalent {
                PeerEquivalent::Tool(tool) => found == Some(tool) || found.is_none() && OPTIONAL.contains(tool),
                PeerEquivalent::Hint(_) => found.is_none(),
            };
            if !right {
                wrong.push(format!(
                    "{}: {name} should be {equivalent:?}, but is {found:?}",
                    agent.name()
                ));
            }
        }
        let names: Vec<&str> = tools.iter().map(|(name, _)| *name).collect();
        let mut unique = names.clone();
        unique.dedup();
        assert_eq!(names, unique, "{}: each name once", agent.name());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_tools_page_is_up_to_date() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let page = page();
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, &page).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/tools.md is out of date: {UPDATE}=1 cargo test -p toolbox updates it"
    );
}

/// With all optional tools.
fn full() -> TestProject {
    let unreachable = "http://127.0.0.1:1";
    let web = WebOptions {
        search: Some(SearchOptions {
            engine: SearchEngine::Searxng,
            key: None,
            base_url: Some(unreachable.into()),
        }),
        sourcegraph: Some(SourcegraphOptions {
            base_url: unreachable.into(),
            token: None,
        }),
        browser: Some(Chromium {
            program: "chromium".into(),
        }),
        ..WebOptions::default()
    };
    let image_model =
        ImageModel::new(ProviderSettings::new("openai", Wire::OpenaiResponses, unreachable), "m").unwrap();
    let options = Options {
        web: Some(web),
        panels: Some(toolbox::OpenPanels::default()),
        image_model,
        code_server: Some(Arc::new(Server(PathBuf::new()))),
        ..Options::default()
    };
    TestProject::with_options(&[], options)
}

fn page() -> String {
    let project = full();
    let mut page = String::from(
        "# Tools\n\n\
         Generated from the tools; do not edit. `hew tools` lists them for your model and configuration.\n\n\
         Tools that most tasks need are listed in every request. The others are deferred: the model finds them with `find_tools`\n\
         and calls them with `call_tool`, so that the tool list and the provider's cache of it stay unchanged. A direct call by\n\
         name works as well. Rules and approvals apply to the tool that is actually called.\n\n\
         | tool | listed | description for the model |\n|---|---|---|\n",
    );
    for tool in project.tools.iter() {
        let spec = tool.spec();
        let listed = match project.tools.is_deferred(&spec.name) {
            true => "deferred",
            false => "always",
        };
        let description = spec.description.replace('\n', " ").replace('|', "\\|");
        page.push_str(&format!("| `{}` | {listed} | {description} |\n", spec.name));
    }
    page.push_str(
        "\nThe edit tool is `edit_file`, for models that write patches best `apply_patch`, or with line anchors `edit_lines`; each\n\
         accepts calls in the form of the others. If there are skills, `skill` loads one; if there are several modes, `switch_mode` switches between them.\n\n\
         ## Names in other agents\n\n\
         Models know tools of other agents by these names. hew accepts all of them.\n",
    );
    for agent in PeerAgent::ALL {
        page.push_str(&format!("\n### {}\n\n| tool | in hew |\n|---|---|\n", agent.name()));
        for (name, equivalent) in peer_tools(agent) {
            let equivalent = match equivalent {
                PeerEquivalent::Tool(tool) => format!("`{tool}`"),
                PeerEquivalent::Hint(hint) => hint.replacen("nothing:", "no tool:", 1),
            };
            page.push_str(&format!("| `{name}` | {equivalent} |\n"));
        }
    }
    page
}
