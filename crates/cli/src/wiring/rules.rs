//! What projects and people ask of agents in rules files.

use crate::environment::Environment;
use crate::places;
use prompt::Rules;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Names of rules files; the first that a folder has counts.
const NAMES: &[&str] = &["AGENTS.md", "CLAUDE.md"];
/// More than any that is worth sending; what is too long is cut where the prompt is made.
const MOST: u64 = 256 * 1024;

/// The rules for a project, the most general first: the person's own, then from the top of the repository down.
pub(super) fn find(root: &Path, top: &Path, env: &Environment) -> Vec<Rules> {
    let own = places::user_config(env).ok();
    let own = own.as_deref().and_then(Path::parent).and_then(read);
    let mut folders: Vec<&Path> = root.ancestors().take_while(|folder| folder.starts_with(top)).collect();
    folders.reverse();
    own.into_iter().chain(folders.into_iter().filter_map(read)).collect()
}

fn read(folder: &Path) -> Option<Rules> {
    NAMES.iter().find_map(|name| {
        let path = folder.join(name);
        let mut bytes = Vec::new();
        File::open(&path).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (!text.trim().is_empty()).then_some(Rules { path, text })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn rules_go_from_the_person_to_the_folder_at_hand() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().join("repo");
        let root = top.join("a/b");
        let home = temp.path().join("home");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&home).unwrap();
        fs::write(home.join("AGENTS.md"), "mine").unwrap();
        fs::write(top.join("AGENTS.md"), "top").unwrap();
        fs::write(top.join("CLAUDE.md"), "not read: AGENTS.md is there").unwrap();
        fs::write(root.join("CLAUDE.md"), "deep").unwrap();
        fs::write(top.join("a/AGENTS.md"), " \n").unwrap();
        let config = home.join("config.toml").display().to_string();
        let env = Environment::from([("HEW_CONFIG", config.as_str())]);
        let found = find(&root, &top, &env);
        let texts: Vec<&str> = found.iter().map(|rules| rules.text.as_str()).collect();
        assert_eq!(texts, ["mine", "top", "deep"]);
    }
}
