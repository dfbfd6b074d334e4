//! The prompt library: texts that the person keeps by name, and those that a project brings.

use super::rules::{Ground, files};
use super::source::Source;
use prompt::Front;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where prompts lie: below the person's configuration, and in a project.
pub(crate) const OWN: &str = "prompts";
pub(crate) const PROJECT: &str = ".hew/prompts";
/// A longer prompt is cut.
const MOST: u64 = 64 * 1024;

/// A text that is kept by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Saved {
    /// Its name; folders are set apart with a colon.
    pub(crate) name: String,
    /// What it is for, if its author says so.
    pub(crate) description: Option<String>,
    /// Whether every session is told it.
    pub(crate) default: bool,
    /// What it says.
    pub(crate) text: String,
    /// Where it is kept.
    pub(crate) path: PathBuf,
    /// Whether it comes with the project.
    pub(crate) of_project: bool,
}

/// All prompts by name, the project's in place of the person's own.
pub(super) fn all(ground: &Ground) -> BTreeMap<String, Saved> {
    let mut found = BTreeMap::new();
    for (folder, source) in ground.homes(OWN, &[PROJECT]) {
        let saved = files(&folder, source).into_iter();
        let saved = saved.filter_map(|path| read(&folder, path, source));
        found.extend(saved.map(|saved| (saved.name.clone(), saved)));
    }
    found
}

fn read(folder: &Path, path: PathBuf, source: Source<'_>) -> Option<Saved> {
    let name = name(folder, &path, &[".md"])?;
    let bytes = source.read(&path, MOST).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (front, body) = Front::split(&text);
    Some(Saved {
        name,
        description: front.get(&["description", "title"]).map(str::to_owned),
        default: front.says("default") == Some(true),
        text: body.trim().to_owned(),
        of_project: matches!(source, Source::Project { .. }),
        path,
    })
}

/// What a file in a folder is called: its path there without the ending, with colons between folders and no blanks.
pub(super) fn name(folder: &Path, path: &Path, endings: &[&str]) -> Option<String> {
    let below = path.strip_prefix(folder).ok()?.to_str()?;
    let name = endings.iter().find_map(|ending| below.strip_suffix(ending))?;
    let name = name.replace('/', ":").replace(char::is_whitespace, "-");
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use workspace::Workspace;

    #[test]
    fn prompts_are_found_by_name_and_the_projects_stand_before_the_persons() {
        let temp = tempfile::tempdir().unwrap();
        for (path, text) in [
            (
                "home/prompts/style.md",
                "---\ndefault: true\ndescription: How I write\n---\nBe brief.\n",
            ),
            ("home/prompts/git/commit message.md", "Short."),
            ("home/prompts/notes.txt", "no prompt"),
            ("repo/.hew/prompts/style.md", "Ours."),
        ] {
            let path = temp.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(temp.path().join("bare")).unwrap();
        let at = |root: &str| {
            let workspace = Workspace::open(&temp.path().join(root)).unwrap();
            all(&Ground::new(&workspace, Some(temp.path().join("home"))))
        };
        let mine = at("bare");
        assert_eq!(mine.keys().collect::<Vec<_>>(), ["git:commit-message", "style"]);
        assert!(mine["style"].default && mine["style"].text == "Be brief.");
        assert_eq!(mine["style"].description.as_deref(), Some("How I write"));
        let here = at("repo");
        assert_eq!((here["style"].text.as_str(), here["style"].of_project), ("Ours.", true));
    }
}
