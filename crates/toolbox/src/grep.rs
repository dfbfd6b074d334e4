//! Searches the contents of files.

use std::time::Duration;

use index::Outline;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};
use workspace::{Case, FileMatches, LineKind, Location, Matches, Page, Stop};

use crate::caps::{self, Cap};
use crate::project::{Project, gaps, searching};
use crate::text::count;

const NAME: &str = "grep";
const MAX_CONTEXT: usize = 10;
/// With matches in more files than this, nobody is told which definition each is in: the search was a broad one.
const MAX_OUTLINED: usize = 8;
/// Together, files are read for that up to here, which takes some milliseconds.
const MAX_OUTLINED_BYTES: u64 = 96 * 1024;
const OUTLINE_TIME: Duration = Duration::from_millis(250);

pub(crate) struct Grep(pub(crate) Project);

/// Searches file contents line by line, leaving out ignored and binary files.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// A Rust regex.
    #[serde(alias = "regex", alias = "query")]
    pattern: String,
    /// File or folder to search.
    path: Option<String>,
    /// Glob of files, such as `*.rs`.
    #[serde(
        alias = "include_pattern",
        alias = "includePattern",
        alias = "file_pattern",
        alias = "glob"
    )]
    include: Option<String>,
    /// Such as `rust`.
    #[serde(rename = "type", alias = "file_type", alias = "fileType")]
    kind: Option<String>,
    /// Default false.
    case_sensitive: Option<bool>,
    /// Lines to show around each match.
    #[serde(alias = "-C", alias = "context_lines")]
    context: Option<usize>,
    /// Matches to skip.
    offset: Option<usize>,
    // What models of other agents also say. It is understood, but not worth a word in every request.
    #[schemars(skip)]
    #[serde(alias = "head_limit", alias = "max_results", alias = "maxResults")]
    limit: Option<usize>,
    #[schemars(skip)]
    multiline: Option<bool>,
    #[schemars(skip)]
    #[serde(alias = "isRegexp", alias = "is_regexp")]
    is_regex: Option<bool>,
    #[schemars(skip)]
    #[serde(alias = "fixed_strings")]
    literal_text: Option<bool>,
}

impl Tool for Grep {
    const NAME: &'static str = NAME;
    const ALIASES: &'static [&'static str] = &["grep_search", "search_files", "search_file_content", "ripgrep"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let within = input
            .path
            .iter()
            .chain(&input.include)
            .chain(&input.kind)
            .map(|place| format!(" in {place}"));
        format!("{}{}", input.pattern, within.collect::<String>())
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.reading(input.path.as_deref().unwrap_or_default())
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let place = self.0.locate(input.path.as_deref().unwrap_or_default())?;
        let offset = input.offset.unwrap_or(0);
        let cap = caps::of(NAME);
        let (matches, outlines) = searching(move |stop| {
            let matches = search(&place, &input, cap, stop)?;
            let outlines = outlines(&place, &matches);
            Ok((matches, outlines))
        })
        .await?;
        let found = format!(
            "{} in {}",
            count(matches.total, "match"),
            count(matches.total_files, "file")
        );
        Ok(Output::text(render(&matches, &outlines, offset, cap, &found)).summary(found))
    }
}

fn search(place: &Location, input: &Input, cap: Cap, stop: &Stop) -> Result<Matches, workspace::Error> {
    let literal = input.literal_text == Some(true) || input.is_regex == Some(false);
    let pattern = match literal {
        true => input.pattern.chars().flat_map(escaped).collect(),
        false => input.pattern.clone(),
    };
    let grep = workspace::Grep {
        pattern: &pattern,
        case: match input.case_sensitive {
            Some(true) => Case::Sensitive,
            Some(false) | None => Case::Insensitive,
        },
        include: input.include.as_deref(),
        kind: input.kind.as_deref(),
        context: input.context.unwrap_or(0).min(MAX_CONTEXT),
        page: Page {
            offset: input.offset.unwrap_or(0),
            limit: input.limit.map_or(cap.entries, |limit| limit.clamp(1, cap.entries)),
        },
        max_line: cap.line,
        multiline: input.multiline.unwrap_or(false),
    };
    place.grep(&grep, stop)
}

/// A character that means itself in a regular expression.
fn escaped(letter: char) -> impl Iterator<Item = char> {
    let special = "\\.+*?()|[]{}^$#&-~".contains(letter);
    special.then_some('\\').into_iter().chain([letter])
}

/// What each file of the page defines, as long as there are few and they are small.
fn outlines(place: &Location, matches: &Matches) -> Vec<Option<Outline>> {
    if matches.files.len() > MAX_OUTLINED {
        return Vec::new();
    }
    let mut room = MAX_OUTLINED_BYTES;
    let outline = |file: &FileMatches| {
        let file = place.sibling(&file.path).ok()?;
        let bytes = file.read_bytes(room).ok()?;
        room = room.saturating_sub(bytes.len() as u64);
        let text = String::from_utf8(bytes).ok()?;
        index::outline(file.path(), &text, OUTLINE_TIME).ok()
    };
    matches.files.iter().map(outline).collect()
}

fn render(matches: &Matches, outlines: &[Option<Outline>], offset: usize, cap: Cap, found: &str) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for (nth, file) in matches.files.iter().enumerate() {
        let outline = outlines.get(nth).and_then(Option::as_ref);
        shown += render_file(&mut text, file, outline, cap.bytes);
        if text.len() > cap.bytes {
            break;
        }
    }
    let end = offset + shown;
    let mut notes = vec![match shown {
        0 if matches.total == 0 => "no matches".to_owned(),
        0 => format!("{found}; offset {offset} is past the end"),
        _ if end < matches.total => format!("{}-{end} of {found}; go on with offset {end}", offset + 1),
        _ => found.to_owned(),
    }];
    notes.extend(gaps(matches.ended, matches.unreadable));
    format!("{text}[{}]", notes.join("; "))
}

/// Writes the matches of one file, as many as fit, and says how many.
fn render_file(text: &mut String, file: &FileMatches, outline: Option<&Outline>, most: usize) -> usize {
    let mut shown = 0;
    let mut last = None;
    let mut within = String::new();
    let has_context = file.lines.iter().any(|line| line.kind == LineKind::Context);
    text.push_str(&file.path);
    text.push('\n');
    for (nth, line) in file.lines.iter().enumerate() {
        if text.len() > most && shown > 0 && line.kind != LineKind::Inside {
            break;
        }
        let begins_block = last.is_none_or(|last| last + 1 < line.number);
        if begins_block && last.is_some() && has_context {
            text.push_str("--\n");
        }
        last = Some(line.number);
        if (begins_block || !has_context)
            && let Some(matched) = file.lines.iter().skip(nth).find(|line| line.kind == LineKind::Match)
        {
            let now = outline
                .map(|outline| around(outline, matched.number))
                .unwrap_or_default();
            if now != within && !now.is_empty() {
                text.push_str(&format!("[in {now}]\n"));
            }
            within = now;
        }
        let mark = match line.kind {
            LineKind::Match | LineKind::Inside => ':',
            LineKind::Context => '-',
        };
        shown += usize::from(line.kind == LineKind::Match);
        text.push_str(&format!("{}{mark}{}\n", line.number, line.text));
    }
    shown
}

/// The definitions around a line, without one that begins in it: the line itself shows that.
fn around(outline: &Outline, line: u64) -> String {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let outer = outline
        .around(line)
        .filter(|definition| definition.name_line != line && definition.first != line);
    let mut names: Vec<&str> = Vec::new();
    let mut depth = 0;
    for definition in outer {
        if names.is_empty() || definition.depth > depth {
            names.push(&definition.name);
            depth = definition.depth;
        }
    }
    names.join("::")
}
