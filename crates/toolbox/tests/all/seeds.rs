//! The book's page on tools is made from the tools themselves and from the table of those of other agents.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use model::Wire;
use providers::{Painter, Settings};
use toolbox::{Answer, Chromium, Engine, Options, SEEDS, Search, Sourcegraph, Web};

use crate::coding::Server;
use crate::desk::Desk;

/// Tools that are there only where a project or a configuration has something for them.
const LATER: &[&str] = &["skill", "switch_mode"];

/// Set to write the page instead of comparing it.
const UPDATE: &str = "HEW_UPDATE_DOCS";

#[test]
fn every_tool_of_the_five_agents_is_understood_or_has_something_in_its_place() {
    let desk = full();
    let mut wrong = Vec::new();
    for seed in SEEDS {
        for (name, answer) in seed.tools {
            let meant = desk.tools.get(name).map(|tool| tool.spec().name.as_str());
            let right = match answer {
                Answer::Tool(tool) => meant == Some(tool) || meant.is_none() && LATER.contains(tool),
                Answer::Otherwise(_) => meant.is_none(),
            };
            if !right {
                wrong.push(format!("{}: {name} should be {answer:?}, but is {meant:?}", seed.agent));
            }
        }
        let names: Vec<&str> = seed.tools.iter().map(|(name, _)| *name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted, "{}: each name once, in order", seed.agent);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_on_tools_says_what_the_tools_are() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let page = page();
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == page,
        "docs/tools.md is out of date: {UPDATE}=1 cargo test -p toolbox writes it anew"
    );
}

/// With everything that a configuration could switch on.
fn full() -> Desk {
    let nowhere = "http://127.0.0.1:1";
    let web = Web {
        search: Some(Search {
            engine: Engine::Searxng,
            key: None,
            base_url: Some(nowhere.into()),
        }),
        sourcegraph: Some(Sourcegraph {
            base_url: nowhere.into(),
            token: None,
        }),
        browser: Some(Chromium {
            program: "chromium".into(),
        }),
        ..Web::default()
    };
    let painter = Painter::new(Settings::new("openai", Wire::OpenaiResponses, nowhere), "m").unwrap();
    let options = Options {
        web: Some(web),
        panels: Some(toolbox::Panels::default()),
        painter,
        code: Some(Arc::new(Server(PathBuf::new()))),
        ..Options::default()
    };
    Desk::fitted(&[], options)
}

fn page() -> String {
    let desk = full();
    let mut page = String::from(
        "# Tools\n\n\
         Made from the tools themselves; do not edit. `hew tools` lists them as they are for your model and configuration.\n\n\
         A tool that most tasks need is told to the model in every request. The others are found with `find_tools` and called\n\
         through `call_tool`, so that the list of tools, and with it the provider's cache, stays as it is; a model that calls one\n\
         of them by its name is understood as well. Rules and questions are about the tool that is really called.\n\n\
         | tool | told | what a model is told about it |\n|---|---|---|\n",
    );
    for tool in desk.tools.iter() {
        let spec = tool.spec();
        let told = match desk.tools.is_deferred(&spec.name) {
            true => "when asked",
            false => "always",
        };
        let description = spec.description.replace('\n', " ").replace('|', "\\|");
        page.push_str(&format!("| `{}` | {told} | {description} |\n", spec.name));
    }
    page.push_str(
        "\nThe edit tool is `edit_file` or, for models that write patches best, `apply_patch`; each takes calls in the form of the\n\
         other. Where a project or you keep skills there is `skill`, which reads one, and where there are several modes\n\
         `switch_mode`, which asks for another.\n\n## Names elsewhere\n\n\
         Under these names models know tools from other agents. hew understands them all.\n",
    );
    for seed in SEEDS {
        page.push_str(&format!("\n### {}\n\n| tool | in hew |\n|---|---|\n", seed.agent));
        for (name, answer) in seed.tools {
            let answer = match answer {
                Answer::Tool(tool) => format!("`{tool}`"),
                Answer::Otherwise(what) => what.replacen("nothing:", "no tool:", 1),
            };
            page.push_str(&format!("| `{name}` | {answer} |\n"));
        }
    }
    page
}
