//! Texts that others nest as deeply as they like: patterns, command lines, modes and rules.

use policy::{IgnoreRules, ProjectPaths, ProtectedPaths, Rule, parse_modes, shell};

const DEPTH: usize = 50_000;

fn nested(open: &str, close: &str) -> String {
    format!("{}x{}", open.repeat(DEPTH), close.repeat(DEPTH))
}

#[test]
fn deeply_nested_patterns_are_refused_or_parsed() {
    for text in [
        nested("{", "}"),
        nested("{a,", "}"),
        nested("[", "]"),
        nested("a/", "/b"),
        nested("**/", "/**"),
        nested("(", ")"),
        nested("(?:", ")"),
        nested("!", ""),
        nested("\\", ""),
    ] {
        let (rules, _) = IgnoreRules::new([(".hewignore", text.as_str())]);
        let project = ProjectPaths {
            root: "/p".into(),
            ..ProjectPaths::default()
        };
        rules.hides("/p/a/b".as_ref(), &project);
        let (protected, _) = ProtectedPaths::new(std::slice::from_ref(&text));
        protected.covers("/p/a/b".as_ref(), &project);
        for subject in ["read", "write", "run", "fetch", "mcp"] {
            drop(format!("{subject}({text})").parse::<Rule>());
        }
        let modes = format!(
            "customModes:\n- slug: a\n  name: A\n  roleDefinition: r\n  groups:\n  - [edit, {{fileRegex: '{text}'}}]\n"
        );
        drop(parse_modes("modes", &modes));
    }
    drop(parse_modes("modes", &nested("[", "]")));
    drop(parse_modes("modes", &nested("{a: ", "}")));
}

#[test]
fn deeply_nested_command_lines_need_approval() {
    for text in [
        nested("$(", ")"),
        nested("(", ")"),
        nested("{ ", ";}"),
        nested("`", "`"),
        nested("\"$(", ")\""),
        nested("$((", "))"),
        nested("${a:-", "}"),
        nested("<(", ")"),
        nested("! ", ""),
        nested("if ", "; then :; fi"),
        nested("{a,", "}"),
        nested("sudo ", ""),
        nested("env ", ""),
        nested("a | ", ""),
        nested("a && ", ""),
        nested("a=(", ")"),
        nested("[[ ( ", " ) ]]"),
        nested("<<E\n", "\nE"),
    ] {
        let script = shell::parse(&text);
        assert!(!script.unclear.is_empty(), "{}", &text[..20]);
    }
}
