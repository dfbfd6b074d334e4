//! Saved prompts of the user and of the project.

use crate::origin::FileOrigin;
use crate::rules::{RuleSources, settings_files};
use prompt::FrontMatter;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of prompts in the user's configuration.
pub const USER_PROMPTS: &str = "prompts";
/// The folder of prompts in a project.
pub const PROJECT_PROMPTS: &str = ".hew/prompts";
/// Maximum bytes read from a file.
const MAX_BYTES: u64 = 64 * 1024;

/// A saved prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedPrompt {
    /// Its name, with colons between folders.
    pub name: String,
    /// Description from the front matter.
    pub description: Option<String>,
    /// Whether every session includes it.
    pub default: bool,
    /// The text without the front matter.
    pub text: String,
    /// Its file.
    pub path: PathBuf,
    /// Whether it belongs to the project.
    pub from_project: bool,
}

/// All prompts by name; the project's replace the user's.
pub fn saved_prompts(sources: &RuleSources) -> BTreeMap<String, SavedPrompt> {
    let mut prompts = BTreeMap::new();
    for (folder, origin) in sources.settings_folders(USER_PROMPTS, &[PROJECT_PROMPTS]) {
        let saved = settings_files(&folder, origin).into_iter();
        let saved = saved.filter_map(|path| read(&folder, path, origin));
        prompts.extend(saved.map(|saved| (saved.name.clone(), saved)));
    }
    prompts
}

fn read(folder: &Path, path: PathBuf, origin: FileOrigin<'_>) -> Option<SavedPrompt> {
    let name = name_of_file(folder, &path, &[".md"])?;
    let bytes = origin.read(&path, MAX_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (front, body) = FrontMatter::split(&text);
    Some(SavedPrompt {
        name,
        description: front.get(&["description", "title"]).map(str::to_owned),
        default: front.flag("default") == Some(true),
        text: body.trim().to_owned(),
        from_project: matches!(origin, FileOrigin::Project { .. }),
        path,
    })
}

/// The name of a file in a folder: its relative path without the extension, with `:` for `/` and `-` for whitespace.
pub(crate) fn name_of_file(folder: &Path, path: &Path, endings: &[&str]) -> Option<String> {
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
    fn saved_prompts_are_found_by_name_and_the_projects_replace_the_users() {
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
            saved_prompts(&RuleSources::new(&workspace, Some(temp.path().join("home"))))
        };
        let mine = at("bare");
        assert_eq!(mine.keys().collect::<Vec<_>>(), ["git:commit-message", "style"]);
        assert!(mine["style"].default && mine["style"].text == "Be brief.");
        assert_eq!(mine["style"].description.as_deref(), Some("How I write"));
        let here = at("repo");
        assert_eq!(
            (here["style"].text.as_str(), here["style"].from_project),
            ("Ours.", true)
        );
    }
}
