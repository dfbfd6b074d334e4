//! Properties for arbitrary input.

use crate::support::{careful, commands, permissions, run, word};
use policy::{AccessLevel, Action, Match, MatchMode, Rule, shell};
use proptest::prelude::*;

/// One character in one of its shell spellings.
fn spelled(character: char) -> impl Strategy<Value = String> {
    (0..6).prop_map(move |way| match way {
        0 => character.to_string(),
        1 => format!("'{character}'"),
        2 => format!("\"{character}\""),
        3 => format!("\\{character}"),
        4 => format!("$'\\x{:02x}'", character as u32),
        _ => format!("$'\\{:03o}'", character as u32),
    })
}

/// A word in arbitrary spellings.
fn disguised(word: &'static str) -> impl Strategy<Value = String> {
    word.chars()
        .map(spelled)
        .collect::<Vec<_>>()
        .prop_map(|parts| parts.concat())
}

/// A command, run through another one.
fn wrapped(command: String) -> impl Strategy<Value = String> {
    let wrappers = [
        "nohup @",
        "timeout 5 @",
        "env A=b @",
        "nice -n 3 @",
        "time @",
        "command @",
        "( @ )",
        "{ @; }",
        "true && @",
        "false || @",
        "echo $( @ )",
        "echo \"$( @ )\"",
        "cat <( @ )",
        "if true; then @; fi",
        "for i in 1; do @; done",
        "f() { @; }; f",
        "@ &",
        "! @",
        "echo x | @",
        "sudo @",
        "setsid @",
        "x=$( @ )",
        "while @; do break; done",
        "stdbuf -o0 @",
        "busybox @",
        "exec @",
    ];
    let stack = prop::collection::vec(prop::sample::select(wrappers.to_vec()), 0..4);
    stack.prop_map(move |stack| {
        stack.iter().fold(command.clone(), |command, wrapper| {
            // A program can only run a program, not a list.
            let simple =
                wrapper.starts_with(['(', '{', '!']) || !wrapper.ends_with(" @") || wrapper.contains(['|', '&']);
            let inner = if simple || is_simple(&command) {
                command
            } else {
                format!("sh -c '{}'", command.replace('\'', "'\\''"))
            };
            wrapper.replace('@', &inner)
        })
    })
}

fn is_simple(command: &str) -> bool {
    !command.contains(['&', '|', ';', '(', '{', '!', '\n'])
        && !["if", "for", "while"].iter().any(|word| command.starts_with(word))
}

fn fragment() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "ls", "echo", "rm", "-rf", "/", "~", "$HOME", "\"", "'", "`", "$(", ")", "${", "}", "(", "{", ";", "&&", "||",
        "|", "&", ">", ">>", "<", "<<", "<<<", "EOF", "\n", " ", "\\", "=", "a=1", "*", "$'", "$((", "))", "[[", "]]",
        "if", "then", "fi", "for", "in", "do", "done", "case", "esac", ";;", "function", "eval", "sh -c", "xargs",
        "env", "\u{200b}", "é", "#",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gets_a_decision(text in ".{0,200}") {
        shell::parse(&text);
        run(&permissions(&commands(&["ls"], &["git"], &["rm"])), AccessLevel::Workspace, &text);
    }

    #[test]
    fn any_shell_fragments_get_a_decision(parts in prop::collection::vec(fragment(), 0..30)) {
        let text = parts.concat();
        run(&permissions(&commands(&["ls"], &["git"], &["rm"])), AccessLevel::Workspace, &text);
    }

    #[test]
    fn an_allow_rule_does_not_cover_appended_commands(parts in prop::collection::vec(fragment(), 0..12)) {
        let mut permissions = permissions(&commands(&["ls", "echo"], &[], &[]));
        permissions.approval = careful().into();
        let text = parts.concat();
        if word(&run(&permissions, AccessLevel::Workspace, &text)) == "allow" {
            for more in ["\nwhoami", "\nwhoami\n"] {
                let longer = format!("{text}{more}");
                let found = run(&permissions, AccessLevel::Workspace, &longer);
                // A comment, string or here-document may contain it; then it is text.
                let swallowed = text.contains("<<") || text.ends_with('\\');
                prop_assert!(swallowed || word(&found) != "allow", "{longer:?}");
            }
        }
    }

    #[test]
    fn removing_everything_is_refused_in_every_spelling(
        rm in disguised("rm"), flags in disguised("-rf"), root in disguised("/"),
    ) {
        let command = format!("{rm} {flags} {root}");
        let found = run(&permissions(&commands(&["*"], &[], &[])), AccessLevel::Full, &command);
        prop_assert_eq!(word(&found), "deny", "{}", command);
    }

    #[test]
    fn removing_everything_is_refused_in_every_wrapper(command in wrapped("rm -rf /".into())) {
        let found = run(&permissions(&commands(&["*"], &[], &[])), AccessLevel::Full, &command);
        prop_assert_eq!(word(&found), "deny", "{}", command);
    }

    #[test]
    fn a_denied_command_is_denied_in_every_wrapper(command in wrapped("curl evil.example".into())) {
        let found = run(&permissions(&commands(&["*"], &[], &["curl"])), AccessLevel::Full, &command);
        prop_assert_eq!(word(&found), "deny", "{}", command);
    }

    #[test]
    fn an_uncovered_command_needs_approval_in_every_wrapper(command in wrapped("whoami".into())) {
        let allow = ["echo", "cat", "true", "false", "sudo", "nohup", "timeout", "env", "time", "exec", "command", "f", "sh"];
        let mut permissions = permissions(&commands(&allow, &[], &[]));
        permissions.approval = careful().into();
        let found = run(&permissions, AccessLevel::Workspace, &command);
        prop_assert_eq!(word(&found), "ask", "{}", command);
    }

    #[test]
    fn an_exact_rule_matches_only_that_line(line in "[ -~]{1,60}", other in "[ -~]{1,60}") {
        let action = |command: &str| Action::Run { command: command.into(), cwd: "/x".into() };
        let rule = Rule::exact(&action(&line));
        prop_assume!(!line.trim().is_empty());
        let rule = rule.expect("a rule");
        let again: Rule = rule.to_string().parse().expect("the same rule");
        let places = policy::ProjectPaths::default();
        prop_assert_eq!(again.matches("t", &action(&line), &places, MatchMode::Narrow), Match::Yes);
        let same = line.trim() == other.trim();
        let expected = if same { Match::Yes } else { Match::No };
        prop_assert_eq!(again.matches("t", &action(&other), &places, MatchMode::Narrow), expected);
    }
}
