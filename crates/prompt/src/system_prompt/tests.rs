//! The content of the system prompt and its conditions.

use super::quote::MAX_RULES_FILE_BYTES;
use super::*;
use model::{Features, TokenLimits, Wire};
use serde_json::{Map, json};

fn facts() -> PromptEnvironment {
    PromptEnvironment {
        platform: "linux x86_64".into(),
        root: "/home/me/project".into(),
        branch: Some("main".into()),
        date: "2026-11-16".into(),
        shell: "bash".into(),
        modes: vec![("release".into(), "To make a release.".into())],
        rules: vec![RulesFile {
            path: "AGENTS.md".into(),
            text: "Use tabs.\n".into(),
        }],
        ..PromptEnvironment::default()
    }
}

fn info(id: &str) -> Info {
    Info {
        provider: "p".into(),
        id: id.into(),
        wire: Wire::OpenaiChat,
        limits: TokenLimits { window: 0, output: 0 },
        parameters: 0,
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

/// A prompt and its variable inputs.
struct Story {
    facts: PromptEnvironment,
    mode: Mode,
    model: Info,
    listed: Vec<ToolSpec>,
    further: Vec<&'static str>,
    overrides: TemplateOverrides,
}

impl Default for Story {
    fn default() -> Self {
        Story {
            facts: facts(),
            mode: Mode::code(),
            model: info("house-model"),
            listed: tools(&USUAL),
            further: vec!["switch_mode"],
            overrides: TemplateOverrides::default(),
        }
    }
}

impl Story {
    fn render(&self) -> SystemPrompt {
        let input = SystemPromptInput {
            mode: &self.mode,
            model: &self.model,
            listed: &self.listed,
            deferred: &self.further,
        };
        system_prompt(&self.facts, &input, &self.overrides)
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
        let template = TemplateFile {
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
    let input = SystemPromptInput {
        mode: &mode,
        model: &model,
        listed: &[],
        deferred: &[],
    };
    SectionConditions::of(&facts(), &input, None).names()
}

#[test]
fn the_whole_prompt_for_the_default_case() {
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
            facts: PromptEnvironment {
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
fn a_mode_names_missing_groups_and_changes_only_its_block() {
    let further = vec!["browser_action", "codebase_search"];
    let of = |mode: Mode| {
        let story = Story {
            mode,
            further: further.clone(),
            facts: PromptEnvironment {
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
        (
            Mode::ask(),
            "Not available in this mode: changing files, running commands.",
        ),
        (
            Mode::edit(vec!["src/a.rs".into()]),
            "Only these files can be changed: src/a.rs",
        ),
        (Mode::architect(), r"if their path matches `\.md$`."),
    ] {
        let blocks = of(mode);
        assert_eq!(code[..3], blocks[..3]);
        assert!(blocks[3].contains(end), "{}", blocks[3]);
    }
}

#[test]
fn a_long_rules_file_is_cut_at_a_line_with_a_note() {
    let rules = vec![RulesFile {
        path: "R".into(),
        text: "ä rule\n".repeat(10_000),
    }];
    let story = Story {
        facts: PromptEnvironment { rules, ..facts() },
        ..Story::default()
    };
    let block = &story.render().blocks[1];
    assert!(block.len() < MAX_RULES_FILE_BYTES + 400);
    assert!(block.contains("bytes of this file are omitted"));
}

#[test]
fn codebase_search_is_mentioned_only_if_the_index_is_available() {
    let mut story = Story::default();
    assert!(!story.says("codebase_search"));
    story.further = vec!["codebase_search"];
    assert!(!story.says("codebase_search"));
    story.listed.extend(tools(&["codebase_search"]));
    assert!(story.says("codebase_search"));
    story.mode = Mode::orchestrator();
    assert!(!story.says("codebase_search"));
}

#[test]
fn the_browser_is_mentioned_only_with_an_image_model_and_a_mode_that_has_it() {
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
fn edits_are_mentioned_only_with_an_edit_tool() {
    assert!(Story::default().says("Read a file before you edit it"));
    let story = Story {
        listed: tools(&["read_file", "grep"]),
        ..Story::default()
    };
    assert!(!story.says("before you edit") && !story.says("# Checking") && !story.says("# Debugging"));
}

#[test]
fn mcp_servers_are_listed_only_if_the_mode_has_them() {
    let connected = || Story {
        facts: PromptEnvironment {
            servers: vec!["docs".into(), "tracker".into()],
            ..facts()
        },
        ..Story::default()
    };
    assert!(connected().says("additional tools: docs, tracker."));
    assert!(!Story::default().says("additional tools"));
    let mut narrow = connected();
    narrow.mode = Mode::edit(vec!["a".into()]);
    assert!(!narrow.says("additional tools"));
}

#[test]
fn the_protocol_changes_only_the_explanation_of_calls() {
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
fn modes_are_listed_only_if_one_can_be_selected() {
    assert!(Story::default().says("Modes for `switch_mode`:\n- release"));
    let both = Story {
        further: vec!["new_task", "switch_mode"],
        ..Story::default()
    };
    assert!(both.says("Modes for `switch_mode` and `new_task`:\n- release"));
    let subtasks = Story {
        further: vec!["new_task"],
        ..Story::default()
    };
    assert!(subtasks.says("Modes for `new_task`:\n- release"));
    let none = Story {
        further: Vec::new(),
        ..Story::default()
    };
    assert!(!none.says("Modes for"));
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
        assert!(!story.says("Modes for"));
    }
}

#[test]
fn grep_is_recommended_only_if_available_and_missing_tools_are_stated() {
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
    assert!(none.says("This session has no tools"));
    assert!(!none.says("# How to work") && !none.says("# Searching") && !none.says("# Calling tools"));
}

#[test]
fn each_family_gets_its_variant_and_others_the_default() {
    for (model, words) in [
        ("claude-sonnet-4-6", "such as summaries or examples"),
        ("gpt-5.5", "do not ask for permission"),
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
fn a_user_template_replaces_or_wraps_the_built_in_one() {
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
fn a_user_template_for_a_section_applies_to_every_family_without_its_own() {
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
fn a_broken_template_is_reported_with_file_and_line_and_replaced_by_the_built_in_one() {
    for (text, line, reason) in [
        ("fine\n{{#if tools}}\nnever closed", ":", "using the built-in template"),
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
    assert!(stranger.problems[0].starts_with("/templates/ruels.hbs: unknown template `ruels`; available templates:"));
}

#[test]
fn a_whole_override_keeps_role_and_rules_and_supports_roos_variables() {
    let mut story = Story::default();
    story.overrides.whole = Some(TemplateFile {
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
