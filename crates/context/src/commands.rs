//! Slash commands: Markdown files of the user and of the project, and skills.

use crate::origin::FileOrigin;
use crate::prompts::name_of_file;
use crate::rules::{RuleSources, settings_files};
use crate::trust::ProjectTrust;
use policy::project_files::COMMAND_FOLDERS;
use prompt::{CommandLookup, CommandOwner, FrontMatter, SlashCommand, SlashCommandKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folders of the user's commands, in the home folder and in the user's configuration.
const HOME_FOLDERS: &[&str] = &[".claude/commands", ".roo/commands"];
const USER_FOLDER: &str = "commands";
/// Maximum bytes read from a file.
const MAX_BYTES: u64 = 128 * 1024;
/// Minimum similarity of a suggested name.
const MIN_SIMILARITY: f64 = 0.5;
/// Maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 3;

/// The locations of slash commands.
#[derive(Debug, Clone)]
pub struct CommandCatalog {
    /// The locations of the user's and the project's settings.
    pub sources: RuleSources,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// Folders of skills, in increasing precedence.
    pub skills: Vec<PathBuf>,
    /// Commands of an untrusted project are restricted.
    pub trust: ProjectTrust,
}

impl CommandCatalog {
    /// All commands by name. The project's replace the user's, and commands replace skills.
    pub fn all(&self) -> BTreeMap<String, SlashCommand> {
        let mut commands = BTreeMap::new();
        let mut add = |slash: SlashCommand| drop(commands.insert(slash.name.clone(), slash));
        for folder in &self.skills {
            self.skills_in(folder).into_iter().for_each(&mut add);
        }
        let home = self.home.iter();
        let home = home.flat_map(|home| HOME_FOLDERS.iter().map(|folder| (home.join(folder), FileOrigin::User)));
        for (folder, origin) in home.chain(self.sources.settings_folders(USER_FOLDER, COMMAND_FOLDERS)) {
            let paths = settings_files(&folder, origin).into_iter();
            paths
                .filter_map(|path| self.read(&folder, &path, origin))
                .for_each(&mut add);
        }
        commands
    }

    /// Looks up a command by name.
    pub fn resolve(&self, name: &str) -> CommandLookup {
        let mut all = self.all();
        if let Some(slash) = all.remove(name) {
            return CommandLookup::Command(Box::new(slash));
        }
        // An existing path such as `/tmp` is not a mistyped command.
        if Path::new("/").join(name).exists() {
            return CommandLookup::NotACommand;
        }
        CommandLookup::Unknown {
            similar: similar_names(name, all.keys().map(String::as_str)),
        }
    }

    fn owner(&self, origin: FileOrigin<'_>) -> CommandOwner {
        match (origin, self.trust) {
            (FileOrigin::User, _) | (FileOrigin::Project { .. }, ProjectTrust::Trusted) => CommandOwner::User,
            (FileOrigin::Project { .. }, ProjectTrust::Declined | ProjectTrust::Unknown) => CommandOwner::Project,
        }
    }

    fn read(&self, folder: &Path, path: &Path, origin: FileOrigin<'_>) -> Option<SlashCommand> {
        let is_prompts = folder.ends_with(".github/prompts");
        let endings: &[&str] = if is_prompts { &[".prompt.md"] } else { &[".md"] };
        let name = name_of_file(folder, path, endings).filter(|name| is_valid_name(name))?;
        let bytes = origin.read(path, MAX_BYTES).ok()?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if is_prompts {
            text = text.replace("#file:", "@");
        }
        Some(SlashCommand::parse(
            &name,
            &text,
            path.to_owned(),
            SlashCommandKind::Command,
            self.owner(origin),
        ))
    }

    fn skills_in(&self, folder: &Path) -> Vec<SlashCommand> {
        let project = self.sources.projects().find(|(root, _)| folder.starts_with(root));
        let origin = project.map_or(FileOrigin::User, |(_, origin)| origin);
        let Some(folder) = origin.folder(folder) else {
            return Vec::new();
        };
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let skills = entries.filter_map(|entry| {
            let path = entry.path().join("SKILL.md");
            let bytes = origin.read(&path, MAX_BYTES).ok()?;
            let text = String::from_utf8_lossy(&bytes);
            let (front, _) = FrontMatter::split(&text);
            let name = front.get(&["name"]).map(str::to_owned);
            let name = name.unwrap_or_else(|| entry.file_name().to_string_lossy().into_owned());
            let is_offered = front.flag("user-invocable") != Some(false) && is_valid_name(&name);
            is_offered.then(|| SlashCommand {
                // In a skill these apply to its use by the model.
                mode: None,
                model: None,
                ..SlashCommand::parse(&name, &text, path, SlashCommandKind::Skill, self.owner(origin))
            })
        });
        skills.collect()
    }
}

/// Whether a prompt can invoke a command with this name.
fn is_valid_name(name: &str) -> bool {
    prompt::parse_invocation(&format!("/{name}")).is_some_and(|call| call.name == name)
}

/// Similar names, the most similar first.
fn similar_names<'a>(unknown: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let similarity = |name: &str| match name.contains(unknown) || unknown.contains(name) {
        true => 1.0,
        false => strsim::normalized_damerau_levenshtein(unknown, name),
    };
    let mut similar: Vec<(f64, &str)> = names.map(|name| (similarity(name), name)).collect();
    similar.retain(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    similar.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    similar
        .into_iter()
        .take(MAX_SUGGESTIONS)
        .map(|(_, name)| format!("/{name}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use workspace::Workspace;

    fn catalog(temp: &Path, trust: ProjectTrust) -> CommandCatalog {
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
        CommandCatalog {
            sources: RuleSources::new(&workspace, Some(temp.join("home/.config/hew"))),
            home: Some(temp.join("home")),
            skills: vec![temp.join("home/.agents/skills")],
            trust,
        }
    }

    #[test]
    fn commands_are_found_in_all_folders_and_the_most_specific_one_is_used() {
        let temp = tempfile::tempdir().unwrap();
        let commands = catalog(temp.path(), ProjectTrust::Unknown).all();
        assert_eq!(
            commands.keys().collect::<Vec<_>>(),
            ["git:commit", "pdf", "review", "tests"]
        );
        assert_eq!(commands["review"].body, "Ours: $ARGUMENTS");
        assert_eq!(commands["tests"].body, "Test @src/a.rs");
        assert_eq!(
            (commands["pdf"].kind, commands["pdf"].owner),
            (SlashCommandKind::Skill, CommandOwner::User)
        );
        assert_eq!(commands["review"].owner, CommandOwner::Project);
        let trusted = catalog(temp.path(), ProjectTrust::Trusted).all();
        assert_eq!(trusted["review"].owner, CommandOwner::User);
    }

    #[test]
    fn an_unknown_name_yields_similar_ones_and_a_path_is_not_a_command() {
        let temp = tempfile::tempdir().unwrap();
        let catalog = catalog(temp.path(), ProjectTrust::Unknown);
        let CommandLookup::Unknown { similar: near } = catalog.resolve("reveiw") else {
            panic!("known command")
        };
        assert_eq!(near, ["/review"]);
        let CommandLookup::Unknown { similar: near } = catalog.resolve("commit") else {
            panic!("known command")
        };
        assert_eq!(near, ["/git:commit"]);
        assert_eq!(catalog.resolve("tmp"), CommandLookup::NotACommand);
        assert!(matches!(catalog.resolve("pdf"), CommandLookup::Command(_)));
    }
}
