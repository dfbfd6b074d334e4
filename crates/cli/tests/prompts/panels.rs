//! Panels: they are current, survive a restart, and never delay a request.

use super::{MODEL, configure, hew};
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{Hew, ParsedRequest, Project, Script, Server, Turn, TurnOrder};

async fn run(hew: &Hew, server: &Server, args: &[&str]) -> testkit::Output {
    let hew = hew.clone().with_server(server).env("HEW_TITLE", "false");
    let output = hew.args(args).run().await.unwrap();
    assert!(output.is_success(), "{}{}", output.stdout, output.stderr);
    output
}

fn is_child(seen: &ParsedRequest) -> bool {
    seen.system.contains("# Subtask")
}

/// The number of results of calls that the model made.
fn steps(seen: &ParsedRequest) -> usize {
    seen.results().filter(|result| !result.id.starts_with("panel_")).count()
}

fn last(server: &Server) -> ParsedRequest {
    let requests = server.main_requests();
    let mut main = requests
        .iter()
        .filter_map(|request| request.parsed())
        .filter(|seen| !is_child(seen));
    main.next_back().unwrap()
}

/// The texts of a panel in a request, in order.
fn shown(seen: &ParsedRequest, name: &str) -> Vec<String> {
    let texts: Vec<String> = seen
        .messages
        .iter()
        .flat_map(|message| message.results.iter().map(|result| &result.text).chain([&message.text]))
        .cloned()
        .collect();
    let start = format!("<panel name=\"{name}\" since=\"");
    let all = texts.join("\n");
    let panels = all.split(&start).skip(1);
    let panels = panels.filter_map(|rest| rest.split_once("\">\n")?.1.split_once("\n</panel>"));
    panels.map(|(text, _)| text.to_owned()).collect()
}

#[tokio::test]
async fn a_file_panel_shows_changes_by_subtasks_and_by_other_programs() {
    let project = Project::new(&[("a.txt", "one\n"), ("b.txt", "b\n")]).unwrap();
    let hew = hew(&project);
    configure(
        &hew,
        &[(
            "config.toml",
            "panels = ['file:a.txt']\n[approval]\nsubtasks = 'allow'\n",
        )],
    );
    let file: PathBuf = project.path("a.txt");
    let script = Script::dynamic(move |seen| match (is_child(seen), steps(seen)) {
        (false, 0) => Turn::calls("new_task", json!({"prompt": "Write a.txt."})),
        (true, 0) => Turn::calls(
            "write_file",
            json!({"path": "a.txt", "content": "two\n", "overwrite": true}),
        )
        .call("terminal", json!({"command": "echo two > a.txt"})),
        (true, _) => Turn::text("Written."),
        (false, 1) => {
            // Another program changes the file while the model only reads.
            std::fs::write(&file, "three\n").unwrap();
            Turn::calls("read_file", json!({"path": "b.txt"}))
        }
        (false, _) => Turn::text("Done."),
    });
    let server = Server::start(script).await.unwrap();
    run(&hew, &server, &["run", "-m", MODEL, "go"]).await;
    assert_eq!(shown(&last(&server), "file:a.txt"), ["one", "two", "three"]);
}

#[tokio::test]
async fn the_tree_and_git_show_changes_by_other_programs_while_the_model_only_reads() {
    let project = Project::new(&[("a.txt", "one\n")]).unwrap();
    let hew = hew(&project);
    let git = hew.clone().args(["tools", "run", "terminal", "--input"]);
    let init = json!({"command": "git init -q && git add a.txt"}).to_string();
    git.args([init.as_str(), "--yes"]).run().await.unwrap();
    configure(&hew, &[("config.toml", "panels = ['tree', 'git:status --short']\n")]);
    let file: PathBuf = project.path("new.txt");
    // Slow content is not read before every request, and a change of the tree may be delayed by a few requests.
    let script = Script::dynamic(move |seen| {
        let is_shown = ["tree", "git:status --short"].map(|panel| shown(seen, panel).len() > 1);
        match steps(seen) {
            0 => std::fs::write(&file, "new\n").unwrap(),
            1..150 if is_shown != [true; 2] => {}
            _ => return Turn::text("Done."),
        }
        Turn::calls("grep", json!({"pattern": format!("word {}", steps(seen))}))
    });
    let server = Server::start(script).await.unwrap();
    run(&hew, &server, &["run", "-m", MODEL, "go"]).await;
    let seen = last(&server);
    assert_eq!(shown(&seen, "git:status --short"), ["A  a.txt", "A  a.txt\n?? new.txt"]);
    assert_eq!(shown(&seen, "tree"), ["a.txt", "a.txt\nnew.txt"]);
}

#[tokio::test]
async fn panels_are_reopened_on_resume_and_laid_out_again_for_another_model() {
    let project = Project::new(&[("a.txt", "a one\n"), ("b.txt", "b one\n"), ("c.txt", "c one\n")]).unwrap();
    let hew = hew(&project);
    let open = json!({"open": ["file:a.txt", "file:b.txt", "file:c.txt"]});
    let calls = [
        ("panel", open),
        ("terminal", json!({"command": "echo a two > a.txt"})),
        ("panel", json!({"close": ["file:c.txt"]})),
    ];
    let script = Script::dynamic(move |seen| match calls.get(steps(seen)) {
        Some((tool, input)) => Turn::calls(*tool, input.clone()),
        None => Turn::text("Done."),
    });
    let server = Server::start(script).await.unwrap();
    run(&hew, &server, &["run", "-m", MODEL, "go"]).await;
    assert_eq!(shown(&last(&server), "file:a.txt"), ["a one", "a two"]);

    // The same model: the cache is warm, so only the change is appended.
    project.write("b.txt", "b two\n").unwrap();
    let server = Server::start(Script::new().turn(Turn::text("Seen."))).await.unwrap();
    run(&hew, &server, &["resume", "last", "look"]).await;
    let seen = last(&server);
    assert_eq!(shown(&seen, "file:a.txt"), ["a one", "a two"]);
    assert_eq!(shown(&seen, "file:b.txt"), ["b one", "b two"]);

    // Another model: one current state of each panel, the oldest change first, before the conversation.
    let server = Server::start(Script::new().turn(Turn::text("Seen."))).await.unwrap();
    run(
        &hew,
        &server,
        &["resume", "last", "-m", "anthropic/claude-opus-4-6", "look again"],
    )
    .await;
    let seen = last(&server);
    assert_eq!(shown(&seen, "file:a.txt"), ["a two"]);
    assert_eq!(shown(&seen, "file:b.txt"), ["b two"]);
    assert_eq!(shown(&seen, "file:c.txt"), [""; 0]);
    let text = seen.raw["messages"].to_string();
    let position = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(position("file:a.txt") < position("file:b.txt"), "{text}");
    assert!(position("b two") < position("\"go"), "{text}");
}

#[tokio::test]
async fn panels_of_one_layout_are_ordered_by_their_last_change() {
    let project = Project::new(&[("a.txt", "a one\n"), ("b.txt", "b one\n"), ("c.txt", "c one\n")]).unwrap();
    let hew = hew(&project);
    configure(
        &hew,
        &[("config.toml", "panels = ['file:a.txt', 'file:b.txt', 'file:c.txt']\n")],
    );
    let commands = ["echo b two > b.txt", "echo a two > a.txt"];
    let script = Script::dynamic(move |seen| match commands.get(steps(seen)) {
        Some(command) => Turn::calls("terminal", json!({"command": command})),
        None => Turn::text("Done."),
    });
    let server = Server::start(script).await.unwrap();
    run(&hew, &server, &["run", "-m", MODEL, "go"]).await;
    let other = "anthropic/claude-opus-4-6";
    run(&hew, &server, &["resume", "last", "-m", other, "look again"]).await;
    let seen = last(&server);
    let text = seen.raw["messages"].to_string();
    let positions = ["c one", "b two", "a two", "\"go"].map(|part| text.find(part));
    assert!(positions.is_sorted() && positions[0].is_some(), "{positions:?} {text}");
    for (panel, state) in [
        ("file:a.txt", "a two"),
        ("file:b.txt", "b two"),
        ("file:c.txt", "c one"),
    ] {
        assert_eq!(shown(&seen, panel), [state]);
    }
}

#[tokio::test]
async fn the_ledger_names_the_messages_that_a_summary_replaced() {
    let files: Vec<(String, String)> = (0..3)
        .map(|it| (format!("{it}.txt"), format!("line {it}\n").repeat(200)))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let project = Project::new(&files).unwrap();
    let hew = hew(&project);
    configure(&hew, &[("config.toml", "panels = ['file:0.txt']\n")]);
    let read = |number: usize| Turn::text("On.").call("read_file", json!({"path": format!("{number}.txt")}));
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turns((0..3).map(read))
        .turn(Turn::text("All read."))
        .turn(Turn::text("## Task\nNothing is left to do."))
        .turn(Turn::text("Well."));
    let server = Server::start(script).await.unwrap();
    run(&hew, &server, &["run", "-m", MODEL, "read them"]).await;
    run(&hew, &server, &["compact", "last"]).await;
    run(&hew, &server, &["resume", "last", "and now?"]).await;
    let explained = run(&hew, &server, &["prompt", "explain", "last", "--json"]).await;
    let explained: Value = serde_json::from_str(&explained.stdout).unwrap();
    let requests = explained.as_array().unwrap().iter();
    let mut parts = requests.filter_map(|request| request["difference"]["part"].as_str());
    let range = parts.find_map(|part| part.strip_prefix("summary replaced messages "));
    let range = range.unwrap_or_else(|| panic!("{explained:#}"));
    let (from, to) = range.split_once('–').unwrap();
    assert!(
        from.parse::<usize>().unwrap() <= to.parse::<usize>().unwrap(),
        "{range}"
    );
}

#[tokio::test]
async fn a_github_panel_is_refreshed_in_the_background() {
    let project = Project::new(&[("a.txt", "a\n")]).unwrap();
    let hew = hew(&project);
    configure(&hew, &[("config.toml", "panels = ['github:pr list']\n")]);
    // A `gh` that answers only after the second request was sent.
    let bin = hew.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let gate = project.path("gate");
    let gh = format!(
        "#!/bin/sh\nwhile [ ! -e {} ]; do sleep 0.05; done\necho a pull request\n",
        gate.display()
    );
    std::fs::write(bin.join("gh"), gh).unwrap();
    std::fs::set_permissions(bin.join("gh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let script = Script::dynamic(move |seen| {
        let is_shown = seen.raw.to_string().contains("a pull request");
        match (steps(seen), is_shown) {
            (0, _) => Turn::calls("read_file", json!({"path": "a.txt"})),
            (_, true) => Turn::text("Seen."),
            (number, false) => {
                std::fs::write(&gate, "").unwrap();
                let command = format!("sleep 0.1; echo {number}");
                Turn::calls("terminal", json!({"command": command}))
            }
        }
    });
    let server = Server::start(script).await.unwrap();
    let output = run(&hew.env("PATH", path), &server, &["run", "-m", MODEL, "go"]).await;
    assert_eq!(output.stdout, "Seen.\n");
    let first = server.main_requests()[0].parsed().unwrap();
    assert_eq!(shown(&first, "github:pr list"), [""; 0]);
}
