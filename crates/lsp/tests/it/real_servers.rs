//! Responses of real servers.

use std::path::Path;

use lsp::{LspLocation, SymbolPosition};

use crate::{World, only, patient};

fn at(world: &World, path: &str, name: &str, line: usize) -> SymbolPosition {
    SymbolPosition {
        path: world.path(path),
        name: name.into(),
        line: Some(line),
    }
}

fn spot(world: &World, path: &str, line: usize) -> LspLocation {
    LspLocation {
        path: world.path(path),
        line,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clangd_reports_new_errors_and_answers_requests() {
    let Some(specs) = only("clangd", "a.c") else { return };
    let main = "int twice(int n) { return 2 * n; }\nint main(void) { return   twice(4); }\nint old = \"\";\n";
    let world = World::new(&[("main.c", main)], specs, patient());
    let broken = main.replace("2 * n", "2 * m");
    let new = world.change("main.c", &broken).await;
    assert_eq!(new.len(), 1, "{new:?}");
    assert!(
        new[0].starts_with("main.c:1 ") && new[0].contains("'m'"),
        "the old fault is not told again: {new:?}"
    );
    assert_eq!(
        world.change("main.c", main).await,
        [""; 0],
        "what was mended is no news"
    );

    let twice = at(&world, "main.c", "twice", 2);
    assert_eq!(
        world.servers.definition(&twice).await,
        Some(vec![spot(&world, "main.c", 1)])
    );
    let uses = [spot(&world, "main.c", 1), spot(&world, "main.c", 2)];
    assert_eq!(world.servers.references(&twice).await.unwrap(), uses);
    assert!(world.servers.hover(&twice).await.unwrap().contains("int twice(int n)"));
    let rewrites = world.servers.rename(&twice, "double_it").await.unwrap().unwrap();
    assert_eq!(rewrites[0].after, main.replace("twice", "double_it"));
    let symbols = world.servers.symbols(&world.path("main.c")).await.unwrap();
    let names: Vec<(&str, &str)> = symbols.iter().map(|one| (one.kind, one.name.as_str())).collect();
    assert_eq!(
        names,
        [("function", "twice"), ("function", "main"), ("variable", "old")]
    );
    let formatted = world
        .servers
        .format(&world.path("main.c"), 4, true)
        .await
        .unwrap()
        .unwrap();
    assert!(
        formatted[0].after.contains("int main(void) { return twice(4); }\n"),
        "{formatted:?}"
    );
    let all = world.servers.diagnostics(None).await.unwrap();
    assert!(!all.is_empty() && all.iter().all(|one| one.line == 3), "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clangd_offers_code_actions() {
    let Some(specs) = only("clangd", "a.c") else { return };
    let text = "int main(void) { int n = 1 return n; }\n";
    let world = World::new(&[("main.c", text)], specs, patient());
    world.servers.diagnostics(Some(&world.path("main.c"))).await.unwrap();
    let offers = world
        .servers
        .code_actions(&world.path("main.c"), 1)
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
    let world = World::new(&files, specs, patient());
    // It only reports open files.
    world.servers.diagnostics(Some(&world.path("main.py"))).await.unwrap();
    let new = world
        .change("lib.py", "def twice(n: str) -> int:\n    return nn\n")
        .await;
    assert!(
        new.iter().any(|one| one.starts_with("lib.py:2 ") && one.contains("nn")),
        "{new:?}"
    );
    let twice = at(&world, "main.py", "twice", 3);
    assert_eq!(
        world.servers.definition(&twice).await.unwrap(),
        [spot(&world, "lib.py", 1)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn typescript_language_server_reports_new_errors() {
    let Some(specs) = only("typescript-language-server", "a.ts") else {
        return;
    };
    let main = "export function twice(n: number): number {\n  return 2 * n;\n}\nconsole.log(twice(4));\n";
    let world = World::new(&[("tsconfig.json", "{}"), ("main.ts", main)], specs, patient());
    let new = world.change("main.ts", &main.replace("twice(4)", "twice('4')")).await;
    assert!(new.len() == 1 && new[0].starts_with("main.ts:4 "), "{new:?}");
    let rewrites = world
        .servers
        .rename(&at(&world, "main.ts", "twice", 1), "double")
        .await
        .unwrap();
    assert!(rewrites.unwrap()[0].after.contains("double('4')"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_is_restarted() {
    let Some(specs) = only("clangd", "a.c") else { return };
    let world = World::new(&[("main.c", "int main(void) { return 0; }\n")], specs, patient());
    let path = world.path("main.c");
    assert_eq!(world.servers.diagnostics(Some(&path)).await, Some(vec![]));
    let pids = processes_in(&world.path(""));
    assert!(!pids.is_empty());
    for pid in pids {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    // It is restarted after a delay.
    let found = loop {
        match world.servers.diagnostics(Some(&path)).await {
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
