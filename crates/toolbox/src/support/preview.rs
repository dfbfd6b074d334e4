//! Previews edits while their input is streaming. They have no effect on the call.

mod fields;
mod patch;

use session::{PreviewState, PreviewUpdate};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use edit::{EditFormat, EditParser, PreviewSource};
use tool::CallPreview;
use workspace::Workspace;

use fields::{FieldDelta, FieldStream};
use patch::PatchPreview;

/// Names of the path field.
pub(crate) const PATH: [&str; 4] = ["path", "file_path", "filePath", "target_file"];
/// Names of the patch field.
pub(crate) const PATCH: [&str; 5] = ["input", "patch", "patchText", "patch_text", "diff"];
/// Maximum input buffered until the path is known.
const MAX_BUFFERED: usize = 256 * 1024;
/// Maximum text buffered until the format is known.
const MAX_UNKNOWN: usize = 8 * 1024;
/// Maximum size of a file for previews: its lines are scanned again for every edit.
const MAX_FILE: u64 = 512 * 1024;

/// Creates a preview for a call of any edit tool.
pub(crate) fn of_input(workspace: &Workspace) -> Box<dyn CallPreview> {
    Box::new(EditInputPreview {
        workspace: workspace.clone(),
        fields: FieldStream::default(),
        stage: InputStage::Unknown(String::new()),
        path: String::new(),
        finished: 0,
        offset: 0,
    })
}

struct EditInputPreview {
    workspace: Workspace,
    fields: FieldStream,
    stage: InputStage,
    path: String,
    /// The last finished change, and the offset for changes after `edits` restarts its numbering at 1.
    finished: usize,
    offset: usize,
}

enum InputStage {
    /// The input so far, until the path is known or it turns out to be a patch.
    Unknown(String),
    Arguments(Box<edit::EditPreview>),
    Patch(EditTextPreview),
    Over,
}

impl CallPreview for EditInputPreview {
    fn push(&mut self, json: &str) -> Vec<PreviewUpdate> {
        let fields = self.fields.push(json);
        let mut updates = Vec::new();
        if let InputStage::Unknown(buffered) = &mut self.stage {
            buffered.push_str(json);
        } else if let InputStage::Arguments(preview) = &mut self.stage {
            updates.extend(preview.push(json));
        }
        for field in fields {
            self.field(field, &mut updates);
        }
        if matches!(&self.stage, InputStage::Unknown(buffered) if buffered.len() > MAX_BUFFERED) {
            self.stage = InputStage::Over;
        }
        updates.iter_mut().for_each(|update| self.number(update));
        updates
    }
}

impl EditInputPreview {
    fn field(&mut self, field: FieldDelta, updates: &mut Vec<PreviewUpdate>) {
        let key = field.key.as_str();
        if PATH.contains(&key) {
            self.path.push_str(&field.text);
        }
        match &mut self.stage {
            InputStage::Unknown(buffered) if PATH.contains(&key) && field.done => {
                let mut preview =
                    edit::EditPreview::new(EditFormat::Json, Some(Path::new(&self.path)), source(&self.workspace));
                updates.extend(preview.push(buffered));
                self.stage = InputStage::Arguments(Box::new(preview));
            }
            InputStage::Unknown(_) | InputStage::Arguments(_) if PATCH.contains(&key) => {
                let target = (!self.path.is_empty()).then(|| PathBuf::from(&self.path));
                self.stage = InputStage::Patch(EditTextPreview::new(EditFormat::Auto, target, source(&self.workspace)));
                self.patch(&field, updates);
            }
            InputStage::Patch(_) if PATCH.contains(&key) => self.patch(&field, updates),
            InputStage::Unknown(_) | InputStage::Arguments(_) | InputStage::Patch(_) | InputStage::Over => {}
        }
    }

    fn patch(&mut self, field: &FieldDelta, updates: &mut Vec<PreviewUpdate>) {
        let InputStage::Patch(text) = &mut self.stage else {
            return;
        };
        updates.extend(text.push(&field.text));
        if field.done
            && let InputStage::Patch(text) = std::mem::replace(&mut self.stage, InputStage::Over)
        {
            updates.extend(text.finish());
        }
    }

    fn number(&mut self, update: &mut PreviewUpdate) {
        if update.edit + self.offset <= self.finished {
            self.offset = self.finished;
        }
        update.edit += self.offset;
        if update.state == PreviewState::Finished {
            self.finished = update.edit;
        }
    }
}

/// A preview of edit text in any format.
pub(crate) struct EditTextPreview {
    target: Option<PathBuf>,
    stage: TextStage,
}

enum TextStage {
    /// The format is not known yet.
    Unknown(String, PreviewSource),
    Replacements(Box<edit::EditPreview>),
    Hunks(Box<PatchPreview>),
    Over,
}

impl EditTextPreview {
    /// A preview of text in `format`; `target` is the file for edits without a path.
    pub(crate) fn new(format: EditFormat, target: Option<PathBuf>, source: PreviewSource) -> Self {
        let stage = TextStage::new(format, target.as_deref(), source);
        Self { target, stage }
    }

    pub(crate) fn push(&mut self, text: &str) -> Vec<PreviewUpdate> {
        match &mut self.stage {
            TextStage::Replacements(preview) => preview.push(text),
            TextStage::Hunks(hunks) => hunks.push(text),
            TextStage::Over => Vec::new(),
            TextStage::Unknown(buffered, _) => {
                buffered.push_str(text);
                match text.contains('\n') {
                    true => self.recognise(),
                    false => Vec::new(),
                }
            }
        }
    }

    pub(crate) fn finish(self) -> Vec<PreviewUpdate> {
        match self.stage {
            TextStage::Replacements(mut preview) => {
                let mut updates = preview.push("\n");
                updates.extend(preview.finish());
                updates
            }
            TextStage::Hunks(hunks) => hunks.finish(),
            TextStage::Unknown(..) | TextStage::Over => Vec::new(),
        }
    }

    /// Detects the format from the complete lines so far. A fence is not conclusive: it may contain a patch.
    fn recognise(&mut self) -> Vec<PreviewUpdate> {
        let TextStage::Unknown(buffered, source) = std::mem::replace(&mut self.stage, TextStage::Over) else {
            return Vec::new();
        };
        let lines = buffered.rsplit_once('\n').map_or("", |(lines, _)| lines);
        match edit::detect(lines) {
            Some(format) if !matches!(format, EditFormat::Whole | EditFormat::Json) => {
                self.stage = TextStage::new(format, self.target.as_deref(), source);
                self.push(&buffered)
            }
            Some(_) | None => {
                if buffered.len() <= MAX_UNKNOWN {
                    self.stage = TextStage::Unknown(buffered, source);
                }
                Vec::new()
            }
        }
    }
}

impl TextStage {
    fn new(format: EditFormat, target: Option<&Path>, source: PreviewSource) -> Self {
        match format {
            EditFormat::Auto => Self::Unknown(String::new(), source),
            EditFormat::ApplyPatch | EditFormat::Unified => {
                let hunks = PatchPreview::new(EditParser::new(format), target.map(Path::to_owned), source);
                Self::Hunks(Box::new(hunks))
            }
            EditFormat::SearchReplace
            | EditFormat::Xml
            | EditFormat::Json
            | EditFormat::Whole
            | EditFormat::Anchors => Self::Replacements(Box::new(edit::EditPreview::new(format, target, source))),
        }
    }
}

/// Loads files of the project, each once.
pub(crate) fn source(workspace: &Workspace) -> PreviewSource {
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
