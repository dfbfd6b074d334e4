//! Tests that the examples of the documentation work: command lines are parsed, configurations are checked.

use super::page;
use crate::args;
use clap::error::ErrorKind;
use host::config::{ConfigLayer, ConfigOrigin};
use std::path::{Path, PathBuf};

/// Words of examples that stand for one of several fixed values.
const PLACEHOLDERS: &[(&str, &str)] = &[
    ("COMMAND", "run"),
    ("SHELL", "bash"),
    ("JSON", "{}"),
    ("DECISION", "ask"),
    ("TASK", "a task"),
];

/// The pages, with their names.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = std::fs::read_dir(root.join("docs")).unwrap();
    let names = docs.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    names.extend(["../README.md", "../CONTRIBUTING.md", "../AGENTS.md"].map(str::to_owned));
    names.sort();
    names.into_iter().map(|name| (name.clone(), page(&name))).collect()
}

/// The fenced blocks with their language, and the text around them.
fn split(page: &str) -> (Vec<(&str, String)>, String) {
    let (mut blocks, mut text) = (Vec::new(), String::new());
    let mut open: Option<(&str, String)> = None;
    for line in page.lines() {
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(language), None) => open = Some((language, String::new())),
            (None, Some((language, block))) => open = Some((language, block + line + "\n")),
            (None, None) => text = text + line + "\n",
        }
    }
    (blocks, text)
}

/// A command line that starts hew, and whether it is an example rather than the mention of a command.
type CommandLine = (String, bool);

/// The command lines of a page.
fn command_lines(page: &str) -> Vec<CommandLine> {
    let (blocks, text) = split(page);
    let shell_lines = blocks.iter().flat_map(|(language, block)| {
        let lines = block.lines().filter_map(move |line| match *language {
            "console" => line.strip_prefix("$ "),
            "" => Some(line),
            _ => None,
        });
        lines
            .flat_map(|line| line.split("$("))
            .flat_map(|line| line.split(" | "))
    });
    let spans = text.split('`').skip(1).step_by(2).filter(|span| !span.contains('\n'));
    let mentions = spans.map(|span| (span, false));
    let all = shell_lines.map(|line| (line, true)).chain(mentions);
    let all = all.map(|(line, is_example)| (line.trim().to_owned(), is_example));
    all.filter(|(line, _)| line == "hew" || line.starts_with("hew "))
        .collect()
}

/// The arguments of a command line, up to a comment, a redirection or a closing parenthesis. Optional placeholders are
/// left out, and the first of several alternatives is taken.
fn arguments(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None::<char>);
    for letter in line.chars().chain([' ']) {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#' | '>' | '<' | ')') => {
                words.extend(word.take());
                break;
            }
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    let words = words
        .into_iter()
        .skip(1)
        .filter(|word| !word.starts_with('[') && word != "…");
    let filled = words.map(|word| match PLACEHOLDERS.iter().find(|(name, _)| *name == word) {
        Some((_, value)) => (*value).to_owned(),
        None => word.split("\\|").next().unwrap_or_default().to_owned(),
    });
    filled.collect()
}

#[test]
fn every_command_line_is_valid() {
    // A group of commands, `--help` and `--version` print something instead.
    let is_output = |kind| {
        matches!(
            kind,
            ErrorKind::DisplayHelp
                | ErrorKind::DisplayVersion
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                | ErrorKind::MissingSubcommand
        )
    };
    let (mut count, mut invalid) = (0, Vec::new());
    for (name, text) in pages() {
        for (line, is_example) in command_lines(&text) {
            count += 1;
            let is_fine = |error: &clap::Error| {
                let is_incomplete = error.kind() == ErrorKind::MissingRequiredArgument;
                is_output(error.kind()) || is_incomplete && !is_example
            };
            match args::parse_args(arguments(&line)) {
                Err(error) if !is_fine(&error) => invalid.push(format!("docs/{name}: `{line}`: {error}")),
                Ok(_) | Err(_) => {}
            }
        }
    }
    assert_eq!(invalid, Vec::<String>::new());
    assert!(count > 200, "{count} command lines");
}

#[test]
fn every_configuration_is_valid() {
    let temp = tempfile::tempdir().unwrap();
    let file: PathBuf = temp.path().join("config.toml");
    let mut count = 0;
    for (name, text) in pages() {
        let (blocks, _) = split(&text);
        // Tasks of evaluations and themes have files of their own.
        let is_config = |block: &str| !block.contains("[solution]") && !block.contains("[styles]");
        for (_, block) in blocks
            .iter()
            .filter(|(language, block)| *language == "toml" && is_config(block))
        {
            count += 1;
            std::fs::write(&file, block).unwrap();
            let read = ConfigLayer::read(&file, ConfigOrigin::User);
            assert!(read.is_ok(), "docs/{name}: {:?}\n{block}", read.err());
        }
    }
    assert!(count >= 12, "{count} configurations");
}

#[test]
fn examples_are_found_and_placeholders_replaced() {
    let page = "Use `hew models [FILTER]` or `hew x\\|y RULE`.\n```console\n$ git diff | hew run \"a # b\" --json > x\nhew is here\n```\n";
    let lines = command_lines(page);
    let found: Vec<(&str, bool)> = lines
        .iter()
        .map(|(line, is_example)| (line.as_str(), *is_example))
        .collect();
    let expected = [
        ("hew run \"a # b\" --json > x", true),
        ("hew models [FILTER]", false),
        ("hew x\\|y RULE", false),
    ];
    assert_eq!(found, expected);
    let words: Vec<Vec<String>> = lines.iter().map(|(line, _)| arguments(line)).collect();
    assert_eq!(
        words,
        [vec!["run", "a # b", "--json"], vec!["models"], vec!["x", "RULE"]]
    );
}
