//! A project, a person and rules to try things with.

use policy::{
    Approval, Auto, Decision, Deed, Grants, Layer, Level, Mode, Origin, Permissions, Places, Problem, Protected,
    RuleText,
};
use std::path::Path;
use std::sync::Arc;

pub(crate) const ROOT: &str = "/home/me/project";

pub(crate) fn places() -> Places {
    Places {
        root: ROOT.into(),
        home: Some("/home/me".into()),
        temporary: vec!["/tmp".into()],
        ..Places::default()
    }
}

/// Permissions with one layer of rules of the person's own.
pub(crate) fn permissions(text: &RuleText) -> Permissions {
    let (layer, problems) = Layer::load(Origin::User, text);
    assert_eq!(problems, Vec::<Problem>::new());
    Permissions {
        rules: Arc::new(vec![layer]),
        grants: Arc::new(Grants::default()),
        places: Arc::new(places()),
        protected: Arc::new(Protected::new(&[]).0),
        ..Permissions::default()
    }
}

/// Nothing happens unasked but reading and writing inside the project.
pub(crate) fn careful() -> Approval {
    Approval {
        commands: Auto::Ask,
        ..Approval::of(Level::Workspace)
    }
}

/// Rules from patterns for commands.
pub(crate) fn commands(allow: &[&str], ask: &[&str], deny: &[&str]) -> RuleText {
    let rules = |patterns: &[&str]| patterns.iter().map(|pattern| format!("run({pattern})")).collect();
    RuleText {
        allow: rules(allow),
        ask: rules(ask),
        deny: rules(deny),
        ..RuleText::default()
    }
}

pub(crate) fn run(permissions: &Permissions, level: Level, command: &str) -> Decision {
    let deed = Deed::Run {
        command,
        cwd: Path::new(ROOT),
    };
    permissions.decide(level, &Mode::code(), "terminal", &deed)
}

pub(crate) fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask { .. } => "ask",
        Decision::Deny { .. } => "deny",
    }
}

pub(crate) fn why(decision: Decision) -> String {
    match decision {
        Decision::Allow => String::new(),
        Decision::Ask { why } | Decision::Deny { why } => why,
    }
}
