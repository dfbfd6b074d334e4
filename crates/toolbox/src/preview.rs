//! Shows what an edit will do while the model still writes it. Nothing in it is binding.

mod fields;
mod hunks;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use edit::{CharOp, Format, Parser, Source};
use tool::{Glimpse, Op, Preview, Sight};
use workspace::Workspace;

use fields::{Field, Fields};
use hunks::Hunks;

/// Names of the field that says which file.
const PATH: [&str; 4] = ["path", "file_path", "filePath", "target_file"];
/// Names of the field that holds a patch.
pub(crate) const PATCH: [&str; 5] = ["input", "patch", "patchText", "patch_text", "diff"];
/// The input that is kept while it has not said which file it is for.
const MAX_HELD: usize = 256 * 1024;
/// A patch shows its format sooner than this.
const MAX_UNKNOWN: usize = 8 * 1024;
/// A larger file is changed without being shown: the lines of a file are looked at anew for every edit of it.
const MAX_FILE: u64 = 512 * 1024;

/// A preview of a call to any of the edit tools.
pub(crate) fn of_input(workspace: &Workspace) -> Box<dyn Preview> {
    Box::new(Input {
        workspace: workspace.clone(),
        fields: Fields::default(),
        stage: Stage::Unknown(String::new()),
        path: String::new(),
        finished: 0,
        offset: 0,
    })
}

struct Input {
    workspace: Workspace,
    fields: Fields,
    stage: Stage,
    path: String,
    /// The last change that was finished, and what is added to the numbers of those that come after `edits` starts anew at 1.
    finished: usize,
    offset: usize,
}

enum Stage {
    /// What has arrived, until it is known which file it is for or that it is a patch.
    Unknown(String),
    Arguments(Box<edit::Preview>),
    Patch(Text),
    Over,
}

impl Preview for Input {
    fn push(&mut self, json: &str) -> Vec<Glimpse> {
        let fields = self.fields.push(json);
        let mut glimpses = Vec::new();
        if let Stage::Unknown(held) = &mut self.stage {
            held.push_str(json);
        } else if let Stage::Arguments(preview) = &mut self.stage {
            glimpses.extend(preview.push(json).into_iter().map(glimpse));
        }
        for field in fields {
            self.field(field, &mut glimpses);
        }
        if matches!(&self.stage, Stage::Unknown(held) if held.len() > MAX_HELD) {
            self.stage = Stage::Over;
        }
        glimpses.iter_mut().for_each(|glimpse| self.number(glimpse));
        glimpses
    }
}

impl Input {
    fn field(&mut self, field: Field, glimpses: &mut Vec<Glimpse>) {
        let key = field.key.as_str();
        if PATH.contains(&key) {
            self.path.push_str(&field.text);
        }
        match &mut self.stage {
            Stage::Unknown(held) if PATH.contains(&key) && field.done => {
                let mut preview =
                    edit::Preview::new(Format::Json, Some(Path::new(&self.path)), source(&self.workspace));
                glimpses.extend(preview.push(held).into_iter().map(glimpse));
                self.stage = Stage::Arguments(Box::new(preview));
            }
            Stage::Unknown(_) | Stage::Arguments(_) if PATCH.contains(&key) => {
                let target = (!self.path.is_empty()).then(|| PathBuf::from(&self.path));
                self.stage = Stage::Patch(Text::new(Format::Auto, target, source(&self.workspace)));
                self.patch(&field, glimpses);
            }
            Stage::Patch(_) if PATCH.contains(&key) => self.patch(&field, glimpses),
            Stage::Unknown(_) | Stage::Arguments(_) | Stage::Patch(_) | Stage::Over => {}
        }
    }

    fn patch(&mut self, field: &Field, glimpses: &mut Vec<Glimpse>) {
        let Stage::Patch(text) = &mut self.stage else { return };
        glimpses.extend(text.push(&field.text));
        if field.done
            && let Stage::Patch(text) = std::mem::replace(&mut self.stage, Stage::Over)
        {
            glimpses.extend(text.finish());
        }
    }

    fn number(&mut self, glimpse: &mut Glimpse) {
        if glimpse.edit + self.offset <= self.finished {
            self.offset = self.finished;
        }
        glimpse.edit += self.offset;
        if glimpse.sight == Sight::Finished {
            self.finished = glimpse.edit;
        }
    }
}

/// A preview of edit text in any format.
pub(crate) struct Text {
    target: Option<PathBuf>,
    stage: Reading,
}

enum Reading {
    /// The format is to be recognised.
    Unknown(String, Source),
    Replacements(Box<edit::Preview>),
    Hunks(Box<Hunks>),
    Over,
}

impl Text {
    /// A preview of text in `format`; `target` is the file for edits that name none.
    pub(crate) fn new(format: Format, target: Option<PathBuf>, source: Source) -> Self {
        let stage = Reading::new(format, target.as_deref(), source);
        Self { target, stage }
    }

    pub(crate) fn push(&mut self, text: &str) -> Vec<Glimpse> {
        match &mut self.stage {
            Reading::Replacements(preview) => preview.push(text).into_iter().map(glimpse).collect(),
            Reading::Hunks(hunks) => hunks.push(text),
            Reading::Over => Vec::new(),
            Reading::Unknown(held, _) => {
                held.push_str(text);
                match text.contains('\n') {
                    true => self.recognise(),
                    false => Vec::new(),
                }
            }
        }
    }

    pub(crate) fn finish(self) -> Vec<Glimpse> {
        match self.stage {
            Reading::Replacements(mut preview) => {
                let mut glimpses = preview.push("\n");
                glimpses.extend(preview.finish());
                glimpses.into_iter().map(glimpse).collect()
            }
            Reading::Hunks(hunks) => hunks.finish(),
            Reading::Unknown(..) | Reading::Over => Vec::new(),
        }
    }

    /// Looks for a format in the complete lines so far. A fence says nothing: it may hold a patch.
    fn recognise(&mut self) -> Vec<Glimpse> {
        let Reading::Unknown(held, source) = std::mem::replace(&mut self.stage, Reading::Over) else {
            return Vec::new();
        };
        let lines = held.rsplit_once('\n').map_or("", |(lines, _)| lines);
        match edit::detect(lines) {
            Some(format) if !matches!(format, Format::Whole | Format::Json) => {
                self.stage = Reading::new(format, self.target.as_deref(), source);
                self.push(&held)
            }
            Some(_) | None => {
                if held.len() <= MAX_UNKNOWN {
                    self.stage = Reading::Unknown(held, source);
                }
                Vec::new()
            }
        }
    }
}

impl Reading {
    fn new(format: Format, target: Option<&Path>, source: Source) -> Self {
        match format {
            Format::Auto => Self::Unknown(String::new(), source),
            Format::ApplyPatch | Format::Unified => {
                let hunks = Hunks::new(Parser::new(format), target.map(Path::to_owned), source);
                Self::Hunks(Box::new(hunks))
            }
            Format::SearchReplace | Format::Xml | Format::Json | Format::Whole => {
                Self::Replacements(Box::new(edit::Preview::new(format, target, source)))
            }
        }
    }
}

/// Looks up files of the project, each once.
pub(crate) fn source(workspace: &Workspace) -> Source {
    let workspace = workspace.clone();
    let seen: Mutex<HashMap<PathBuf, Option<String>>> = Mutex::default();
    Box::new(move |path| {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = seen.get(path) {
            return known.clone();
        }
        let content = workspace.locate(path).ok().and_then(|file| {
            let bytes = file.read_bytes(MAX_FILE).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            Some(text.strip_prefix('\u{FEFF}').unwrap_or(&text).to_owned())
        });
        seen.insert(path.to_owned(), content.clone());
        content
    })
}

fn glimpse(glimpse: edit::Glimpse) -> Glimpse {
    let sight = match glimpse.sight {
        edit::Sight::Resolving { first_line, last_line } => Sight::Resolving { first_line, last_line },
        edit::Sight::Ambiguous { lines } => Sight::Ambiguous { lines },
        edit::Sight::Unresolved => Sight::Unresolved,
        edit::Sight::Edited { first_line, ops } => Sight::Edited {
            first_line,
            ops: ops.into_iter().map(op).collect(),
        },
        edit::Sight::Finished => Sight::Finished,
    };
    Glimpse {
        edit: glimpse.edit,
        path: glimpse.path,
        sight,
    }
}

fn op(op: CharOp) -> Op {
    match op {
        CharOp::Keep(bytes) => Op::Keep(bytes),
        CharOp::Delete(bytes) => Op::Delete(bytes),
        CharOp::Insert(text) => Op::Insert(text),
    }
}
