//! Compares decisions with Roo Code's unit tests. Where hew is stricter, a list gives the reason.

use crate::support::{careful, commands, permissions, run, word};
use policy::{
    AccessLevel, Action, DefaultSwitch, IgnoreRules, Mode, ModeSet, PathArea, ProjectPaths, ProtectedPaths, ToolGroup,
    ToolProfile, parse_modes, shell,
};
use serde_json::Value;
use std::path::{Path, PathBuf};

const COMMANDS: &str = include_str!("../data/roo/commands.json");
const MODES: &str = include_str!("../data/roo/modes.json");
const IGNORE: &str = include_str!("../data/roo/ignore.json");
const PROTECT: &str = include_str!("../data/roo/protect.json");

fn records(text: &str, function: &str) -> Vec<Value> {
    let all: Vec<Value> = serde_json::from_str(text).expect("records");
    let found: Vec<Value> = all.into_iter().filter(|record| record["fn"] == function).collect();
    assert!(!found.is_empty(), "no records of {function}");
    found
}

fn strings(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Commands for which hew is stricter than Roo Code, with the allowed and denied patterns and the reason.
const STRICTER_COMMANDS: &[(&str, &str, &str, &str)] = &[
    (
        "rm -rf /",
        "npm, echo, git",
        "npm test, git push",
        "removing `/` is always refused",
    ),
    (
        "npm test --coverage",
        "npm, npm test",
        "npm",
        "a deny rule takes precedence over a more specific allow rule",
    ),
    (
        "NPM TEST",
        "npm test, npm run, echo",
        "",
        "`NPM` is another program than `npm`",
    ),
    (
        "npm TEST --coverage",
        "npm test, npm run, echo",
        "",
        "arguments are case-sensitive",
    ),
    (
        "ECHO hello",
        "npm test, npm run, echo",
        "",
        "`ECHO` is another program than `echo`",
    ),
    (
        "npm test --coverage",
        "npm test",
        "*",
        "a deny rule takes precedence over a more specific allow rule",
    ),
];

#[test]
fn command_decisions_are_the_same_or_stricter_for_a_listed_reason() {
    let (mut checked, mut used) = (0, Vec::new());
    for function in ["getCommandDecision", "getSingleCommandDecision"] {
        for record in records(COMMANDS, function) {
            let expected = match record["result"].as_str() {
                Some("auto_approve") => "allow",
                Some("ask_user") => "ask",
                Some("auto_deny") => "deny",
                other => panic!("unknown decision {other:?}"),
            };
            used.extend(check(&record, expected));
            checked += 1;
        }
    }
    for record in records(COMMANDS, "isAutoApprovedSingleCommand") {
        // A command that Roo Code does not approve may need approval or be denied.
        let expected = if record["result"] == true { "allow" } else { "not allow" };
        used.extend(check(&record, expected));
        checked += 1;
    }
    for record in records(COMMANDS, "isAutoDeniedSingleCommand") {
        let expected = if record["result"] == true { "deny" } else { "not deny" };
        used.extend(check(&record, expected));
        checked += 1;
    }
    assert_eq!(checked, 63 + 15 + 42 + 15);
    for (at, difference) in STRICTER_COMMANDS.iter().enumerate() {
        assert!(used.contains(&at), "no longer a difference: {difference:?}");
    }
}

/// Checks one record and returns the listed difference that it needs, if any.
fn check(record: &Value, expected: &str) -> Option<usize> {
    let command = record["args"][0].as_str().expect("a command");
    let (allow, deny) = (strings(&record["args"][1]), strings(&record["args"][2]));
    let mut permissions = permissions(&commands(&allow, &[], &deny));
    permissions.approval = careful().into();
    let found = run(&permissions, AccessLevel::Workspace, command);
    let same = match expected {
        "not allow" => word(&found) != "allow",
        "not deny" => word(&found) != "deny",
        expected => word(&found) == expected,
    };
    if same {
        return None;
    }
    let strictness = |word: &str| ["allow", "ask", "deny"].iter().position(|known| *known == word);
    let stricter = expected == "not deny" || strictness(word(&found)) > strictness(expected);
    let (allowed, denied) = (allow.join(", "), deny.join(", "));
    let listed = STRICTER_COMMANDS
        .iter()
        .position(|(known, allow, deny, _)| (*known, *allow, *deny) == (command, allowed.as_str(), denied.as_str()));
    assert!(
        stricter && listed.is_some(),
        "({command:?}, {allowed:?}, {denied:?}): Roo Code has {expected}, hew {found:?}"
    );
    listed
}

/// Lines that Roo Code splits differently, and why hew is right.
const SPLIT_OTHERWISE: &[(&str, &str)] = &[
    (
        "npm test $(echo test)",
        "the substitution is an argument of the command around it",
    ),
    (
        "npm test `echo test`",
        "the substitution is an argument of the command around it",
    ),
    (
        "echo $(date)",
        "the substitution is an argument of the command around it",
    ),
    (
        "echo $(date)\nnpm test\ngit status",
        "the substitution is an argument of the command around it",
    ),
    (
        "echo \"Hello\nWorld\"\ngit status",
        "a quoted line break does not end a command",
    ),
    ("value=${array[$index]}", "an assignment without a command runs nothing"),
    (
        "level=${levels[$RANDOM % ${#levels[@]}]}",
        "an assignment without a command runs nothing",
    ),
    (
        "total=$((price * quantity + tax))",
        "an assignment without a command runs nothing",
    ),
    (
        "count=$((count + 1)) && echo $count",
        "an assignment without a command runs nothing",
    ),
    (
        "result=$((10 * (5 + 3))) && echo $result",
        "an assignment without a command runs nothing",
    ),
    (
        "diff <(sort f1) <(sort f2)",
        "the substitution is an argument of the command around it",
    ),
    (
        "diff <(sort file1) <(sort file2)",
        "the substitution is an argument of the command around it",
    ),
    (
        "command >(gzip > output.gz)",
        "`command` is a wrapper, and what it runs here is only known at run time",
    ),
];

#[test]
fn lines_are_split_into_the_same_programs() {
    let mut checked = 0;
    for record in records(COMMANDS, "parseCommand") {
        let line = record["args"][0].as_str().expect("a line");
        let script = shell::parse(line);
        let found: Vec<String> = script.commands.iter().filter_map(shell::SimpleCommand::name).collect();
        // Roo Code splits loops and tests into fragments; only the programs are compared.
        let expected: Vec<String> = strings(&record["result"])
            .iter()
            .filter_map(|part| part.split_whitespace().next())
            .filter(|first| !first.contains('=') && !KEYWORDS.contains(first) && !first.starts_with(['[', '(']))
            .map(str::to_owned)
            .collect();
        checked += 1;
        let in_loops = KEYWORDS.iter().any(|keyword| line.contains(&format!("{keyword} ")));
        let same = sorted(&found) == sorted(&expected);
        let listed = SPLIT_OTHERWISE.iter().any(|(known, _)| *known == line);
        assert!(
            same || listed || in_loops || !script.unclear.is_empty(),
            "{line:?}: Roo Code finds {expected:?}, hew {found:?}"
        );
        // No program in a loop or substitution is missed.
        if script.unclear.is_empty() && !listed {
            for program in expected.iter().filter(|program| !KEYWORDS.contains(&program.as_str())) {
                assert!(found.contains(program), "{line:?} misses {program}: {found:?}");
            }
        }
    }
    assert_eq!(checked, 73);
}

const KEYWORDS: &[&str] = &["while", "do", "done", "for", "if", "then", "else", "fi", "World"];

fn sorted(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    words.sort();
    words
}

#[test]
fn every_expansion_that_roo_code_rejects_is_unclear_or_adds_a_command() {
    for record in records(COMMANDS, "containsDangerousSubstitution") {
        let line = record["args"][0].as_str().expect("a line");
        let script = shell::parse(line);
        let seen = !script.unclear.is_empty() || script.commands.len() > 1;
        if record["result"] == true {
            assert!(seen, "{line:?} looks harmless: {script:?}");
        }
    }
}

/// Harmless lines that need approval in hew, and why.
const MORE_FEARED: &[(&str, &str)] = &[
    (
        "cat ?(foo|bar)",
        "extended patterns outside `case` are not part of the grammar",
    ),
    (
        "echo *(^/)",
        "extended patterns outside `case` are not part of the grammar",
    ),
    ("if [ $a = $b ]; then", "the line is not complete"),
    ("if [ $a == $b ]; then", "the line is not complete"),
];

#[test]
fn ordinary_expansions_are_accepted() {
    for record in records(COMMANDS, "containsDangerousSubstitution") {
        let line = record["args"][0].as_str().expect("a line");
        if record["result"] == false {
            let script = shell::parse(line);
            let listed = MORE_FEARED.iter().any(|(known, _)| *known == line);
            assert_eq!(!script.unclear.is_empty(), listed, "{line:?}: {:?}", script.unclear);
        }
    }
}

/// Calls that Roo Code permits in a mode and hew does not, and why.
const STRICTER_MODES: &[(&str, &str)] = &[
    (
        "write_to_file",
        "a file that may not be changed may not be changed by an incomplete call either",
    ),
    (
        "apply_diff",
        "a file that may not be changed may not be changed by an incomplete call either",
    ),
];

#[test]
fn mode_decisions_are_the_same_or_stricter_for_a_listed_reason() {
    for function in ["isToolAllowedForMode", "validateToolUse"] {
        for record in records(MODES, function) {
            let allowed = record.get("throws").is_none() && record["result"] != false;
            let found = mode_allows(&record["args"]);
            let tool = record["args"][0].as_str().expect("a tool");
            let incomplete = record["args"][4].as_object().is_some_and(|params| params.len() == 1);
            let listed = incomplete && STRICTER_MODES.iter().any(|(known, _)| *known == tool);
            match (&found, allowed) {
                (Ok(()), true) | (Err(_), false) => {}
                (Err(_), true) if listed => {}
                _ => panic!("{}: Roo Code has {allowed}, hew {found:?}", record["args"]),
            }
            if let (Err(why), Some(message)) = (&found, record["throws"]["message"].as_str())
                && let Some((_, path)) = message.split_once("Got: ")
            {
                // The mode, the pattern and the file are named.
                let pattern = message
                    .split("pattern: ")
                    .nth(1)
                    .and_then(|rest| rest.split([' ', '.']).next());
                assert!(why.contains(path) && why.contains(pattern.unwrap_or_default()), "{why}");
                assert!(why.contains(record["args"][1].as_str().expect("a mode")), "{why}");
            }
        }
    }
}

/// hew's decision about a call of one of Roo Code's tools.
fn mode_allows(args: &Value) -> Result<(), String> {
    let (tool, mode) = (
        args[0].as_str().unwrap_or_default(),
        args[1].as_str().unwrap_or_default(),
    );
    let mut modes = ModeSet::default();
    let custom = serde_json::json!({ "customModes": args[2].as_array().cloned().unwrap_or_default() });
    let (found, problems) = parse_modes(".roomodes", &custom.to_string());
    assert!(problems.is_empty(), "{problems:?}");
    modes.add(found);
    let profile = ToolProfile {
        tools: args[3]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(tool, on)| Some((tool.clone(), on.as_bool()?)))
            .filter(|(tool, _)| tool != "__undef")
            .collect(),
        other_tools: DefaultSwitch::On,
        ..ToolProfile::default()
    };
    if !profile.offers(tool) {
        return Err(format!("{tool} is switched off"));
    }
    let included = strings(&args[6]);
    let group = match tool {
        "read_file" | "search_files" | "list_files" | "codebase_search" => ToolGroup::Read,
        "write_to_file" | "apply_diff" | "generate_image" => ToolGroup::Edit,
        // Roo Code provides these only to models that are used to them.
        "apply_patch" | "search_replace" | "edit_file" | "search_and_replace" | "edit" if included.contains(&tool) => {
            ToolGroup::Edit
        }
        "execute_command" | "read_command_output" => ToolGroup::Command,
        "use_mcp_tool" | "access_mcp_resource" => ToolGroup::Mcp,
        tool if tool.starts_with("mcp_") => ToolGroup::Mcp,
        "switch_mode" | "new_task" => ToolGroup::Modes,
        "ask_followup_question" | "attempt_completion" | "update_todo_list" | "run_slash_command" | "skill" => {
            return Ok(());
        }
        _ => return Err(format!("there is no tool {tool}")),
    };
    let mode: &Mode = modes.get(mode).ok_or_else(|| format!("there is no mode {mode}"))?;
    let Some(path) = path_of(&args[4]) else {
        return if mode.includes(group) {
            Ok(())
        } else {
            Err(format!("the mode has no {group:?}"))
        };
    };
    let path = Path::new("/home/me/project").join(path);
    let action = match group {
        ToolGroup::Edit => Action::Write {
            path: path.clone(),
            place: PathArea::Inside,
        },
        ToolGroup::Read | ToolGroup::Command | ToolGroup::Browser | ToolGroup::Mcp | ToolGroup::Modes => Action::Read {
            path: path.clone(),
            place: PathArea::Inside,
        },
    };
    mode.permits(&action, &crate::support::project_paths())
        .map_err(|violation| violation.to_string())
}

fn path_of(params: &Value) -> Option<String> {
    let patched = params["patch"]
        .as_str()
        .and_then(|patch| patch.lines().find_map(|line| line.strip_prefix("*** Update File: ")));
    let path = params["path"].as_str().or(params["file_path"].as_str()).or(patched)?;
    Some(path.to_owned())
}

fn ignore_of(record: &Value) -> (IgnoreRules, ProjectPaths) {
    let (ignore, problems) = IgnoreRules::new(
        record["ctx"]["rooIgnoreContent"]
            .as_str()
            .map(|text| (".rooignore", text)),
    );
    assert!(problems.is_empty());
    let places = ProjectPaths {
        root: record["ctx"]["cwd"].as_str().expect("a folder").into(),
        ..ProjectPaths::default()
    };
    (ignore, places)
}

#[test]
fn ignore_files_hide_the_same_paths() {
    for record in records(IGNORE, "RooIgnoreController#validateAccess") {
        let (ignore, places) = ignore_of(&record);
        let path = record["args"][0].as_str().expect("a path");
        // Recorded with a link `config.json` to a hidden file: the caller resolves links.
        if path == "config.json" && record["result"] == false {
            continue;
        }
        let path = places.root.join(path);
        let visible = !ignore.hides(&path, &places);
        assert_eq!(Value::from(visible), record["result"], "{record}");
    }
    for record in records(IGNORE, "RooIgnoreController#filterPaths") {
        let (ignore, places) = ignore_of(&record);
        // Two records were made while the reference was forced to fail; it hid everything then.
        if record["test"]
            .as_str()
            .is_some_and(|test| test.contains("fail closed") || test.contains("error"))
        {
            continue;
        }
        let visible: Vec<&str> = strings(&record["args"][0])
            .into_iter()
            .filter(|path| !ignore.hides(&places.root.join(path), &places))
            .collect();
        assert_eq!(visible, strings(&record["result"]), "{record}");
    }
}

#[test]
fn commands_that_disclose_hidden_files_are_the_same() {
    for record in records(IGNORE, "RooIgnoreController#validateCommand") {
        let (ignore, places) = ignore_of(&record);
        let script = shell::parse(record["args"][0].as_str().expect("a command"));
        let shown = ignore.disclosed_by(&script, &places.root, &places);
        let expected: Option<PathBuf> = record["result"].as_str().map(|path| places.root.join(path));
        assert_eq!(shown, expected, "{record}");
    }
}

#[test]
fn the_same_files_are_protected() {
    let (protected, problems) = ProtectedPaths::new(&[]);
    assert!(problems.is_empty());
    for record in records(PROTECT, "RooProtectedController#isWriteProtected") {
        let places = ProjectPaths {
            root: record["ctx"]["cwd"].as_str().expect("a folder").into(),
            ..ProjectPaths::default()
        };
        // The caller converts Windows separators.
        let path = record["args"][0].as_str().expect("a path").replace('\\', "/");
        let found = protected.covers(&places.root.join(&path), &places);
        assert_eq!(Value::from(found), record["result"], "{record}");
    }
}

#[test]
fn a_protected_file_needs_approval_although_writing_is_allowed() {
    let permissions = permissions(&policy::RuleConfig::default());
    for (path, expected) in [
        ("AGENTS.md", "ask"),
        (".roo/x", "ask"),
        ("agents.MD", "ask"),
        ("src/x", "allow"),
    ] {
        let path = Path::new(crate::support::ROOT).join(path);
        let action = Action::Write {
            path: path.clone(),
            place: PathArea::Inside,
        };
        let found = permissions.decide(AccessLevel::Workspace, &Mode::code(), "write_file", &action);
        assert_eq!(word(&found), expected, "{path:?}");
    }
}
