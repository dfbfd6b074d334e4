//! Slash commands on disk: Markdown files of the person's and the project's, and skills.

use super::library::name;
use super::rules::{Ground, files};
use super::source::Source;
use crate::trust::Trust;
use agent::Called;
use prompt::{Front, Kind, Owner, Slash};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the person keeps commands, below home and below their configuration.
const AT_HOME: &[&str] = &[".claude/commands", ".roo/commands"];
const OWN: &str = "commands";
/// Where a project keeps them, the weakest first.
const PROJECT: &[&str] = &[".github/prompts", ".claude/commands", ".roo/commands", ".hew/commands"];
/// A longer file is cut.
const MOST: u64 = 128 * 1024;
/// So alike are names that one may be meant for the other.
const ALIKE: f64 = 0.5;
/// As many near names are told.
const NEAR: usize = 3;

/// Where commands are looked for.
#[derive(Debug, Clone)]
pub(super) struct Shelf {
    pub(super) ground: Ground,
    pub(super) home: Option<PathBuf>,
    /// Folders of skills, the weakest first.
    pub(super) skills: Vec<PathBuf>,
    pub(super) trust: Trust,
}

impl Shelf {
    /// All commands by name: the project's in place of the person's, and commands in place of skills.
    pub(super) fn all(&self) -> BTreeMap<String, Slash> {
        let mut found = BTreeMap::new();
        let mut add = |slash: Slash| drop(found.insert(slash.name.clone(), slash));
        for folder in &self.skills {
            self.skills_in(folder).into_iter().for_each(&mut add);
        }
        let home = self.home.iter();
        let home = home.flat_map(|home| AT_HOME.iter().map(|folder| (home.join(folder), Source::Person)));
        for (folder, source) in home.chain(self.ground.homes(OWN, PROJECT)) {
            let paths = files(&folder, source).into_iter();
            paths
                .filter_map(|path| self.read(&folder, &path, source))
                .for_each(&mut add);
        }
        found
    }

    /// What a word after a slash calls.
    pub(super) fn called(&self, wanted: &str) -> Called {
        let mut all = self.all();
        if let Some(slash) = all.remove(wanted) {
            return Called::Command(Box::new(slash));
        }
        // Something like `/tmp` is a place, not a mistake.
        if Path::new("/").join(wanted).exists() {
            return Called::Nothing;
        }
        Called::Unknown {
            near: near(wanted, all.keys().map(String::as_str)),
        }
    }

    fn owner(&self, source: Source<'_>) -> Owner {
        match (source, self.trust) {
            (Source::Person, _) | (Source::Project { .. }, Trust::Trusted) => Owner::Person,
            (Source::Project { .. }, Trust::Declined | Trust::Unknown) => Owner::Project,
        }
    }

    fn read(&self, folder: &Path, path: &Path, source: Source<'_>) -> Option<Slash> {
        let is_prompts = folder.ends_with(".github/prompts");
        let endings: &[&str] = if is_prompts { &[".prompt.md"] } else { &[".md"] };
        let name = name(folder, path, endings).filter(|name| can_be_called(name))?;
        let bytes = source.read(path, MOST).ok()?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if is_prompts {
            text = text.replace("#file:", "@");
        }
        Some(Slash::parse(
            &name,
            &text,
            path.to_owned(),
            Kind::Command,
            self.owner(source),
        ))
    }

    fn skills_in(&self, folder: &Path) -> Vec<Slash> {
        let project = self.ground.projects().find(|(root, _)| folder.starts_with(root));
        let source = project.map_or(Source::Person, |(_, source)| source);
        let Some(folder) = source.folder(folder) else {
            return Vec::new();
        };
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let skills = entries.filter_map(|entry| {
            let path = entry.path().join("SKILL.md");
            let bytes = source.read(&path, MOST).ok()?;
            let text = String::from_utf8_lossy(&bytes);
            let (front, _) = Front::split(&text);
            let name = front.get(&["name"]).map(str::to_owned);
            let name = name.unwrap_or_else(|| entry.file_name().to_string_lossy().into_owned());
            let is_offered = front.says("user-invocable") != Some(false) && can_be_called(&name);
            is_offered.then(|| Slash {
                // These would choose for the model's own use of the skill.
                mode: None,
                model: None,
                ..Slash::parse(&name, &text, path, Kind::Skill, self.owner(source))
            })
        });
        skills.collect()
    }
}

/// Whether a prompt can call something of this name.
fn can_be_called(name: &str) -> bool {
    prompt::invocation(&format!("/{name}")).is_some_and(|call| call.name == name)
}

/// Names that may be meant, the nearest first.
fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let alike = |name: &str| match name.contains(wanted) || wanted.contains(name) {
        true => 1.0,
        false => strsim::normalized_damerau_levenshtein(wanted, name),
    };
    let mut near: Vec<(f64, &str)> = names.map(|name| (alike(name), name)).collect();
    near.retain(|(alike, _)| *alike >= ALIKE);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter()
        .take(NEAR)
        .map(|(_, name)| format!("/{name}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use workspace::Workspace;

    fn shelf(temp: &Path, trust: Trust) -> Shelf {
        for (path, text) in [
            ("home/.claude/commands/review.md", "Mine."),
            ("home/.config/hew/commands/git/commit.md", "Commit."),
            (
                "home/.agents/skills/pdf/SKILL.md",
                "---\nname: pdf\ndescription: Reads PDFs\n---\nDo so.",
            ),
            (
                "home/.agents/skills/quiet/SKILL.md",
                "---\nuser-invocable: false\n---\nNo.",
            ),
            (
                "repo/.github/prompts/tests.prompt.md",
                "---\nmode: agent\n---\nTest #file:src/a.rs",
            ),
            ("repo/.github/prompts/readme.md", "no prompt"),
            ("repo/.roo/commands/review.md", "Roo's."),
            ("repo/.hew/commands/review.md", "---\nmode: ask\n---\nOurs: $ARGUMENTS"),
        ] {
            let path = temp.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let workspace = Workspace::open(&temp.join("repo")).unwrap();
        Shelf {
            ground: Ground::new(&workspace, Some(temp.join("home/.config/hew"))),
            home: Some(temp.join("home")),
            skills: vec![temp.join("home/.agents/skills")],
            trust,
        }
    }

    #[test]
    fn commands_are_found_in_all_their_folders_and_the_nearest_counts() {
        let temp = tempfile::tempdir().unwrap();
        let found = shelf(temp.path(), Trust::Unknown).all();
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            ["git:commit", "pdf", "review", "tests"]
        );
        assert_eq!(found["review"].body, "Ours: $ARGUMENTS");
        assert_eq!(found["tests"].body, "Test @src/a.rs");
        assert_eq!((found["pdf"].kind, found["pdf"].owner), (Kind::Skill, Owner::Person));
        assert_eq!(found["review"].owner, Owner::Project);
        let trusted = shelf(temp.path(), Trust::Trusted).all();
        assert_eq!(trusted["review"].owner, Owner::Person);
    }

    #[test]
    fn an_unknown_name_gets_near_ones_and_a_place_is_no_command() {
        let temp = tempfile::tempdir().unwrap();
        let shelf = shelf(temp.path(), Trust::Unknown);
        let Called::Unknown { near } = shelf.called("reveiw") else {
            panic!("found")
        };
        assert_eq!(near, ["/review"]);
        let Called::Unknown { near } = shelf.called("commit") else {
            panic!("found")
        };
        assert_eq!(near, ["/git:commit"]);
        assert_eq!(shelf.called("tmp"), Called::Nothing);
        assert!(matches!(shelf.called("pdf"), Called::Command(_)));
    }
}
