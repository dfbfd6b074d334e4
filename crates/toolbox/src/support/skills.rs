//! Skills: directories with instructions in a SKILL.md.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use workspace::Workspace;

/// The file that defines a skill.
pub(crate) const FILE: &str = "SKILL.md";
/// Maximum bytes read for the front matter.
const MAX_FRONT_MATTER: usize = 8 * 1024;
/// Maximum number of skills.
const MAX_SKILLS: usize = 100;
/// Maximum bytes of the list of skills in every request.
const MAX_CATALOGUE: usize = 4_000;
/// Maximum characters of a description.
const LINE: usize = 160;
/// Maximum size of a file.
pub(crate) const FILE_BYTES: u64 = 100 * 1024;

/// A skill.
#[derive(Debug, Clone)]
pub(crate) struct SkillInfo {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) folder: PathBuf,
    /// The project that contains it, if any.
    pub(crate) project: Option<Workspace>,
}

/// The skills in these directories, by name.
pub(crate) fn all(folders: &[PathBuf], project: &Workspace) -> Vec<SkillInfo> {
    let mut known: Vec<SkillInfo> = Vec::new();
    for skill in folders.iter().flat_map(|folder| skills(folder, project)) {
        known.retain(|other| other.name != skill.name);
        known.push(skill);
    }
    known.sort_by(|a, b| a.name.cmp(&b.name));
    known.truncate(MAX_SKILLS);
    known
}

/// The names and descriptions of the skills in these directories.
pub(crate) fn catalogue_of(folders: &[PathBuf], project: &Workspace) -> Vec<(String, String)> {
    let known = all(folders, project).into_iter();
    known.map(|skill| (skill.name, skill.description)).collect()
}

/// The instructions of a skill, if it exists and can be read.
pub(crate) fn instructions(folders: &[PathBuf], project: &Workspace, name: &str) -> Option<String> {
    let skill = all(folders, project).into_iter().find(|skill| skill.name == name)?;
    let file = Workspace::open(&skill.folder).ok()?.locate(FILE).ok()?;
    let bytes = file.read_bytes(FILE_BYTES).ok()?;
    Some(split(&String::from_utf8_lossy(&bytes)).1.trim().to_owned())
}

pub(crate) fn catalogue(known: &[SkillInfo]) -> String {
    let mut text = String::new();
    for (place, skill) in known.iter().enumerate() {
        let line = format!("\n- {}: {}", skill.name, skill.description);
        if text.len() + line.len() > MAX_CATALOGUE {
            let names: Vec<&str> = known[place..].iter().map(|skill| skill.name.as_str()).collect();
            text.push_str(&format!("\n- also: {}", names.join(", ")));
            break;
        }
        text.push_str(&line);
    }
    text
}

/// The skills in a directory.
fn skills(folder: &Path, project: &Workspace) -> Vec<SkillInfo> {
    let Ok(place) = Workspace::open(folder).and_then(|workspace| workspace.locate("")) else {
        return Vec::new();
    };
    let Ok(listing) = place.list(MAX_SKILLS) else {
        return Vec::new();
    };
    let project = folder.starts_with(project.root()).then_some(project);
    let found = listing.entries.into_iter().filter_map(|entry| {
        let folder = folder.join(&entry.name);
        let file = Workspace::open(&folder).ok()?.locate(FILE).ok()?;
        if project.is_some_and(|project| !belongs(file.path(), project)) {
            return None;
        }
        let front = file.first_bytes(MAX_FRONT_MATTER).ok()?;
        let skill = known(&entry.name, &String::from_utf8_lossy(&front), folder)?;
        Some(SkillInfo {
            project: project.cloned(),
            ..skill
        })
    });
    found.collect()
}

/// Whether a canonical path belongs to the project: inside the repository and not hidden.
pub(crate) fn belongs(file: &Path, project: &Workspace) -> bool {
    let top = project.git().map(|git| git.root);
    let below = file.strip_prefix(top.as_deref().unwrap_or(project.root()));
    below.is_ok_and(|below| !below.iter().any(|name| name == ".git")) && !project.is_hidden(file)
}

/// Parses a skill. Defaults: the directory's name, and the first line as the description.
fn known(folder_name: &str, text: &str, folder: PathBuf) -> Option<SkillInfo> {
    #[derive(Deserialize, Default)]
    struct SkillFrontMatter {
        name: Option<String>,
        description: Option<String>,
        #[serde(default, rename = "disable-model-invocation")]
        hidden: bool,
    }
    let (front, body) = split(text);
    let front: SkillFrontMatter = front
        .filter(|yaml| policy::is_bounded_yaml(yaml))
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
    Some(SkillInfo {
        name,
        description,
        folder,
        project: None,
    })
}

/// Splits a text into front matter and body.
pub(crate) fn split(text: &str) -> (Option<&str>, &str) {
    let text = text.trim_start_matches('\u{feff}');
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return (None, text);
    };
    match rest.split_once("\n---") {
        Some((front, body)) => (Some(front), body.split_once('\n').map_or("", |(_, body)| body)),
        None => (None, text),
    }
}
