//! The changes that wait for review, each with a name that holds as long as the change itself is the same.

use super::form::Modes;
use super::whole::Whole;
use bytes::Bytes;
use edit::{ActionLog, Authors, ReviewHunk, Status};
use session::Version;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use workspace::Location;

/// What waits for review in a session.
#[derive(Default)]
pub(super) struct Pending {
    /// The files, by path.
    pub(super) files: Vec<File>,
    /// The texts behind the files that are text.
    pub(super) log: ActionLog,
    /// Every file that the session ever changed.
    pub(super) known: Vec<PathBuf>,
}

/// A file with changes to review.
pub(super) struct File {
    /// The file, as the session names it.
    pub(super) path: PathBuf,
    /// The same, resolved; `None` where that cannot be done or the file cannot be read.
    pub(super) location: Option<Location>,
    /// What it holds; `None` where nothing is there.
    pub(super) disk: Option<Bytes>,
    /// What the agent did to it as a whole.
    pub(super) status: Status,
    /// How it is looked at.
    pub(super) content: Content,
    /// Its permissions, where the agent changed them and not the file itself came or went.
    pub(super) modes: Option<Modes>,
    /// Its changes, from top to bottom.
    pub(super) hunks: Vec<Hunk>,
}

/// How a file is looked at.
pub(super) enum Content {
    /// Line by line; the log has its texts.
    Text,
    /// As a whole, because it is not text.
    Whole(Whole),
    /// Its bytes are what they were; its permissions are not.
    Same,
    /// As a whole, because a link stands there, or stood.
    Link(Link),
    /// Not at all, and why.
    Unreadable(String),
}

/// A path at which a link stands, or stood.
pub(super) struct Link {
    /// What counts as accepted; `None` for nothing.
    pub(super) base: Option<Version>,
    /// What stands there.
    pub(super) current: Option<Version>,
    /// Both in words.
    pub(super) words: (String, String),
}

/// What a change is a change of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Lines of a text.
    Lines,
    /// All bytes of a file that is not text.
    Whole,
    /// Permissions.
    Mode,
    /// A link, or what stands where one stood.
    Link,
}

impl Part {
    /// Its name in JSON.
    pub(super) fn word(self) -> &'static str {
        match self {
            Part::Lines => "lines",
            Part::Whole => "whole",
            Part::Mode => "mode",
            Part::Link => "link",
        }
    }
}

/// A change to accept or reject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Its place in the list, from 1.
    pub(super) number: usize,
    /// Names it: the same as long as its file and its texts are the same.
    pub(super) id: String,
    /// What it is a change of.
    pub(super) part: Part,
    /// The texts; words for permissions and links, nothing for a file that is not text.
    pub(super) text: ReviewHunk,
}

impl Hunk {
    /// How many lines it adds and removes.
    pub(super) fn counts(&self) -> (usize, usize) {
        if self.part != Part::Lines {
            return (0, 0);
        }
        (self.text.after.lines().count(), self.text.before.lines().count())
    }
}

impl File {
    /// How many lines its changes add and remove.
    pub(super) fn counts(&self) -> (usize, usize) {
        self.hunks
            .iter()
            .map(Hunk::counts)
            .fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1))
    }

    /// Whether taking back a change would take a person's work along in a way that cannot be undone by looking at the change:
    /// a file that others have worked on would go, or be replaced.
    pub(super) fn is_held(&self, hunk: &Hunk) -> bool {
        let is_mixed = hunk.text.authors == Authors::Mixed;
        if hunk.part == Part::Mode {
            return false;
        }
        match (&self.content, self.status) {
            (Content::Whole(_), _) | (Content::Text, Status::Created) => is_mixed,
            (Content::Text, Status::Modified | Status::Deleted)
            | (Content::Unreadable(_) | Content::Same | Content::Link(_), _) => false,
        }
    }
}

impl Pending {
    /// What the agent did to a file that is text.
    pub(super) fn status_of(&self, path: &Path) -> Option<Status> {
        self.log
            .files()
            .find(|(file, _)| *file == path)
            .map(|(_, status)| status)
    }

    /// The change of this name.
    pub(super) fn find(&self, id: &str) -> Option<(usize, usize)> {
        self.files.iter().enumerate().find_map(|(file_at, file)| {
            let hunk_at = file.hunks.iter().position(|hunk| hunk.id == id)?;
            Some((file_at, hunk_at))
        })
    }

    /// The file that a change of this name would belong to, whether there is such a change or not.
    pub(super) fn file_of(&self, id: &str) -> Option<&Path> {
        let is_name = id.len() == PLACE_DIGITS + TEXT_DIGITS && id.bytes().all(|digit| digit.is_ascii_hexdigit());
        let mut fitting = self.known.iter().filter(|path| is_name && id.starts_with(&place(path)));
        fitting.next().map(PathBuf::as_path)
    }

    /// Finds the changes of every file and gives them names and numbers.
    pub(super) fn name(&mut self) {
        let mut number = 0;
        for file in &mut self.files {
            let (mut hunks, state) = match &file.content {
                Content::Text => (self.log.hunks(&file.path), digest(&self.log.texts(&file.path))),
                Content::Whole(whole) => (vec![as_hunk(whole)], digest(&(&whole.base, &whole.current))),
                Content::Link(link) => (vec![in_words(&link.words)], digest(&link.words)),
                Content::Same | Content::Unreadable(_) => (Vec::new(), 0),
            };
            let part = match &file.content {
                Content::Whole(_) => Part::Whole,
                Content::Link(_) => Part::Link,
                Content::Text | Content::Same | Content::Unreadable(_) => Part::Lines,
            };
            let mut parts = vec![part; hunks.len()];
            if let Some(modes) = file.modes {
                hunks.push(in_words(&modes.words()));
                parts.push(Part::Mode);
            }
            let kind = file.status as u8;
            let names = hunks.iter().zip(&parts).map(|(hunk, part)| match part {
                Part::Whole | Part::Link => name(&file.path, state),
                Part::Mode => name(&file.path, digest(&file.modes)),
                Part::Lines => name(&file.path, digest(&(kind, &hunk.before, &hunk.after))),
            });
            let names: Vec<String> = names.collect();
            let names = told_apart(names, &file.path, state);
            file.hunks = hunks
                .into_iter()
                .zip(names)
                .zip(parts)
                .map(|((text, id), part)| {
                    number += 1;
                    Hunk { number, id, part, text }
                })
                .collect();
        }
    }
}

fn as_hunk(whole: &Whole) -> ReviewHunk {
    ReviewHunk {
        first_line: 1,
        first_line_before: 1,
        before: String::new(),
        after: String::new(),
        authors: whole.authors,
    }
}

/// A change that is told in words.
fn in_words((before, after): &(String, String)) -> ReviewHunk {
    let line = |words: &str| match words {
        "" => String::new(),
        words => format!("{words}\n"),
    };
    ReviewHunk {
        first_line: 1,
        first_line_before: 1,
        before: line(before),
        after: line(after),
        authors: Authors::Agent,
    }
}

/// Changes of one file that are the same get names that hold only as long as the whole file is the same: once one of them is
/// decided, its name must not be taken for another's.
fn told_apart(names: Vec<String>, path: &Path, state: u64) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for name in &names {
        *counts.entry(name.clone()).or_default() += 1;
    }
    let is_shared = |name: &String| counts.get(name).is_some_and(|count| *count > 1);
    names
        .into_iter()
        .enumerate()
        .map(|(at, own)| match is_shared(&own) {
            true => name(path, digest(&(own, state, at))),
            false => own,
        })
        .collect()
}

const PLACE_DIGITS: usize = 3;
const TEXT_DIGITS: usize = 7;

/// The name of a change: a few digits for the file, so that a name that no longer fits can be explained, the rest for the texts.
fn name(path: &Path, text: u64) -> String {
    format!("{}{:07x}", place(path), text & 0x0fff_ffff)
}

fn place(path: &Path) -> String {
    format!("{:03x}", digest(path) & 0xfff)
}

/// Names are compared within a few minutes on one machine, so a fast hash that may differ between releases is enough.
fn digest(of: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(before: &str, after: &str) -> Pending {
        let path = Path::new("a.txt");
        let mut pending = Pending {
            known: vec![path.into()],
            ..Pending::default()
        };
        pending.log.agent_wrote(path, Some(before), Some(after));
        pending.files.push(File {
            path: path.into(),
            location: None,
            disk: None,
            status: Status::Modified,
            content: Content::Text,
            modes: None,
            hunks: Vec::new(),
        });
        pending.name();
        pending
    }

    fn ids(pending: &Pending) -> Vec<String> {
        pending.files[0].hunks.iter().map(|hunk| hunk.id.clone()).collect()
    }

    #[test]
    fn a_name_holds_while_other_changes_of_the_file_come_and_go() {
        let both = ids(&pending("1\n2\n3\n4\n5\n", "1\nB\n3\nD\n5\n"));
        assert_eq!(ids(&pending("1\n2\n3\n4\n5\n", "0\n1\n2\n3\nD\n5\n"))[1], both[1]);
        assert_ne!(ids(&pending("1\n2\n3\n4\n5\n", "1\n2\n3\nD!\n5\n"))[0], both[1]);
    }

    #[test]
    fn changes_that_are_the_same_have_names_that_do_not_pass_to_one_another() {
        let both = ids(&pending("a\nx\nb\nx\n", "a\ny\nb\ny\n"));
        assert_ne!(both[0], both[1]);
        let left = ids(&pending("a\ny\nb\nx\n", "a\ny\nb\ny\n"));
        assert!(!both.contains(&left[0]));
    }

    #[test]
    fn a_name_that_no_longer_fits_leads_to_its_file() {
        let pending = pending("a\n", "b\n");
        let id = &pending.files[0].hunks[0].id;
        let stale = format!("{}0000000", &id[..3]);
        assert_eq!(pending.find(&stale), None);
        assert_eq!(pending.file_of(&stale), Some(Path::new("a.txt")));
        assert_eq!(pending.file_of("nothing"), None);
        assert_eq!(pending.find(id), Some((0, 0)));
    }
}
