//! Files open in an editor: reads see unsaved text, and writes go through the editor.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use crate::{Location, LocationPlace, Workspace};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// An editor with open files of the project. Its functions block for a bounded time.
pub trait EditorBuffers: Send + Sync {
    /// The text of an open file; `None` if it is not open or the editor does not answer.
    fn read(&self, path: &Path) -> Option<String>;

    /// Asks the editor to replace the text of a file and save it; `false` if it does not.
    fn write(&self, path: &Path, text: &str) -> bool;
}

/// The editor of a project, if any. It is the same for all locations, so it is ignored by comparison.
#[derive(Clone, Default)]
pub(crate) struct AttachedEditor(pub(crate) Option<Arc<dyn EditorBuffers>>);

impl fmt::Debug for AttachedEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Editor" } else { "NoEditor" })
    }
}

impl PartialEq for AttachedEditor {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for AttachedEditor {}

impl Hash for AttachedEditor {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Workspace {
    /// The same project, with this editor attached.
    pub fn with_editor(mut self, buffers: Arc<dyn EditorBuffers>) -> Self {
        self.editor = AttachedEditor(Some(buffers));
        self
    }
}

impl Location {
    /// The editor, if it may show this file.
    pub(crate) fn editor(&self) -> Option<&Arc<dyn EditorBuffers>> {
        let inside = self.place() == LocationPlace::Inside && !self.hiding().contains(self.path());
        self.attached_editor().0.as_ref().filter(|_| inside)
    }

    /// The unsaved content of a file that holds `disk`, as it would be saved; `None` if there is none.
    pub(crate) fn unsaved_content(&self, disk: &[u8]) -> Option<Vec<u8>> {
        let editor = self.editor()?;
        let text = std::str::from_utf8(disk).ok().filter(|text| !text.contains('\0'))?;
        let shown = editor.read(self.path())?;
        let plain = |text: &str| text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        if plain(&shown) == plain(text) {
            return None;
        }
        // Editors handle line endings and the byte order mark separately from the text.
        let shown = match text.contains("\r\n") && !shown.contains('\r') {
            true => shown.replace('\n', "\r\n"),
            false => shown,
        };
        let mark = disk.starts_with(BOM) && !shown.as_bytes().starts_with(BOM);
        Some(match mark {
            true => [BOM, shown.as_bytes()].concat(),
            false => shown.into_bytes(),
        })
    }

    /// Writes the file through the editor; returns whether it did.
    pub(crate) fn write_in_editor(&self, content: &[u8]) -> bool {
        let (Some(editor), Ok(text)) = (self.editor(), std::str::from_utf8(content)) else {
            return false;
        };
        editor.write(self.path(), text) && self.exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExpectedContent, LineWindow};
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::PathBuf;
    use std::sync::Mutex;

    /// An editor with unsaved buffers.
    #[derive(Default)]
    struct Open(Mutex<BTreeMap<PathBuf, String>>);

    impl EditorBuffers for Open {
        fn read(&self, path: &Path) -> Option<String> {
            self.0.lock().unwrap().get(path).cloned()
        }

        fn write(&self, path: &Path, text: &str) -> bool {
            if path.ends_with("refused.txt") {
                return false;
            }
            fs::write(path, format!("{text}(saved)")).unwrap();
            self.0.lock().unwrap().insert(path.into(), text.into());
            true
        }
    }

    #[test]
    fn unsaved_text_is_read_and_writes_go_through_the_editor() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::write(root.join("a.txt"), "old\r\nline\r\n").unwrap();
        fs::write(root.join("same.txt"), "\u{feff}one\r\ntwo\r\n").unwrap();
        fs::write(root.join("refused.txt"), "x").unwrap();
        let open = Arc::new(Open::default());
        let shown = [("a.txt", "new\nline\n"), ("same.txt", "one\ntwo\n")];
        open.0
            .lock()
            .unwrap()
            .extend(shown.map(|(name, text)| (root.join(name), text.to_owned())));
        let workspace = Workspace::open(&root).unwrap().with_editor(open.clone());
        let read = |name: &str| workspace.locate(name).unwrap().read_text().unwrap();
        assert_eq!(read("a.txt").content, "new\r\nline\r\n");
        assert_eq!(read("same.txt").content, "one\r\ntwo\r\n");
        let window = LineWindow {
            first: 1,
            last: usize::MAX,
            max_lines: 9,
            max_bytes: 999,
            max_line: 99,
        };
        let excerpt = workspace.locate("a.txt").unwrap().read_lines(&window).unwrap();
        assert_eq!(excerpt.lines[0].text, "new");
        assert_eq!(excerpt.snapshot, read("a.txt").snapshot);
        assert_eq!(
            workspace.locate("a.txt").unwrap().fingerprint().unwrap(),
            excerpt.snapshot
        );

        let written = workspace
            .locate("a.txt")
            .unwrap()
            .write(b"newer\n", ExpectedContent::Content(excerpt.snapshot));
        assert_eq!(written.unwrap().before.unwrap(), b"new\r\nline\r\n");
        assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "newer\n(saved)");
        workspace
            .locate("refused.txt")
            .unwrap()
            .write(b"y", ExpectedContent::Anything)
            .unwrap();
        assert_eq!(fs::read_to_string(root.join("refused.txt")).unwrap(), "y");
    }
}
