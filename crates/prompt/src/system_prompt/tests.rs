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
struct PromptCase {
    facts: PromptEnvironment,
    mode: Mode,
    model: Info,
    listed: Vec<ToolSpec>,
    further: Vec<&'static str>,
    overrides: TemplateOverrides,
}

impl Default for PromptCase {
    fn default() -> Self {
        PromptCase {
            facts: facts(),
            mode: Mode::code(),
            model: info("test-model"),
            listed: tools(&USUAL),
            further: vec!["switch_mode"],
            overrides: TemplateOverrides::default(),
        }
    }
}

impl PromptCase {
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

    fn contains(&self, words: &str) -> bool {
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
    let PromptCase { mode, model, .. } = PromptCase::default();
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
    insta::assert_snapshot!(PromptCase::default().text());
}

#[test]
fn the_whole_prompt_for_an_open_model_without_native_tools() {
    let mut model = info("qwen3:8b");
    model.features.tools = false;
    insta::assert_snapshot!(
        PromptCase {
            model,
            mode: Mode::ask(),
            facts: PromptEnvironment {
                rules: Vec::new(),
                ..facts()
            },
            ..PromptCase::default()
        }
        .text()
    );
}

#[test]
fn the_prompt_goes_from_stable_to_volatile_and_is_the_same_each_time() {
    let blocks = PromptCase::default().render().blocks;
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
    assert_eq!(PromptCase::default().render().blocks, blocks);
}

#[test]
fn a_mode_names_missing_groups_and_changes_only_its_block() {
    let further = vec!["browser_action", "codebase_search"];
    let of = |mode: Mode| {
        let case = PromptCase {
            mode,
            further: further.clone(),
            facts: PromptEnvironment {
                modes: Vec::new(),
                servers: vec!["tracker".into()],
                ..facts()
            },
            ..PromptCase::default()
        };
        case.render().blocks
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
    let case = PromptCase {
        facts: PromptEnvironment { rules, ..facts() },
        ..PromptCase::default()
    };
    let block = &case.render().blocks[1];
    assert!(block.len() < MAX_RULES_FILE_BYTES + 400);
    assert!(block.contains("bytes of this file are omitted"));
}

#[test]
fn rules_files_take_at_most_a_quarter_of_the_window() {
    let file = |bytes: usize| RulesFile {
        path: "R".into(),
        text: "rule of 16 bytes\n".repeat(bytes / 17),
    };
    for (window, sizes, most) in [
        (0, vec![60_000, 60_000], 70_000),
        (8_192, vec![60_000], 8_192),
        (8_192, vec![1_000, 60_000, 60_000], 8_192),
        (8_192, vec![1_000, 2_000], 3_000),
        (200_000, vec![20_000, 60_000], 60_000),
    ] {
        let mut case = PromptCase::default();
        case.model.limits.window = window;
        case.facts.rules = sizes.iter().map(|bytes| file(*bytes)).collect();
        let sent = case.render().blocks[1].matches("rule of 16 bytes").count() * 17;
        let total: usize = sizes.iter().map(|bytes| (*bytes).min(MAX_RULES_FILE_BYTES)).sum();
        assert!(
            sent <= most && sent * 10 >= total.min(most) * 9,
            "{window} {sizes:?}: {sent}"
        );
    }
}

#[test]
fn codebase_search_is_mentioned_only_if_the_index_is_available() {
    let mut case = PromptCase::default();
    assert!(!case.contains("codebase_search"));
    case.further = vec!["codebase_search"];
    assert!(!case.contains("codebase_search"));
    case.listed.extend(tools(&["codebase_search"]));
    assert!(case.contains("codebase_search"));
    case.mode = Mode::orchestrator();
    assert!(!case.contains("codebase_search"));
}

#[test]
fn the_browser_is_mentioned_only_with_an_image_model_and_a_mode_that_has_it() {
    let with_browser = || PromptCase {
        further: vec!["browser_action"],
        ..PromptCase::default()
    };
    assert!(with_browser().contains("browser_action"));
    assert!(!PromptCase::default().contains("browser_action"));
    let mut blind = with_browser();
    blind.model.features.images = false;
    assert!(!blind.contains("browser_action"));
    let mut narrow = with_browser();
    narrow.mode = Mode::edit(vec!["a".into()]);
    assert!(!narrow.contains("browser_action"));
}

#[test]
fn edits_are_mentioned_only_with_an_edit_tool() {
    assert!(PromptCase::default().contains("Read a file before you edit it"));
    let case = PromptCase {
        listed: tools(&["read_file", "grep"]),
        ..PromptCase::default()
    };
    assert!(!case.contains("before you edit") && !case.contains("# Checking") && !case.contains("# Debugging"));
}

#[test]
fn mcp_servers_are_listed_only_if_the_mode_has_them() {
    let connected = || PromptCase {
        facts: PromptEnvironment {
            servers: vec!["docs".into(), "tracker".into()],
            ..facts()
        },
        ..PromptCase::default()
    };
    assert!(connected().contains("additional tools: docs, tracker."));
    assert!(!PromptCase::default().contains("additional tools"));
    let mut narrow = connected();
    narrow.mode = Mode::edit(vec!["a".into()]);
    assert!(!narrow.contains("additional tools"));
}

#[test]
fn the_protocol_changes_only_the_explanation_of_calls() {
    let mut case = PromptCase::default();
    let native = case.sections();
    case.model.features.tools = false;
    let xml = case.sections();
    assert_eq!(
        xml.iter().filter(|name| *name != "tool-protocol").collect::<Vec<_>>(),
        native.iter().collect::<Vec<_>>()
    );
    assert!(case.contains("<read_file>\n<path>src/main.rs</path>\n</read_file>"));
}

#[test]
fn modes_are_listed_only_if_one_can_be_selected() {
    assert!(PromptCase::default().contains("Modes for `switch_mode`:\n- release"));
    let both = PromptCase {
        further: vec!["new_task", "switch_mode"],
        ..PromptCase::default()
    };
    assert!(both.contains("Modes for `switch_mode` and `new_task`:\n- release"));
    let subtasks = PromptCase {
        further: vec!["new_task"],
        ..PromptCase::default()
    };
    assert!(subtasks.contains("Modes for `new_task`:\n- release"));
    let none = PromptCase {
        further: Vec::new(),
        ..PromptCase::default()
    };
    assert!(!none.contains("Modes for"));
    for mode in [
        Mode::edit(vec!["a".into()]),
        Mode {
            name: "release".into(),
            ..Mode::code()
        },
    ] {
        let case = PromptCase {
            mode,
            ..PromptCase::default()
        };
        assert!(!case.contains("Modes for"));
    }
}

#[test]
fn grep_is_recommended_only_if_available_and_missing_tools_are_stated() {
    assert!(PromptCase::default().contains("Search with `grep` and `find_path`"));
    let no_grep = PromptCase {
        listed: tools(&["read_file", "terminal"]),
        ..PromptCase::default()
    };
    assert!(!no_grep.contains("`grep`") && no_grep.contains("# Searching and reading"));
    let none = PromptCase {
        listed: Vec::new(),
        ..PromptCase::default()
    };
    assert!(none.contains("This session has no tools"));
    assert!(!none.contains("# How to work") && !none.contains("# Searching") && !none.contains("# Calling tools"));
}

#[test]
fn each_family_gets_its_variant_and_others_the_default() {
    for (model, words) in [
        ("claude-sonnet-4-6", "such as summaries or examples"),
        ("gpt-5.5", "do not ask for permission"),
        ("gemini-3-pro", "without line numbers"),
        ("qwen3-coder:30b", "Work step by step"),
    ] {
        let case = PromptCase {
            model: info(model),
            ..PromptCase::default()
        };
        assert!(case.contains(words), "{model}");
        assert!(!PromptCase::default().contains(words), "{model}");
    }
}

#[test]
fn a_user_template_replaces_or_wraps_the_built_in_one() {
    let replaced = PromptCase::default().with_template("objective", "# Aim\nFinish, {{mode}}.");
    assert!(replaced.contains("# Aim\nFinish, code.") && !replaced.contains("# Objective"));
    let extended = PromptCase::default().with_template("rules", "{{> original}}\n- No emoji for {{model}}.");
    assert!(
        extended.contains("unless asked.\n- No emoji for p/test-model."),
        "{}",
        extended.text()
    );
    let without_debugging = PromptCase::default().with_template("debugging", "{{! nothing }}");
    assert!(!without_debugging.contains("# Debugging") && without_debugging.render().problems.is_empty());
}

#[test]
fn a_user_template_for_a_section_applies_to_every_family_without_its_own() {
    let case = |id: &str| PromptCase {
        model: info(id),
        ..PromptCase::default()
    };
    let section = case("qwen3").with_template("tool-use", "Mine.\n{{> original}}");
    assert!(
        section.contains("Mine.\n# How to work\n- Work step by step"),
        "{}",
        section.text()
    );
    let family = section.with_template("tool-use.open", "Theirs.");
    assert!(family.contains("Theirs.") && !family.contains("Mine."));
}

#[test]
fn a_broken_template_is_reported_with_file_and_line_and_replaced_by_the_built_in_one() {
    for (text, line, reason) in [
        ("fine\n{{#if tools}}\nnever closed", ":", "using the built-in template"),
        ("fine\nfine\n{{unknown}}", ":3: ", "unknown"),
        ("{{> other}}", ":1: ", "other"),
    ] {
        let case = PromptCase::default().with_template("rules", text);
        let rendered = case.render();
        assert_eq!(rendered.blocks, PromptCase::default().render().blocks, "{text}");
        assert_eq!(rendered.problems.len(), 1);
        let problem = &rendered.problems[0];
        assert!(
            problem.starts_with(&format!("/templates/rules.hbs{line}")) && problem.contains(reason),
            "{problem}"
        );
    }
    let stranger = PromptCase::default().with_template("ruels", "x").render();
    assert!(stranger.problems[0].starts_with("/templates/ruels.hbs: unknown template `ruels`; available templates:"));
}

#[test]
fn a_whole_override_keeps_role_and_rules_and_supports_roos_variables() {
    let mut case = PromptCase::default();
    case.overrides.whole = Some(TemplateFile {
        path: ".hew/system-prompt-code.md".into(),
        text: "In {{workspace}} as {{mode}} on {{operatingSystem}} with {{shell}} in {{language}}; {{other}}\n".into(),
    });
    case.facts.language = Some("de".into());
    assert_eq!(
        case.text(),
        format!(
            "{}\n\nIn /home/me/project as code on linux with bash in de; {{{{other}}}}\n\n<rules path=\"AGENTS.md\">\nUse tabs.\n</rules>",
            Mode::code().role
        )
    );
}
