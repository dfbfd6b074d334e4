//! Panels on a real folder.
#![allow(clippy::disallowed_methods, reason = "a test makes files to look at")]

use super::*;
use prompt::panel::{Sight, Told};
use session::{Time, Totals};
use std::path::Path;
use workspace::Workspace;

fn panels(root: &Path, data: &Path) -> Panels {
    let panels = Panels::default();
    let project = Project::new(
        Workspace::open(root).unwrap(),
        crate::spill::Spill::at(None),
        crate::Caller::Model,
    );
    panels.look_at(Sources {
        notebook: Notebook::new(Some(data.to_owned()), root),
        project,
        jobs: Jobs::default(),
        environment: Environment::default(),
        commands: Commands::default(),
        code: None,
        skills: vec![root.join("skills")],
        modes: vec!["code".into(), "ask".into()],
    });
    panels
}

fn sight<'a>() -> Sight<'a> {
    Sight {
        session: "s1",
        items: &[],
        todos: &[],
        totals: Totals::default(),
        model: "p/m",
        tokens: 10,
        window: 100,
        tools: &[],
        further: &[],
        now: Time(0),
    }
}

async fn text(panels: &Panels, name: &str) -> Option<String> {
    panels.open(name).unwrap();
    let open = Shelf::open(panels);
    let panel = open.iter().find(|panel| panel.name() == name).unwrap();
    panel.snapshot(&sight()).await
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, said) in [
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
        std::fs::write(path, said).unwrap();
    }
    folder
}

#[tokio::test]
async fn each_panel_says_what_it_is_for() {
    let folder = folder();
    let panels = panels(folder.path(), &folder.path().join("data"));
    let tree = text(&panels, "tree").await.unwrap();
    assert!(
        tree.contains("src/\n\tdeep/\n\t\ter/\n\t\t\tx.rs\n\tmain.rs\n"),
        "{tree}"
    );
    assert!(!tree.contains("hidden"), "{tree}");
    for (name, said) in [
        ("file:src/main.rs", Some("fn main() {}\n")),
        ("memories", Some("## user/taste.md\nLikes tabs.\n")),
        ("scratchpad", Some("half way\n")),
        ("library", Some("Modes: code, ask\nSkill deploy: Ships it.\n")),
        ("skill:deploy", Some("Ship it.")),
        ("console", None),
        ("todo", None),
    ] {
        assert_eq!(text(&panels, name).await.as_deref(), said, "{name}");
    }
    assert!(
        text(&panels, "statistics")
            .await
            .unwrap()
            .contains("10 % of 100 tokens")
    );
    std::fs::write(folder.path().join("src/main.rs"), "fn main() { run() }\n").unwrap();
    assert_eq!(
        text(&panels, "file:src/main.rs").await.unwrap(),
        "fn main() { run() }\n"
    );
    std::fs::remove_file(folder.path().join("src/main.rs")).unwrap();
    let open = Shelf::open(&panels);
    let gone = open.iter().find(|panel| panel.name() == "file:src/main.rs").unwrap();
    assert_eq!(gone.snapshot(&sight()).await, None);
}

#[tokio::test]
async fn what_git_says_is_asked_again() {
    let folder = folder();
    let panels = panels(folder.path(), folder.path());
    let said = text(&panels, "git:rev-parse --show-prefix").await.unwrap();
    // Wherever there is no repository, git says so, and so does the panel.
    assert!(said.contains("[failed]") || said == "(nothing)", "{said}");
}

#[test]
fn a_panel_that_is_not_there_is_refused_with_those_that_are() {
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
        let why = panels.open(name).unwrap_err();
        assert!(why.len() > 10, "{name}: {why}");
    }
    assert_eq!(panels.names(), Vec::<String>::new());
    assert!(panels.open("tree").is_ok() && panels.close("tree") && !panels.close("tree"));
    for name in USUAL_PANELS {
        panels.open(name).unwrap();
    }
    // What is open from the start costs nothing while the conversation itself tells of it.
    assert!(
        Shelf::open(&panels)
            .iter()
            .all(|panel| panel.told() == Told::InConversation)
    );
}

#[test]
fn max_freezes_of_panels_that_must_be_fresh_is_none_and_others_have_three() {
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
    ] {
        let panel = panels.make(name).unwrap();
        assert_eq!(panel.volatility().max_freezes(), Some(most), "{name}");
    }
}

#[test]
fn opening_a_panel_needs_what_looking_at_it_needs() {
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
