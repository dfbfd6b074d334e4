//! Decides about actions by mode, level, rules, grants, hidden and protected files.
//!
//! The order is: the mode, unconditional refusals, hidden files, the level, deny rules, grants for exactly this action,
//! ask rules, protected files, allow rules, and finally the approval settings.

use crate::paths::ProjectPaths;
use crate::rules::approval::{ApprovalMode, ApprovalSettings, AutoApproval};
use crate::rules::grant::Grants;
use crate::rules::layer::{self, RuleLayer, Ruling};
use crate::rules::suggestions::command_rules;
use crate::rules::{Match, MatchMode};
use crate::shell::{self, CommandDanger, ResolvedTarget, Script, SimpleCommand, TargetSource};
use crate::{AccessLevel, Action, Decision, IgnoreRules, Mode, PathArea, ProtectedPaths, Rule};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of reasons in a message.
const MAX_REASONS: usize = 3;

/// Everything that decides about actions. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    /// The rules by layer.
    pub rules: Arc<Vec<RuleLayer>>,
    /// The grants.
    pub grants: Arc<Grants>,
    /// Reference directories for paths. Without a project directory, nothing is known about where commands write.
    pub project: Arc<ProjectPaths>,
    /// The hidden paths.
    pub ignore: Arc<IgnoreRules>,
    /// The protected files.
    pub protected: Arc<ProtectedPaths>,
    /// Approval settings; the level determines unset values.
    pub approval: ApprovalSettings,
}

impl Permissions {
    /// Decides about one action of one tool.
    pub fn decide(&self, level: AccessLevel, mode: &Mode, tool: &str, action: &Action) -> Decision {
        if let Err(violation) = mode.permits(action, &self.project) {
            return deny(&violation.to_string());
        }
        let approval = self.approval.resolve(level);
        match action {
            Action::Read { path, place } => {
                if self.ignore.hides(path, &self.project) {
                    return hidden(path);
                }
                let auto = match place {
                    PathArea::Inside => approval.reads,
                    PathArea::Outside => approval.reads_outside,
                };
                self.decide_single(
                    tool,
                    action,
                    auto,
                    &location_reason(path, *place, "reading", &self.project),
                )
            }
            Action::Write { path, place } => {
                if self.ignore.hides(path, &self.project) {
                    return hidden(path);
                }
                if level == AccessLevel::ReadOnly {
                    return deny("changing files is not allowed in this run");
                }
                // A changed file is shown, and a moved one could be read.
                if let Some(why) = self.read_denial(path) {
                    return Decision::Deny { why };
                }
                self.write(tool, path, *place, &approval)
            }
            Action::Run { command, cwd } => {
                let script = shell::parse(command);
                match shell::command_danger(&script, cwd, &self.project) {
                    Some(CommandDanger::Refused(why)) => Decision::Deny { why },
                    danger if level != AccessLevel::ReadOnly => {
                        self.run(level, tool, action, &script, cwd, &approval, danger)
                    }
                    _ => deny("running commands is not allowed in this run"),
                }
            }
            Action::Escalate { command, cwd } => {
                let script = shell::parse(command);
                match shell::command_danger(&script, cwd, &self.project) {
                    Some(CommandDanger::Refused(why)) => Decision::Deny { why },
                    _ if level == AccessLevel::ReadOnly => deny("running commands is not allowed in this run"),
                    _ => {
                        let auto = match level {
                            AccessLevel::Full => ApprovalMode::Allow,
                            AccessLevel::ReadOnly | AccessLevel::Workspace => ApprovalMode::Ask,
                        };
                        self.decide_single(tool, action, auto, "it would run outside the sandbox")
                    }
                }
            }
            Action::Fetch { url } => {
                self.decide_single(tool, action, approval.fetches, &format!("{url} would be fetched"))
            }
            Action::Mcp { server, tool: name } => {
                let why = format!("`{name}` of the MCP server `{server}` may do anything");
                self.decide_single(tool, action, approval.mcp, &why)
            }
            Action::SwitchMode { to } => self.decide_single(
                tool,
                action,
                approval.mode_switches,
                &format!("it would switch to the mode `{to}`"),
            ),
            Action::Subtask { mode } => {
                let why = format!("it would start a subtask in the mode `{mode}`");
                self.decide_single(tool, action, approval.subtasks, &why)
            }
        }
    }

    /// Whether a deny rule forbids every tool to read a path. Such a path is treated as hidden.
    pub fn denies_reading(&self, path: &Path) -> bool {
        self.denying(|rule| rule.forbids_reading(path, &self.project)).is_some()
    }

    /// Whether a deny rule forbids every tool to change a path.
    pub fn denies_writing(&self, path: &Path) -> bool {
        self.denying(|rule| rule.forbids_writing(path, &self.project)).is_some()
    }

    /// Whether there are deny rules for reading, and for changing files.
    pub fn denies_files(&self) -> (bool, bool) {
        let has = |is_about: fn(&Rule) -> bool| {
            self.denying(|rule| is_about(rule) && !rule.is_about_commands())
                .is_some()
        };
        (has(Rule::is_about_reads), has(Rule::is_about_writes))
    }

    /// Paths outside the project that deny rules for reading name, or folders that contain all of their matches.
    pub fn denied_bases(&self) -> Vec<PathBuf> {
        self.deny_rules()
            .filter_map(|rule| rule.read_base(&self.project))
            .collect()
    }

    /// Paths that deny rules for changing files name without wildcards, whether they exist or not.
    pub fn unwritable_paths(&self) -> Vec<PathBuf> {
        self.deny_rules()
            .filter_map(|rule| rule.written_path(&self.project))
            .collect()
    }

    fn deny_rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().flat_map(|layer| layer.rules()[0])
    }

    fn denying(&self, forbids: impl Fn(&Rule) -> bool) -> Option<&Rule> {
        self.deny_rules().find(|rule| forbids(rule))
    }

    fn read_denial(&self, path: &Path) -> Option<String> {
        let rule = self.denying(|rule| rule.forbids_reading(path, &self.project))?;
        Some(format!("the rule `{rule}` denies access to {}", path.display()))
    }

    /// Suggests rules for not asking again, the exact one first. An entry with several rules covers the commands of a line.
    pub fn suggest(&self, action: &Action) -> Vec<Vec<Rule>> {
        let texts = match action {
            Action::Run { command, .. } => {
                let script = shell::parse(command);
                let commands = script.commands.iter();
                let commands: Vec<_> = commands.filter(|simple| !self.is_neutral(simple, action)).collect();
                match script.unclear.is_empty() {
                    true => command_rules(&commands),
                    false => Vec::new(),
                }
            }
            Action::Read { path, .. } => self.folder_pattern("read", path).into_iter().collect(),
            Action::Write { path, .. } => self.folder_pattern("write", path).into_iter().collect(),
            Action::Mcp { server, .. } => vec![format!("mcp(={server})")],
            Action::Escalate { .. } | Action::Fetch { .. } | Action::SwitchMode { .. } | Action::Subtask { .. } => {
                Vec::new()
            }
        };
        let broader: Vec<Rule> = texts.iter().filter_map(|text| text.parse().ok()).collect();
        let exact = Rule::exact(action).map(|rule| vec![rule]);
        let broader = Some(broader).filter(|rules| !rules.is_empty());
        exact.into_iter().chain(broader).collect()
    }

    fn folder_pattern(&self, verb: &str, path: &Path) -> Option<String> {
        let folder = self.project.relative(path)?;
        let folder = folder.parent()?.to_str().filter(|folder| !folder.is_empty())?;
        Some(format!("{verb}({}/**)", globset::escape(folder)))
    }

    /// Decides about an action that consists of one step.
    fn decide_single(&self, tool: &str, action: &Action, auto: ApprovalMode, why: &str) -> Decision {
        match layer::rule_on_action(self.rules.iter(), tool, action, &self.project) {
            Ruling::Deny(why) => Decision::Deny { why },
            _ if self.grants.covers(tool, action, &self.project) => Decision::Allow,
            Ruling::Ask(why) => Decision::Ask { why },
            ruling => match (layer::unreadable_rule(self.rules.iter()), ruling, auto) {
                (Some(why), ..) => Decision::Ask { why },
                (None, Ruling::Allow, _) | (None, _, ApprovalMode::Allow) => Decision::Allow,
                (None, _, ApprovalMode::Ask) => Decision::Ask { why: why.to_owned() },
            },
        }
    }

    fn write(&self, tool: &str, path: &Path, place: PathArea, approval: &AutoApproval) -> Decision {
        let place = match self.project.is_on_whole_disk(path) {
            true => PathArea::Outside,
            false => place,
        };
        let action = Action::Write {
            path: path.to_owned(),
            place,
        };
        let auto = match place {
            PathArea::Inside => approval.writes,
            PathArea::Outside => approval.writes_outside,
        };
        let decision = self.decide_single(
            tool,
            &action,
            auto,
            &location_reason(path, place, "changing", &self.project),
        );
        let protected = self.protected.covers(path, &self.project);
        // A rule such as `**` is not meant for protected files; only a grant for exactly this file is.
        if decision == Decision::Allow
            && protected
            && approval.writes_protected == ApprovalMode::Ask
            && !self.grants.covers(tool, &action, &self.project)
        {
            return Decision::Ask {
                why: format!("{} configures hew or an editor", path.display()),
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
        level: AccessLevel,
        tool: &str,
        action: &Action,
        script: &Script,
        cwd: &Path,
        approval: &AutoApproval,
        danger: Option<CommandDanger>,
    ) -> Decision {
        if let Some(path) = self.ignore.disclosed_by(script, cwd, &self.project) {
            return hidden(&path);
        }
        let mut review = self.review_commands(tool, action, script);
        if let Some(why) = review.denied {
            return Decision::Deny { why };
        }
        for decision in self.writes(tool, script, cwd, approval, review.covered) {
            match decision {
                Decision::Deny { why } => return Decision::Deny { why },
                Decision::Ask { why } => review.reasons.push(why),
                Decision::Allow => {}
            }
        }
        for ruling in self.reads(tool, script, cwd) {
            match ruling {
                Ruling::Deny(why) => return Decision::Deny { why },
                Ruling::Ask(why) => review.reasons.push(why),
                Ruling::Allow | Ruling::Silent => {}
            }
        }
        if self.grants.covers(tool, action, &self.project) {
            return Decision::Allow;
        }
        review.reasons.extend(layer::unreadable_rule(self.rules.iter()));
        if let Some(CommandDanger::Uncertain(why)) = danger
            && level != AccessLevel::Full
        {
            review.reasons.push(why);
        }
        let asks = approval.commands == ApprovalMode::Ask && !review.covered;
        // An unparsed part may contain something that the rules forbid.
        if asks || self.forbids(Rule::is_about_commands) {
            review.reasons.extend(script.unclear.iter().map(ToString::to_string));
        }
        if asks {
            review.reasons.extend(uncovered_reason(review.uncovered));
        }
        match review.reasons.is_empty() {
            true => Decision::Allow,
            false => Decision::Ask {
                why: join_reasons(review.reasons),
            },
        }
    }

    /// Evaluates the rules for every command of a line.
    fn review_commands(&self, tool: &str, action: &Action, script: &Script) -> CommandReview {
        let mut review = CommandReview::default();
        let mut whole = false;
        match layer::rule_on_action(self.rules.iter(), tool, action, &self.project) {
            Ruling::Deny(why) => review.denied = Some(why),
            Ruling::Ask(why) => review.reasons.push(why),
            Ruling::Allow => whole = true,
            Ruling::Silent => {}
        }
        for simple in &script.commands {
            match layer::rule_on_command(self.rules.iter(), tool, simple) {
                Ruling::Deny(why) => review.denied = review.denied.or(Some(why)),
                Ruling::Ask(why) => review.reasons.push(why),
                Ruling::Allow => {}
                Ruling::Silent if self.is_granted(tool, simple) || self.is_neutral(simple, action) => {}
                Ruling::Silent => review.uncovered.push(short(simple)),
            }
        }
        for simple in &script.wrappers {
            match layer::rule_on_command(self.rules.iter(), tool, simple) {
                Ruling::Deny(why) => review.denied = review.denied.or(Some(why)),
                Ruling::Ask(why) => review.reasons.push(why),
                Ruling::Allow | Ruling::Silent => {}
            }
        }
        review.covered = whole || (review.uncovered.is_empty() && script.unclear.is_empty());
        review
    }

    fn is_granted(&self, tool: &str, simple: &SimpleCommand) -> bool {
        self.grants.iter().any(|grant| {
            grant.tool == tool && grant.rule.matches_command(tool, simple, MatchMode::Narrow) == Match::Yes
        })
    }

    /// Whether a command only affects its own line.
    fn is_neutral(&self, simple: &SimpleCommand, action: &Action) -> bool {
        let Action::Run { cwd, .. } = action else { return false };
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
            Some("cd") => match shell::cd_target(simple).map(|target| target.resolve(cwd, &self.project)) {
                Some(ResolvedTarget::Known(paths)) => paths.iter().all(|path| self.is_writable_area(path)),
                Some(ResolvedTarget::Discarded | ResolvedTarget::Unknown) | None => false,
            },
            _ => false,
        }
    }

    fn is_writable_area(&self, path: &Path) -> bool {
        self.project.area_of(path) == PathArea::Inside || self.project.is_temporary(path)
    }

    /// Evaluates the read rules for every file that a line may disclose.
    fn reads(&self, tool: &str, script: &Script, cwd: &Path) -> Vec<Ruling> {
        if !self.forbids(Rule::is_about_reads) {
            return Vec::new();
        }
        let ruling = |path: &Path| {
            let place = self.project.area_of(path);
            let read = Action::Read {
                path: path.to_owned(),
                place,
            };
            layer::rule_on_action(self.rules.iter(), tool, &read, &self.project)
        };
        let shown = script.disclosed_paths(cwd, &self.project);
        shown.iter().map(|shown| ruling(&shown.path)).collect()
    }

    /// Whether a deny or ask rule of some kind exists.
    fn forbids(&self, kind: impl Fn(&Rule) -> bool) -> bool {
        self.rules.iter().any(|layer| {
            let [deny, ask, _] = layer.rules();
            deny.iter().chain(ask).any(&kind)
        })
    }

    /// Decides about every file that a line writes.
    fn writes(&self, tool: &str, script: &Script, cwd: &Path, approval: &AutoApproval, covered: bool) -> Vec<Decision> {
        let mut decisions = Vec::new();
        if self.project.root.as_os_str().is_empty() {
            return decisions;
        }
        for target in &script.writes {
            let paths = match target.resolve(cwd, &self.project) {
                ResolvedTarget::Known(paths) => paths,
                ResolvedTarget::Discarded => continue,
                ResolvedTarget::Unknown => {
                    // If only rules confine commands, an unknown file is not covered.
                    let confined = approval.commands == ApprovalMode::Allow && !covered;
                    let by_shell =
                        target.by == TargetSource::Redirection && approval.writes_outside == ApprovalMode::Ask;
                    if self.forbids(Rule::is_about_writes) || (by_shell && !confined) {
                        decisions.push(Decision::Ask {
                            why: format!("where it writes through `{}` is only known at run time", target.path),
                        });
                    }
                    continue;
                }
            };
            for path in paths {
                if self.ignore.hides(&path, &self.project) && target.by == TargetSource::Redirection {
                    decisions.push(hidden(&path));
                }
                let place = self.project.area_of(&path);
                // What a program does to its own files depends on the rules for that program.
                let own = target.by == TargetSource::Program && place == PathArea::Inside;
                let approval = AutoApproval {
                    writes: if own { ApprovalMode::Allow } else { approval.writes },
                    writes_outside: if self.project.is_temporary(&path) {
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

/// The rules' results for the commands of a line.
#[derive(Default)]
struct CommandReview {
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

fn location_reason(path: &Path, place: PathArea, doing: &str, project: &ProjectPaths) -> String {
    match place {
        PathArea::Outside if project.is_on_whole_disk(path) => {
            format!(
                "{doing} {} needs approval, because the project is the whole disk",
                path.display()
            )
        }
        PathArea::Outside => format!("{} is outside the project", path.display()),
        PathArea::Inside => {
            let relative = project.relative(path).filter(|path| !path.as_os_str().is_empty());
            format!(
                "{doing} {} needs approval",
                relative.as_deref().unwrap_or(path).display()
            )
        }
    }
}

/// The commands of a line that no rule covers.
fn uncovered_reason(mut commands: Vec<String>) -> Option<String> {
    let mut seen = Vec::new();
    commands.retain(|command| {
        let is_new = !seen.contains(command);
        seen.push(command.clone());
        is_new
    });
    let more = commands.len().saturating_sub(MAX_REASONS);
    commands.truncate(MAX_REASONS);
    if commands.is_empty() {
        return None;
    }
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("no rule covers `{}`{more}", commands.join("`, `")))
}

fn short(simple: &SimpleCommand) -> String {
    let text = simple.to_string();
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn join_reasons(mut reasons: Vec<String>) -> String {
    let mut seen = Vec::new();
    reasons.retain(|reason| {
        let new = !seen.contains(reason);
        seen.push(reason.clone());
        new
    });
    let more = reasons.len().saturating_sub(MAX_REASONS);
    reasons.truncate(MAX_REASONS);
    let mut text = reasons.join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    text
}
