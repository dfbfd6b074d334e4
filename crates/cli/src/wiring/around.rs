//! What surrounds a session, read from disk: rules and instructions, saved prompts, commands, and how things stand.
//!
//! The system prompt says the rules with which the session began. What changes later, and what holds for single files, is told
//! behind prompts and results, so that the cache of everything before stays good. Nothing is watched: what is known is read
//! again with each prompt.

use super::instructions::{self, Instructions, Scope};
use super::library;
use super::rules::{Ground, fitting};
use super::seen;
use super::slash::Shelf;
use crate::output::words;
use agent::{Called, Surroundings};
use prompt::{Fact, Known, Rules, Told};
use session::{Body, Item};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use toolbox::JobsView;
use workspace::{Head, Workspace};

/// Bytes of the picture of the project with which a session begins.
const SKETCH: usize = 1_000;
/// As many files that others changed are named.
const MOST_EDITED: usize = 10;
const JOBS: &str = "Running in the background";

/// What surrounds a session.
pub(crate) struct Around {
    workspace: Workspace,
    shelf: Shelf,
    said: Said,
    jobs: JobsView,
    /// The rules that the system prompt says.
    began: Vec<Rules>,
    /// The rules of modes, as the system prompt said them.
    of_modes: Mutex<HashMap<String, Vec<Rules>>>,
    instructions: Mutex<Vec<Instructions>>,
    /// Folders that were found without rules since the last prompt.
    bare: Mutex<HashSet<PathBuf>>,
}

/// What the configuration says to the model.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    /// The language in which the person wants to be spoken to.
    pub(super) language: Option<String>,
    /// What stands behind each prompt.
    pub(super) reminder: Option<String>,
}

impl Around {
    pub(super) fn new(workspace: &Workspace, shelf: Shelf, said: Said, jobs: JobsView) -> Self {
        let mut around = Around {
            workspace: workspace.clone(),
            instructions: Mutex::new(instructions::find(&shelf.ground)),
            shelf,
            said,
            jobs,
            began: Vec::new(),
            of_modes: Mutex::default(),
            bare: Mutex::default(),
        };
        around.began = around.always();
        around
    }

    /// The rules with which the session begins.
    pub(super) fn began(&self) -> Vec<Rules> {
        self.began.clone()
    }

    /// The language in which the person wants to be spoken to.
    pub(super) fn language(&self) -> Option<String> {
        self.said.language.clone()
    }

    /// The rules of a mode, as they were when the session first was in it.
    pub(super) fn of_mode(&self, mode: &str) -> Vec<Rules> {
        let mut known = lock(&self.of_modes);
        let found = known.entry(mode.to_owned());
        found.or_insert_with(|| self.ground().of_mode(mode)).clone()
    }

    pub(super) fn ground(&self) -> &Ground {
        &self.shelf.ground
    }

    /// The rules that hold everywhere, as they are now: default prompts, rules files, instructions for all.
    fn always(&self) -> Vec<Rules> {
        let mut rules: Vec<Rules> = Vec::new();
        let saved = library::all(self.ground()).into_values();
        rules.extend(
            saved
                .filter(|saved| saved.default && !saved.text.is_empty())
                .map(|saved| Rules {
                    path: self.ground().shown(&saved.path),
                    text: saved.text,
                }),
        );
        rules.extend(self.ground().rules());
        let instructions = lock(&self.instructions);
        let all = instructions.iter().filter(|found| matches!(found.scope, Scope::Always));
        rules.extend(all.map(|found| found.rules.clone()));
        fitting(rules)
    }

    /// A file that the model was told of, as it is now.
    fn again(&self, shown: &str) -> Option<Rules> {
        let instructions = lock(&self.instructions);
        let known = instructions
            .iter()
            .find(|found| found.rules.path.to_string_lossy() == shown);
        known
            .map(|found| found.rules.clone())
            .or_else(|| self.ground().again(shown))
    }

    fn git(&self) -> Option<Fact> {
        let git = self.workspace.git()?;
        let head = match git.head {
            Head::Branch(name) => format!("branch {name}"),
            Head::Detached(commit) => format!("detached at {}", commit.chars().take(12).collect::<String>()),
            Head::Unknown => return None,
        };
        let dirty = match self.workspace.dirty() {
            None => String::new(),
            Some(0) => ", no tracked file changed".into(),
            Some(1) => ", 1 tracked file changed".into(),
            Some(many) => format!(", {many} tracked files changed"),
        };
        Some(Fact {
            name: "Git",
            value: head + &dirty,
            told: Told::Changed,
        })
    }

    /// Files that the model has seen and somebody else has changed since it was last spoken to.
    fn edited(&self, items: &[Arc<Item>]) -> Option<Fact> {
        let spoken = |item: &&Arc<Item>| {
            matches!(
                item.body,
                Body::Prompt { .. } | Body::Restored { .. } | Body::Review { .. }
            )
        };
        let spoken = items.iter().rev().find(spoken)?;
        let spoken = SystemTime::UNIX_EPOCH + Duration::from_millis(spoken.at.0);
        let seen = seen::files(items).into_iter();
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
        let more = names.len().saturating_sub(MOST_EDITED);
        names.truncate(MOST_EDITED);
        if more > 0 {
            names.push(format!("and {more} more"));
        }
        Some(Fact {
            name: "Changed since you saw them, not by you",
            value: names.join(", "),
            told: Told::Always,
        })
    }

    fn running(&self, known: &Known) -> Option<Fact> {
        let running = self.jobs.running();
        let value = match running.is_empty() {
            false => running.join(", "),
            true if known.has_fact(JOBS) => "nothing any more".into(),
            true => return None,
        };
        Some(Fact {
            name: JOBS,
            value,
            told: Told::Changed,
        })
    }
}

impl Surroundings for Around {
    fn changed_rules(&self, mode: &str, known: &Known) -> Vec<String> {
        lock(&self.bare).clear();
        *lock(&self.instructions) = instructions::find(self.ground());
        let began: Vec<Rules> = self.began.iter().cloned().chain(self.of_mode(mode)).collect();
        let before: HashMap<&PathBuf, &Rules> = began.iter().map(|rules| (&rules.path, rules)).collect();
        let now: Vec<Rules> = self.always().into_iter().chain(self.ground().of_mode(mode)).collect();
        let mut notes: Vec<String> = now
            .iter()
            .filter_map(|rules| known.rules_note(rules, before.get(&rules.path).copied()))
            .collect();
        let is_here = |path: &PathBuf| now.iter().any(|rules| rules.path == *path);
        for rules in began.iter().filter(|rules| !is_here(&rules.path)) {
            notes.extend(known.gone_note(&rules.path.to_string_lossy(), Some(rules)));
        }
        let mut others: Vec<&str> = known.rules().filter(|path| !is_here(&path.into())).collect();
        others.retain(|path| !before.contains_key(&PathBuf::from(path)));
        others.sort_unstable();
        notes.extend(others.into_iter().filter_map(|path| match self.again(path) {
            Some(rules) => known.rules_note(&rules, None),
            None => known.gone_note(path, None),
        }));
        notes
    }

    fn rules_for(&self, files: &[PathBuf], known: &Known) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        let mut add = |rules: &Rules| {
            if let Some(note) = known.rules_note(rules, None)
                && !notes.contains(&note)
            {
                notes.push(note);
            }
        };
        for file in files {
            for folder in self.ground().folders_of(file) {
                if lock(&self.bare).contains(folder) {
                    continue;
                }
                match self.ground().nested(folder) {
                    Some(rules) => add(&rules),
                    None => drop(lock(&self.bare).insert(folder.to_owned())),
                }
            }
            let instructions = lock(&self.instructions);
            let hold = instructions.iter().filter(|found| found.hold_for(file, self.ground()));
            hold.for_each(|found| add(&found.rules));
        }
        notes
    }

    fn facts(&self, items: &[Arc<Item>], known: &Known) -> Vec<Fact> {
        let fact = |name, value: String, told| Fact { name, value, told };
        let date = words::moment(words::now()).chars().take(10).collect();
        let mut facts = vec![fact("Date", date, Told::Changed)];
        facts.extend(self.git());
        facts.extend(self.edited(items));
        facts.extend(self.running(known));
        if !self.workspace.more().is_empty() {
            let more = self.workspace.more().iter().map(|root| root.display().to_string());
            let value = more.collect::<Vec<_>>().join(", ");
            facts.push(fact("Other folders of the project", value, Told::Changed));
        }
        if !known.has_fact(FILES)
            && let Some(sketch) = self.workspace.sketch(SKETCH)
        {
            facts.push(fact(FILES, format!("\n{sketch}"), Told::Once));
        }
        facts
    }

    fn reminder(&self) -> Option<String> {
        self.said.reminder.clone()
    }

    fn saved(&self, name: &str) -> Result<String, String> {
        let mut all = library::all(self.ground());
        if let Some(saved) = all.remove(name) {
            return Ok(saved.text);
        }
        let instructions = instructions::find(self.ground());
        let rules = self
            .always()
            .into_iter()
            .chain(instructions.into_iter().map(|found| found.rules));
        let is_it = |rules: &Rules| {
            let file = rules.path.file_name().unwrap_or_default().to_string_lossy();
            file == name
                || file
                    .strip_suffix(".md")
                    .is_some_and(|stem| stem.trim_end_matches(".instructions") == name)
        };
        let found = rules.into_iter().find(is_it).map(|rules| rules.text);
        found.ok_or_else(|| match all.is_empty() {
            true => "there is no rule or prompt of this name".into(),
            false => {
                let names: Vec<&str> = all.keys().take(20).map(String::as_str).collect();
                format!(
                    "there is no rule or prompt of this name; prompts are {}",
                    names.join(", ")
                )
            }
        })
    }

    fn called(&self, name: &str) -> Called {
        self.shelf.called(name)
    }
}

/// The name of the picture of the project.
const FILES: &str = "Files";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is done under these locks can be left half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::Trust;
    use model::{Message, Part};
    use session::{ItemId, Time};
    use std::fs;
    use std::path::Path;

    struct Story {
        temp: tempfile::TempDir,
        around: Around,
        told: Vec<Arc<Item>>,
    }

    impl Story {
        fn new(files: &[(&str, &str)]) -> Self {
            let temp = tempfile::tempdir().unwrap();
            fs::create_dir_all(temp.path().join("repo")).unwrap();
            files.iter().for_each(|(path, text)| put(temp.path(), path, text));
            let workspace = Workspace::open(&temp.path().join("repo")).unwrap();
            let shelf = Shelf {
                ground: Ground::new(&workspace, Some(temp.path().join("home"))),
                home: None,
                skills: Vec::new(),
                trust: Trust::Unknown,
            };
            let around = Around::new(&workspace, shelf, Said::default(), JobsView::default());
            around.of_mode("code");
            Story {
                temp,
                around,
                told: Vec::new(),
            }
        }

        fn put(&self, path: &str, text: &str) {
            put(self.temp.path(), path, text);
        }

        fn known(&self) -> Known {
            let mut known = Known::default();
            self.told.iter().for_each(|item| known.read(item));
            known
        }

        /// The paths and last lines of what is told with a prompt, which the model then knows.
        fn prompt(&mut self) -> Vec<String> {
            let notes = self.around.changed_rules("code", &self.known());
            self.tell(notes)
        }

        fn touch(&mut self, path: &str) -> Vec<String> {
            let files = [self.around.workspace.root().join(path)];
            let notes = self.around.rules_for(&files, &self.known());
            self.tell(notes)
        }

        fn tell(&mut self, notes: Vec<String>) -> Vec<String> {
            let mut message = Message::user("go");
            message.parts.extend(notes.iter().map(Part::text));
            self.told.push(Arc::new(Item {
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
    fn a_change_of_any_rules_is_in_the_next_prompt_and_only_a_real_one() {
        let mut story = Story::new(&[
            ("home/AGENTS.md", "mine"),
            ("home/prompts/style.md", "---\ndefault: true\n---\nbrief"),
            ("repo/AGENTS.md", "top"),
            ("repo/.hew/rules-code/m.md", "mode"),
            ("repo/.hew/instructions/all.md", "---\napplyTo: '**'\n---\nall"),
        ]);
        assert_eq!(story.around.began().len(), 4);
        assert_eq!(story.prompt(), Vec::<String>::new());
        story.put("repo/AGENTS.md", "top\n");
        assert_eq!(story.prompt(), Vec::<String>::new(), "the same words are no change");
        story.put("repo/AGENTS.md", "new top");
        story.put("repo/.hew/rules-code/m.md", "new mode");
        story.put("repo/.hew/instructions/all.md", "---\napplyTo: '**'\n---\nnew all");
        story.put("repo/.hew/rules/extra.md", "extra");
        assert_eq!(
            story.prompt(),
            [
                "AGENTS.md: new top",
                ".hew/rules/extra.md: extra",
                ".hew/instructions/all.md: new all",
                ".hew/rules-code/m.md: new mode"
            ]
        );
        assert_eq!(story.prompt(), Vec::<String>::new());
        story.put("repo/.rules", "first");
        assert_eq!(
            story.prompt(),
            [".rules: first", "AGENTS.md: (This file no longer counts.)"]
        );
    }

    #[test]
    fn nested_rules_are_told_once_and_again_when_they_change() {
        let mut story = Story::new(&[("repo/a/AGENTS.md", "deep"), ("repo/a/b/x.rs", ""), ("repo/y.rs", "")]);
        put(
            story.temp.path(),
            "repo/.hew/instructions/rs.md",
            "---\napplyTo: '*.rs'\n---\nrust",
        );
        assert_eq!(story.prompt(), Vec::<String>::new());
        assert_eq!(story.touch("y.rs"), [".hew/instructions/rs.md: rust"]);
        assert_eq!(story.touch("a/b/x.rs"), ["a/AGENTS.md: deep"]);
        assert_eq!(story.touch("a/b/x.rs"), Vec::<String>::new());
        assert_eq!(story.touch("a"), Vec::<String>::new());
        story.put("repo/a/AGENTS.md", "deeper");
        assert_eq!(story.prompt(), ["a/AGENTS.md: deeper"]);
        fs::remove_file(story.temp.path().join("repo/a/AGENTS.md")).unwrap();
        assert_eq!(story.prompt(), ["a/AGENTS.md: (This file no longer counts.)"]);
        assert_eq!(story.prompt(), Vec::<String>::new());
    }

    #[test]
    fn saved_prompts_and_rules_are_found_by_their_names() {
        let story = Story::new(&[
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
            assert_eq!(story.around.saved(name).as_deref(), Ok(text), "{name}");
        }
        assert!(story.around.saved("other").unwrap_err().contains("git:commit"));
    }
}
