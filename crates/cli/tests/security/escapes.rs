//! No text of a model, a repository or a server reaches the terminal with its escape sequences.

use crate::Fixture;
use serde_json::json;
use testkit::{Fault, Output, Turn};

/// Escape sequences and other characters that take over a terminal or hide text.
const SEQUENCES: [&str; 12] = [
    "\u{1b}[31m",
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]52;c;cHduZWQ=\u{7}",
    "\u{1b}]8;;http:pwned\u{1b}\\",
    "\u{1b}P+q544e\u{1b}\\",
    "\u{1b}[6n",
    "\u{9b}31m",
    "\u{9d}52;c;cHduZWQ=\u{9c}",
    "over\rwritten\u{8}\u{7f}",
    "\u{202e}reversed\u{2066}",
    "\u{1b}[8mhidden\u{1b}c\u{1b}(0",
];

/// All sequences in one line.
fn hostile() -> String {
    let pieces = SEQUENCES.iter().enumerate();
    pieces.map(|(at, text)| format!("a{at}{text}b{at}")).collect()
}

fn check(surface: &str, output: &Output, shown: &str) {
    let text = format!("{}{}", output.stdout, output.stderr);
    let is_active = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(is_active), "{surface}: {text:?}");
    assert!(text.contains(shown), "{surface} does not show {shown}: {text:?}");
}

#[tokio::test]
async fn texts_of_a_model_are_printed_without_escape_sequences() {
    let bad = hostile();
    let todo = json!({"todos": [{"content": bad, "status": "pending"}]});
    let path = format!("{}.txt", bad.replace('/', ""));
    let calls = [
        ("unknown tool", bad.as_str(), json!({})),
        ("todo list", "todo", todo),
        ("path", "read_file", json!({"path": path})),
        ("written file", "write_file", json!({"path": path, "content": bad})),
        ("command", "terminal", json!({"command": format!("echo '{bad}'")})),
        ("output", "terminal", json!({"command": "cat in.txt"})),
        ("search", "grep", json!({"pattern": bad})),
        ("url", "fetch", json!({"url": format!("http://127.0.0.1:1/{bad}")})),
        ("mode", "switch_mode", json!({"mode": bad, "reason": bad})),
        ("subtask", "new_task", json!({"message": bad, "mode": bad})),
        (
            "question",
            "ask_question",
            json!({"question": bad, "options": [bad, bad]}),
        ),
    ];
    let mut turns: Vec<Turn> = calls
        .iter()
        .map(|(_, tool, input)| Turn::calls(*tool, input.clone()))
        .collect();
    turns.push(Turn::text("").raw_call("read_file", bad.clone()));
    turns.push(Turn::text(bad.clone()).thinking(bad.clone()).call("now", json!({})));
    turns.push(Turn::text(bad.clone()).thinking(bad.clone()));
    let fault = Fault::BadRequest { message: bad.clone() };
    for args in [&[][..], &["--json"]] {
        let fixture = Fixture::new("", &[("in.txt", &bad)]);
        let (results, output) = fixture.run(turns.clone(), args).await;
        assert!(results.len() > 10, "{results:?}");
        check("calls, thinking and text", &output, "todo");
        let (_, output) = fixture
            .run(vec![Turn::text("x").with_permanent_fault(fault.clone())], args)
            .await;
        check("error", &output, "a0");
        let (_, output) = fixture.run(vec![Turn::text(bad.clone())], args).await;
        check("answer", &output, "");
    }
}

#[tokio::test]
async fn files_of_a_repository_and_sessions_are_printed_without_escape_sequences() {
    let bad = hostile();
    let escaped = |c: char| match c.is_control() || c > '\u{7e}' {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    };
    let quote = |text: &str| {
        format!(
            "\"{}\"",
            text.replace('\\', "\\\\").chars().map(escaped).collect::<String>()
        )
    };
    let quoted = quote(&bad);
    let front = format!("---\ndescription: {quoted}\n---\n{bad}\n");
    let modes = format!("customModes:\n- slug: odd\n  name: {quoted}\n  roleDefinition: {quoted}\n  groups: [read]\n");
    let mcp = json!({"mcpServers": {bad.clone(): {"command": bad, "args": [bad]}}}).to_string();
    let config = format!(
        "language = {quoted}\n[permissions]\ndeny = [{}]\n",
        quote(&format!("run({bad})"))
    );
    let files: &[(&str, &str)] = &[
        (".hew/commands/odd.md", &front),
        (".hew/prompts/odd.md", &front),
        (".hew/skills/odd/SKILL.md", &front),
        (".hew/instructions/odd.instructions.md", &front),
        ("AGENTS.md", &bad),
        (".roomodes", &modes),
        (".mcp.json", &mcp),
        (".hew/config.toml", &config),
    ];
    let fixture =
        Fixture::new("[mcp.local]\ncommand = 'false'\n", files).with_variables(&[("ANTHROPIC_API_KEY", "sk-x")]);
    let (_, output) = fixture
        .run(
            vec![Turn::calls(
                "write_file",
                json!({"path": format!("{}.txt", bad.replace('/', "")), "content": bad}),
            )],
            &[],
        )
        .await;
    check("run in a hostile repository", &output, "");
    let commands: [(&[&str], &str); 24] = [
        (&["commands"], "odd"),
        (&["commands", "show", "odd"], "a0"),
        (&["modes"], "odd"),
        (&["modes", "show", "odd"], ""),
        (&["permissions"], "a0"),
        (&["permissions", "list"], ""),
        (&["permissions", "test", "run(ls)"], ""),
        (&["prompts"], "odd"),
        (&["prompts", "show", "odd"], "a0"),
        (&["prompt", "show", "-m", crate::MODEL], "a0"),
        (&["prompt", "-m", crate::MODEL], ""),
        (&["tools"], ""),
        (&["tools", "show", "skill"], ""),
        (&["mcp"], ""),
        (&["mcp", "list"], ""),
        (&["config", "show", "--origin"], ""),
        (&["sessions"], ""),
        (&["sessions", "show"], ""),
        (&["sessions", "list", "--json"], ""),
        (&["changes", "--json"], ""),
        (&["diff", "--stat"], ""),
        (&["undo", "--dry-run"], ""),
        (&["ledger"], ""),
        (&["doctor"], ""),
    ];
    for (args, shown) in commands {
        check(&args.join(" "), &fixture.hew(args).await, shown);
    }
    let named = fixture
        .hew
        .clone()
        .args(["sessions", "show", hostile().as_str()])
        .run()
        .await
        .unwrap();
    check("unknown session", &named, "a0");
    for (args, shown) in [
        (&["schema"][..], "a0"),
        (&["run", "x", "--permission"], "a0"),
        (&["mcp", "serve"], "a0"),
    ] {
        let output = fixture.hew.clone().args(args).arg(hostile()).run().await.unwrap();
        check("invalid argument", &output, shown);
    }
}
