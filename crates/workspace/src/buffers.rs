//! Files as an editor shows them: what it has not saved is read, and what is written goes through it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use crate::{Location, Place, Workspace};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// An editor that has files of the project open. Its functions block, for a bounded time.
pub trait Buffers: Send + Sync {
    /// The text of a file as the editor shows it; `None` where it shows none, or does not say.
    fn read(&self, path: &Path) -> Option<String>;

    /// Has the editor replace the text of a file and save it; `false` where it does not.
    fn write(&self, path: &Path, text: &str) -> bool;
}

/// The editor of a project, where there is one. It is the same for all locations, and so no part of what makes them equal.
#[derive(Clone, Default)]
pub(crate) struct Editor(pub(crate) Option<Arc<dyn Buffers>>);

impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Editor" } else { "NoEditor" })
    }
}

impl PartialEq for Editor {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Editor {}

impl Hash for Editor {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Workspace {
    /// The same project, as this editor shows it.
    pub fn shown_by(mut self, buffers: Arc<dyn Buffers>) -> Self {
        self.editor = Editor(Some(buffers));
        self
    }
}

impl Location {
    /// The editor that shows this file, if one may.
    pub(crate) fn editor(&self) -> Option<&Arc<dyn Buffers>> {
        let inside = self.place() == Place::Inside && !self.hiding().hides(self.path());
        self.buffers().0.as_ref().filter(|_| inside)
    }

    /// What the editor has not saved of a file that holds `disk`: its bytes as they would be saved.
    pub(crate) fn unsaved(&self, disk: &[u8]) -> Option<Vec<u8>> {
        let editor = self.editor()?;
        let text = std::str::from_utf8(disk).ok().filter(|text| !text.contains('\0'))?;
        let shown = editor.read(self.path())?;
        let plain = |text: &str| text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        if plain(&shown) == plain(text) {
            return None;
        }
        // Editors keep line ends and the byte order mark apart from the text.
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

    /// Has the editor write the file; says whether it did.
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
    use crate::{Expect, Window};
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::PathBuf;
    use std::sync::Mutex;

    /// An editor with buffers that are not saved.
    #[derive(Default)]
    struct Open(Mutex<BTreeMap<PathBuf, String>>);

    impl Buffers for Open {
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
    fn what_is_not_saved_is_read_and_what_is_written_goes_through_the_editor() {
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
        let workspace = Workspace::open(&root).unwrap().shown_by(open.clone());
        let read = |name: &str| workspace.locate(name).unwrap().read_text().unwrap();
        assert_eq!(read("a.txt").content, "new\r\nline\r\n");
        assert_eq!(read("same.txt").content, "one\r\ntwo\r\n");
        let window = Window {
            first: 1,
            last: usize::MAX,
            max_lines: 9,
            max_bytes: 999,
            max_line: 99,
        };
        let excerpt = workspace.locate("a.txt").unwrap().read_lines(&window).unwrap();
        assert_eq!(excerpt.lines[0].text, "new");
        assert_eq!(excerpt.snapshot, read("a.txt").snapshot);
        assert_eq!(workspace.locate("a.txt").unwrap().snapshot().unwrap(), excerpt.snapshot);

        let written = workspace
            .locate("a.txt")
            .unwrap()
            .write(b"newer\n", Expect::Content(excerpt.snapshot));
        assert_eq!(written.unwrap().before.unwrap(), b"new\r\nline\r\n");
        assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "newer\n(saved)");
        workspace
            .locate("refused.txt")
            .unwrap()
            .write(b"y", Expect::Anything)
            .unwrap();
        assert_eq!(fs::read_to_string(root.join("refused.txt")).unwrap(), "y");
    }
}
