//! The input of `read_file`, also in the forms of other agents' tools.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Reads text as numbered lines, images, PDFs and notebooks. A long file is returned in parts: the last line says how
/// to continue.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
pub(crate) struct Input {
    /// Relative to the project root, or absolute.
    path: String,
    /// First line, from 1.
    start_line: Option<usize>,
    /// Last line.
    end_line: Option<usize>,
    /// More files, or ranges: `b.rs:10-40`.
    more: Option<Vec<String>>,
    /// Ranges given in other forms.
    #[schemars(skip)]
    others: Vec<FileRange>,
    /// Gemini CLI: globs of files that are not read.
    #[schemars(skip)]
    pub(crate) exclude: Vec<String>,
}

/// A file or a range of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRange {
    pub(crate) path: String,
    pub(crate) lines: LineRange,
}

/// A range of lines, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineRange {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl LineRange {
    /// The whole file. Explicit ranges start with 1.
    pub(crate) const ALL: LineRange = LineRange {
        first: 0,
        last: usize::MAX,
    };

    fn new(first: Option<usize>, last: Option<usize>) -> Self {
        if first.is_none() && last.is_none() {
            return LineRange::ALL;
        }
        let first = first.unwrap_or(1).max(1);
        let last = last.unwrap_or(usize::MAX).max(1);
        LineRange {
            first: first.min(last),
            last: last.max(first),
        }
    }
}

impl FileRange {
    /// The title for the user: `src/main.rs:1-40`.
    pub(crate) fn title(&self) -> String {
        match self.lines {
            LineRange::ALL => self.path.clone(),
            LineRange {
                first,
                last: usize::MAX,
            } => format!("{}:{first}-", self.path),
            LineRange { first, last } => format!("{}:{first}-{last}", self.path),
        }
    }

    /// Parses a path with a line range at its end, unless a file with that name exists.
    fn parse(text: &str, exists: impl Fn(&str) -> bool) -> Self {
        let whole = || FileRange {
            path: text.to_owned(),
            lines: LineRange::ALL,
        };
        let Some((path, lines)) = text.rsplit_once(':') else {
            return whole();
        };
        let (first, last) = match lines.split_once('-') {
            Some((first, last)) => (
                first.parse().ok(),
                last.parse().ok().or(last.is_empty().then_some(usize::MAX)),
            ),
            None => (lines.parse().ok(), lines.parse().ok()),
        };
        match (first, last) {
            (Some(first), Some(last)) if !path.is_empty() && !exists(text) => FileRange {
                path: path.to_owned(),
                lines: LineRange::new(Some(first), Some(last)),
            },
            _ => whole(),
        }
    }
}

impl Input {
    /// The requested files and ranges, without duplicates.
    pub(crate) fn ranges(&self, exists: impl Fn(&str) -> bool) -> Vec<FileRange> {
        let mut all = Vec::new();
        let first = match (self.start_line, self.end_line) {
            (None, None) => FileRange::parse(&self.path, &exists),
            (start, end) => FileRange {
                path: self.path.clone(),
                lines: LineRange::new(start, end),
            },
        };
        let more = self.more.iter().flatten().map(|text| FileRange::parse(text, &exists));
        let first = (!self.path.is_empty()).then_some(first);
        for range in first.into_iter().chain(self.others.iter().cloned()).chain(more) {
            if !all.contains(&range) {
                all.push(range);
            }
        }
        all
    }
}

/// All accepted forms.
#[derive(Deserialize)]
struct RawReadInput {
    #[serde(
        alias = "file_path",
        alias = "filePath",
        alias = "target_file",
        alias = "absolute_path"
    )]
    path: Option<OneOrManyFiles>,
    #[serde(alias = "startLine", alias = "line_start")]
    start_line: Option<usize>,
    #[serde(alias = "endLine", alias = "line_end")]
    end_line: Option<usize>,
    /// The first line and the number of lines.
    offset: Option<usize>,
    limit: Option<usize>,
    #[serde(alias = "paths", alias = "files", alias = "file_paths")]
    more: Option<OneOrManyFiles>,
    #[serde(default)]
    exclude: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a path, or a list of paths or files")]
enum OneOrManyFiles {
    One(FileArgument),
    More(Vec<FileArgument>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a path, or an object with a path and lines")]
enum FileArgument {
    Path(String),
    File {
        #[serde(alias = "file_path", alias = "filePath")]
        path: String,
        #[serde(alias = "startLine")]
        start_line: Option<usize>,
        #[serde(alias = "endLine")]
        end_line: Option<usize>,
        #[serde(default, alias = "lineRanges")]
        line_ranges: Option<Vec<(usize, usize)>>,
    },
}

impl OneOrManyFiles {
    fn into_vec(self) -> Vec<FileArgument> {
        match self {
            OneOrManyFiles::One(one) => vec![one],
            OneOrManyFiles::More(more) => more,
        }
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawReadInput::deserialize(deserializer)?;
        let start_line = raw.start_line.or(raw.offset.map(|offset| offset.max(1)));
        let end_line = match (raw.end_line, raw.limit.filter(|limit| *limit > 0)) {
            (None, Some(limit)) => Some(start_line.unwrap_or(1).max(1).saturating_add(limit).saturating_sub(1)),
            (end, _) => end,
        };
        let named = raw.path.map(OneOrManyFiles::into_vec).unwrap_or_default();
        let further = raw.more.map(OneOrManyFiles::into_vec).unwrap_or_default();
        let (mut path, mut more, mut others) = (None, Vec::new(), Vec::new());
        for name in named.into_iter().chain(further) {
            match name {
                FileArgument::Path(text) if path.is_none() => path = Some(text),
                FileArgument::Path(text) => more.push(text),
                FileArgument::File {
                    path,
                    start_line,
                    end_line,
                    line_ranges,
                } => {
                    let ranges = line_ranges.filter(|ranges| !ranges.is_empty());
                    let lines = match ranges {
                        Some(ranges) => ranges
                            .into_iter()
                            .map(|(first, last)| LineRange::new(Some(first), Some(last)))
                            .collect(),
                        None => vec![LineRange::new(start_line, end_line)],
                    };
                    others.extend(lines.into_iter().map(|lines| FileRange {
                        path: path.clone(),
                        lines,
                    }));
                }
            }
        }
        if path.as_ref().is_none_or(String::is_empty) && others.is_empty() {
            return Err(D::Error::missing_field("path"));
        }
        Ok(Input {
            path: path.unwrap_or_default(),
            start_line,
            end_line,
            more: (!more.is_empty()).then_some(more),
            others,
            exclude: raw.exclude,
        })
    }
}
