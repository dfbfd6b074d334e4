//! Context from files: rules, instructions, saved prompts, slash commands, further folders and the environment,
//! with the real binary and a scripted model.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use testkit::{Hew, Output, Project, Script, Server, Turn, TurnOrder};

const MODEL: &str = "anthropic/claude-sonnet-4-6";

/// A project and a model with scripted turns.
struct Fixture {
    server: Server,
    project: Project,
    hew: Hew,
}

impl Fixture {
    async fn new(files: &[(&str, &str)], turns: Vec<Turn>) -> Self {
        let script = Script::new().order(TurnOrder::Sequence).turns(turns);
        let server = Server::start(script).await.unwrap();
        let project = Project::new(files).unwrap();
        let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
            .unwrap()
            .with_server(&server)
            .env("HEW_TITLE", "false")
            .current_dir(project.root());
        Fixture { server, project, hew }
    }

    async fn hew(&self, args: &[&str]) -> Output {
        self.hew.clone().args(args).run().await.unwrap()
    }

    async fn run(&self, args: &[&str]) -> Output {
        let output = self
            .hew
            .clone()
            .args(["run", "-m", MODEL])
            .args(args)
            .run()
            .await
            .unwrap();
        assert_eq!(output.code(), Some(0), "{}", output.stderr);
        output
    }

    fn bodies(&self) -> Vec<Value> {
        let requests = self.server.requests();
        requests
            .iter()
            .map(|request| serde_json::from_slice(&request.body).unwrap())
            .collect()
    }

    fn texts(&self) -> Vec<String> {
        self.bodies().iter().map(ToString::to_string).collect()
    }

    /// Writes a file in the user's configuration folder.
    fn write_user_file(&self, path: &str, text: &str) {
        let path = self.hew.home().join(".config/hew").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

fn read(path: &str) -> Turn {
    Turn::text("Looking.").call("read_file", json!({"path": path}))
}

/// The messages of a request without cache markers.
fn messages(body: &Value) -> Vec<Value> {
    fn remove_markers(value: &mut Value) {
        match value {
            Value::Object(object) => {
                object.remove("cache_control");
                object.values_mut().for_each(remove_markers);
            }
            Value::Array(list) => list.iter_mut().for_each(remove_markers),
            _ => {}
        }
    }
    let mut messages = body["messages"].clone();
    remove_markers(&mut messages);
    messages.as_array().unwrap().clone()
}

#[tokio::test]
async fn nested_rules_and_instructions_are_sent_once_when_a_matching_file_is_first_read() {
    let fixture = Fixture::new(
        &[
            ("AGENTS.md", "Top rule.\n"),
            ("src/deep/CLAUDE.md", "Deep rule.\n"),
            ("src/deep/GEMINI.md", "Not this one.\n"),
            ("src/deep/a.rs", "fn a() {}\n"),
            ("src/deep/b.rs", "fn b() {}\n"),
            (
                ".github/instructions/rust.instructions.md",
                "---\napplyTo: '*.rs'\n---\nRust rule.\n",
            ),
            (".hew/instructions/all.md", "---\napplyTo: '**'\n---\nRule for all.\n"),
        ],
        vec![read("src/deep/a.rs"), read("src/deep/b.rs"), Turn::text("Done.")],
    )
    .await;
    fixture.run(&["look around"]).await;
    let texts = fixture.texts();
    for rule in ["Top rule.", "Rule for all."] {
        assert_eq!(count(&texts[0], rule), 1, "{rule} {}", texts[0]);
    }
    for rule in ["Deep rule.", "Rust rule."] {
        let counts: Vec<usize> = texts.iter().map(|text| count(text, rule)).collect();
        assert_eq!(counts, [0, 1, 1], "{rule}");
    }
    assert!(!texts[2].contains("Not this one."));
    let bodies = fixture.bodies();
    for pair in bodies.windows(2) {
        let (before, after) = (messages(&pair[0]), messages(&pair[1]));
        assert_eq!(
            after[..before.len()],
            before[..],
            "a request does not extend the previous one"
        );
        assert_eq!(pair[0]["system"], pair[1]["system"]);
    }
}

#[tokio::test]
async fn a_mentioned_file_includes_its_rules() {
    let fixture = Fixture::new(
        &[("src/AGENTS.md", "Source rule.\n"), ("src/a.rs", "fn a() {}\n")],
        vec![Turn::text("Seen.")],
    )
    .await;
    fixture.run(&["look at @src/a.rs"]).await;
    let text = &fixture.texts()[0];
    assert!(text.contains("Source rule.") && text.contains("fn a() {}"), "{text}");
}

#[tokio::test]
async fn the_environment_is_sent_with_the_first_prompt_and_later_only_its_changes() {
    let fixture = Fixture::new(
        &[
            ("a.txt", "one\n"),
            ("docs/b.txt", "two\n"),
            (".git/HEAD", "ref: refs/heads/topic\n"),
        ],
        vec![
            read("a.txt"),
            Turn::text("First."),
            Turn::text("Second."),
            Turn::text("Third."),
        ],
    )
    .await;
    fixture.write_user_file("config.toml", "language = 'German'\nreminder = 'Be brief.'\n");
    fixture.run(&["look"]).await;
    let first = fixture.texts()[0].clone();
    for part in [
        "<environment>",
        "Date: 20",
        "Git: branch topic",
        "docs/",
        "ask for another: German",
        "Be brief.",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    // Later than the version that the model read, independent of the clock of the file system.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fixture.project.write("a.txt", "changed\n").unwrap();
    let file = std::fs::File::options()
        .write(true)
        .open(fixture.project.path("a.txt"))
        .unwrap();
    file.set_modified(later).unwrap();
    fixture.run(&["--continue", "again"]).await;
    let texts = fixture.texts();
    let second = texts.last().unwrap();
    assert_eq!(
        count(second, "Changed since you last saw them, not by you: a.txt"),
        1,
        "{second}"
    );
    for part in ["Date: 20", "Git: branch topic", "Files: "] {
        assert_eq!(count(second, part), 1, "{part}: {second}");
    }
    let bodies = fixture.bodies();
    assert_eq!(
        bodies[0]["system"], bodies[2]["system"],
        "the system prompt changed in a resumed session"
    );
    let (before, after) = (messages(&bodies[1]), messages(&bodies[2]));
    assert_eq!(after[..before.len()], before[..]);
}

#[tokio::test]
async fn slash_commands_are_expanded_with_arguments_mentions_and_skills_and_unknown_ones_are_not_sent() {
    let fixture = Fixture::new(
        &[
            (
                ".hew/commands/review.md",
                "---\ndescription: Reviews\nargument-hint: FILE\n---\nReview $1 with care, see @notes.md. !`git log`",
            ),
            (".claude/commands/git/commit.md", "Commit it: $ARGUMENTS"),
            (
                ".hew/skills/pdf/SKILL.md",
                "---\nname: pdf\ndescription: Reads\n---\nHow to read PDFs.",
            ),
            ("notes.md", "the notes\n"),
        ],
        vec![
            Turn::text("Reviewed."),
            Turn::text("Committed."),
            Turn::text("Read."),
            Turn::text("It is full."),
            Turn::text("Explored."),
        ],
    )
    .await;
    let output = fixture.run(&["/review 'src/a b.rs'"]).await;
    assert!(output.stderr.contains("inline commands"), "{}", output.stderr);
    let text = fixture.texts().pop().unwrap();
    for part in [
        "/review 'src/a b.rs'",
        "Review src/a b.rs with care",
        "the notes",
        "<command name=",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    fixture.run(&["/git:commit", "fix", "it"]).await;
    assert!(fixture.texts().pop().unwrap().contains("Commit it: fix it"));
    fixture.run(&["/pdf report.pdf"]).await;
    let text = fixture.texts().pop().unwrap();
    assert!(
        text.contains("How to read PDFs.") && text.contains("Arguments: report.pdf"),
        "{text}"
    );
    let sent = fixture.server.requests().len();
    let output = fixture.hew(&["run", "-m", MODEL, "/reveiw it"]).await;
    assert_eq!(output.code(), Some(1));
    assert!(
        output.stderr.contains("there is no command /reveiw") && output.stderr.contains("/review"),
        "{}",
        output.stderr
    );
    let output = fixture.hew(&["run", "-m", MODEL, "/compact"]).await;
    assert_eq!(output.code(), Some(2));
    let message = "/compact is a command of the terminal front end";
    assert!(output.stderr.contains(message), "{}", output.stderr);
    assert_eq!(fixture.server.requests().len(), sent, "nothing was sent");
    fixture.run(&["/tmp is full"]).await;
    fixture.run(&["/init"]).await;
    assert!(fixture.texts().pop().unwrap().contains("write AGENTS.md"));
    let listed = fixture.hew(&["commands"]).await;
    for part in ["/review FILE  Reviews", "/git:commit", "/pdf  Reads"] {
        assert!(listed.stdout.contains(part), "{part}: {}", listed.stdout);
    }
    let shown = fixture.hew(&["commands", "show", "/git:commit", "x"]).await;
    assert_eq!(
        shown.stdout,
        "<command name=\"git:commit\">\nCommit it: x\n</command>\n"
    );
}

#[tokio::test]
async fn a_command_of_an_untrusted_folder_cannot_select_a_mode() {
    let fixture = Fixture::new(
        &[(".hew/commands/go.md", "---\nmode: architect\n---\nGo.")],
        vec![Turn::text("Gone."), Turn::text("Gone.")],
    )
    .await;
    let output = fixture.run(&["--mode", "ask", "/go"]).await;
    assert!(output.stderr.contains("cannot select a mode"), "{}", output.stderr);
    assert!(fixture.texts()[0].contains("# Mode: ask"));
    assert_eq!(fixture.hew(&["trust"]).await.code(), Some(0));
    fixture.run(&["--mode", "ask", "/go"]).await;
    assert!(fixture.texts()[1].contains("# Mode: architect"));
}

#[tokio::test]
async fn saved_prompts_are_managed_by_name_mentioned_and_included_by_default() {
    let fixture = Fixture::new(&[("a.txt", "")], vec![Turn::text("One."), Turn::text("Two.")]).await;
    for args in [
        &["prompts", "add", "style", "--default", "Write in short sentences."][..],
        &[
            "prompts",
            "add",
            "ours",
            "--project",
            "--description",
            "Ours",
            "Only ours.",
        ],
        &["prompts", "edit", "ours", "Ours, changed."],
        &["prompts", "default", "ours"],
        &["prompts", "default", "ours", "--off"],
    ] {
        let output = fixture.hew(args).await;
        assert_eq!(output.code(), Some(0), "{args:?}: {}", output.stderr);
    }
    let listed = fixture.hew(&["prompts", "list", "--json"]).await;
    let list: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(
        (&list[0]["name"], &list[0]["project"], &list[0]["default"]),
        (&json!("ours"), &json!(true), &json!(false))
    );
    assert_eq!(list[1]["default"], true);
    assert_eq!(
        fixture.hew(&["prompts", "show", "ours"]).await.stdout,
        "Ours, changed.\n"
    );
    fixture.run(&["follow @rule:ours"]).await;
    let text = fixture.texts().pop().unwrap();
    assert!(
        text.contains("Write in short sentences.") && text.contains("Ours, changed."),
        "{text}"
    );
    let output = fixture.run(&["follow @rule:nothing"]).await;
    assert!(
        output.stderr.contains("not included: @rule:nothing"),
        "{}",
        output.stderr
    );
    assert_eq!(fixture.hew(&["prompts", "remove", "style"]).await.code(), Some(0));
    let missing = fixture.hew(&["prompts", "show", "style"]).await;
    assert_eq!(missing.code(), Some(2));
    assert!(missing.stderr.contains("saved prompts: ours"), "{}", missing.stderr);
    assert_eq!(fixture.hew(&["prompts", "add", "../x", "y"]).await.code(), Some(2));
}

#[tokio::test]
async fn a_prompt_without_text_and_editor_is_not_saved() {
    let fixture = Fixture::new(&[("a.txt", "")], Vec::new()).await;
    let without_text = ["prompts", "add", "later", "--description", "Later"];
    let output = fixture.hew(&without_text).await;
    assert!(output.stderr.contains("no text given"), "{}", output.stderr);
    let added = fixture.hew(&["prompts", "add", "later", "Do it."]).await;
    assert_eq!(added.code(), Some(0), "{}", added.stderr);
}

#[tokio::test]
async fn an_additional_folder_is_part_of_the_project_with_its_rules() {
    let fixture = Fixture::new(&[("a.txt", "")], Vec::new()).await;
    let other = Project::new(&[
        ("AGENTS.md", "Other rule.\n"),
        ("b.txt", "two\n"),
        (".hewignore", "secret.txt\n"),
        ("secret.txt", "hidden\n"),
    ])
    .unwrap();
    let path = |name: &str| {
        other
            .path(name)
            .canonicalize()
            .unwrap_or(other.path(name))
            .display()
            .to_string()
    };
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text("Writing.").call("write_file", json!({"path": path("c.txt"), "content": "three\n"})))
        .turn(Turn::text("Running.").call("terminal", json!({"command": format!("echo four > {}", path("d.txt"))})))
        .turn(read(&path("secret.txt")))
        .turn(Turn::text("Done."));
    let server = Server::start(script).await.unwrap();
    let hew = fixture.hew.clone().with_server(&server);
    let folder = other.root().display().to_string();
    let args = ["run", "-m", MODEL, "--add-dir", &folder, "work"];
    let output = hew.clone().args(args).run().await.unwrap();
    assert_eq!(output.code(), Some(0), "{}", output.stderr);
    assert_eq!(other.read("c.txt").unwrap(), "three\n");
    assert_eq!(other.read("d.txt").unwrap(), "four\n");
    let first = String::from_utf8_lossy(&server.requests()[0].body).into_owned();
    assert!(
        first.contains("Other rule.") && first.contains("Other folders of the project"),
        "{first}"
    );
    let last = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(!last.contains("hidden\\n"), "its ignore file was not applied: {last}");
    let output = hew
        .args(["run", "-m", MODEL, "--add-dir", "missing", "work"])
        .run()
        .await
        .unwrap();
    assert_eq!(output.code(), Some(2));
    assert!(
        output.stderr.contains("missing` to the project: No such file"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn a_resumed_session_keeps_its_folders() {
    let other = Project::new(&[("lib.txt", "from the library\n")]).unwrap();
    let file = other
        .root()
        .canonicalize()
        .unwrap()
        .join("lib.txt")
        .display()
        .to_string();
    let turns = vec![
        Turn::text("First."),
        read(&file),
        Turn::text("Second."),
        read(&file),
        Turn::text("Third."),
    ];
    let fixture = Fixture::new(&[("a.txt", "a\n")], turns).await;
    let folder = other.root().display().to_string();
    fixture.run(&["--add-dir", &folder, "begin"]).await;
    let output = fixture.hew(&["resume", "last", "look there"]).await;
    assert_eq!(output.stdout, "Second.\n", "{}", output.stderr);
    let last = fixture.texts().pop().unwrap();
    assert!(last.contains("from the library"), "{last}");
    // The same folder, also under another name, is added once.
    let output = fixture.hew(&["resume", "--add-dir", &folder, "last", "again"]).await;
    assert_eq!(output.stdout, "Third.\n", "{}", output.stderr);
    let database = rusqlite::Connection::open(fixture.hew.home().join(".local/share/hew/hew.db")).unwrap();
    let stored: i64 = database
        .query_row("SELECT count(*) FROM roots", [], |row| row.get(0))
        .unwrap();
    assert_eq!(stored, 1);
    // A removed folder is reported, and the session continues without it.
    drop(other);
    let output = fixture.hew(&["resume", "last", "and now"]).await;
    assert!(
        output.stderr.contains("a directory of this session, does not exist"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn mcp_servers_are_listed_in_the_system_prompt_regardless_of_their_state() {
    let fixture = Fixture::new(&[("a.txt", "a\n")], vec![Turn::text("One."), Turn::text("Two.")]).await;
    fixture.write_user_file(
        "config.toml",
        "[mcp.tracker]\ncommand = \"no-such-program\"\n[mcp.off]\ncommand = \"true\"\ndisabled = true\n",
    );
    fixture.run(&["begin"]).await;
    fixture.hew(&["resume", "last", "continue"]).await;
    let bodies = fixture.bodies();
    let system = bodies[0]["system"].to_string();
    assert!(system.contains("additional tools: tracker."), "{system}");
    assert_eq!(messages(&bodies[1])[..1], messages(&bodies[0])[..1]);
    let shown = fixture.hew(&["prompt", "show", "-m", MODEL]).await;
    assert!(shown.stdout.contains("additional tools: tracker."), "{}", shown.stderr);
}

#[tokio::test]
async fn every_kind_of_mention_in_one_prompt_follows_zeds_layout() {
    let fixture = Fixture::new(
        &[
            (
                "src/lib.rs",
                "pub fn add_up(a: u32) -> u32 {\n    a + 1\n}\n\npub fn other() {}\n",
            ),
            ("docs/a.md", "# A\n"),
            (".hew/prompts/style.md", "Be brief."),
        ],
        vec![Turn::text("First."), Turn::text("Seen.")],
    )
    .await;
    let image = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa75\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82";
    fixture.project.write("dot.png", image).unwrap();
    fixture.run(&["remember quokka"]).await;
    let sessions: Value = serde_json::from_str(&fixture.hew(&["sessions", "list", "--json"]).await.stdout).unwrap();
    let id = sessions[0]["id"].as_str().unwrap();
    let prompt = format!(
        "@rule:style @thread:{id} @src/lib.rs:1-2 #add_up @docs/ @docs/a.md @dot.png #nothing_like_it #plainword @missing.md"
    );
    let output = fixture.run(&[&prompt]).await;
    for miss in ["#nothing_like_it", "@missing.md"] {
        assert!(
            output.stderr.contains(&format!("not included: {miss}")),
            "{miss}: {}",
            output.stderr
        );
    }
    assert!(!output.stderr.contains("plainword"), "{}", output.stderr);
    let text = fixture.texts().pop().unwrap();
    let positions: Vec<usize> = [
        "<context>",
        "<files>",
        "docs/a.md",
        "<directories>",
        "<symbols>",
        "src/lib.rs#L1-3",
        "<selections>",
        "src/lib.rs#L1-2",
        "<threads>",
        "quokka",
        "<rules>",
        "Be brief.",
        "</context>",
    ]
    .iter()
    .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")))
    .collect();
    let order = [0, 1, 3, 4, 6, 8, 10, 12].map(|at| positions[at]);
    assert!(order.is_sorted(), "{text}");
    assert!(text.contains("image/png"), "{text}");
}
