//! The system prompt of a session: facts about the place, rules, and a person's own templates.

use super::around::Around;
use super::source::{self, Refusal, Source};
use crate::environment::Environment;
use crate::places;
use crate::trust::Trust;
use policy::{Mode, Modes};
use prompt::{Facts, Overrides, Rendered, Scene, Template};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use workspace::Workspace;

/// More of a template is not read.
const MOST: u64 = 256 * 1024;
/// More templates in the person's folder are not read.
const MOST_FILES: usize = 200;

/// The system prompt by mode, model and tools. What it says about the place is found out once; what may change within a session,
/// such as the date and the branch, is told with prompts.
pub(super) fn system(
    around: &Arc<Around>,
    workspace: &Workspace,
    modes: &Modes,
    servers: Vec<String>,
    trust: Trust,
    env: &Environment,
) -> agent::System {
    let facts = facts(around, workspace, modes, servers);
    let (workspace, env) = (workspace.clone(), env.clone());
    let around = Arc::clone(around);
    let told = Mutex::new(BTreeSet::new());
    Arc::new(move |scene| {
        let mut rendered = render(&facts, scene, &around, &workspace, trust, &env);
        // What is wrong is told once, not with every change of the mode.
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        rendered.problems.retain(|problem| told.insert(problem.clone()));
        rendered
    })
}

/// The system prompt as it would be now, without a session.
pub(crate) fn preview(
    scene: &Scene<'_>,
    around: &Around,
    workspace: &Workspace,
    modes: &Modes,
    servers: Vec<String>,
    trust: Trust,
    env: &Environment,
) -> Rendered {
    render(
        &facts(around, workspace, modes, servers),
        scene,
        around,
        workspace,
        trust,
        env,
    )
}

fn render(
    facts: &Facts,
    scene: &Scene<'_>,
    around: &Around,
    workspace: &Workspace,
    trust: Trust,
    env: &Environment,
) -> Rendered {
    let mut problems = Vec::new();
    let overrides = overrides(workspace, scene.mode, trust, env, &mut problems);
    let facts = Facts {
        mode_rules: around.of_mode(&scene.mode.name),
        ..facts.clone()
    };
    let mut rendered = prompt::system(&facts, scene, &overrides);
    rendered.problems.splice(0..0, problems);
    rendered
}

fn facts(around: &Around, workspace: &Workspace, modes: &Modes, servers: Vec<String>) -> Facts {
    let built_in = Modes::default();
    let own = modes.iter().filter(|mode| built_in.get(&mode.name).is_none());
    Facts {
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        root: workspace.root().into(),
        branch: None,
        date: String::new(),
        shell: "bash".into(),
        language: around.language(),
        mode_rules: Vec::new(),
        servers,
        modes: own.map(|mode| (mode.name.clone(), mode.when_to_use.clone())).collect(),
        rules: around.began(),
    }
}

/// The person's own templates, and the text that a project has for a mode in the place of all.
fn overrides(
    workspace: &Workspace,
    mode: &Mode,
    trust: Trust,
    env: &Environment,
    problems: &mut Vec<String>,
) -> Overrides {
    let own = places::user_config(env).ok();
    let own = own.as_deref().and_then(Path::parent);
    let mut overrides = Overrides::default();
    if let Some(own) = own {
        templates(&own.join("templates"), &mut overrides, problems);
    }
    // The name of a mode may come from a file of the project's.
    if mode.name.contains(['/', '\\']) {
        return overrides;
    }
    let name = format!("system-prompt-{}", mode.name);
    overrides.whole = own
        .and_then(|own| read(&own.join(format!("{name}.md")), Source::Person, problems))
        .filter(|template| !template.text.trim().is_empty());
    let top = &source::top(workspace);
    for path in [format!(".hew/{name}.md"), format!(".roo/{name}")] {
        let path = workspace.root().join(path);
        let found = read(&path, Source::Project { workspace, top }, problems);
        let Some(found) = found.filter(|template| !template.text.trim().is_empty()) else {
            continue;
        };
        if trust == Trust::Trusted {
            overrides.whole = Some(found);
            break;
        }
        problems.push(format!(
            "{}: it is not used, because the project is not trusted; `hew trust` trusts it",
            path.display()
        ));
    }
    overrides
}

/// Reads the templates of a folder.
fn templates(folder: &Path, overrides: &mut Overrides, problems: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "hbs"))
        .collect();
    paths.sort();
    paths.truncate(MOST_FILES);
    for path in paths {
        let name = path.file_stem().and_then(|name| name.to_str()).map(String::from);
        if let Some((name, template)) = name.zip(read(&path, Source::Person, problems)) {
            overrides.templates.insert(name, template);
        }
    }
}

fn read(path: &Path, source: Source<'_>, problems: &mut Vec<String>) -> Option<Template> {
    match source.read(path, MOST) {
        Ok(bytes) => Some(Template {
            path: path.into(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }),
        Err(Refusal::Missing) => None,
        Err(Refusal::Unreadable(why)) => {
            problems.push(format!("{}: {why}", path.display()));
            None
        }
        Err(Refusal::Elsewhere) => {
            let why = "it leads out of the project and is not used";
            problems.push(format!("{}: {why}", path.display()));
            None
        }
    }
}
