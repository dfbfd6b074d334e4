//! Modes: those that come with hew, and those that people write.

use crate::desk::{ROOT, places};
use policy::{Deed, Group, Mode, Modes, Place, Profile, Server, Switch, parse_modes};
use std::path::{Path, PathBuf};

fn writes(mode: &Mode, path: &str) -> Result<(), String> {
    let path = Path::new(ROOT).join(path);
    let deed = Deed::Write {
        path: &path,
        place: places().place(&path),
    };
    mode.permits(&deed, &places())
}

#[test]
fn the_built_in_modes_have_the_groups_of_their_trade() {
    let modes = Modes::default();
    let groups = |name: &str| -> Vec<&'static str> {
        let all = [
            (Group::Read, "read"),
            (Group::Edit, "edit"),
            (Group::Command, "command"),
            (Group::Mcp, "mcp"),
            (Group::Modes, "modes"),
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
fn the_edit_intent_changes_the_chosen_files_only() {
    let mode = Mode::edit(vec![PathBuf::from("src/a.rs")]);
    assert_eq!(writes(&mode, "src/a.rs"), Ok(()));
    assert_eq!(writes(&mode, "src/../src/a.rs"), Ok(()));
    assert!(writes(&mode, "src/b.rs").is_err());
    assert!(writes(&mode, "../src/a.rs").is_err());
    let path = PathBuf::from("/x");
    let read = Deed::Read {
        path: &path,
        place: Place::Outside,
    };
    assert_eq!(mode.permits(&read, &places()), Ok(()));
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
fn bad_entries_are_reported_and_the_rest_still_counts() {
    let (modes, problems) = parse_modes(".roomodes", FILE);
    let names: Vec<_> = modes.iter().map(|mode| mode.name.as_str()).collect();
    assert_eq!(names, ["docs-writer", "last"]);
    let told: Vec<_> = problems.iter().map(|problem| problem.entry.as_str()).collect();
    assert_eq!(
        told,
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
    assert_eq!(docs.groups, [Group::Read, Group::Edit, Group::Browser, Group::Modes]);
    assert_eq!(writes(docs, "a.txt"), Ok(()));
    assert!(writes(docs, "a.rs").expect_err("refused").contains("Documents only"));
    assert_eq!(modes[1].model.as_deref(), Some("small"));
}

#[test]
fn an_entry_that_is_no_yaml_does_not_hide_the_others() {
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
fn files_are_read_as_people_save_them() {
    let json = r#"{"customModes": [{"slug": "a", "name": "A", "roleDefinition": "x", "groups": ["read"]}]}"#;
    let pasted = "\u{feff}modes:\n\u{a0}\u{a0}- slug: a\n\u{a0}\u{a0}  role: \u{201c}x\u{201d}\n    groups: [read]\n";
    for text in [json, pasted] {
        let (modes, problems) = parse_modes("f", text);
        assert_eq!((modes.len(), problems.len()), (1, 0), "{text}: {problems:?}");
        assert_eq!(modes[0].role, "x");
    }
    for (text, told) in [
        ("", 0),
        ("# nothing\n", 1),
        ("modes: 5\n", 1),
        ("other: []\n", 1),
        ("modes: []\n", 0),
    ] {
        let (modes, problems) = parse_modes("f", text);
        assert_eq!((modes.len(), problems.len()), (0, told), "{text:?}: {problems:?}");
    }
}

#[test]
fn a_bomb_of_aliases_is_refused_quickly() {
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
fn a_custom_mode_takes_the_place_of_a_built_in_one() {
    let mut modes = Modes::default();
    let count = modes.iter().count();
    let (custom, _) = parse_modes("f", "modes:\n  - slug: ask\n    role: Mine.\n    groups: [read]\n");
    modes.add(custom);
    assert_eq!(modes.iter().count(), count);
    assert_eq!(modes.get("ask").map(|mode| mode.role.as_str()), Some("Mine."));
}

#[test]
fn profiles_switch_tools_and_servers() {
    let write = Profile::write();
    assert!(write.offers("terminal") && write.offers_mcp("any", "tool"));
    let ask = Profile::ask(&["read_file"]);
    assert!(ask.offers("read_file") && !ask.offers("terminal") && !ask.offers_mcp("any", "tool"));
    let mut mixed = Profile::minimal();
    let server = Server {
        tools: [("delete".to_owned(), false)].into(),
        other_tools: Switch::On,
    };
    mixed.servers.insert("github".into(), server);
    assert!(mixed.offers_mcp("github", "list"));
    assert!(!mixed.offers_mcp("github", "delete"));
    assert!(!mixed.offers_mcp("other", "list"));
}

#[test]
fn a_mode_survives_being_stored_and_old_ones_are_still_read() {
    for mode in Mode::built_in().into_iter().chain([Mode::edit(vec!["a".into()])]) {
        let text = serde_json::to_string(&mode).expect("stored");
        assert_eq!(serde_json::from_str::<Mode>(&text).expect("read"), mode);
    }
    let old: Mode = serde_json::from_str(r#"{"name":"code","groups":["read","edit","command"]}"#).expect("read");
    assert!(old.includes(Group::Command));
}
