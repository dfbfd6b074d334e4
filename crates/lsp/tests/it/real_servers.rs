//! Responses of real servers.

use std::path::Path;

use lsp::{LspLocation, SymbolPosition};

use crate::{Fixture, long_limits, only};

fn at(fixture: &Fixture, path: &str, name: &str, line: usize) -> SymbolPosition {
    SymbolPosition {
        path: fixture.path(path),
        name: name.into(),
        line: Some(line),
    }
}

fn location(fixture: &Fixture, path: &str, line: usize) -> LspLocation {
    LspLocation {
        path: fixture.path(path),
        line,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clangd_reports_new_errors_and_answers_requests() {
    let Some(specs) = only("clangd", "a.c") else { return };
    let main = "int twice(int n) { return 2 * n; }\nint main(void) { return   twice(4); }\nint old = \"\";\n";
    let fixture = Fixture::new(&[("main.c", main)], specs, long_limits());
    let broken = main.replace("2 * n", "2 * m");
    let new = fixture.change("main.c", &broken).await;
    assert_eq!(new.len(), 1, "{new:?}");
    assert!(
        new[0].starts_with("main.c:1 ") && new[0].contains("'m'"),
        "a known error was reported again: {new:?}"
    );
    assert_eq!(
        fixture.change("main.c", main).await,
        [""; 0],
        "a fixed error was reported"
    );

    let twice = at(&fixture, "main.c", "twice", 2);
    assert_eq!(
        fixture.servers.definition(&twice).await,
        Some(vec![location(&fixture, "main.c", 1)])
    );
    let uses = [location(&fixture, "main.c", 1), location(&fixture, "main.c", 2)];
    assert_eq!(fixture.servers.references(&twice).await.unwrap(), uses);
    assert!(
        fixture
            .servers
            .hover(&twice)
            .await
            .unwrap()
            .contains("int twice(int n)")
    );
    let rewrites = fixture.servers.rename(&twice, "double_it").await.unwrap().unwrap();
    assert_eq!(rewrites[0].after, main.replace("twice", "double_it"));
    let symbols = fixture.servers.symbols(&fixture.path("main.c")).await.unwrap();
    let names: Vec<(&str, &str)> = symbols.iter().map(|one| (one.kind, one.name.as_str())).collect();
    assert_eq!(
        names,
        [("function", "twice"), ("function", "main"), ("variable", "old")]
    );
    let formatted = fixture
        .servers
        .format(&fixture.path("main.c"), 4, true)
        .await
        .unwrap()
        .unwrap();
    assert!(
        formatted[0].after.contains("int main(void) { return twice(4); }\n"),
        "{formatted:?}"
    );
    let all = fixture.servers.diagnostics(None).await.unwrap();
    assert!(!all.is_empty() && all.iter().all(|one| one.line == 3), "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clangd_offers_code_actions() {
    let Some(specs) = only("clangd", "a.c") else { return };
    let text = "int main(void) { int n = 1 return n; }\n";
    let fixture = Fixture::new(&[("main.c", text)], specs, long_limits());
    fixture
        .servers
        .diagnostics(Some(&fixture.path("main.c")))
        .await
        .unwrap();
    let offers = fixture
        .servers
        .code_actions(&fixture.path("main.c"), 1)
        .await
        .unwrap()
        .unwrap();
    let remedied = text.replace("1 return", "1; return");
    assert!(
        offers
            .iter()
            .any(|(_, rewrites)| rewrites.iter().any(|one| one.after == remedied)),
        "{offers:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pyright_reports_new_errors_in_another_file() {
    let Some(specs) = only("pyright", "a.py") else { return };
    let lib = "def twice(n: int) -> int:\n    return 2 * n\n";
    let files = [
        ("pyproject.toml", ""),
        ("lib.py", lib),
        ("main.py", "from lib import twice\n\nprint(twice(4))\n"),
    ];
    let fixture = Fixture::new(&files, specs, long_limits());
    // It only reports open files.
    fixture
        .servers
        .diagnostics(Some(&fixture.path("main.py")))
        .await
        .unwrap();
    let new = fixture
        .change("lib.py", "def twice(n: str) -> int:\n    return nn\n")
        .await;
    assert!(
        new.iter().any(|one| one.starts_with("lib.py:2 ") && one.contains("nn")),
        "{new:?}"
    );
    let twice = at(&fixture, "main.py", "twice", 3);
    assert_eq!(
        fixture.servers.definition(&twice).await.unwrap(),
        [location(&fixture, "lib.py", 1)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_language_server_reports_new_errors() {
    let Some(specs) = only("typescript-language-server", "a.ts") else {
        return;
    };
    let main = "export function twice(n: number): number {\n  return 2 * n;\n}\nconsole.log(twice(4));\n";
    let fixture = Fixture::new(&[("tsconfig.json", "{}"), ("main.ts", main)], specs, long_limits());
    let new = fixture.change("main.ts", &main.replace("twice(4)", "twice('4')")).await;
    assert!(new.len() == 1 && new[0].starts_with("main.ts:4 "), "{new:?}");
    let rewrites = fixture
        .servers
        .rename(&at(&fixture, "main.ts", "twice", 1), "double")
        .await
        .unwrap();
    assert!(rewrites.unwrap()[0].after.contains("double('4')"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_is_restarted() {
    let Some(specs) = only("clangd", "a.c") else { return };
    let fixture = Fixture::new(&[("main.c", "int main(void) { return 0; }\n")], specs, long_limits());
    let path = fixture.path("main.c");
    assert_eq!(fixture.servers.diagnostics(Some(&path)).await, Some(vec![]));
    let pids = processes_in(&fixture.path(""));
    assert!(!pids.is_empty());
    for pid in pids {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    // It is restarted after a delay.
    let found = loop {
        match fixture.servers.diagnostics(Some(&path)).await {
            Some(found) => break found,
            None => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
        }
    };
    assert_eq!(found, []);
}

/// The processes with the working directory `folder`.
fn processes_in(folder: &Path) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder))
        .collect()
}
