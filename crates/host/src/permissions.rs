//! Permission rules, and hidden and protected files, from the configuration and the project.

use crate::config::{ApprovalConfig, ConfigLayer, ConfigOrigin, HookConfig, PermissionsConfig};
use crate::environment::ProcessEnv;
use crate::grants;
use crate::paths;
use crate::roots;
use crate::trust::ProjectTrust;
use context::{FileOrigin, ReadRefusal};
use policy::{
    Action, ApprovalSettings, IGNORE_FILES, IgnoreRules, Match, MatchMode, Permissions, Policy, ProjectPaths,
    ProtectedPaths, Rule, RuleOrigin,
};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workspace::Workspace;

/// The maximum size of an ignore file.
const MAX_BYTES: u64 = 1024 * 1024;

/// Loads the permissions in a project. Returns problems with rules and ignore files.
pub fn load(layers: &[ConfigLayer], trust: ProjectTrust, root: &Path, env: &ProcessEnv) -> (Permissions, Vec<String>) {
    let mut warnings = Vec::new();
    let mut rules = Vec::new();
    let mut approval = ApprovalSettings::default();
    for layer in layers {
        let origin = match (&layer.origin, trust) {
            (ConfigOrigin::Project(_), ProjectTrust::Trusted) => policy::RuleOrigin::TrustedProject,
            (ConfigOrigin::Project(_), ProjectTrust::Declined | ProjectTrust::Unknown) => {
                policy::RuleOrigin::UntrustedProject
            }
            (ConfigOrigin::BuiltIn | ConfigOrigin::User(_) | ConfigOrigin::Variable(_) | ConfigOrigin::Flag(_), _) => {
                policy::RuleOrigin::User
            }
        };
        // Each layer has been checked already.
        let configured = layer
            .table
            .get("permissions")
            .and_then(|value| PermissionsConfig::deserialize(value.clone()).ok());
        if let Some(configured) = configured {
            let (layer, problems) = policy::RuleLayer::load(origin, &(&configured).into());
            warnings.extend(problems.iter().map(ToString::to_string));
            rules.push(layer);
        }
        let configured = layer
            .table
            .get("approval")
            .and_then(|value| ApprovalConfig::deserialize(value.clone()).ok());
        if let Some(configured) = configured {
            approval = match origin {
                policy::RuleOrigin::UntrustedProject => approval.tightened((&configured).into()),
                policy::RuleOrigin::User | policy::RuleOrigin::TrustedProject => {
                    approval.overlaid((&configured).into())
                }
            };
        }
    }
    let (more, problems) = roots::find(root, layers, env);
    warnings.extend(problems);
    let (ignore, problems) = load_ignore_files([root].into_iter().chain(more.iter().map(PathBuf::as_path)));
    warnings.extend(problems);
    let (protected, problems) = ProtectedPaths::new(&merged_list::<String>(layers, "protected"));
    warnings.extend(problems.iter().map(ToString::to_string));
    let permissions = Permissions {
        rules: Arc::new(rules),
        project: Arc::new(ProjectPaths {
            more,
            ..policy_paths(root, env)
        }),
        ignore: Arc::new(ignore),
        protected: Arc::new(protected),
        approval,
        ..Permissions::default()
    };
    (permissions, warnings)
}

/// The hooks of all layers.
pub fn hooks(layers: &[ConfigLayer]) -> Vec<HookConfig> {
    merged_list(layers, "hooks")
}

/// The entries of a list in all layers together.
pub(crate) fn merged_list<T: for<'de> Deserialize<'de>>(layers: &[ConfigLayer], key: &str) -> Vec<T> {
    let values = layers.iter().filter_map(|layer| layer.table.get(key));
    values
        .filter_map(|value| Vec::<T>::deserialize(value.clone()).ok())
        .flatten()
        .collect()
}

/// The directories that rules refer to.
pub fn policy_paths(root: &Path, env: &ProcessEnv) -> ProjectPaths {
    let canonical = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let mut temporary: Vec<PathBuf> = ["/tmp", "/var/tmp"].into_iter().map(PathBuf::from).collect();
    temporary.extend(env.get("TMPDIR").map(PathBuf::from).filter(|path| path.is_absolute()));
    ProjectPaths {
        root: root.into(),
        home: paths::home_dir(env).map(canonical),
        temporary: temporary.into_iter().map(canonical).collect(),
        private: paths::private_paths(env),
        ..ProjectPaths::default()
    }
}

/// Loads the ignore files of all directories of a project.
fn load_ignore_files<'a>(roots: impl Iterator<Item = &'a Path>) -> (IgnoreRules, Vec<String>) {
    let mut warnings = Vec::new();
    let mut texts = Vec::new();
    for root in roots {
        let Ok(workspace) = &Workspace::open(root) else {
            continue;
        };
        let top = &context::repository_root(workspace);
        for name in IGNORE_FILES {
            match (FileOrigin::Project { workspace, top }).read(&root.join(name), MAX_BYTES + 1) {
                Ok(bytes) if bytes.len() as u64 > MAX_BYTES => {
                    warnings.push(format!("{name} is larger than 1 MiB and is ignored"));
                }
                Ok(bytes) => texts.push((name, String::from_utf8_lossy(&bytes).into_owned())),
                Err(ReadRefusal::Unreadable(error)) => warnings.push(format!("cannot read {name}: {error}")),
                Err(ReadRefusal::OutsideProject) => {
                    warnings.push(format!("{name} is ignored, because it leads out of the project"))
                }
                Err(ReadRefusal::Missing) => {}
            }
        }
    }
    let (ignore, problems) = IgnoreRules::new(texts.iter().map(|(name, text)| (*name, text.as_str())));
    warnings.extend(problems.iter().map(ToString::to_string));
    (ignore, warnings)
}

/// A heading for the rules of a layer.
pub fn heading(origin: RuleOrigin) -> &'static str {
    match origin {
        RuleOrigin::User => "your rules",
        RuleOrigin::TrustedProject => "the project's rules (trusted)",
        RuleOrigin::UntrustedProject => "the project's rules (not trusted: they may forbid, not allow)",
    }
}

/// Descriptions of the matching rules and answers.
pub fn matching_rules(policy: &Policy, tool: &str, action: &Action) -> Vec<String> {
    let permissions = &policy.permissions;
    let commands = match action {
        Action::Run { command, .. } | Action::Escalate { command, .. } => policy::shell::parse(command).commands,
        _ => Vec::new(),
    };
    let is_about = |rule: &Rule, reading: MatchMode| {
        rule.matches(tool, action, &permissions.project, reading) != Match::No
            || commands
                .iter()
                .any(|simple| rule.matches_command(tool, simple, reading) != Match::No)
    };
    let mut matching = Vec::new();
    for layer in permissions.rules.iter() {
        let [deny, ask, allow] = layer.rules();
        for (word, rules, reading) in [
            ("deny", deny, MatchMode::Wide),
            ("ask", ask, MatchMode::Wide),
            ("allow", allow, MatchMode::Narrow),
        ] {
            let about = rules.iter().filter(|rule| is_about(rule, reading));
            matching.extend(about.map(|rule| format!("{}: {word} {rule}", heading(layer.origin()))));
        }
    }
    let granted = permissions
        .grants
        .iter()
        .filter(|grant| is_about(&grant.rule, MatchMode::Narrow));
    matching.extend(granted.map(|grant| format!("remembered: {}", grants::describe(grant))));
    matching
}

/// The tool that usually performs such an action.
pub fn usual_tool(action: &Action) -> &'static str {
    match action {
        Action::Read { .. } => "read_file",
        Action::Write { .. } => "write_file",
        Action::Run { .. } | Action::Escalate { .. } => "terminal",
        Action::Fetch { .. } => "fetch",
        Action::Mcp { .. } => "mcp",
        Action::SwitchMode { .. } => "switch_mode",
        Action::Subtask { .. } => "new_task",
    }
}
