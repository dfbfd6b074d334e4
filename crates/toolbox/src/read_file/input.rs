//! What a model says to read files: in our own words, or in those of the tools that it knows from elsewhere.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Reads text as numbered lines, images, PDFs and notebooks. A long file comes in parts: the last line says how to go on.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
pub(crate) struct Input {
    /// From the project root, or absolute.
    path: String,
    /// First line wanted, from 1.
    start_line: Option<usize>,
    /// Last line wanted.
    end_line: Option<usize>,
    /// Further files, or parts: `b.rs:10-40`.
    more: Option<Vec<String>>,
    /// Parts that other tools would have us name in another way.
    #[schemars(skip)]
    others: Vec<Wanted>,
}

/// A file, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) path: String,
    pub(crate) lines: Lines,
}

/// Lines of a file, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl Lines {
    /// The file, because nobody asked for lines. Those who ask begin with 1.
    pub(crate) const ALL: Lines = Lines {
        first: 0,
        last: usize::MAX,
    };

    fn new(first: Option<usize>, last: Option<usize>) -> Self {
        if first.is_none() && last.is_none() {
            return Lines::ALL;
        }
        let first = first.unwrap_or(1).max(1);
        let last = last.unwrap_or(usize::MAX).max(first);
        Lines { first, last }
    }
}

impl Wanted {
    /// How it is told to the person: `src/main.rs:1-40`.
    pub(crate) fn title(&self) -> String {
        match self.lines {
            Lines::ALL => self.path.clone(),
            Lines {
                first,
                last: usize::MAX,
            } => format!("{}:{first}-", self.path),
            Lines { first, last } => format!("{}:{first}-{last}", self.path),
        }
    }

    /// A path with the lines at its end, unless a file of that very name exists.
    fn parse(text: &str, exists: impl Fn(&str) -> bool) -> Self {
        let whole = || Wanted {
            path: text.to_owned(),
            lines: Lines::ALL,
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
            (Some(first), Some(last)) if !path.is_empty() && !exists(text) => Wanted {
                path: path.to_owned(),
                lines: Lines::new(Some(first), Some(last)),
            },
            _ => whole(),
        }
    }
}

impl Input {
    /// The files and parts that are wanted, each once.
    pub(crate) fn wanted(&self, exists: impl Fn(&str) -> bool) -> Vec<Wanted> {
        let mut all = Vec::new();
        let first = match (self.start_line, self.end_line) {
            (None, None) => Wanted::parse(&self.path, &exists),
            (start, end) => Wanted {
                path: self.path.clone(),
                lines: Lines::new(start, end),
            },
        };
        let more = self.more.iter().flatten().map(|text| Wanted::parse(text, &exists));
        let first = (!self.path.is_empty()).then_some(first);
        for wanted in first.into_iter().chain(self.others.iter().cloned()).chain(more) {
            if !all.contains(&wanted) {
                all.push(wanted);
            }
        }
        all
    }
}

/// Everything that is understood.
#[derive(Deserialize)]
struct Said {
    #[serde(
        alias = "file_path",
        alias = "filePath",
        alias = "target_file",
        alias = "absolute_path"
    )]
    path: Option<OneOrMore>,
    #[serde(alias = "startLine", alias = "line_start")]
    start_line: Option<usize>,
    #[serde(alias = "endLine", alias = "line_end")]
    end_line: Option<usize>,
    /// Where to begin and how many lines to show.
    offset: Option<usize>,
    limit: Option<usize>,
    #[serde(alias = "paths", alias = "files", alias = "file_paths")]
    more: Option<OneOrMore>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(Named),
    More(Vec<Named>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
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

impl OneOrMore {
    fn into_vec(self) -> Vec<Named> {
        match self {
            OneOrMore::One(one) => vec![one],
            OneOrMore::More(more) => more,
        }
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let said = Said::deserialize(deserializer)?;
        let start_line = said.start_line.or(said.offset.map(|offset| offset.max(1)));
        let end_line = match (said.end_line, said.limit) {
            (None, Some(limit)) => Some(start_line.unwrap_or(1).max(1).saturating_add(limit).saturating_sub(1)),
            (end, _) => end,
        };
        let named = said.path.map(OneOrMore::into_vec).unwrap_or_default();
        let further = said.more.map(OneOrMore::into_vec).unwrap_or_default();
        let (mut path, mut more, mut others) = (None, Vec::new(), Vec::new());
        for name in named.into_iter().chain(further) {
            match name {
                Named::Path(text) if path.is_none() => path = Some(text),
                Named::Path(text) => more.push(text),
                Named::File {
                    path,
                    start_line,
                    end_line,
                    line_ranges,
                } => {
                    let ranges = line_ranges.filter(|ranges| !ranges.is_empty());
                    let lines = match ranges {
                        Some(ranges) => ranges
                            .into_iter()
                            .map(|(first, last)| Lines::new(Some(first), Some(last)))
                            .collect(),
                        None => vec![Lines::new(start_line, end_line)],
                    };
                    others.extend(lines.into_iter().map(|lines| Wanted {
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
        })
    }
}
