//! The project context of a session, read from disk: rules, instructions, saved prompts, commands and facts.
//!
//! The system prompt contains the rules at the start of the session. Later changes, and rules for single files, are added after
//! prompts and results, so that the provider's prefix cache stays valid. Files are not watched but read again for each prompt.

use crate::commands::CommandCatalog;
use crate::instructions::{InstructionFile, InstructionScope, find_instructions};
use crate::prompts::saved_prompts;
use crate::rules::{MAX_TOTAL_BYTES, RuleSources, sent_bytes, within_limit};
use crate::seen_files::seen_files;
use prompt::{CommandLookup, DeliveredNotes, Fact, FactDelivery, ProjectContext, RulesFile, UnknownPrompt};
use session::{Body, Item};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use workspace::{GitHead, GitRepository, Workspace};

/// Maximum bytes of the project's file list.
const MAX_FILE_LIST_BYTES: usize = 1_000;
/// Maximum number of listed files that were changed outside the session.
const MAX_EDITED_FILES: usize = 10;
/// Maximum number of suggested prompt names.
const MAX_SUGGESTIONS: usize = 20;
/// The name of the fact with running jobs.
const JOBS: &str = "Running in the background";
/// The name of the fact with the project's file list.
const FILES: &str = "Files";
/// The name of the fact with rules that the model reads when they apply.
const RULES: &str = "Rules to read when they apply";
/// Maximum bytes of that fact.
const MAX_RULES_BYTES: usize = 2_000;

/// The project context of a session, read from disk.
pub struct DiskContext {
    workspace: Workspace,
    catalog: CommandCatalog,
    settings: ContextSettings,
    running_jobs: RunningJobs,
    /// The rules in the system prompt.
    initial_rules: Vec<RulesFile>,
    /// The rules of modes in the system prompt.
    mode_rules: Mutex<HashMap<String, Vec<RulesFile>>>,
    instructions: Mutex<Vec<InstructionFile>>,
    /// Folders without rules, cached until the next prompt.
    folders_without_rules: Mutex<HashSet<PathBuf>>,
}

/// Returns the commands that run in the background.
pub type RunningJobs = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// Settings that become part of the context.
#[derive(Debug, Clone, Default)]
pub struct ContextSettings {
    /// The language of replies.
    pub language: Option<String>,
    /// Text added to each prompt.
    pub reminder: Option<String>,
    /// Names of the tools that read a file.
    pub file_readers: Vec<&'static str>,
}

impl DiskContext {
    /// Reads the rules and instructions at the start of a session.
    pub fn new(
        workspace: &Workspace,
        catalog: CommandCatalog,
        settings: ContextSettings,
        running_jobs: RunningJobs,
    ) -> Self {
        let mut context = DiskContext {
            workspace: workspace.clone(),
            instructions: Mutex::new(find_instructions(&catalog.sources)),
            catalog,
            settings,
            running_jobs,
            initial_rules: Vec::new(),
            mode_rules: Mutex::default(),
            folders_without_rules: Mutex::default(),
        };
        context.initial_rules = context.current_rules();
        context
    }

    /// The rules at the start of the session.
    pub fn initial_rules(&self) -> Vec<RulesFile> {
        self.initial_rules.clone()
    }

    /// The language of replies.
    pub fn language(&self) -> Option<String> {
        self.settings.language.clone()
    }

    /// The rules of a mode, as they were when the session first entered it.
    pub fn mode_rules(&self, mode: &str) -> Vec<RulesFile> {
        let mut known = lock(&self.mode_rules);
        let rules = known.entry(mode.to_owned());
        rules
            .or_insert_with(|| self.current_mode_rules(mode, &self.initial_rules))
            .clone()
    }

    /// The locations of rules.
    pub fn sources(&self) -> &RuleSources {
        &self.catalog.sources
    }

    /// The current rules that apply everywhere: default prompts, rules files, instructions for all files.
    fn current_rules(&self) -> Vec<RulesFile> {
        let mut rules: Vec<RulesFile> = Vec::new();
        let saved = saved_prompts(self.sources()).into_values();
        rules.extend(
            saved
                .filter(|saved| saved.default && !saved.text.is_empty())
                .map(|saved| RulesFile {
                    path: self.sources().display_path(&saved.path),
                    text: saved.text,
                }),
        );
        rules.extend(self.sources().rules());
        let instructions = lock(&self.instructions);
        let all = instructions
            .iter()
            .filter(|file| matches!(file.scope, InstructionScope::Always));
        rules.extend(all.map(|file| file.rules.clone()));
        within_limit(rules, MAX_TOTAL_BYTES)
    }

    /// The current rules of a mode, within what `others` leave of the total limit.
    fn current_mode_rules(&self, mode: &str, others: &[RulesFile]) -> Vec<RulesFile> {
        let used: usize = others.iter().map(sent_bytes).sum();
        within_limit(self.sources().mode_rules(mode), MAX_TOTAL_BYTES.saturating_sub(used))
    }

    /// Reads a file again, by the path shown to the model.
    fn reread(&self, path: &str) -> Option<RulesFile> {
        let instructions = lock(&self.instructions);
        let known = instructions
            .iter()
            .find(|file| file.rules.path.to_string_lossy() == path);
        known
            .map(|file| file.rules.clone())
            .or_else(|| self.sources().reread(path))
    }

    fn git(&self) -> Option<Fact> {
        let repositories = self.workspace.repositories();
        let states = repositories.iter().filter_map(|(folder, repository)| {
            let state = git_state(folder, repository)?;
            Some(match *folder == self.workspace.root() {
                true => state,
                false => format!("{}: {state}", folder.display()),
            })
        });
        let value = states.collect::<Vec<_>>().join("; ");
        (!value.is_empty()).then_some(Fact {
            name: "Git",
            value,
            delivery: FactDelivery::OnChange,
        })
    }

    /// Files that the model has read or written and that were changed outside the session since the last prompt.
    fn edited(&self, items: &[Arc<Item>]) -> Option<Fact> {
        let spoken = |item: &&Arc<Item>| {
            matches!(
                item.body,
                Body::Prompt { .. } | Body::Restored { .. } | Body::Review { .. }
            )
        };
        let spoken = items.iter().rev().find(spoken)?;
        let spoken = SystemTime::UNIX_EPOCH + Duration::from_millis(spoken.at.0);
        let seen = seen_files(items, &self.settings.file_readers).into_iter();
        let mut names: Vec<String> = seen
            .filter_map(|(path, at)| {
                let place = self.workspace.locate(&path).ok()?;
                let is_newer = place.modified().is_ok_and(|modified| modified > at.max(spoken));
                is_newer.then(|| place.shown().into_owned())
            })
            .collect();
        names.sort();
        names.dedup();
        if names.is_empty() {
            return None;
        }
        let more = names.len().saturating_sub(MAX_EDITED_FILES);
        names.truncate(MAX_EDITED_FILES);
        if more > 0 {
            names.push(format!("and {more} more"));
        }
        Some(Fact {
            name: "Changed since you last saw them, not by you",
            value: names.join(", "),
            delivery: FactDelivery::Always,
        })
    }

    /// Instructions that are included only on mention, with their descriptions.
    fn described_rules(&self) -> Option<String> {
        let instructions = lock(&self.instructions);
        let described = instructions.iter().filter_map(|file| {
            let description = file.description.as_deref()?.lines().next()?;
            Some(format!("\n  {}: {description}", file.rules.path.display()))
        });
        let mut list = String::new();
        for line in described {
            if list.len() + line.len() > MAX_RULES_BYTES {
                break;
            }
            list.push_str(&line);
        }
        (!list.is_empty()).then_some(list)
    }

    fn running(&self, known: &DeliveredNotes) -> Option<Fact> {
        let running = (self.running_jobs)();
        let value = match running.is_empty() {
            false => running.join(", "),
            true if known.has_fact(JOBS) => "nothing".into(),
            true => return None,
        };
        Some(Fact {
            name: JOBS,
            value,
            delivery: FactDelivery::OnChange,
        })
    }
}

impl ProjectContext for DiskContext {
    fn changed_rules(&self, mode: &str, known: &DeliveredNotes) -> Vec<String> {
        lock(&self.folders_without_rules).clear();
        *lock(&self.instructions) = find_instructions(self.sources());
        let initial: Vec<RulesFile> = self
            .initial_rules
            .iter()
            .cloned()
            .chain(self.mode_rules(mode))
            .collect();
        let before: HashMap<&PathBuf, &RulesFile> = initial.iter().map(|rules| (&rules.path, rules)).collect();
        let mut now = self.current_rules();
        now.extend(self.current_mode_rules(mode, &now));
        let mut notes: Vec<String> = now
            .iter()
            .filter_map(|rules| known.rules_note(rules, before.get(&rules.path).copied()))
            .collect();
        let is_current = |path: &PathBuf| now.iter().any(|rules| rules.path == *path);
        for rules in initial.iter().filter(|rules| !is_current(&rules.path)) {
            notes.extend(known.removed_note(&rules.path.to_string_lossy(), Some(rules)));
        }
        let mut others: Vec<&str> = known.rules().filter(|path| !is_current(&path.into())).collect();
        others.retain(|path| !before.contains_key(&PathBuf::from(path)));
        others.sort_unstable();
        notes.extend(others.into_iter().filter_map(|path| match self.reread(path) {
            Some(rules) => known.rules_note(&rules, None),
            None => known.removed_note(path, None),
        }));
        notes
    }

    fn rules_for(&self, files: &[PathBuf], known: &DeliveredNotes) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        let mut add = |rules: &RulesFile| {
            if let Some(note) = known.rules_note(rules, None)
                && !notes.contains(&note)
            {
                notes.push(note);
            }
        };
        for file in files {
            for folder in self.sources().nested_folders(file) {
                if lock(&self.folders_without_rules).contains(folder) {
                    continue;
                }
                let rules = self.sources().folder_rules(folder);
                if rules.is_empty() {
                    lock(&self.folders_without_rules).insert(folder.to_owned());
                }
                rules.iter().for_each(&mut add);
            }
            let instructions = lock(&self.instructions);
            let applying = instructions
                .iter()
                .filter(|rules| rules.applies_to(file, self.sources()));
            applying.for_each(|instructions| add(&instructions.rules));
        }
        notes
    }

    fn facts(&self, items: &[Arc<Item>], known: &DeliveredNotes) -> Vec<Fact> {
        let fact = |name, value: String, delivery| Fact { name, value, delivery };
        let date = jiff::Timestamp::now().strftime("%F (UTC)").to_string();
        let mut facts = vec![fact("Date", date, FactDelivery::OnChange)];
        facts.extend(self.git());
        facts.extend(self.edited(items));
        facts.extend(self.running(known));
        if !self.workspace.more().is_empty() {
            let more = self.workspace.more().iter().map(|root| root.display().to_string());
            let value = more.collect::<Vec<_>>().join(", ");
            facts.push(fact("Other folders of the project", value, FactDelivery::OnChange));
        }
        let rules = self.described_rules();
        facts.extend(rules.map(|rules| fact(RULES, rules, FactDelivery::OnChange)));
        if !known.has_fact(FILES)
            && let Some(sketch) = self.workspace.overview(MAX_FILE_LIST_BYTES)
        {
            facts.push(fact(FILES, format!("\n{sketch}"), FactDelivery::Once));
        }
        facts
    }

    fn reminder(&self) -> Option<String> {
        self.settings.reminder.clone()
    }

    fn saved_prompt(&self, name: &str) -> Result<String, UnknownPrompt> {
        let mut all = saved_prompts(self.sources());
        if let Some(saved) = all.remove(name) {
            return Ok(saved.text);
        }
        let instructions = find_instructions(self.sources());
        let rules = self
            .current_rules()
            .into_iter()
            .chain(instructions.into_iter().map(|file| file.rules));
        let has_name = |rules: &RulesFile| {
            let file = rules.path.file_name().unwrap_or_default().to_string_lossy();
            file == name
                || file
                    .strip_suffix(".md")
                    .or_else(|| file.strip_suffix(".mdc"))
                    .is_some_and(|stem| stem.trim_end_matches(".instructions") == name)
        };
        let found = rules.into_iter().find(has_name).map(|rules| rules.text);
        found.ok_or_else(|| UnknownPrompt {
            saved: all.into_keys().take(MAX_SUGGESTIONS).collect(),
        })
    }

    fn find_command(&self, name: &str) -> CommandLookup {
        self.catalog.resolve(name)
    }
}

/// What is checked out in a folder, and the number of changed files.
fn git_state(folder: &Path, repository: &GitRepository) -> Option<String> {
    let head = match &repository.head {
        GitHead::Branch(name) => format!("branch {name}"),
        GitHead::Detached(commit) => format!("detached at {}", commit.chars().take(12).collect::<String>()),
        GitHead::Unknown => return None,
    };
    let changed = Workspace::open(folder).ok()?.changed_tracked_files();
    let changed = match changed {
        None => String::new(),
        Some(0) => ", no tracked file changed".into(),
        Some(1) => ", 1 tracked file changed".into(),
        Some(many) => format!(", {many} tracked files changed"),
    };
    let origin = repository
        .origin()
        .map(|origin| format!(" of {origin}"))
        .unwrap_or_default();
    Some(head + &origin + &changed)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave the data under these locks inconsistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::ProjectTrust;
    use model::{Message, Part, PartOrigin};
    use session::{ItemId, Time};
    use std::fs;

    struct Fixture {
        temp: tempfile::TempDir,
        context: DiskContext,
        items: Vec<Arc<Item>>,
    }

    impl Fixture {
        fn new(files: &[(&str, &str)]) -> Self {
            let temp = tempfile::tempdir().unwrap();
            fs::create_dir_all(temp.path().join("repo")).unwrap();
            files.iter().for_each(|(path, text)| put(temp.path(), path, text));
            let workspace = Workspace::open(&temp.path().join("repo")).unwrap();
            let catalog = CommandCatalog {
                sources: RuleSources::new(&workspace, Some(temp.path().join("home"))),
                home: None,
                skills: Vec::new(),
                trust: ProjectTrust::Unknown,
            };
            let context = DiskContext::new(&workspace, catalog, ContextSettings::default(), Box::new(Vec::new));
            context.mode_rules("code");
            Fixture {
                temp,
                context,
                items: Vec::new(),
            }
        }

        fn put(&self, path: &str, text: &str) {
            put(self.temp.path(), path, text);
        }

        fn known(&self) -> DeliveredNotes {
            let mut known = DeliveredNotes::default();
            self.items.iter().for_each(|item| known.read(item));
            known
        }

        /// Sends a prompt. Returns the paths and last lines of its notes.
        fn prompt(&mut self) -> Vec<String> {
            let notes = self.context.changed_rules("code", &self.known());
            self.deliver(notes)
        }

        fn touch(&mut self, path: &str) -> Vec<String> {
            let files = [self.context.workspace.root().join(path)];
            let notes = self.context.rules_for(&files, &self.known());
            self.deliver(notes)
        }

        fn deliver(&mut self, notes: Vec<String>) -> Vec<String> {
            let mut message = Message::user("go");
            message
                .parts
                .extend(notes.iter().map(|text| Part::with_origin(text, PartOrigin::Rules)));
            self.items.push(Arc::new(Item {
                id: ItemId::new(),
                parent: None,
                at: Time(0),
                body: Body::Prompt {
                    message: Arc::new(message),
                },
            }));
            let short = |note: &String| {
                let path = note.split('"').nth(1).unwrap_or_default();
                let last = note.lines().rev().nth(1).unwrap_or_default();
                format!("{path}: {last}")
            };
            notes.iter().map(short).collect()
        }
    }

    fn put(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn changed_rules_are_added_to_the_next_prompt() {
        let mut fixture = Fixture::new(&[
            ("home/AGENTS.md", "mine"),
            ("home/prompts/style.md", "---\ndefault: true\n---\nbrief"),
            ("repo/AGENTS.md", "top"),
            ("repo/.hew/rules-code/m.md", "mode"),
            ("repo/.hew/instructions/all.md", "---\napplyTo: '**'\n---\nall"),
        ]);
        assert_eq!(fixture.context.initial_rules().len(), 4);
        assert_eq!(fixture.prompt(), Vec::<String>::new());
        fixture.put("repo/AGENTS.md", "top\n");
        assert_eq!(fixture.prompt(), Vec::<String>::new(), "whitespace is not a change");
        fixture.put("repo/AGENTS.md", "new top");
        fixture.put("repo/.hew/rules-code/m.md", "new mode");
        fixture.put("repo/.hew/instructions/all.md", "---\napplyTo: '**'\n---\nnew all");
        fixture.put("repo/.hew/rules/extra.md", "extra");
        assert_eq!(
            fixture.prompt(),
            [
                "AGENTS.md: new top",
                ".hew/rules/extra.md: extra",
                ".hew/instructions/all.md: new all",
                ".hew/rules-code/m.md: new mode"
            ]
        );
        assert_eq!(fixture.prompt(), Vec::<String>::new());
        fixture.put("repo/GEMINI.md", "other");
        assert_eq!(fixture.prompt(), ["GEMINI.md: other"]);
        fixture.put("repo/.rules", "first");
        assert_eq!(
            fixture.prompt(),
            [".rules: first", "GEMINI.md: (This file no longer applies.)"]
        );
    }

    #[test]
    fn rules_with_a_description_are_listed_and_found_by_name() {
        let fixture = Fixture::new(&[
            (
                "repo/.cursor/rules/db.mdc",
                "---\ndescription: Work on the database\nglobs:\n---\nUse transactions.",
            ),
            (
                "repo/.cursor/rules/py.mdc",
                "---\ndescription: Python\nglobs: *.py\n---\nUse types.",
            ),
            (
                "repo/.windsurf/rules/hand.md",
                "---\ndescription: By hand\ntrigger: manual\n---\nx",
            ),
        ]);
        let facts = fixture.context.facts(&[], &DeliveredNotes::default());
        let rules: Vec<&str> = facts
            .iter()
            .filter(|fact| fact.name == RULES)
            .map(|fact| fact.value.as_str())
            .collect();
        assert_eq!(rules, ["\n  .cursor/rules/db.mdc: Work on the database"]);
        assert_eq!(fixture.context.saved_prompt("db").as_deref(), Ok("Use transactions."));
    }

    #[test]
    fn nested_rules_are_added_once_and_again_when_they_change() {
        let mut fixture = Fixture::new(&[("repo/a/AGENTS.md", "deep"), ("repo/a/b/x.rs", ""), ("repo/y.rs", "")]);
        put(
            fixture.temp.path(),
            "repo/.hew/instructions/rs.md",
            "---\napplyTo: '*.rs'\n---\nrust",
        );
        assert_eq!(fixture.prompt(), Vec::<String>::new());
        assert_eq!(fixture.touch("y.rs"), [".hew/instructions/rs.md: rust"]);
        assert_eq!(fixture.touch("a/b/x.rs"), ["a/AGENTS.md: deep"]);
        assert_eq!(fixture.touch("a/b/x.rs"), Vec::<String>::new());
        assert_eq!(fixture.touch("a"), Vec::<String>::new());
        fixture.put("repo/a/AGENTS.md", "deeper");
        assert_eq!(fixture.prompt(), ["a/AGENTS.md: deeper"]);
        fs::remove_file(fixture.temp.path().join("repo/a/AGENTS.md")).unwrap();
        assert_eq!(fixture.prompt(), ["a/AGENTS.md: (This file no longer applies.)"]);
        assert_eq!(fixture.prompt(), Vec::<String>::new());
    }

    #[test]
    fn saved_prompts_and_rules_are_found_by_name() {
        let fixture = Fixture::new(&[
            ("home/prompts/git/commit.md", "short"),
            ("repo/.hew/rules/style.md", "tabs"),
            ("repo/.github/instructions/web.instructions.md", "web"),
            ("repo/AGENTS.md", "top"),
        ]);
        for (name, text) in [
            ("git:commit", "short"),
            ("style", "tabs"),
            ("web", "web"),
            ("AGENTS.md", "top"),
        ] {
            assert_eq!(fixture.context.saved_prompt(name).as_deref(), Ok(text), "{name}");
        }
        assert!(
            fixture
                .context
                .saved_prompt("other")
                .unwrap_err()
                .saved
                .contains(&"git:commit".into())
        );
    }
}
