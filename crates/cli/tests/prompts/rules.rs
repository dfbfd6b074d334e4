//! Rules files of other agents, and modes.

use super::{MODEL, configure, hew, show};
use serde_json::json;
use testkit::{Hew, ParsedRequest, Project, Script, Server, Turn};

/// The texts of the rules in the prompt of a project with these files, in order.
async fn rules(files: &[(&str, &str)], home: &[(&str, &str)], args: &[&str]) -> Vec<String> {
    let project = Project::new(files).unwrap();
    let hew = hew(&project);
    for (path, text) in home {
        let path = hew.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let shown = show(&hew, args).await.stdout;
    let rules = shown.split("<rules path=\"").skip(1);
    let rules = rules.filter_map(|rest| rest.split_once("\">\n")?.1.split_once("\n</rules>"));
    rules.map(|(text, _)| text.to_owned()).collect()
}

#[tokio::test]
async fn rules_files_of_other_agents_are_used_in_the_documented_order() {
    let all = [
        (".rules", "zed"),
        (".cursorrules", "cursor"),
        (".windsurfrules", "windsurf"),
        (".roorules", "roo"),
        (".clinerules", "cline"),
        (".github/copilot-instructions.md", "copilot"),
        ("CLAUDE.md", "claude"),
        ("GEMINI.md", "gemini"),
        ("CRUSH.md", "crush"),
        ("rules.md", "plain"),
    ];
    for (path, text) in all {
        let found = rules(&[(path, text), ("AGENTS.md", "agents")], &[], &[]).await;
        assert_eq!(found, ["agents", text], "{path}");
    }
    let mut files = vec![("AGENTS.md", "agents"), ("AGENTS.local.md", "local")];
    files.extend(all);
    assert_eq!(rules(&files, &[], &[]).await, ["agents", "zed", "local"]);
    let every: Vec<&str> = all.iter().map(|(_, text)| *text).collect();
    let every = [&["agents"][..], &every, &["local"]].concat();
    assert_eq!(rules(&files, &[], &["--set", "rules=all"]).await, every);
}

#[tokio::test]
async fn rules_folders_and_rules_of_a_mode_are_found_in_the_project_and_at_home() {
    let files = [
        (".clinerules/02-b.md", "cline b"),
        (".clinerules/01-a.md", "cline a"),
        (".clinerules-code", "cline code"),
        (".roo/rules/r.md", "roo"),
        (".hew/rules-code/h.md", "hew code"),
        (".roorules-ask", "roo ask"),
        (".clinerules-ask", "cline ask"),
    ];
    let home = [
        (".roo/rules/u.md", "user"),
        (".roo/rules-code/m.md", "user code"),
        (".config/hew/rules/h.md", "hew user"),
    ];
    let everywhere = ["user", "hew user", "cline a", "cline b", "roo"];
    assert_eq!(
        rules(&files, &home, &[]).await,
        [&everywhere[..], &["user code", "cline code", "hew code"]].concat()
    );
    assert_eq!(
        rules(&files, &home, &["--mode", "ask"]).await,
        [&everywhere[..], &["roo ask"]].concat()
    );
}

#[tokio::test]
async fn a_long_rules_file_is_cut_and_not_omitted() {
    for kilobytes in [40, 100, 200] {
        let line = "Use tabs.\n";
        let text = format!("First rule.\n{}", line.repeat(kilobytes * 1_000 / line.len()));
        let found = rules(&[("AGENTS.md", &text), ("CLAUDE.md", "another rule")], &[], &[]).await;
        assert!(found[0].starts_with("First rule.\nUse tabs."), "{kilobytes} KB");
        assert!((32_000..=32_768).contains(&found[0].len()), "{}", found[0].len());
        assert_eq!(found[1], "another rule");
    }
}

const GONE: &str = "customModes:\n  - slug: docs\n    name: Docs\n    roleDefinition: You write docs.\n    \
                    groups: [read, [edit, {fileRegex: '^(?!.*draft).*\\.md$'}]]\n";

async fn run(hew: &Hew, server: &Server, args: &[&str]) -> testkit::Output {
    let hew = hew.clone().with_server(server).env("HEW_TITLE", "false");
    let output = hew.arg("run").args(args).run().await.unwrap();
    assert!(output.is_success(), "{}{}", output.stdout, output.stderr);
    output
}

#[tokio::test]
async fn a_session_continues_in_the_default_mode_if_its_mode_was_removed() {
    let project = Project::new(&[(".roomodes", GONE)]).unwrap();
    let hew = hew(&project);
    let script = Script::new()
        .turn(
            Turn::calls("write_file", json!({"path": "draft.md", "content": "x"}))
                .call("write_file", json!({"path": "final.md", "content": "x"})),
        )
        .turn(Turn::text("One."));
    let server = Server::start(script).await.unwrap();
    run(&hew, &server, &["-m", MODEL, "--mode", "docs", "write"]).await;
    let seen = server.main_requests().last().unwrap().parsed().unwrap();
    assert!(seen.system.contains("# Mode: docs"), "{}", seen.system);
    let refused: Vec<bool> = seen.results().map(|result| result.error).collect();
    assert_eq!(refused, [true, false], "look-around in `fileRegex`");
    assert!(!project.path("draft.md").exists() && project.path("final.md").exists());

    std::fs::remove_file(project.path(".roomodes")).unwrap();
    let server = Server::start(Script::new().turn(Turn::text("Two."))).await.unwrap();
    let output = run(&hew, &server, &["--continue", "go on"]).await;
    let notice = "the mode `docs` of this session no longer exists; it continues in the mode `agent`";
    assert!(output.stderr.contains(notice), "{}", output.stderr);
    let seen = server.main_requests().last().unwrap().parsed().unwrap();
    assert!(seen.system.contains("# Mode: agent"), "{}", seen.system);
    let server = Server::start(Script::new().turn(Turn::text("Three."))).await.unwrap();
    let output = run(&hew, &server, &["--continue", "again"]).await;
    assert!(!output.stderr.contains("no longer exists"), "{}", output.stderr);
}

#[tokio::test]
async fn the_modes_are_listed_if_the_model_can_switch() {
    let project = Project::new(&[("a.txt", "x")]).unwrap();
    let hew = hew(&project);
    let listed = |shown: &str| shown.contains("- architect: To plan") && shown.contains("- debug: To find out");
    assert!(listed(&show(&hew, &[]).await.stdout));
    let shown = show(&hew, &["--mode", "debug"]).await.stdout;
    assert!(
        shown.contains("- code: To write") && !shown.contains("- debug:"),
        "{shown}"
    );
    let without = ["--set", "tools.disabled=['switch_mode', 'new_task']"];
    assert!(!show(&hew, &without).await.stdout.contains("- architect: "));
}

#[tokio::test]
async fn an_orchestrator_has_subtasks_that_are_not_orchestrators() {
    let is_child = |seen: &ParsedRequest| seen.system.contains("# Subtask");
    for mode in [None, Some("ask")] {
        let script = Script::dynamic(move |seen| match (is_child(seen), seen.results().count()) {
            (false, 0) => Turn::calls("new_task", json!({"prompt": "Look at it.", "mode": mode})),
            (false, _) => Turn::text("Done."),
            (true, _) => Turn::text("Looked."),
        });
        let project = Project::new(&[("a.txt", "x")]).unwrap();
        let hew = hew(&project);
        configure(&hew, &[("config.toml", "[approval]\nsubtasks = 'allow'\n")]);
        let server = Server::start(script).await.unwrap();
        run(&hew, &server, &["-m", MODEL, "--mode", "orchestrator", "do it"]).await;
        let all: Vec<ParsedRequest> = server.main_requests().iter().filter_map(|it| it.parsed()).collect();
        let main = all.iter().find(|seen| !is_child(seen)).unwrap();
        assert!(main.offers("new_task") && main.system.contains("# Mode: orchestrator"));
        assert!(main.system.contains("- code: To write"), "{}", main.system);
        let child = all.iter().find(|seen| is_child(seen)).unwrap();
        let expected = format!("# Mode: {}\n", mode.unwrap_or("code"));
        assert!(child.system.contains(&expected), "{}", child.system);
    }
}
