//! Saves text that is too long for the model to files that it can read.

use std::path::{Path, PathBuf};

use workspace::{ScratchFile, ScratchFolder};

/// The end of a long text is slightly more important than its start.
const HEAD_PERCENT: usize = 40;

/// Files for long results. Without a directory, results are only truncated.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spill {
    scratch: Option<ScratchFolder>,
}

impl Spill {
    /// Saves long results to this directory.
    pub(crate) fn at(folder: Option<PathBuf>) -> Self {
        Spill {
            scratch: folder.map(ScratchFolder::at),
        }
    }

    /// Saves a text and returns its path, or `None` if it cannot be saved.
    pub(crate) fn keep(&self, name: &str, text: &str) -> Option<PathBuf> {
        self.scratch.as_ref()?.save(name, text).ok()
    }

    /// Opens a file for a text that arrives in pieces.
    pub(crate) fn begin(&self, name: &str) -> Option<ScratchFile> {
        self.scratch.as_ref()?.create(name).ok()
    }

    /// Whether a canonical path is a file saved here. Such files can be read without approval.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        self.scratch.as_ref().is_some_and(|scratch| scratch.contains(path))
    }

    /// The text if it has at most `most` bytes; otherwise its head and tail, and the path of the full text.
    pub(crate) fn shorten(&self, name: &str, text: String, most: usize) -> String {
        if text.len() <= most {
            return text;
        }
        let kept = self.keep(name, &text);
        let head = text.floor_char_boundary(most * HEAD_PERCENT / 100);
        let head = text[..head].rfind('\n').map_or(head, |end| end + 1);
        let tail = text.ceil_char_boundary(text.len() - (most - most * HEAD_PERCENT / 100));
        let tail = text[tail..].find('\n').map_or(tail, |end| tail + end + 1);
        let tail = if tail == text.len() {
            text.ceil_char_boundary(text.len() - most / 2)
        } else {
            tail
        };
        let cut = tail - head;
        let note = pointer(cut as u64, kept.as_deref());
        let gap = if head == 0 || text[..head].ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!("{}{gap}[{note}]\n{}", &text[..head], &text[tail..])
    }
}

/// The note about text that was cut.
pub(crate) fn pointer(cut: u64, kept: Option<&Path>) -> String {
    match kept {
        Some(path) => format!("{cut} bytes cut; all of it is in {}", path.display()),
        None => format!("{cut} bytes cut"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_lines_and_saved() {
        let temp = tempfile::tempdir().unwrap();
        let spill = Spill::at(Some(temp.path().join("s")));
        let text: String = (0..1_000).map(|number| format!("line {number}\n")).collect();
        let short = spill.shorten("tool", text.clone(), 1_000);
        assert!(short.len() < 1_200, "{}", short.len());
        assert!(
            short.starts_with("line 0\n") && short.ends_with("\nline 999\n"),
            "{short}"
        );
        let note = short.lines().find(|line| line.starts_with('[')).unwrap();
        let path = note.split(" is in ").nth(1).unwrap().trim_end_matches(']');
        assert!(spill.holds(Path::new(path)), "{path}");
        let cut: usize = note[1..].split(' ').next().unwrap().parse().unwrap();
        let shown = short.len() - note.len() - 1;
        assert_eq!(cut + shown, text.len(), "{note}");
        assert_eq!(spill.shorten("tool", "short".into(), 1_000), "short");
    }

    #[test]
    fn without_a_directory_a_text_is_only_cut() {
        let spill = Spill::at(None);
        let short = spill.shorten("tool", "\u{e4}".repeat(5_000), 1_001);
        assert!(short.contains("bytes cut]") && !short.contains(" is in "), "{short}");
        assert!(short.len() < 1_100, "{}", short.len());
    }
}
