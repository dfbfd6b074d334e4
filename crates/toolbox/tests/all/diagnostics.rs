//! Tests of diagnostics, with compilers that are installed.

use std::path::Path;

use policy::Action;
use serde_json::{Value, json};

use crate::project::TestProject;

fn has(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists())
}

fn command(project: &TestProject, input: Value) -> Option<String> {
    project
        .actions("diagnostics", input)
        .into_iter()
        .find_map(|action| match action {
            Action::Run { command, .. } => Some(command),
            _ => None,
        })
}

#[tokio::test]
async fn c_diagnostics_list_errors_first() {
    if !has("gcc") {
        return;
    }
    let text = "int f(void) {\n    int unused = 1;\n    return x;\n}\n";
    let project = TestProject::with(&[("src/a b.c", text), ("good.c", "int g;\n")]);
    let input = json!({"path": "src/a b.c"});
    let expected = "gcc -fsyntax-only -Wall -I. -x c 'src/a b.c'";
    assert_eq!(command(&project, input.clone()).as_deref(), Some(expected));
    let seen = project.run("diagnostics", input).await;
    assert!(seen.starts_with("src/a b.c:3:12 error: 'x' undeclared"), "{seen}");
    project.put("a.c", text);
    for alias in ["diagnostics", "get_errors", "problems"] {
        let seen = project.run(alias, json!({"path": "a.c"})).await;
        let lines: Vec<&str> = seen.lines().collect();
        assert!(lines[0].starts_with("a.c:3:12 error: 'x' undeclared"), "{seen}");
        assert!(
            lines[1].starts_with("a.c:2:9 warning -Wunused-variable: unused variable"),
            "{seen}"
        );
        assert!(seen.contains("[1 error, "), "{seen}");
    }
    assert_eq!(
        project.run("diagnostics", json!({"path": "good.c"})).await,
        "[nothing wrong by `gcc -fsyntax-only -Wall -I. -x c good.c`]"
    );
}

#[tokio::test]
async fn a_shell_script_is_checked_with_bash() {
    let project = TestProject::with(&[("a.sh", "if true; then\n"), ("b.sh", "true\n")]);
    let seen = project.run("diagnostics", json!({"path": "a.sh"})).await;
    assert!(
        seen.starts_with("a.sh:") && seen.contains("error: syntax error"),
        "{seen}"
    );
    assert!(seen.ends_with("by `bash -n a.sh`]"), "{seen}");
    assert_eq!(
        project.run("diagnostics", json!({"path": "b.sh"})).await,
        "[nothing wrong by `bash -n b.sh`]"
    );
}

#[tokio::test]
async fn running_a_checker_needs_approval() {
    let project = TestProject::with(&[("a.sh", "true\n"), ("x.weird", "")]);
    let actions = project.actions("diagnostics", json!({"path": "a.sh"}));
    assert!(
        actions.contains(&Action::Run {
            command: "bash -n a.sh".into(),
            cwd: project.root.clone(),
        }),
        "{actions:?}"
    );
    assert!(matches!(actions[0], Action::Read { .. }));
    assert_eq!(command(&project, json!({"path": "x.weird"})), None);
    for (path, seen) in [
        (
            "x.weird",
            "error: no compiler or checker found for x.weird; run one with terminal",
        ),
        ("nothing.sh", "error: nothing.sh does not exist"),
    ] {
        assert_eq!(project.run("diagnostics", json!({"path": path})).await, seen);
    }
}

#[tokio::test]
async fn the_nearest_project_determines_the_checker() {
    let project = TestProject::with(&[
        ("go.mod", "module x\n"),
        ("web/tsconfig.json", "{}"),
        (
            "web/node_modules/.bin/tsc",
            "#!/bin/sh\necho \"src/a.ts(2,3): error TS2322: Wrong.\"\necho \"b.ts(1,1): error TS1: Other.\"\nexit 2\n",
        ),
        ("web/src/a.ts", "let a: number = '';\n"),
        ("web/README.md", ""),
    ]);
    let tsc = project.root.join("web/node_modules/.bin/tsc");
    std::fs::set_permissions(&tsc, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let expected = "node_modules/.bin/tsc --noEmit --pretty false";
    assert_eq!(
        command(&project, json!({"path": "web/src/a.ts"})).as_deref(),
        Some(expected)
    );
    assert_eq!(command(&project, json!({"path": "web/README.md"})), None);
    let seen = project.run("diagnostics", json!({"path": "web/src/a.ts"})).await;
    assert_eq!(
        seen,
        format!("web/src/a.ts:2:3 error TS2322: Wrong.\n[1 error by `{expected}`]")
    );
    let seen = project.run("diagnostics", json!({"path": "web"})).await;
    assert!(seen.ends_with(&format!("[2 errors by `{expected}`]")), "{seen}");
    std::fs::write(&tsc, "#!/bin/sh\necho 'cannot find module typescript'\nexit 1\n").unwrap();
    let seen = project.run("diagnostics", json!({"path": "web"})).await;
    assert_eq!(
        seen,
        format!("error: `{expected}` failed without diagnostics:\ncannot find module typescript")
    );
}

#[tokio::test]
async fn many_diagnostics_are_paged() {
    let project = TestProject::with(&[
        ("tsconfig.json", "{}"),
        (
            "node_modules/.bin/tsc",
            "#!/bin/sh\ni=0; while [ $i -lt 120 ]; do i=$((i+1)); echo \"a.ts($i,1): error TS1: Wrong.\"; done; exit 2\n",
        ),
    ]);
    let tsc = project.root.join("node_modules/.bin/tsc");
    std::fs::set_permissions(&tsc, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let first = project.run("diagnostics", json!({})).await;
    assert!(
        first.starts_with("a.ts:1:1 error TS1: Wrong.\n")
            && first.ends_with("; 1-50 are shown; continue with offset 50]"),
        "{first}"
    );
    let last = project.run("diagnostics", json!({"offset": 100})).await;
    assert!(
        last.starts_with("a.ts:101:1 ") && last.contains("[120 errors by "),
        "{last}"
    );
}
