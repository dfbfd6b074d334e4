//! A project, a user and rules for tests.

use policy::{
    AccessLevel, Action, ApprovalMode, AutoApproval, ConfigProblem, Decision, Grants, Mode, Permissions, ProjectPaths,
    ProtectedPaths, RuleConfig, RuleLayer, RuleOrigin,
};
use std::sync::Arc;

pub(crate) const ROOT: &str = "/home/me/project";

pub(crate) fn project_paths() -> ProjectPaths {
    ProjectPaths {
        root: ROOT.into(),
        home: Some("/home/me".into()),
        temporary: vec!["/tmp".into()],
        ..ProjectPaths::default()
    }
}

/// Permissions with one layer of user rules.
pub(crate) fn permissions(text: &RuleConfig) -> Permissions {
    let (layer, problems) = RuleLayer::load(RuleOrigin::User, text);
    assert_eq!(problems, Vec::<ConfigProblem>::new());
    Permissions {
        rules: Arc::new(vec![layer]),
        grants: Arc::new(Grants::default()),
        project: Arc::new(project_paths()),
        protected: Arc::new(ProtectedPaths::new(&[]).0),
        ..Permissions::default()
    }
}

/// Only reading and writing inside the project need no approval.
pub(crate) fn careful() -> AutoApproval {
    AutoApproval {
        commands: ApprovalMode::Ask,
        ..AutoApproval::of(AccessLevel::Workspace)
    }
}

/// Rules from command patterns.
pub(crate) fn commands(allow: &[&str], ask: &[&str], deny: &[&str]) -> RuleConfig {
    let rules = |patterns: &[&str]| patterns.iter().map(|pattern| format!("run({pattern})")).collect();
    RuleConfig {
        allow: rules(allow),
        ask: rules(ask),
        deny: rules(deny),
        ..RuleConfig::default()
    }
}

pub(crate) fn run(permissions: &Permissions, level: AccessLevel, command: &str) -> Decision {
    let action = Action::Run {
        command: command.into(),
        cwd: ROOT.into(),
    };
    permissions.decide(level, &Mode::code(), "terminal", &action)
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
