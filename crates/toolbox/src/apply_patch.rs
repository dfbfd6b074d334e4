//! Changes several files by one patch.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use edit::{FileChange, Format, How, Plan, Refused, Report, Why};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Change, Context, Effect, Error, Output, Preview, Tool, Version};
use workspace::{Location, Snapshot, Text};

use crate::preview;
use crate::project::{Project, aside, explain};
use crate::reads::Knowledge;
use crate::text::count;
use crate::told;
use crate::transaction::{Step, carry_out};
use crate::write_file::folders;

/// More files than this are named by their number only.
const MAX_NAMED: usize = 3;

pub(crate) struct ApplyPatch(pub(crate) Project);

/// Edits, adds, moves and deletes files by one patch: all of it is applied, or nothing.
///
/// `*** Begin Patch`, then for each file `*** Update File: path` (then `*** Move to: path` to rename it), `*** Add File: path`
/// or `*** Delete File: path`, then `*** End Patch`. An update consists of hunks: `@@`, with a line such as `fn main() {` that
/// stands above when context alone is not unique, then about 3 lines of context around each change, marked by a space, and
/// lines to remove (`-`) and to add (`+`). Every line of an added file starts with `+`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "patch", alias = "patchText", alias = "patch_text", alias = "diff")]
    input: String,
    /// The file for edits that name none: some models send it beside their patch.
    #[schemars(skip)]
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: Option<String>,
}

impl Tool for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const ALIASES: &'static [&'static str] = &["apply_diff", "patch"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let paths = Patching::new(&self.0).paths(input);
        match paths.len() <= MAX_NAMED {
            true => paths.join(", "),
            false => count(paths.len(), "file"),
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let patching = Patching::new(&self.0);
        let paths = patching.paths(input);
        let actions = paths.iter().flat_map(|path| {
            let reading = match patching.is_news(path) {
                true => self.0.reading(path),
                false => Vec::new(),
            };
            reading.into_iter().chain(self.0.writing(path))
        });
        actions.collect()
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        Some(preview::of_input(&self.0.workspace))
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let project = self.0.clone();
        let ready = aside(move || Patching::new(&project).prepare(&input)).await?;
        // No await from here on: a dropped call has either written nothing or reported what it wrote.
        carry_out(ready.steps)?;
        for (file, now) in &ready.known {
            match now {
                Some(snapshot) => self.0.reads.remember(file, *snapshot),
                None => self.0.reads.forget(file),
            }
        }
        Ok(Output {
            changes: ready.changes,
            ..Output::text(ready.told.join("\n"))
        }
        .summary(count(ready.told.len(), "file")))
    }
}

/// A patch that is ready to be carried out.
#[derive(Default)]
pub(crate) struct Ready {
    pub(crate) steps: Vec<Step>,
    changes: Vec<Change>,
    /// What each file holds afterwards, where the model may go on from that; nothing for a file that is gone.
    known: Vec<(Location, Option<Snapshot>)>,
    /// One line for each file.
    told: Vec<String>,
}

/// The files that a patch looks at, each read once.
pub(crate) struct Patching<'a> {
    project: &'a Project,
    format: Format,
    author: Author,
    files: RefCell<HashMap<PathBuf, Result<Found, workspace::Error>>>,
}

/// Who wrote a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// A model, which must have seen what it changes.
    Model,
    /// A person, who knows what they do.
    Person,
}

#[derive(Clone)]
struct Found {
    file: Location,
    text: Text,
}

impl<'a> Patching<'a> {
    fn new(project: &'a Project) -> Self {
        Self::by(Author::Model, project, Format::Auto)
    }

    pub(crate) fn by(author: Author, project: &'a Project, format: Format) -> Self {
        Self {
            project,
            format,
            author,
            files: RefCell::default(),
        }
    }

    /// The files that a patch touches: by its plan, or by its own words where it cannot be carried out.
    fn paths(&self, input: &Input) -> Vec<String> {
        let mut paths: Vec<PathBuf> = Vec::new();
        match self.plan(input) {
            Ok(plan) => paths.extend(plan.files.iter().flat_map(touched).map(Path::to_owned)),
            Err(_) => {
                let format = edit::detect(&input.input).unwrap_or(Format::ApplyPatch);
                for edit in edit::parse(&input.input, format).unwrap_or_default() {
                    paths.extend(edit.names.first().or(input.path.as_ref()).map(PathBuf::from));
                    if let edit::Change::Move(to) = edit.change {
                        paths.push(to.into());
                    }
                }
            }
        }
        let mut shown: Vec<String> = Vec::new();
        for path in paths.iter().map(|path| path.to_string_lossy().into_owned()) {
            if !shown.contains(&path) {
                shown.push(path);
            }
        }
        shown
    }

    /// Whether the file is there and has not been read, so that a refusal would show something of it for the first time.
    fn is_news(&self, path: &str) -> bool {
        self.content(Path::new(path));
        match self.files.borrow().get(Path::new(path)) {
            Some(Ok(Found { file, text })) => self.project.reads.knowledge(file, text.snapshot) != Knowledge::Fresh,
            Some(Err(_)) | None => false,
        }
    }

    fn plan(&self, input: &Input) -> Result<Plan, Refused> {
        self.plan_text(&input.input, input.path.as_deref().map(Path::new))
    }

    pub(crate) fn plan_text(&self, text: &str, target: Option<&Path>) -> Result<Plan, Refused> {
        edit::plan(text, self.format, target, &|path| self.content(path))
    }

    fn content(&self, path: &Path) -> Option<String> {
        let mut files = self.files.borrow_mut();
        let found = files.entry(path.to_owned()).or_insert_with(|| {
            let file = self.project.workspace.locate(path)?;
            let text = file.read_text()?;
            Ok(Found { file, text })
        });
        found.as_ref().ok().map(|found| found.text.content.clone())
    }

    fn prepare(&self, input: &Input) -> Result<Ready, Error> {
        let plan = self.plan(input).map_err(|refused| self.refusal(refused))?;
        self.ready(&plan)
    }

    pub(crate) fn ready(&self, plan: &Plan) -> Result<Ready, Error> {
        let mut ready = Ready::default();
        for change in &plan.files {
            self.change(change, &plan.edits, &mut ready)?;
        }
        Ok(ready)
    }

    /// Why a patch is refused.
    fn refusal(&self, refused: Refused) -> Error {
        match self.unreadable(&refused) {
            Some(text) => Error::Failed(text),
            None => Error::Failed(refused.to_string()),
        }
    }

    /// A file that is there but cannot be edited is more than one that is missing.
    pub(crate) fn unreadable(&self, refused: &Refused) -> Option<String> {
        let error = refused.refusals.iter().find_map(|refusal| match refusal.why {
            Why::NoFile => self.files.borrow_mut().remove(refusal.path.as_deref()?)?.err(),
            _ => None,
        })?;
        match explain(error) {
            Error::Failed(text) => Some(format!("{text}. Nothing was changed.")),
            Error::Input { .. } => None,
        }
    }

    fn change(&self, change: &FileChange, reports: &[Report], ready: &mut Ready) -> Result<(), Error> {
        match change {
            FileChange::Create { path, content } => {
                let file = self.locate(path)?;
                let bytes = content.clone().into_bytes();
                let lines = count(content.lines().count(), "line");
                ready.told.push(format!("created {} ({lines})", file.shown()));
                ready.change(&file, None, Some(bytes.clone()));
                ready.steps.push(Step::Create { file, bytes });
            }
            FileChange::Update { path, after, .. } => {
                let found = self.found(path)?;
                let own = || reports.iter().filter(|report| report.path == *path);
                self.check_known(&found, own())?;
                ready
                    .told
                    .push(format!("edited {} {}", found.file.shown(), told::places(own())));
                ready.write(&found, found.file.clone(), after)?;
            }
            FileChange::Move {
                from,
                to,
                after,
                replaced,
                ..
            } => {
                let (found, to) = (self.found(from)?, self.locate(to)?);
                self.check_no_link(from, &found.file)?;
                // What only gets another name is not lost, seen or not.
                if found.text.content != *after {
                    let is_hunk = |report: &&Report| report.path == *from && report.how != How::Whole;
                    self.check_known(&found, reports.iter().filter(is_hunk))?;
                }
                let replaced = replaced.is_some().then(|| self.found(to.relative())).transpose()?;
                ready.rename(&found, to, after, replaced.as_ref(), self)?;
            }
            FileChange::Delete { path, .. } => {
                let found = self.found(path)?;
                self.check_no_link(path, &found.file)?;
                self.check_seen(&found)?;
                ready.told.push(format!("deleted {}", found.file.shown()));
                ready.remove(&found);
            }
        }
        Ok(())
    }

    fn locate(&self, path: &Path) -> Result<Location, Error> {
        self.project.workspace.locate(path).map_err(explain)
    }

    fn found(&self, path: &Path) -> Result<Found, Error> {
        self.content(path);
        match self.files.borrow().get(path) {
            Some(Ok(found)) => Ok(found.clone()),
            Some(Err(_)) | None => Err(Error::Failed(format!("{} cannot be read", path.display()))),
        }
    }

    /// Nothing may vanish that the model has not seen.
    fn check_seen(&self, found: &Found) -> Result<(), Error> {
        match found.text.content.is_empty() || self.author == Author::Person {
            true => Ok(()),
            false => self.project.reads.check(&found.file, found.text.snapshot),
        }
    }

    /// A file must have been read before it is changed. A model that reads with commands of its own has seen what it quotes
    /// word for word, so that is enough; a quote that only comes close may be a guess.
    fn check_known<'r>(&self, found: &Found, mut reports: impl Iterator<Item = &'r Report>) -> Result<(), Error> {
        let is_quote = |report: &Report| matches!(report.how, How::Exact | How::TrailingSpace);
        match self.project.reads.knowledge(&found.file, found.text.snapshot) {
            Knowledge::None if reports.all(is_quote) => Ok(()),
            Knowledge::None | Knowledge::Stale | Knowledge::Fresh => self.check_seen(found),
        }
    }

    /// To remove or rename what a link points at is not what anyone means by the link's name.
    fn check_no_link(&self, path: &Path, file: &Location) -> Result<(), Error> {
        match self.project.workspace.root().join(path) == file.path() {
            true => Ok(()),
            false => Err(Error::Failed(format!(
                "{} leads over a symbolic link to {}; name that, or work on the link with terminal. Nothing was changed.",
                path.display(),
                file.shown()
            ))),
        }
    }
}

impl Ready {
    fn change(&mut self, file: &Location, before: Option<Vec<u8>>, after: Option<Vec<u8>>) {
        let now = after.as_deref().map(Snapshot::of);
        self.known.push((file.clone(), now));
        for folder in folders(&file.missing_folders()) {
            if after.is_some() && !self.changes.contains(&folder) {
                self.changes.push(folder);
            }
        }
        self.changes.push(Change {
            path: file.relative().to_owned(),
            before: before.map(|bytes| Version::file(bytes, file.mode())),
            after: after.map(Version::from),
        });
    }

    fn write(&mut self, found: &Found, file: Location, after: &str) -> Result<(), Error> {
        let bytes = file.encode(found.text.encoding, after).map_err(explain)?;
        self.change(&file, Some(found.bytes()), Some(bytes.clone()));
        self.steps.push(Step::Write {
            file,
            bytes,
            expect: found.text.snapshot,
        });
        Ok(())
    }

    fn remove(&mut self, found: &Found) {
        self.change(&found.file, Some(found.bytes()), None);
        self.steps.push(Step::Remove {
            file: found.file.clone(),
            expect: found.text.snapshot,
        });
    }

    fn rename(
        &mut self,
        found: &Found,
        to: Location,
        after: &str,
        replaced: Option<&Found>,
        patching: &Patching<'_>,
    ) -> Result<(), Error> {
        let was_known = patching.project.reads.knowledge(&found.file, found.text.snapshot) == Knowledge::Fresh;
        let is_changed = found.text.content != after;
        let bytes = to.encode(found.text.encoding, after).map_err(explain)?;
        let mut told = format!("moved {} to {}", found.file.shown(), to.shown());
        if let Some(replaced) = replaced {
            patching.check_seen(replaced)?;
            told.push_str(", in the place of what was there");
            self.steps.push(Step::Remove {
                file: replaced.file.clone(),
                expect: replaced.text.snapshot,
            });
        }
        self.steps.push(Step::Rename {
            from: found.file.clone(),
            to: to.clone(),
        });
        if is_changed {
            told.push_str(" and edited it");
            self.steps.push(Step::Write {
                file: to.clone(),
                bytes: bytes.clone(),
                expect: found.text.snapshot,
            });
        }
        self.change(&found.file, Some(found.bytes()), None);
        self.change(&to, replaced.map(Found::bytes), Some(bytes.clone()));
        if let Some(last) = self.changes.last_mut() {
            last.after = Some(Version::file(bytes, found.file.mode()));
        }
        if !was_known && !is_changed {
            // It has another name now, and still nobody has read it.
            self.known.pop();
        }
        self.told.push(told);
        Ok(())
    }
}

impl Found {
    fn bytes(&self) -> Vec<u8> {
        // What was read can be written.
        let bytes = self.file.encode(self.text.encoding, &self.text.content);
        bytes.unwrap_or_default()
    }
}

/// The files that a change touches.
fn touched(change: &FileChange) -> Vec<&Path> {
    match change {
        FileChange::Create { path, .. } | FileChange::Update { path, .. } | FileChange::Delete { path, .. } => {
            vec![path]
        }
        FileChange::Move { from, to, .. } => vec![from, to],
    }
}
