//! Built-in and custom modes.

use crate::support::{ROOT, project_paths};
use policy::{Action, DefaultSwitch, Mode, ModeSet, PathArea, ServerToolProfile, ToolGroup, ToolProfile, parse_modes};
use std::path::{Path, PathBuf};

fn writes(mode: &Mode, path: &str) -> Result<(), String> {
    let path = Path::new(ROOT).join(path);
    let action = Action::Write {
        path: path.clone(),
        place: project_paths().area_of(&path),
    };
    mode.permits(&action, &project_paths())
        .map_err(|violation| violation.to_string())
}

#[test]
fn the_built_in_modes_have_their_groups() {
    let modes = ModeSet::default();
    let groups = |name: &str| -> Vec<&'static str> {
        let all = [
            (ToolGroup::Read, "read"),
            (ToolGroup::Edit, "edit"),
            (ToolGroup::Command, "command"),
            (ToolGroup::Mcp, "mcp"),
            (ToolGroup::Modes, "modes"),
        ];
        let mode = modes.get(name).expect("a mode");
        all.iter()
            .filter(|(group, _)| mode.includes(*group))
            .map(|(_, name)| *name)
            .collect()
    };
    assert_eq!(groups("code"), ["read", "edit", "command", "mcp", "modes"]);
    assert_eq!(groups("architect"), ["read", "edit", "mcp", "modes"]);
    assert_eq!(groups("ask"), ["read", "mcp", "modes"]);
    assert_eq!(groups("debug"), ["read", "edit", "command", "mcp", "modes"]);
    assert_eq!(groups("orchestrator"), ["modes"]);
    assert_eq!(groups("agent"), groups("code"));
    assert_eq!(groups("plan"), groups("ask"));
}

#[test]
fn a_refused_file_names_the_mode_the_file_and_the_pattern() {
    assert_eq!(writes(&Mode::architect(), "docs/plan.md"), Ok(()));
    let why = writes(&Mode::architect(), "src/main.rs").expect_err("refused");
    assert_eq!(
        why,
        "the mode `architect` may only change files that match `\\.md$` (Markdown files only), and src/main.rs does not"
    );
}

#[test]
fn the_edit_mode_changes_only_the_selected_files() {
    let mode = Mode::edit(vec![PathBuf::from("src/a.rs")]);
    assert_eq!(writes(&mode, "src/a.rs"), Ok(()));
    assert_eq!(writes(&mode, "src/../src/a.rs"), Ok(()));
    assert!(writes(&mode, "src/b.rs").is_err());
    assert!(writes(&mode, "../src/a.rs").is_err());
    let path = PathBuf::from("/x");
    let read = Action::Read {
        path: path.clone(),
        place: PathArea::Outside,
    };
    assert_eq!(mode.permits(&read, &project_paths()), Ok(()));
}

#[test]
fn file_rules_may_use_look_around() {
    // The expression, a path, and whether it may be changed.
    for (pattern, path, is_permitted) in [
        (r"^(?!src/).*\.md$", "docs/a.md", true),
        (r"^(?!src/).*\.md$", "src/a.md", false),
        (r"(?<=\.test)\.ts$", "a.test.ts", true),
        (r"(?<=\.test)\.ts$", "a.ts", false),
        (r"^(\w+)/\1\.rs$", "foo/foo.rs", true),
        (r"^(\w+)/\1\.rs$", "foo/bar.rs", false),
        (r"\.(css|scss)$", "a.scss", true),
        // Too slow to decide: not permitted.
        (r"^(?=(a+)+$)\1b", &"a".repeat(60), false),
    ] {
        let text = format!("modes:\n  - slug: m\n    role: r\n    groups: [[edit, {{files: '{pattern}'}}]]\n");
        let (modes, problems) = parse_modes("modes.yaml", &text);
        assert_eq!(problems, [], "{pattern}");
        assert_eq!(writes(&modes[0], path).is_ok(), is_permitted, "{pattern} {path}");
    }
}

const FILE: &str = r#"
customModes:
  - slug: docs-writer
    name: "📝 Docs"
    roleDefinition: You write documentation.
    customInstructions: Be brief.
    whenToUse: For documents.
    groups:
      - read
      - - edit
        - fileRegex: \.(md|txt)$
          description: Documents only
      - browser
  - slug: bad slug!
    name: Bad
    roleDefinition: x
    groups: [read]
  - slug: no-role
    name: Bad
    groups: [read]
  - slug: bad-group
    name: Bad
    roleDefinition: x
    groups: [read, fly]
  - slug: bad-regex
    name: Bad
    roleDefinition: x
    groups: [read, [edit, { fileRegex: "[" }]]
  - slug: twice
    name: Bad
    roleDefinition: x
    groups: [read, read]
  - slug: docs-writer
    name: Same
    roleDefinition: x
    groups: [read]
  - just text
  - slug: last
    role: You come last.
    model: small
    groups: []
"#;

#[test]
fn invalid_entries_are_reported_and_the_rest_is_used() {
    let (modes, problems) = parse_modes(".roomodes", FILE);
    let names: Vec<_> = modes.iter().map(|mode| mode.name.as_str()).collect();
    assert_eq!(names, ["docs-writer", "last"]);
    let reported: Vec<_> = problems.iter().map(|problem| problem.entry.as_str()).collect();
    assert_eq!(
        reported,
        [
            "bad slug!",
            "no-role",
            "bad-group",
            "bad-regex",
            "twice",
            "docs-writer",
            "entry 8"
        ]
    );
    assert!(
        problems
            .iter()
            .all(|problem| problem.file == ".roomodes" && !problem.message.is_empty())
    );
    let docs = &modes[0];
    assert_eq!(docs.title, "📝 Docs");
    assert_eq!(docs.instructions, "Be brief.");
    assert_eq!(docs.when_to_use, "For documents.");
    assert_eq!(
        docs.groups,
        [ToolGroup::Read, ToolGroup::Edit, ToolGroup::Browser, ToolGroup::Modes]
    );
    assert_eq!(writes(docs, "a.txt"), Ok(()));
    assert!(writes(docs, "a.rs").expect_err("refused").contains("Documents only"));
    assert_eq!(modes[1].model.as_deref(), Some("small"));
}

#[test]
fn an_invalid_entry_does_not_hide_the_others() {
    let text = "modes:\n  - slug: one\n    role: First.\n    groups: [read]\n  - slug: two\n    role: \"never closed\n    groups: [read]\n  - slug: three\n    role: Third.\n    groups: [read]\n";
    let broken = text.replace("\"never closed", "[never, closed");
    for text in [text, &broken] {
        let (modes, problems) = parse_modes(".hew/modes.yaml", text);
        let names: Vec<_> = modes.iter().map(|mode| mode.name.as_str()).collect();
        assert_eq!(names, ["one", "three"], "{problems:?}");
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].entry, "slug: two");
    }
}

#[test]
fn mode_files_are_parsed_with_common_encodings_and_typography() {
    let json = r#"{"customModes": [{"slug": "a", "name": "A", "roleDefinition": "x", "groups": ["read"]}]}"#;
    let pasted = "\u{feff}modes:\n\u{a0}\u{a0}- slug: a\n\u{a0}\u{a0}  role: \u{201c}x\u{201d}\n    groups: [read]\n";
    for text in [json, pasted] {
        let (modes, problems) = parse_modes("f", text);
        assert_eq!((modes.len(), problems.len()), (1, 0), "{text}: {problems:?}");
        assert_eq!(modes[0].role, "x");
    }
    for (text, reported) in [
        ("", 0),
        ("# nothing\n", 1),
        ("modes: 5\n", 1),
        ("other: []\n", 1),
        ("modes: []\n", 0),
    ] {
        let (modes, problems) = parse_modes("f", text);
        assert_eq!((modes.len(), problems.len()), (0, reported), "{text:?}: {problems:?}");
    }
}

#[test]
fn a_yaml_alias_bomb_is_rejected_quickly() {
    let mut text = String::from("a: &a [x,x,x,x,x,x,x,x,x,x]\n");
    for (name, last) in ('b'..='k').zip('a'..='j') {
        text.push_str(&format!(
            "{name}: &{name} [{}]\n",
            [format!("*{last}").as_str(); 10].join(",")
        ));
    }
    text.push_str("modes: *k\n");
    let (modes, problems) = parse_modes("f", &text);
    assert!(modes.is_empty());
    assert!(!problems.is_empty());
}

#[test]
fn a_custom_mode_replaces_a_built_in_one() {
    let mut modes = ModeSet::default();
    let count = modes.iter().count();
    let (custom, _) = parse_modes("f", "modes:\n  - slug: ask\n    role: Mine.\n    groups: [read]\n");
    modes.add(custom);
    assert_eq!(modes.iter().count(), count);
    assert_eq!(modes.get("ask").map(|mode| mode.role.as_str()), Some("Mine."));
}

#[test]
fn profiles_enable_and_disable_tools_and_servers() {
    let write = ToolProfile::write();
    assert!(write.offers("terminal") && write.offers_mcp("any", "tool"));
    let ask = ToolProfile::ask(&["read_file"]);
    assert!(ask.offers("read_file") && !ask.offers("terminal") && !ask.offers_mcp("any", "tool"));
    let mut mixed = ToolProfile::minimal();
    let server = ServerToolProfile {
        tools: [("delete".to_owned(), false)].into(),
        other_tools: DefaultSwitch::On,
    };
    mixed.servers.insert("github".into(), server);
    assert!(mixed.offers_mcp("github", "list"));
    assert!(!mixed.offers_mcp("github", "delete"));
    assert!(!mixed.offers_mcp("other", "list"));
}

#[test]
fn a_mode_survives_serialization_and_old_forms_are_read() {
    for mode in Mode::built_in().into_iter().chain([Mode::edit(vec!["a".into()])]) {
        let text = serde_json::to_string(&mode).expect("stored");
        assert_eq!(serde_json::from_str::<Mode>(&text).expect("read"), mode);
    }
    let old: Mode = serde_json::from_str(r#"{"name":"code","groups":["read","edit","command"]}"#).expect("read");
    assert!(old.includes(ToolGroup::Command));
}
