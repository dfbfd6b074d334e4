//! Commands that bypassed the rules of other agents, and commands that must be allowed.

use crate::support::{careful, commands, permissions, run, word};
use policy::{AccessLevel, Permissions};

const CASES: &str = include_str!("../data/commands.txt");

#[test]
fn every_command_has_the_expected_decision() {
    let mut rules = None;
    let (mut cautious, mut wrong) = (0, Vec::new());
    for line in CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(setup) = line.strip_prefix("@ ") {
            rules = Some(set_up(setup));
            continue;
        }
        let mut fields = line.split('\t');
        let (Some(expected), Some(command)) = (fields.next(), fields.next()) else {
            panic!("not a case: {line}");
        };
        let command = command.replace('⏎', "\n").replace('⇥', "\t");
        let (permissions, level) = rules.as_ref().expect("rules come first");
        let decision = run(permissions, *level, &command);
        if word(&decision) != expected {
            wrong.push(format!("{expected} but {decision:?}: {command}"));
        }
        cautious += usize::from(expected != "allow");
    }
    println!("attack: tried {cautious}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cautious >= 200, "only {cautious} cases are refused or asked about");
}

/// Parses a line such as `level: full; allow: ls, cat; deny: rm`.
fn set_up(text: &str) -> (Permissions, AccessLevel) {
    let (mut allow, mut ask, mut deny) = (Vec::new(), Vec::new(), Vec::new());
    let mut level = None;
    for part in text.split(';') {
        let (name, value) = part.split_once(':').expect("name: value");
        let patterns = value.split(',').map(str::trim);
        match name.trim() {
            "allow" => allow.extend(patterns),
            "ask" => ask.extend(patterns),
            "deny" => deny.extend(patterns),
            "level" => {
                level = Some(if value.trim() == "full" {
                    AccessLevel::Full
                } else {
                    AccessLevel::Workspace
                })
            }
            other => panic!("unknown setting {other}"),
        }
    }
    let mut permissions = permissions(&commands(&allow, &ask, &deny));
    if level.is_none() {
        permissions.approval = careful().into();
    }
    (permissions, level.unwrap_or_default())
}
