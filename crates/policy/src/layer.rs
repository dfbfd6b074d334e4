//! Layers of permission rules, from the person and from the project, with examples that test them when they are loaded.

use crate::places::Places;
use crate::rule::{Match, Reading};
use crate::shell::{self, Simple};
use crate::{Action, Deed, Error, Place, Problem, Rule};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Rules as they are written in a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuleText {
    /// What needs no question.
    pub allow: Vec<String>,
    /// What always needs a question.
    pub ask: Vec<String>,
    /// What must not happen.
    pub deny: Vec<String>,
    /// What these rules, alone, must say about some examples.
    pub examples: Examples,
}

/// Examples such as `run git push --force` or `write src/main.rs`, by what the rules must say about them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Examples {
    /// Must be allowed by a rule.
    pub allow: Vec<String>,
    /// Must be asked about: by a rule, or because no rule covers them.
    pub ask: Vec<String>,
    /// Must be denied by a rule.
    pub deny: Vec<String>,
}

/// Who wrote a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The person.
    User,
    /// The project, which the person trusts.
    TrustedProject,
    /// The project, which the person has not said to trust: it may tighten but not loosen.
    UntrustedProject,
}

/// The rules of one file.
#[derive(Debug, Clone)]
pub struct Layer {
    origin: Origin,
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
    /// Why what this layer forbids is not known for sure.
    broken: Option<String>,
}

/// What rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// A rule allows it.
    Allow,
    /// A rule asks about it, or may do so.
    Ask(String),
    /// A rule denies it.
    Deny(String),
    /// No rule is about it.
    Silent,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::User => "your rules",
            Origin::TrustedProject | Origin::UntrustedProject => "the project's rules",
        })
    }
}

impl Layer {
    /// Reads the rules of one file. A bad rule is reported and left out; where a bad rule was to forbid something, nothing
    /// happens unasked until it is mended. When an example fails, the rules of this file allow nothing.
    pub fn load(origin: Origin, text: &RuleText) -> (Layer, Vec<Problem>) {
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
        if origin == Origin::UntrustedProject && !allow.is_empty() {
            let message = "the project is not trusted yet, so its rules that allow something are not used";
            problems.push(problem(origin, "allow", message));
            allow.clear();
        }
        let mut layer = Layer {
            origin,
            allow,
            ask,
            deny,
            broken: bad_deny.or(bad_ask),
        };
        // An untrusted project's examples speak of rules that are not used.
        if origin != Origin::UntrustedProject {
            let failed = layer.check(&text.examples);
            if !failed.is_empty() {
                layer.allow.clear();
            }
            problems.extend(failed);
        }
        (layer, problems)
    }

    /// Who wrote it.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The rules that deny, ask and allow, in this order.
    pub fn rules(&self) -> [&[Rule]; 3] {
        [&self.deny, &self.ask, &self.allow]
    }

    fn check(&self, examples: &Examples) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (expected, entries) in [
            ("allow", &examples.allow),
            ("ask", &examples.ask),
            ("deny", &examples.deny),
        ] {
            for entry in entries {
                match self.say(entry) {
                    Ok(found) if found == expected => {}
                    Ok(found) => problems.push(problem(
                        self.origin,
                        entry,
                        &format!("this example must be `{expected}` but the rules say `{found}`"),
                    )),
                    Err(error) => problems.push(problem(self.origin, entry, &error.to_string())),
                }
            }
        }
        problems
    }

    /// What these rules alone say about an example.
    fn say(&self, example: &str) -> Result<&'static str, Error> {
        let places = Places {
            root: "/project".into(),
            home: Some("/home/you".into()),
            temporary: vec!["/tmp".into()],
            ..Places::default()
        };
        let action = Action::parse(example, &places)?;
        let deed = Deed::from(&action);
        let ruling = match deed {
            Deed::Run { command, .. } => self.say_command(command, &places),
            Deed::Read { .. }
            | Deed::Write { .. }
            | Deed::Escalate { .. }
            | Deed::Fetch { .. }
            | Deed::Mcp { .. }
            | Deed::SwitchMode { .. }
            | Deed::Subtask { .. } => on_deed([self], "", &deed, &places),
        };
        Ok(match ruling {
            Ruling::Allow => "allow",
            Ruling::Deny(_) => "deny",
            Ruling::Ask(_) | Ruling::Silent => "ask",
        })
    }

    fn say_command(&self, line: &str, places: &Places) -> Ruling {
        let deed = Deed::Run {
            command: line,
            cwd: &places.root,
        };
        let script = shell::parse(line);
        let whole = on_deed([self], "", &deed, places);
        let mut ruling = match whole {
            Ruling::Silent => Ruling::Allow,
            other => return other,
        };
        for simple in &script.commands {
            match on_command([self], "", simple) {
                Ruling::Deny(why) => return Ruling::Deny(why),
                Ruling::Ask(why) => ruling = Ruling::Ask(why),
                Ruling::Silent if ruling == Ruling::Allow => ruling = Ruling::Silent,
                Ruling::Silent | Ruling::Allow => {}
            }
        }
        for simple in &script.wrappers {
            match on_command([self], "", simple) {
                Ruling::Deny(why) => return Ruling::Deny(why),
                Ruling::Ask(why) => ruling = Ruling::Ask(why),
                Ruling::Silent | Ruling::Allow => {}
            }
        }
        for target in &script.writes {
            let shell::Reach::Known(paths) = target.reach(&places.root, places) else {
                continue;
            };
            for path in paths {
                let place: Place = places.place(&path);
                let write = Deed::Write { path: &path, place };
                match on_deed([self], "", &write, places) {
                    Ruling::Deny(why) => return Ruling::Deny(why),
                    Ruling::Ask(why) => ruling = Ruling::Ask(why),
                    Ruling::Silent if target.by == shell::By::Redirection => ruling = Ruling::Silent,
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

/// What layers of rules say about a deed as a whole: deny before ask before allow, whichever layer it stands in.
pub(crate) fn on_deed<'l>(
    layers: impl IntoIterator<Item = &'l Layer>,
    tool: &str,
    deed: &Deed<'_>,
    places: &Places,
) -> Ruling {
    strictest(layers, |rule, reading| rule.matches(tool, deed, places, reading))
}

/// What layers of rules say about one of the commands in a line.
pub(crate) fn on_command<'l>(layers: impl IntoIterator<Item = &'l Layer>, tool: &str, simple: &Simple) -> Ruling {
    strictest(layers, |rule, reading| rule.matches_command(tool, simple, reading))
}

/// The first reason why what rules forbid is not known for sure.
pub(crate) fn broken<'l>(layers: impl IntoIterator<Item = &'l Layer>) -> Option<String> {
    layers.into_iter().find_map(|layer| {
        let rule = layer.broken.as_ref()?;
        Some(format!("the rule `{rule}` in {} cannot be read", layer.origin))
    })
}

fn strictest<'l>(layers: impl IntoIterator<Item = &'l Layer>, matches: impl Fn(&Rule, Reading) -> Match) -> Ruling {
    let mut ruling = Ruling::Silent;
    for layer in layers {
        for rule in &layer.deny {
            match matches(rule, Reading::Wide) {
                Match::Yes => return Ruling::Deny(format!("{} deny `{rule}`", layer.origin)),
                Match::Maybe => ruling = Ruling::Ask(format!("{} deny `{rule}`, and this may be it", layer.origin)),
                Match::No => {}
            }
        }
        for rule in &layer.ask {
            match matches(rule, Reading::Wide) {
                Match::Yes => ruling = Ruling::Ask(format!("{} ask about `{rule}`", layer.origin)),
                Match::Maybe if !matches!(ruling, Ruling::Ask(_)) => {
                    ruling = Ruling::Ask(format!("{} ask about `{rule}`, and this may be it", layer.origin));
                }
                Match::Maybe | Match::No => {}
            }
        }
        for rule in &layer.allow {
            if ruling == Ruling::Silent && matches(rule, Reading::Narrow) == Match::Yes {
                ruling = Ruling::Allow;
            }
        }
    }
    ruling
}

fn problem(origin: Origin, entry: &str, message: &str) -> Problem {
    Problem {
        file: origin.to_string(),
        entry: entry.to_owned(),
        message: message.to_owned(),
    }
}
