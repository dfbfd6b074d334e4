//! The system prompt of a session: facts about the project, rules, and the user's templates.

use crate::environment::ProcessEnv;
use crate::paths;
use crate::trust::ProjectTrust;
use context::{DiskContext, FileOrigin, ReadRefusal};
use policy::{Mode, ModeSet};
use prompt::{PromptEnvironment, RulesFile, SystemPrompt, SystemPromptInput, TemplateFile, TemplateOverrides};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use workspace::Workspace;

/// The maximum size of a template.
const MAX_BYTES: u64 = 256 * 1024;
/// The maximum number of the user's templates.
const MAX_FILES: usize = 200;

/// A change to the system prompt of one session.
#[derive(Debug, Clone, Default)]
pub struct PromptChange {
    /// Templates by name.
    pub templates: Vec<(String, TemplateFile)>,
    /// Additional rules.
    pub rules: Vec<RulesFile>,
}

/// Renders the system prompt by mode, model and tools. Its facts are collected once; facts that may change within a
/// session, such as the date and the branch, are added to prompts.
pub(crate) fn renderer(
    context: &Arc<DiskContext>,
    workspace: &Workspace,
    modes: &ModeSet,
    servers: Vec<String>,
    trust: ProjectTrust,
    env: &ProcessEnv,
    change: PromptChange,
) -> agent::SystemPromptSource {
    let mut facts = facts(context, workspace, modes, servers);
    facts.rules.extend(change.rules);
    let templates = change.templates;
    let (workspace, env) = (workspace.clone(), env.clone());
    let context = Arc::clone(context);
    let reported = Mutex::new(BTreeSet::new());
    Arc::new(move |scene| {
        let mut rendered = render(&facts, scene, &context, &workspace, trust, &env, &templates);
        // Each problem is reported once, not with every change of the mode.
        let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
        rendered.problems.retain(|problem| reported.insert(problem.clone()));
        rendered
    })
}

/// Renders the current system prompt without a session.
pub fn preview(
    scene: &SystemPromptInput<'_>,
    context: &DiskContext,
    workspace: &Workspace,
    modes: &ModeSet,
    servers: Vec<String>,
    trust: ProjectTrust,
    env: &ProcessEnv,
) -> SystemPrompt {
    render(
        &facts(context, workspace, modes, servers),
        scene,
        context,
        workspace,
        trust,
        env,
        &[],
    )
}

fn render(
    facts: &PromptEnvironment,
    scene: &SystemPromptInput<'_>,
    context: &DiskContext,
    workspace: &Workspace,
    trust: ProjectTrust,
    env: &ProcessEnv,
    templates: &[(String, TemplateFile)],
) -> SystemPrompt {
    let mut problems = Vec::new();
    let mut overrides = overrides(workspace, scene.mode, trust, env, &mut problems);
    overrides.templates.extend(templates.iter().cloned());
    let facts = PromptEnvironment {
        mode_rules: context.mode_rules(&scene.mode.name),
        ..facts.clone()
    };
    let mut rendered = prompt::system_prompt(&facts, scene, &overrides);
    rendered.problems.splice(0..0, problems);
    rendered
}

fn facts(context: &DiskContext, workspace: &Workspace, modes: &ModeSet, servers: Vec<String>) -> PromptEnvironment {
    PromptEnvironment {
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        root: workspace.root().into(),
        branch: None,
        date: String::new(),
        shell: "bash".into(),
        language: context.language(),
        mode_rules: Vec::new(),
        servers,
        modes: modes
            .iter()
            .map(|mode| (mode.name.clone(), mode.when_to_use.clone()))
            .collect(),
        rules: context.initial_rules(),
    }
}

/// The user's templates, and the text of a project that replaces the whole system prompt of a mode.
fn overrides(
    workspace: &Workspace,
    mode: &Mode,
    trust: ProjectTrust,
    env: &ProcessEnv,
    problems: &mut Vec<String>,
) -> TemplateOverrides {
    let own = paths::user_config_file(env).ok();
    let own = own.as_deref().and_then(Path::parent);
    let mut overrides = TemplateOverrides::default();
    if let Some(own) = own {
        read_templates(&own.join("templates"), &mut overrides, problems);
    }
    // The name of a mode may come from a file of the project.
    if mode.name.contains(['/', '\\']) {
        return overrides;
    }
    let name = format!("system-prompt-{}", mode.name);
    overrides.whole = own
        .and_then(|own| read(&own.join(format!("{name}.md")), FileOrigin::User, problems))
        .filter(|template| !template.text.trim().is_empty());
    let top = &context::repository_root(workspace);
    for path in [format!(".hew/{name}.md"), format!(".roo/{name}")] {
        let path = workspace.root().join(path);
        let found = read(&path, FileOrigin::Project { workspace, top }, problems);
        let Some(found) = found.filter(|template| !template.text.trim().is_empty()) else {
            continue;
        };
        if trust == ProjectTrust::Trusted {
            overrides.whole = Some(found);
            break;
        }
        problems.push(format!(
            "{}: ignored, because the project is not trusted; `hew trust` trusts it",
            path.display()
        ));
    }
    overrides
}

/// Reads the templates in a directory.
fn read_templates(folder: &Path, overrides: &mut TemplateOverrides, problems: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "hbs"))
        .collect();
    paths.sort();
    paths.truncate(MAX_FILES);
    for path in paths {
        let name = path.file_stem().and_then(|name| name.to_str()).map(String::from);
        if let Some((name, template)) = name.zip(read(&path, FileOrigin::User, problems)) {
            overrides.templates.insert(name, template);
        }
    }
}

fn read(path: &Path, source: FileOrigin<'_>, problems: &mut Vec<String>) -> Option<TemplateFile> {
    match source.read(path, MAX_BYTES) {
        Ok(bytes) => Some(TemplateFile {
            path: path.into(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }),
        Err(ReadRefusal::Missing) => None,
        Err(ReadRefusal::Unreadable(why)) => {
            problems.push(format!("{}: {why}", path.display()));
            None
        }
        Err(ReadRefusal::OutsideProject) => {
            let why = "ignored, because it leads out of the project";
            problems.push(format!("{}: {why}", path.display()));
            None
        }
    }
}
