//! Everything that decides whether a deed happens: mode, level, rules, remembered answers, hidden and protected files.
//!
//! The order is: what the mode is for, what is refused whatever the rules say, what is hidden, what the level forbids, rules
//! that deny, answers that were remembered for exactly this, rules that ask, protected files, rules that allow, and last what
//! the settings let happen unasked.

use crate::approval::{Approval, Auto, Settings};
use crate::grant::Grants;
use crate::layer::{self, Layer, Ruling};
use crate::places::Places;
use crate::rule::{Match, Reading};
use crate::shell::{self, By, Danger, Reach, Script, Simple};
use crate::{Decision, Deed, Ignore, Level, Mode, Place, Protected, Rule};
use std::path::Path;
use std::sync::Arc;

/// At most this many reasons are told at once.
const MOST_REASONS: usize = 3;

/// Everything that decides whether a deed happens. Cloning it is cheap.
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    /// The rules, layer by layer.
    pub rules: Arc<Vec<Layer>>,
    /// The answers that are remembered.
    pub grants: Arc<Grants>,
    /// The folders that paths are judged by. Without a project folder, nothing is known about where commands write.
    pub places: Arc<Places>,
    /// The paths that are hidden.
    pub ignore: Arc<Ignore>,
    /// The files that are protected.
    pub protected: Arc<Protected>,
    /// What happens unasked; where it says nothing, what the level lets happen.
    pub approval: Settings,
}

impl Permissions {
    /// Decides about one deed of one tool.
    pub fn decide(&self, level: Level, mode: &Mode, tool: &str, deed: &Deed<'_>) -> Decision {
        if let Err(why) = mode.permits(deed, &self.places) {
            return Decision::Deny { why };
        }
        let approval = self.approval.over(level);
        match *deed {
            Deed::Read { path, place } => {
                if self.ignore.hides(path, &self.places) {
                    return hidden(path);
                }
                let auto = match place {
                    Place::Inside => approval.reads,
                    Place::Outside => approval.reads_outside,
                };
                self.simply(tool, deed, auto, &outside(path, place, "reading"))
            }
            Deed::Write { path, place } => {
                if self.ignore.hides(path, &self.places) {
                    return hidden(path);
                }
                if level == Level::ReadOnly {
                    return deny("this run may not change files");
                }
                self.write(tool, path, place, &approval)
            }
            Deed::Run { command, cwd } => {
                let script = shell::parse(command);
                match shell::refusal(&script, cwd, &self.places) {
                    Some(Danger::Refused(why)) => Decision::Deny { why },
                    doubt if level != Level::ReadOnly => self.run(level, tool, deed, &script, cwd, &approval, doubt),
                    _ => deny("this run may not run commands"),
                }
            }
            Deed::Escalate { command, cwd } => {
                let script = shell::parse(command);
                match shell::refusal(&script, cwd, &self.places) {
                    Some(Danger::Refused(why)) => Decision::Deny { why },
                    _ if level == Level::ReadOnly => deny("this run may not run commands"),
                    _ => {
                        let auto = match level {
                            Level::Full => Auto::Allow,
                            Level::ReadOnly | Level::Workspace => Auto::Ask,
                        };
                        self.simply(tool, deed, auto, "it would run outside the sandbox")
                    }
                }
            }
            Deed::Fetch { url } => self.simply(tool, deed, approval.fetches, &format!("{url} would be fetched")),
            Deed::Mcp { server, tool: name } => {
                let why = format!("`{name}` of the MCP server `{server}` may do anything");
                self.simply(tool, deed, approval.mcp, &why)
            }
            Deed::SwitchMode { to } => self.simply(
                tool,
                deed,
                approval.mode_switches,
                &format!("it would go on in the mode `{to}`"),
            ),
            Deed::Subtask { mode } => {
                let why = format!("a part of the work would go to a conversation in the mode `{mode}`");
                self.simply(tool, deed, approval.subtasks, &why)
            }
        }
    }

    /// Rules that could be offered to a person who does not want to be asked again, the exact one first.
    pub fn suggest(&self, deed: &Deed<'_>) -> Vec<Rule> {
        let mut texts = Vec::new();
        match *deed {
            Deed::Run { command, .. } => texts.extend(command_patterns(&shell::parse(command))),
            Deed::Read { path, .. } => texts.extend(self.folder_pattern("read", path)),
            Deed::Write { path, .. } => texts.extend(self.folder_pattern("write", path)),
            Deed::Mcp { server, .. } => texts.push(format!("mcp(={server})")),
            Deed::Escalate { .. } | Deed::Fetch { .. } | Deed::SwitchMode { .. } | Deed::Subtask { .. } => {}
        }
        let broader = texts.iter().filter_map(|text| text.parse().ok());
        Rule::exactly(deed).into_iter().chain(broader).collect()
    }

    fn folder_pattern(&self, verb: &str, path: &Path) -> Option<String> {
        let folder = self.places.relative(path)?;
        let folder = folder.parent()?.to_str().filter(|folder| !folder.is_empty())?;
        Some(format!("{verb}({}/**)", globset::escape(folder)))
    }

    /// A deed that is one thing.
    fn simply(&self, tool: &str, deed: &Deed<'_>, auto: Auto, why: &str) -> Decision {
        match layer::on_deed(self.rules.iter(), tool, deed, &self.places) {
            Ruling::Deny(why) => Decision::Deny { why },
            _ if self.grants.cover(tool, deed, &self.places) => Decision::Allow,
            Ruling::Ask(why) => Decision::Ask { why },
            ruling => match (layer::broken(self.rules.iter()), ruling, auto) {
                (Some(why), ..) => Decision::Ask { why },
                (None, Ruling::Allow, _) | (None, _, Auto::Allow) => Decision::Allow,
                (None, _, Auto::Ask) => Decision::Ask { why: why.to_owned() },
            },
        }
    }

    fn write(&self, tool: &str, path: &Path, place: Place, approval: &Approval) -> Decision {
        let deed = Deed::Write { path, place };
        let auto = match place {
            Place::Inside => approval.writes,
            Place::Outside => approval.writes_outside,
        };
        let decision = self.simply(tool, &deed, auto, &outside(path, place, "changing"));
        let protected = self.protected.covers(path, &self.places);
        // A rule that allows `**` hardly means these; only an answer about exactly this file does.
        if decision == Decision::Allow
            && protected
            && approval.writes_protected == Auto::Ask
            && !self.grants.cover(tool, &deed, &self.places)
        {
            return Decision::Ask {
                why: format!("{} steers hew or an editor", path.display()),
            };
        }
        decision
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "one call site, and each is a different thing to weigh"
    )]
    fn run(
        &self,
        level: Level,
        tool: &str,
        deed: &Deed<'_>,
        script: &Script,
        cwd: &Path,
        approval: &Approval,
        doubt: Option<Danger>,
    ) -> Decision {
        if let Some(path) = self.ignore.shown_by(script, cwd, &self.places) {
            return hidden(&path);
        }
        let mut weighed = self.weigh(tool, deed, script);
        if let Some(why) = weighed.denied {
            return Decision::Deny { why };
        }
        for decision in self.writes(tool, script, cwd, approval, weighed.covered) {
            match decision {
                Decision::Deny { why } => return Decision::Deny { why },
                Decision::Ask { why } => weighed.reasons.push(why),
                Decision::Allow => {}
            }
        }
        for ruling in self.reads(tool, script, cwd) {
            match ruling {
                Ruling::Deny(why) => return Decision::Deny { why },
                Ruling::Ask(why) => weighed.reasons.push(why),
                Ruling::Allow | Ruling::Silent => {}
            }
        }
        if self.grants.cover(tool, deed, &self.places) {
            return Decision::Allow;
        }
        weighed.reasons.extend(layer::broken(self.rules.iter()));
        if let Some(Danger::Doubtful(why)) = doubt
            && level != Level::Full
        {
            weighed.reasons.push(why);
        }
        let asks = approval.commands == Auto::Ask && !weighed.covered;
        // What cannot be read may hide what the rules forbid.
        if asks || self.forbids(Rule::is_about_commands) {
            weighed.reasons.extend(script.unclear.iter().map(ToString::to_string));
        }
        if asks {
            let uncovered = weighed.uncovered.iter();
            weighed
                .reasons
                .extend(uncovered.map(|command| format!("no rule covers `{command}`")));
        }
        match weighed.reasons.is_empty() {
            true => Decision::Allow,
            false => Decision::Ask {
                why: told(weighed.reasons),
            },
        }
    }

    /// What the rules say about every command in a line.
    fn weigh(&self, tool: &str, deed: &Deed<'_>, script: &Script) -> Weighed {
        let mut weighed = Weighed::default();
        let mut whole = false;
        match layer::on_deed(self.rules.iter(), tool, deed, &self.places) {
            Ruling::Deny(why) => weighed.denied = Some(why),
            Ruling::Ask(why) => weighed.reasons.push(why),
            Ruling::Allow => whole = true,
            Ruling::Silent => {}
        }
        for simple in &script.commands {
            match layer::on_command(self.rules.iter(), tool, simple) {
                Ruling::Deny(why) => weighed.denied = weighed.denied.or(Some(why)),
                Ruling::Ask(why) => weighed.reasons.push(why),
                Ruling::Allow => {}
                Ruling::Silent if self.is_granted(tool, simple) || self.is_neutral(simple, deed) => {}
                Ruling::Silent => weighed.uncovered.push(short(simple)),
            }
        }
        for simple in &script.wrappers {
            match layer::on_command(self.rules.iter(), tool, simple) {
                Ruling::Deny(why) => weighed.denied = weighed.denied.or(Some(why)),
                Ruling::Ask(why) => weighed.reasons.push(why),
                Ruling::Allow | Ruling::Silent => {}
            }
        }
        weighed.covered = whole || (weighed.uncovered.is_empty() && script.unclear.is_empty());
        weighed
    }

    fn is_granted(&self, tool: &str, simple: &Simple) -> bool {
        self.grants
            .iter()
            .any(|grant| grant.tool == tool && grant.rule.matches_command(tool, simple, Reading::Narrow) == Match::Yes)
    }

    /// Whether a command only steers the line it is in.
    fn is_neutral(&self, simple: &Simple, deed: &Deed<'_>) -> bool {
        let Deed::Run { cwd, .. } = deed else { return false };
        match simple.program().as_deref() {
            Some(":" | "true" | "false" | "pwd" | "exit" | "return" | "break" | "continue" | "shift" | "wait") => true,
            Some("local" | "export" | "readonly" | "declare" | "typeset" | "unset") => {
                simple.words[1..].iter().all(|word| {
                    word.plain()
                        .is_some_and(|text| !text.starts_with("-n") && !text.starts_with("-f"))
                })
            }
            Some("set") => simple.words[1..].iter().all(|word| {
                word.plain().is_some_and(|text| {
                    matches!(
                        text.as_str(),
                        "-e" | "-u" | "-x" | "-o" | "pipefail" | "-eu" | "-ex" | "-euo" | "-euxo"
                    )
                })
            }),
            Some("cd") => match shell::cd_target(simple).map(|target| target.reach(cwd, &self.places)) {
                Some(Reach::Known(paths)) => paths.iter().all(|path| self.is_workplace(path)),
                Some(Reach::Nowhere | Reach::Unknown) | None => false,
            },
            _ => false,
        }
    }

    fn is_workplace(&self, path: &Path) -> bool {
        self.places.place(path) == Place::Inside || self.places.is_temporary(path)
    }

    /// What the rules about reading say about every file that a line may show.
    fn reads(&self, tool: &str, script: &Script, cwd: &Path) -> Vec<Ruling> {
        if !self.forbids(Rule::is_about_reads) {
            return Vec::new();
        }
        let ruling = |path: &Path| {
            let place = self.places.place(path);
            layer::on_deed(self.rules.iter(), tool, &Deed::Read { path, place }, &self.places)
        };
        let shown = script.shown(cwd, &self.places);
        shown.iter().map(|shown| ruling(&shown.path)).collect()
    }

    /// Whether a rule of some kind denies or asks.
    fn forbids(&self, kind: impl Fn(&Rule) -> bool) -> bool {
        self.rules.iter().any(|layer| {
            let [deny, ask, _] = layer.rules();
            deny.iter().chain(ask).any(&kind)
        })
    }

    /// What is decided about every file that a line writes.
    fn writes(&self, tool: &str, script: &Script, cwd: &Path, approval: &Approval, covered: bool) -> Vec<Decision> {
        let mut decisions = Vec::new();
        if self.places.root.as_os_str().is_empty() {
            return decisions;
        }
        for target in &script.writes {
            let paths = match target.reach(cwd, &self.places) {
                Reach::Known(paths) => paths,
                Reach::Nowhere => continue,
                Reach::Unknown => {
                    // Where nothing is confined but by rules, a file that nobody can name is not covered.
                    let confined = approval.commands == Auto::Allow && !covered;
                    let by_shell = target.by == By::Redirection && approval.writes_outside == Auto::Ask;
                    if self.forbids(Rule::is_about_writes) || (by_shell && !confined) {
                        decisions.push(Decision::Ask {
                            why: format!("where it writes by `{}` shows only when it runs", target.path),
                        });
                    }
                    continue;
                }
            };
            for path in paths {
                if self.ignore.hides(&path, &self.places) && target.by == By::Redirection {
                    decisions.push(hidden(&path));
                }
                let place = self.places.place(&path);
                // What a program does to its own files is a matter of the rules about that program.
                let own = target.by == By::Program && place == Place::Inside;
                let approval = Approval {
                    writes: if own { Auto::Allow } else { approval.writes },
                    writes_outside: if self.places.is_temporary(&path) {
                        approval.writes.max(approval.commands)
                    } else {
                        approval.writes_outside
                    },
                    ..*approval
                };
                decisions.push(self.write(tool, &path, place, &approval));
            }
        }
        decisions
    }
}

/// What the rules say about the commands in a line.
#[derive(Default)]
struct Weighed {
    denied: Option<String>,
    reasons: Vec<String>,
    uncovered: Vec<String>,
    covered: bool,
}

fn hidden(path: &Path) -> Decision {
    Decision::Deny {
        why: format!("{} is hidden by an ignore file", path.display()),
    }
}

fn deny(why: &str) -> Decision {
    Decision::Deny { why: why.into() }
}

fn outside(path: &Path, place: Place, doing: &str) -> String {
    match place {
        Place::Outside => format!("{} is outside the project", path.display()),
        Place::Inside => format!("{doing} {} needs a yes", path.display()),
    }
}

fn short(simple: &Simple) -> String {
    let text = simple.to_string();
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn told(mut reasons: Vec<String>) -> String {
    let mut seen = Vec::new();
    reasons.retain(|reason| {
        let new = !seen.contains(reason);
        seen.push(reason.clone());
        new
    });
    let more = reasons.len().saturating_sub(MOST_REASONS);
    reasons.truncate(MOST_REASONS);
    let mut text = reasons.join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    text
}

/// Patterns that would cover every command in a line: its program and, where it has one, its subcommand.
fn command_patterns(script: &Script) -> Vec<String> {
    let mut patterns = Vec::new();
    if !script.unclear.is_empty() {
        return patterns;
    }
    for simple in &script.commands {
        let Some(program) = simple.program() else {
            return Vec::new();
        };
        // What such a program does is not told by its name.
        if program.contains('/')
            || shell::is_shell(&program)
            || shell::is_interpreter(&program)
            || !simple.env.is_empty()
        {
            return Vec::new();
        }
        let subcommand = simple.words.get(1).and_then(shell::Word::plain).filter(|word| {
            !word.is_empty()
                && word
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
                && !word.starts_with('-')
        });
        let pattern = match subcommand {
            Some(subcommand) => format!("run({program} {subcommand})"),
            None => format!("run({program})"),
        };
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    patterns
}
