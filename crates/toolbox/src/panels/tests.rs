//! Tests of panels on a real directory.
#![allow(clippy::disallowed_methods, reason = "a test makes files to look at")]

use super::*;
use prompt::panel::{ChangeChannel, PanelContext};
use session::{Time, Totals};
use std::path::Path;
use workspace::Workspace;

fn panels(root: &Path, data: &Path) -> OpenPanels {
    let panels = OpenPanels::default();
    let project = Project::new(
        Workspace::open(root).unwrap(),
        crate::support::spill::Spill::at(None),
        crate::ToolCaller::Model,
    );
    panels.set_sources(PanelSources {
        notebook: NoteStore::new(Some(data.to_owned()), root),
        project,
        jobs: JobRegistry::default(),
        environment: ProcessEnvironment::default(),
        commands: CommandOptions::default(),
        code: None,
        code_index: Some(search::CodeIndex::new(
            Workspace::open(root).unwrap(),
            &data.join("cache"),
        )),
        skills: vec![root.join("skills")],
        modes: ["code", "ask"]
            .map(|name| crate::ModeName {
                name: name.into(),
                title: String::new(),
            })
            .into(),
    });
    panels
}

fn panel_context<'a>() -> PanelContext<'a> {
    PanelContext {
        session: "s1",
        items: &[],
        todos: &[],
        totals: Totals::default(),
        model: "p/m",
        tokens: 10,
        window: 100,
        tools: &[],
        deferred: &[],
        now: Time(0),
    }
}

async fn text(panels: &OpenPanels, name: &str) -> Option<String> {
    panels.open(name).unwrap();
    let open = PanelSource::panels(panels);
    let panel = open.iter().find(|panel| panel.name() == name).unwrap();
    panel.snapshot(&panel_context()).await
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, expected) in [
        ("src/main.rs", "fn main() {}\n"),
        ("src/deep/er/x.rs", "x"),
        (".hidden", "no"),
        (
            "skills/deploy/SKILL.md",
            "---\nname: deploy\ndescription: Ships it.\n---\nShip it.\n",
        ),
        ("data/memory/user/taste.md", "Likes tabs.\n"),
        ("data/memory/sessions/s1/scratchpad.md", "half way\n"),
    ] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, expected).unwrap();
    }
    folder
}

#[tokio::test]
async fn each_panel_shows_its_content() {
    let folder = folder();
    let panels = panels(folder.path(), &folder.path().join("data"));
    let tree = text(&panels, "tree").await.unwrap();
    assert!(
        tree.contains("src/\n\tdeep/\n\t\ter/\n\t\t\tx.rs\n\tmain.rs\n"),
        "{tree}"
    );
    assert!(!tree.contains("hidden"), "{tree}");
    for (name, expected) in [
        ("file:src/main.rs", Some("fn main() {}\n")),
        ("memories", Some("## user/taste.md\nLikes tabs.\n")),
        ("scratchpad", Some("half way\n")),
        ("library", Some("Modes: code, ask\nSkill deploy: Ships it.\n")),
        ("skill:deploy", Some("Ship it.")),
        ("console", None),
        ("todo", None),
    ] {
        assert_eq!(text(&panels, name).await.as_deref(), expected, "{name}");
    }
    assert!(
        text(&panels, "statistics")
            .await
            .unwrap()
            .contains("10 % of 100 tokens")
    );
    let map = text(&panels, "repo_map").await.unwrap();
    assert!(map.starts_with("src/main.rs\n  1 "), "{map}");
    std::fs::write(folder.path().join("src/walk.rs"), "pub fn walk() {}\n").unwrap();
    let map = text(&panels, "repo_map:walk").await.unwrap();
    assert!(map.starts_with("src/walk.rs\n  1 "), "{map}");
    std::fs::write(folder.path().join("src/main.rs"), "fn main() { run() }\n").unwrap();
    assert_eq!(
        text(&panels, "file:src/main.rs").await.unwrap(),
        "fn main() { run() }\n"
    );
    std::fs::remove_file(folder.path().join("src/main.rs")).unwrap();
    let open = PanelSource::panels(&panels);
    let closed = open.iter().find(|panel| panel.name() == "file:src/main.rs").unwrap();
    assert_eq!(closed.snapshot(&panel_context()).await, None);
}

#[tokio::test]
async fn git_panels_show_the_output_of_git() {
    let folder = folder();
    let panels = panels(folder.path(), folder.path());
    let expected = text(&panels, "git:rev-parse --show-prefix").await.unwrap();
    // Outside a repository git fails, and the panel shows that.
    assert!(expected.contains("[failed]") || expected == "(nothing)", "{expected}");
}

#[test]
fn an_unknown_panel_is_rejected_with_the_list_of_panels() {
    let folder = folder();
    let panels = panels(folder.path(), folder.path());
    for name in [
        "whatever",
        "file:",
        "file:nothing.rs",
        "git:push",
        "console:9",
        "skill:x",
        "diagnostics",
        "tree:x",
    ] {
        let why = panels.open(name).unwrap_err().to_string();
        assert!(why.len() > 10, "{name}: {why}");
    }
    assert_eq!(panels.names(), Vec::<String>::new());
    assert!(panels.open("tree").is_ok() && panels.close("tree") && !panels.close("tree"));
    for name in DEFAULT_PANELS {
        panels.open(name).unwrap();
    }
    // Default panels cost nothing while the conversation shows their changes.
    assert!(
        PanelSource::panels(&panels)
            .iter()
            .all(|panel| panel.change_channel() == ChangeChannel::Conversation)
    );
}

#[test]
fn live_panels_are_never_frozen_and_others_up_to_three_times() {
    let folder = folder();
    let panels = panels(folder.path(), folder.path());
    for (name, most) in [
        ("memories", 0),
        ("scratchpad", 0),
        ("file:src/main.rs", 0),
        ("skill:deploy", 0),
        ("console", 0),
        ("git:status", 0),
        ("github:pr list", 0),
        ("library", 3),
        ("tree", 3),
        ("repo_map", 3),
    ] {
        let panel = panels.create(name).unwrap();
        assert_eq!(panel.volatility().max_freezes(), Some(most), "{name}");
    }
}

#[test]
fn opening_a_panel_needs_approval_for_its_content() {
    let folder = folder();
    let panels = panels(folder.path(), folder.path());
    let root = folder.path().canonicalize().unwrap();
    assert!(
        matches!(&panels.actions("file:src/main.rs")[..], [Action::Read { path, .. }] if *path == root.join("src/main.rs"))
    );
    let run = panels.actions("git:status --short");
    assert!(
        matches!(&run[..], [Action::Run { command, .. }] if command == "git --no-pager --no-optional-locks status --short"),
        "{run:?}"
    );
    assert_eq!(panels.actions("tree"), []);
}

#[test]
fn only_existing_parts_of_the_conversation_can_be_opened() {
    let panels = OpenPanels::default();
    let open = |name: &str| panels.open(name).err().map(|error| error.to_string());
    let whole = "there is no `history:1`: the whole conversation is shown";
    assert_eq!(open("history:1").as_deref(), Some(whole));
    panels.set_history_parts(2);
    assert_eq!(open("history:2"), None);
    let last = "there is no `history:9`; the last part is history:2";
    assert_eq!(open("history:9").as_deref(), Some(last));
    assert!(open("history:0").is_some() && open("history:x").is_some());
}
