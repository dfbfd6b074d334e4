//! What the system prompt says, when, and to whom.

use super::quoted::RULES_BYTES;
use super::*;
use model::{Features, Limits, Wire};
use serde_json::{Map, json};

fn facts() -> Facts {
    Facts {
        platform: "linux x86_64".into(),
        root: "/home/me/project".into(),
        branch: Some("main".into()),
        date: "2026-11-16".into(),
        shell: "bash".into(),
        modes: vec![("release".into(), "To make a release.".into())],
        rules: vec![Rules {
            path: "AGENTS.md".into(),
            text: "Use tabs.\n".into(),
        }],
        ..Facts::default()
    }
}

fn info(id: &str) -> Info {
    Info {
        provider: "p".into(),
        id: id.into(),
        wire: Wire::OpenaiChat,
        limits: Limits { window: 0, output: 0 },
        features: Features {
            tools: true,
            parallel_tools: true,
            images: true,
            pdf: false,
            reasoning: false,
            caching: false,
        },
        prices: None,
        deprecated_on: None,
        options: Map::new(),
    }
}

fn tools(names: &[&str]) -> Vec<ToolSpec> {
    let tool = |name: &&str| ToolSpec {
        name: (*name).into(),
        description: String::new(),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
    };
    names.iter().map(tool).collect()
}

const USUAL: [&str; 6] = ["edit_file", "find_path", "grep", "read_file", "terminal", "write_file"];

/// A prompt and what may be changed about it.
struct Story {
    facts: Facts,
    mode: Mode,
    model: Info,
    listed: Vec<ToolSpec>,
    further: Vec<&'static str>,
    overrides: Overrides,
}

impl Default for Story {
    fn default() -> Self {
        Story {
            facts: facts(),
            mode: Mode::code(),
            model: info("house-model"),
            listed: tools(&USUAL),
            further: Vec::new(),
            overrides: Overrides::default(),
        }
    }
}

impl Story {
    fn render(&self) -> Rendered {
        let scene = Scene {
            mode: &self.mode,
            model: &self.model,
            listed: &self.listed,
            further: &self.further,
        };
        system(&self.facts, &scene, &self.overrides)
    }

    fn text(&self) -> String {
        self.render().blocks.join("\n\n")
    }

    fn sections(&self) -> Vec<String> {
        self.render().parts.into_iter().map(|(name, _)| name).collect()
    }

    fn says(&self, words: &str) -> bool {
        self.text().contains(words)
    }

    fn with_template(mut self, name: &str, text: &str) -> Self {
        let template = Template {
            path: format!("/templates/{name}.hbs").into(),
            text: text.into(),
        };
        self.overrides.templates.insert(name.into(), template);
        self
    }
}

/// The names of all conditions.
pub(super) fn conditions() -> Vec<&'static str> {
    let Story { mode, model, .. } = Story::default();
    let scene = Scene {
        mode: &mode,
        model: &model,
        listed: &[],
        further: &[],
    };
    Conditions::of(&facts(), &scene, None).names()
}

#[test]
fn the_whole_prompt_for_the_usual_case() {
    insta::assert_snapshot!(Story::default().text());
}

#[test]
fn the_whole_prompt_for_an_open_model_without_native_tools() {
    let mut model = info("qwen3:8b");
    model.features.tools = false;
    insta::assert_snapshot!(
        Story {
            model,
            mode: Mode::ask(),
            facts: Facts {
                rules: Vec::new(),
                ..facts()
            },
            ..Story::default()
        }
        .text()
    );
}

#[test]
fn the_prompt_goes_from_stable_to_volatile_and_is_the_same_each_time() {
    let blocks = Story::default().render().blocks;
    assert_eq!(blocks.len(), 4);
    assert!(blocks[0].starts_with("You are hew"));
    assert!(
        blocks[1].ends_with("<rules path=\"AGENTS.md\">\nUse tabs.\n</rules>"),
        "{}",
        blocks[1]
    );
    assert!(blocks[2].contains("/home/me/project") && blocks[2].contains("2026-11-16"));
    assert!(blocks[3].starts_with("# Mode: code\nYou are"), "{}", blocks[3]);
    assert!(blocks[3].ends_with("- release: To make a release."), "{}", blocks[3]);
    assert_eq!(Story::default().render().blocks, blocks);
}

#[test]
fn a_mode_says_what_it_leaves_out_and_only_its_own_block_changes_with_it() {
    let further = vec!["browser_action", "codebase_search"];
    let of = |mode: Mode| {
        let story = Story {
            mode,
            further: further.clone(),
            facts: Facts {
                modes: Vec::new(),
                servers: vec!["tracker".into()],
                ..facts()
            },
            ..Story::default()
        };
        story.render().blocks
    };
    let code = of(Mode::code());
    for (mode, end) in [
        (Mode::ask(), "Not part of this mode: changing files, running commands."),
        (
            Mode::edit(vec!["src/a.rs".into()]),
            "Only these files can be changed: src/a.rs",
        ),
        (Mode::architect(), r"where their path matches `\.md$`."),
    ] {
        let blocks = of(mode);
        assert_eq!(code[..3], blocks[..3]);
        assert!(blocks[3].contains(end), "{}", blocks[3]);
    }
}

#[test]
fn a_long_rules_file_is_cut_at_a_line_and_says_so() {
    let rules = vec![Rules {
        path: "R".into(),
        text: "ä rule\n".repeat(10_000),
    }];
    let story = Story {
        facts: Facts { rules, ..facts() },
        ..Story::default()
    };
    let block = &story.render().blocks[1];
    assert!(block.len() < RULES_BYTES + 400);
    assert!(block.contains("bytes of this file are left out"));
}

#[test]
fn roos_rule_codebase_search_is_spoken_of_only_where_the_index_can_be_used() {
    let mut story = Story::default();
    assert!(!story.says("codebase_search"));
    story.further = vec!["codebase_search"];
    assert!(story.says("codebase_search"));
    story.mode = Mode::orchestrator();
    assert!(!story.says("codebase_search"));
}

#[test]
fn roos_rule_the_browser_is_spoken_of_only_with_a_model_that_sees_and_a_mode_that_has_it() {
    let with_browser = || Story {
        further: vec!["browser_action"],
        ..Story::default()
    };
    assert!(with_browser().says("browser_action"));
    assert!(!Story::default().says("browser_action"));
    let mut blind = with_browser();
    blind.model.features.images = false;
    assert!(!blind.says("browser_action"));
    let mut narrow = with_browser();
    narrow.mode = Mode::edit(vec!["a".into()]);
    assert!(!narrow.says("browser_action"));
}

#[test]
fn roos_rule_edits_are_spoken_of_only_where_there_is_a_tool_for_them() {
    assert!(Story::default().says("Read a file before you edit it"));
    let story = Story {
        listed: tools(&["read_file", "grep"]),
        ..Story::default()
    };
    assert!(!story.says("before you edit") && !story.says("# Checking") && !story.says("# Debugging"));
}

#[test]
fn roos_rule_mcp_servers_are_named_only_where_there_are_some_and_the_mode_has_them() {
    let connected = || Story {
        facts: Facts {
            servers: vec!["docs".into(), "tracker".into()],
            ..facts()
        },
        ..Story::default()
    };
    assert!(connected().says("tools of their own: docs, tracker."));
    assert!(!Story::default().says("tools of their own"));
    let mut narrow = connected();
    narrow.mode = Mode::edit(vec!["a".into()]);
    assert!(!narrow.says("tools of their own"));
}

#[test]
fn roos_rule_the_protocol_changes_how_calls_are_explained_and_nothing_else() {
    let mut story = Story::default();
    let native = story.sections();
    story.model.features.tools = false;
    let xml = story.sections();
    assert_eq!(
        xml.iter().filter(|name| *name != "tool-protocol").collect::<Vec<_>>(),
        native.iter().collect::<Vec<_>>()
    );
    assert!(story.says("<read_file>\n<path>src/main.rs</path>\n</read_file>"));
}

#[test]
fn roos_rule_modes_are_listed_only_where_one_can_be_changed_to() {
    assert!(Story::default().says("More modes for switch_mode:\n- release"));
    for mode in [
        Mode::edit(vec!["a".into()]),
        Mode {
            name: "release".into(),
            ..Mode::code()
        },
    ] {
        let story = Story {
            mode,
            ..Story::default()
        };
        assert!(!story.says("More modes"));
    }
}

#[test]
fn zeds_rule_grep_is_recommended_only_where_it_is_there_and_without_tools_the_model_is_told_so() {
    assert!(Story::default().says("Search with `grep` and `find_path`"));
    let no_grep = Story {
        listed: tools(&["read_file", "terminal"]),
        ..Story::default()
    };
    assert!(!no_grep.says("`grep`") && no_grep.says("# Searching and reading"));
    let none = Story {
        listed: Vec::new(),
        ..Story::default()
    };
    assert!(none.says("You have no tools"));
    assert!(!none.says("# How to work") && !none.says("# Searching") && !none.says("# Calling tools"));
}

#[test]
fn each_family_gets_what_it_needs_and_others_the_usual_text() {
    for (model, words) in [
        ("claude-sonnet-4-6", "no summaries, no examples"),
        ("gpt-5.5", "do not ask for leave"),
        ("gemini-3-pro", "without line numbers"),
        ("qwen3-coder:30b", "Work step by step"),
    ] {
        let story = Story {
            model: info(model),
            ..Story::default()
        };
        assert!(story.says(words), "{model}");
        assert!(!Story::default().says(words), "{model}");
    }
}

#[test]
fn a_persons_template_replaces_ours_or_goes_around_it() {
    let replaced = Story::default().with_template("objective", "# Aim\nFinish, {{mode}}.");
    assert!(replaced.says("# Aim\nFinish, code.") && !replaced.says("# Objective"));
    let extended = Story::default().with_template("rules", "{{> original}}\n- No emoji for {{model}}.");
    assert!(
        extended.says("unless asked.\n- No emoji for p/house-model."),
        "{}",
        extended.text()
    );
    let gone = Story::default().with_template("debugging", "{{! nothing }}");
    assert!(!gone.says("# Debugging") && gone.render().problems.is_empty());
}

#[test]
fn a_persons_word_on_a_section_counts_for_every_family_unless_they_speak_of_the_family() {
    let story = |id: &str| Story {
        model: info(id),
        ..Story::default()
    };
    let section = story("qwen3").with_template("tool-use", "Mine.\n{{> original}}");
    assert!(
        section.says("Mine.\n# How to work\n- Work step by step"),
        "{}",
        section.text()
    );
    let family = section.with_template("tool-use.open", "Theirs.");
    assert!(family.says("Theirs.") && !family.says("Mine."));
}

#[test]
fn a_broken_template_is_named_with_file_and_line_and_ours_stands_in() {
    for (text, line, reason) in [
        ("fine\n{{#if tools}}\nnever closed", ":", "hew's own text stands in"),
        ("fine\nfine\n{{nonsense}}", ":3: ", "nonsense"),
        ("{{> elsewhere}}", ":1: ", "elsewhere"),
    ] {
        let story = Story::default().with_template("rules", text);
        let rendered = story.render();
        assert_eq!(rendered.blocks, Story::default().render().blocks, "{text}");
        assert_eq!(rendered.problems.len(), 1);
        let problem = &rendered.problems[0];
        assert!(
            problem.starts_with(&format!("/templates/rules.hbs{line}")) && problem.contains(reason),
            "{problem}"
        );
    }
    let stranger = Story::default().with_template("ruels", "x").render();
    assert!(stranger.problems[0].starts_with("/templates/ruels.hbs: there is no template `ruels`; the templates are"));
}

#[test]
fn a_text_in_the_place_of_all_keeps_the_role_and_the_rules_and_takes_roos_variables() {
    let mut story = Story::default();
    story.overrides.whole = Some(Template {
        path: ".hew/system-prompt-code.md".into(),
        text: "In {{workspace}} as {{mode}} on {{operatingSystem}} with {{shell}} in {{language}}; {{other}}\n".into(),
    });
    story.facts.language = Some("de".into());
    assert_eq!(
        story.text(),
        format!(
            "{}\n\nIn /home/me/project as code on linux with bash in de; {{{{other}}}}\n\n<rules path=\"AGENTS.md\">\nUse tabs.\n</rules>",
            Mode::code().role
        )
    );
}
