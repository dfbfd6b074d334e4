//! Loads instructions for a kind of task from a folder with a SKILL.md.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use model::ToolSpec;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tool::{Context, DynTool, Effect, Error, Output, Preview, Registry, Tool};
use workspace::{Location, Workspace};

use crate::project::{aside, explain};

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";
/// More of a file is not looked at for its front matter.
const FRONT: usize = 8 * 1024;
/// As many skills as are known.
const MOST: usize = 100;
/// Bytes of all that is said about skills in every request.
const CATALOGUE: usize = 4_000;
/// Characters of what is said about one.
const LINE: usize = 160;
/// The longest file of a skill that is shown.
const FILE_BYTES: u64 = 100 * 1024;
/// Files of a skill that are named.
const BUNDLED: usize = 50;

/// A skill: its name, what it is for, where it lies.
#[derive(Debug, Clone)]
struct Known {
    name: String,
    description: String,
    folder: PathBuf,
    /// The project that it came with, if it did.
    project: Option<Workspace>,
}

/// The tool that loads skills, told of with their names.
pub(crate) struct Skills {
    spec: ToolSpec,
    inner: Arc<dyn DynTool>,
}

impl Skills {
    /// The skills in these folders, a later one in place of an earlier one of the same name; nothing if there are none.
    /// Those that lie in the project are not followed out of it.
    pub(crate) fn in_folders(folders: &[PathBuf], project: &Workspace) -> Option<Self> {
        let known = all(folders, project);
        if known.is_empty() {
            return None;
        }
        let catalogue = catalogue(&known);
        let inner = Arc::clone(Registry::default().with(Skill(known)).get(Skill::NAME)?);
        let mut spec = inner.spec().clone();
        spec.description.push_str(&catalogue);
        Some(Skills { spec, inner })
    }
}

/// The skills in these folders by name.
fn all(folders: &[PathBuf], project: &Workspace) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    for skill in folders.iter().flat_map(|folder| skills(folder, project)) {
        known.retain(|other| other.name != skill.name);
        known.push(skill);
    }
    known.sort_by(|a, b| a.name.cmp(&b.name));
    known.truncate(MOST);
    known
}

/// The names of the skills in these folders, and what they are for.
pub(crate) fn catalogue_of(folders: &[PathBuf], project: &Workspace) -> Vec<(String, String)> {
    let known = all(folders, project).into_iter();
    known.map(|skill| (skill.name, skill.description)).collect()
}

/// The instructions of a skill, if there is one of this name that can be read.
pub(crate) fn instructions(folders: &[PathBuf], project: &Workspace, name: &str) -> Option<String> {
    let skill = all(folders, project).into_iter().find(|skill| skill.name == name)?;
    let file = Workspace::open(&skill.folder).ok()?.locate(FILE).ok()?;
    let bytes = file.read_bytes(FILE_BYTES).ok()?;
    Some(split(&String::from_utf8_lossy(&bytes)).1.trim().to_owned())
}

fn catalogue(known: &[Known]) -> String {
    let mut text = String::new();
    for (place, skill) in known.iter().enumerate() {
        let line = format!("\n- {}: {}", skill.name, skill.description);
        if text.len() + line.len() > CATALOGUE {
            let names: Vec<&str> = known[place..].iter().map(|skill| skill.name.as_str()).collect();
            text.push_str(&format!("\n- also: {}", names.join(", ")));
            break;
        }
        text.push_str(&line);
    }
    text
}

/// The skills in a folder.
fn skills(folder: &Path, project: &Workspace) -> Vec<Known> {
    let Ok(place) = Workspace::open(folder).and_then(|workspace| workspace.locate("")) else {
        return Vec::new();
    };
    let Ok(listing) = place.list(MOST) else {
        return Vec::new();
    };
    let project = folder.starts_with(project.root()).then_some(project);
    let found = listing.entries.into_iter().filter_map(|entry| {
        let folder = folder.join(&entry.name);
        let file = Workspace::open(&folder).ok()?.locate(FILE).ok()?;
        if project.is_some_and(|project| !belongs(file.path(), project)) {
            return None;
        }
        let front = file.head(FRONT).ok()?;
        let skill = known(&entry.name, &String::from_utf8_lossy(&front), folder)?;
        Some(Known {
            project: project.cloned(),
            ..skill
        })
    });
    found.collect()
}

/// Whether a project may show this file, which is canonical: it comes with the repository, and nothing hides it.
fn belongs(file: &Path, project: &Workspace) -> bool {
    let top = project.git().map(|git| git.root);
    let below = file.strip_prefix(top.as_deref().unwrap_or(project.root()));
    below.is_ok_and(|below| !below.iter().any(|name| name == ".git")) && !project.hides(file)
}

/// What the front matter says; without one, the folder's name and the first line have to do.
fn known(folder_name: &str, text: &str, folder: PathBuf) -> Option<Known> {
    #[derive(Deserialize, Default)]
    struct Front {
        name: Option<String>,
        description: Option<String>,
        #[serde(default, rename = "disable-model-invocation")]
        hidden: bool,
    }
    let (front, body) = split(text);
    let front: Front = front
        .map(|yaml| serde_yaml_ng::from_str(yaml).unwrap_or_default())
        .unwrap_or_default();
    if front.hidden {
        return None;
    }
    let name = front.name.unwrap_or_else(|| folder_name.into());
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
        return None;
    }
    let first = body
        .lines()
        .map(|line| line.trim_start_matches('#').trim())
        .find(|line| !line.is_empty());
    let description = front.description.or(first.map(Into::into)).unwrap_or_default();
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let description = match description.chars().count() > LINE {
        true => format!("{}…", description.chars().take(LINE).collect::<String>()),
        false => description,
    };
    Some(Known {
        name,
        description,
        folder,
        project: None,
    })
}

/// The front matter and what follows it.
fn split(text: &str) -> (Option<&str>, &str) {
    let text = text.trim_start_matches('\u{feff}');
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return (None, text);
    };
    match rest.split_once("\n---") {
        Some((front, body)) => (Some(front), body.split_once('\n').map_or("", |(_, body)| body)),
        None => (None, text),
    }
}

struct Skill(Vec<Known>);

/// Loads the instructions of a skill. Load it before a task that it is for:
#[derive(Debug, Deserialize, JsonSchema)]
struct Input {
    #[serde(alias = "skill", alias = "id", alias = "skill_name")]
    name: String,
    /// A file of the skill, instead of its instructions.
    file: Option<String>,
    #[schemars(skip)]
    #[serde(alias = "arguments")]
    args: Option<String>,
}

impl Tool for Skill {
    const NAME: &'static str = "skill";
    const ALIASES: &'static [&'static str] = &["skill_load", "load_skill", "use_skill", "Skill"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        match &input.file {
            Some(file) => format!("{}/{file}", input.name),
            None => input.name.clone(),
        }
    }

    /// The person put the folders there to be read.
    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let wanted = input.name.trim();
        let Some(skill) = self.0.iter().find(|skill| skill.name == wanted).cloned() else {
            let names: Vec<&str> = self.0.iter().map(|skill| skill.name.as_str()).collect();
            return Err(Error::Failed(format!(
                "there is no skill `{wanted}`; there are: {}",
                names.join(", ")
            )));
        };
        aside(move || load(&skill, &input)).await
    }
}

fn load(skill: &Known, input: &Input) -> Result<Output, Error> {
    let folder = Workspace::open(&skill.folder).map_err(explain)?;
    let name = input
        .file
        .as_deref()
        .map_or(FILE, |file| file.trim().trim_start_matches("./"));
    let file = folder.locate(name).map_err(explain)?;
    let may_be_shown = match &skill.project {
        Some(project) => belongs(file.path(), project),
        None => true,
    };
    if !may_be_shown || !file.path().starts_with(folder.root()) {
        return Err(Error::Failed(format!(
            "`{name}` is not a file of the skill {}",
            skill.name
        )));
    }
    let bytes = file.read_bytes(FILE_BYTES).map_err(explain)?;
    let text = String::from_utf8_lossy(&bytes);
    if input.file.is_some() {
        return Ok(Output::text(text.into_owned()).summary(format!("{} bytes", bytes.len())));
    }
    let (_, body) = split(&text);
    let mut told = format!(
        "# Skill {} (in {})\n{}",
        skill.name,
        folder.root().display(),
        body.trim()
    );
    if let Some(args) = input.args.as_deref().filter(|args| !args.trim().is_empty()) {
        told.push_str(&format!("\n\nArguments: {args}"));
    }
    let files = bundled(&folder.locate("").map_err(explain)?, folder.root());
    if !files.is_empty() {
        told.push_str(&format!(
            "\n\nIts files, to be loaded with `file`:\n{}",
            files.join("\n")
        ));
    }
    Ok(Output::text(told).summary(format!("{} bytes", bytes.len())))
}

fn bundled(folder: &Location, root: &Path) -> Vec<String> {
    let mut files: Vec<String> = folder
        .names_below(BUNDLED * 2)
        .into_iter()
        .filter(|path| path.is_file())
        .filter_map(|path| Some(path.strip_prefix(root).ok()?.to_string_lossy().into_owned()))
        .filter(|name| name != FILE)
        .collect();
    files.sort();
    let more = files.len().saturating_sub(BUNDLED);
    files.truncate(BUNDLED);
    if more > 0 {
        files.push(format!("[and {more} more]"));
    }
    files
}

impl DynTool for Skills {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        self.inner.aliases()
    }

    fn effect(&self) -> Effect {
        self.inner.effect()
    }

    fn title(&self, input: &Value) -> String {
        self.inner.title(input)
    }

    fn actions(&self, input: &Value) -> Result<Vec<Action>, Error> {
        self.inner.actions(input)
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        None
    }

    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>> {
        Arc::clone(&self.inner).run(input, context)
    }
}
