//! Layers of permission rules, from the user and the project, with examples that test them at load time.

use crate::paths::ProjectPaths;
use crate::rules::{Match, MatchMode};
use crate::shell::{self, SimpleCommand};
use crate::{Action, ConfigProblem, Error, PathArea, Rule};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Rules as configured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuleConfig {
    /// Actions that need no approval.
    pub allow: Vec<String>,
    /// Actions that always need approval.
    pub ask: Vec<String>,
    /// Actions that are denied.
    pub deny: Vec<String>,
    /// Expected decisions of these rules alone.
    pub examples: RuleExamples,
}

/// Examples such as `run git push --force` or `write src/main.rs`, by expected decision.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuleExamples {
    /// Must be allowed by a rule.
    pub allow: Vec<String>,
    /// Must need approval: by a rule, or because no rule covers them.
    pub ask: Vec<String>,
    /// Must be denied by a rule.
    pub deny: Vec<String>,
}

/// The origin of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOrigin {
    /// The user.
    User,
    /// A trusted project.
    TrustedProject,
    /// An untrusted project: it may restrict but not permit.
    UntrustedProject,
}

/// The rules of one file.
#[derive(Debug, Clone)]
pub struct RuleLayer {
    origin: RuleOrigin,
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
    /// A rule that cannot be parsed, so that it is unknown what this layer forbids.
    broken: Option<String>,
}

/// The result of evaluating rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// A rule allows it.
    Allow,
    /// A rule requires approval, or may do so.
    Ask(String),
    /// A rule denies it.
    Deny(String),
    /// No rule applies.
    Silent,
}

impl fmt::Display for RuleOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RuleOrigin::User => "your rules",
            RuleOrigin::TrustedProject | RuleOrigin::UntrustedProject => "the project's rules",
        })
    }
}

impl RuleLayer {
    /// Loads the rules of one file. An invalid rule is reported and skipped; if an `ask` or `deny` rule is invalid,
    /// every action needs approval until it is fixed. If an example fails, this layer allows nothing.
    pub fn load(origin: RuleOrigin, text: &RuleConfig) -> (RuleLayer, Vec<ConfigProblem>) {
        let mut problems = Vec::new();
        let mut read = |entries: &[String]| {
            let mut rules = Vec::new();
            let mut bad = None;
            for entry in entries {
                match entry.parse::<Rule>() {
                    Ok(rule) => rules.push(rule),
                    Err(error) => {
                        bad.get_or_insert_with(|| entry.clone());
                        problems.push(problem(origin, entry, &error.to_string()));
                    }
                }
            }
            (rules, bad)
        };
        let (mut allow, _) = read(&text.allow);
        let (ask, bad_ask) = read(&text.ask);
        let (deny, bad_deny) = read(&text.deny);
        if origin == RuleOrigin::UntrustedProject && !allow.is_empty() {
            let message = "the project is not trusted, so its allow rules are ignored";
            problems.push(problem(origin, "allow", message));
            allow.clear();
        }
        let mut layer = RuleLayer {
            origin,
            allow,
            ask,
            deny,
            broken: bad_deny.or(bad_ask),
        };
        // The examples of an untrusted project refer to rules that are not used.
        if origin != RuleOrigin::UntrustedProject {
            let failed = layer.check(&text.examples);
            if !failed.is_empty() {
                layer.allow.clear();
            }
            problems.extend(failed);
        }
        (layer, problems)
    }

    /// Its origin.
    pub fn origin(&self) -> RuleOrigin {
        self.origin
    }

    /// The deny, ask and allow rules.
    pub fn rules(&self) -> [&[Rule]; 3] {
        [&self.deny, &self.ask, &self.allow]
    }

    fn check(&self, examples: &RuleExamples) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        for (expected, entries) in [
            ("allow", &examples.allow),
            ("ask", &examples.ask),
            ("deny", &examples.deny),
        ] {
            for entry in entries {
                match self.evaluate_example(entry) {
                    Ok(found) if found == expected => {}
                    Ok(found) => problems.push(problem(
                        self.origin,
                        entry,
                        &format!("expected `{expected}` for this example, but the rules decide `{found}`"),
                    )),
                    Err(error) => problems.push(problem(self.origin, entry, &error.to_string())),
                }
            }
        }
        problems
    }

    /// Evaluates an example with these rules only.
    fn evaluate_example(&self, example: &str) -> Result<&'static str, Error> {
        let project = ProjectPaths {
            root: "/project".into(),
            home: Some("/home/you".into()),
            temporary: vec!["/tmp".into()],
            ..ProjectPaths::default()
        };
        let action = Action::parse(example, &project)?;
        let ruling = match &action {
            Action::Run { command, .. } => self.evaluate_command(command, &project),
            Action::Read { .. }
            | Action::Write { .. }
            | Action::Escalate { .. }
            | Action::Fetch { .. }
            | Action::Mcp { .. }
            | Action::SwitchMode { .. }
            | Action::Subtask { .. } => rule_on_action([self], "", &action, &project),
        };
        Ok(match ruling {
            Ruling::Allow => "allow",
            Ruling::Deny(_) => "deny",
            Ruling::Ask(_) | Ruling::Silent => "ask",
        })
    }

    fn evaluate_command(&self, line: &str, project: &ProjectPaths) -> Ruling {
        let action = Action::Run {
            command: line.to_owned(),
            cwd: project.root.clone(),
        };
        let script = shell::parse(line);
        let whole = rule_on_action([self], "", &action, project);
        let mut ruling = match whole {
            Ruling::Silent => Ruling::Allow,
            other => return other,
        };
        for simple in &script.commands {
            match rule_on_command([self], "", simple) {
                Ruling::Deny(why) => return Ruling::Deny(why),
                Ruling::Ask(why) => ruling = Ruling::Ask(why),
                Ruling::Silent if ruling == Ruling::Allow => ruling = Ruling::Silent,
                Ruling::Silent | Ruling::Allow => {}
            }
        }
        for simple in &script.wrappers {
            match rule_on_command([self], "", simple) {
                Ruling::Deny(why) => return Ruling::Deny(why),
                Ruling::Ask(why) => ruling = Ruling::Ask(why),
                Ruling::Silent | Ruling::Allow => {}
            }
        }
        for target in &script.writes {
            let shell::ResolvedTarget::Known(paths) = target.resolve(&project.root, project) else {
                continue;
            };
            for path in paths {
                let place: PathArea = project.area_of(&path);
                let write = Action::Write { path, place };
                match rule_on_action([self], "", &write, project) {
                    Ruling::Deny(why) => return Ruling::Deny(why),
                    Ruling::Ask(why) => ruling = Ruling::Ask(why),
                    Ruling::Silent if target.by == shell::TargetSource::Redirection => ruling = Ruling::Silent,
                    Ruling::Silent | Ruling::Allow => {}
                }
            }
        }
        match (ruling, script.unclear.first()) {
            (Ruling::Allow, Some(why)) => Ruling::Ask(why.to_string()),
            (ruling, _) => ruling,
        }
    }
}

/// Evaluates rules for a whole action: deny before ask before allow, regardless of the layer.
pub(crate) fn rule_on_action<'l>(
    layers: impl IntoIterator<Item = &'l RuleLayer>,
    tool: &str,
    action: &Action,
    project: &ProjectPaths,
) -> Ruling {
    strictest(layers, |rule, mode| rule.matches(tool, action, project, mode))
}

/// Evaluates rules for one command of a line.
pub(crate) fn rule_on_command<'l>(
    layers: impl IntoIterator<Item = &'l RuleLayer>,
    tool: &str,
    simple: &SimpleCommand,
) -> Ruling {
    strictest(layers, |rule, mode| rule.matches_command(tool, simple, mode))
}

/// Returns the first rule that cannot be parsed.
pub(crate) fn unreadable_rule<'l>(layers: impl IntoIterator<Item = &'l RuleLayer>) -> Option<String> {
    layers.into_iter().find_map(|layer| {
        let rule = layer.broken.as_ref()?;
        Some(format!("the rule `{rule}` in {} is invalid", layer.origin))
    })
}

fn strictest<'l>(
    layers: impl IntoIterator<Item = &'l RuleLayer>,
    matches: impl Fn(&Rule, MatchMode) -> Match,
) -> Ruling {
    let mut ruling = Ruling::Silent;
    for layer in layers {
        for rule in &layer.deny {
            match matches(rule, MatchMode::Wide) {
                Match::Yes => return Ruling::Deny(format!("{} deny `{rule}`", layer.origin)),
                Match::Maybe => ruling = Ruling::Ask(format!("{} deny `{rule}`, which may apply here", layer.origin)),
                Match::No => {}
            }
        }
        for rule in &layer.ask {
            match matches(rule, MatchMode::Wide) {
                Match::Yes => ruling = Ruling::Ask(format!("{} ask about `{rule}`", layer.origin)),
                Match::Maybe if !matches!(ruling, Ruling::Ask(_)) => {
                    ruling = Ruling::Ask(format!("{} ask about `{rule}`, which may apply here", layer.origin));
                }
                Match::Maybe | Match::No => {}
            }
        }
        for rule in &layer.allow {
            if ruling == Ruling::Silent && matches(rule, MatchMode::Narrow) == Match::Yes {
                ruling = Ruling::Allow;
            }
        }
    }
    ruling
}

fn problem(origin: RuleOrigin, entry: &str, message: &str) -> ConfigProblem {
    ConfigProblem {
        file: origin.to_string(),
        entry: entry.to_owned(),
        message: message.to_owned(),
    }
}
