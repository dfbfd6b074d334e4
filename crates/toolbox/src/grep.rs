//! Searches the contents of files.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};
use workspace::{Case, FileMatches, LineKind, Matches, Page};

use crate::project::{Project, gaps, searching};
use crate::text::count;

const PER_PAGE: usize = 100;
const MAX_CONTEXT: usize = 10;
const MAX_LINE: usize = 400;
/// A page ends early when it gets longer than this.
const MAX_BYTES: usize = 40_000;

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
    /// Default false.
    case_sensitive: Option<bool>,
    /// Lines to show around each match.
    context: Option<usize>,
    /// Matches to skip.
    offset: Option<usize>,
}

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const ALIASES: &'static [&'static str] = &["grep_search", "search_files"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let within = input
            .path
            .iter()
            .chain(&input.include)
            .map(|place| format!(" in {place}"));
        format!("{}{}", input.pattern, within.collect::<String>())
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.reading(input.path.as_deref().unwrap_or_default())
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let place = self.0.locate(input.path.as_deref().unwrap_or_default())?;
        let offset = input.offset.unwrap_or(0);
        let matches = searching(move |stop| {
            let grep = workspace::Grep {
                pattern: &input.pattern,
                case: match input.case_sensitive {
                    Some(true) => Case::Sensitive,
                    Some(false) | None => Case::Insensitive,
                },
                include: input.include.as_deref(),
                context: input.context.unwrap_or(0).min(MAX_CONTEXT),
                page: Page {
                    offset,
                    limit: PER_PAGE,
                },
                max_line: MAX_LINE,
            };
            place.grep(&grep, stop)
        })
        .await?;
        let found = format!(
            "{} in {}",
            count(matches.total, "match"),
            count(matches.total_files, "file")
        );
        Ok(Output::text(render(&matches, offset, &found)).summary(found))
    }
}

fn render(matches: &Matches, offset: usize, found: &str) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for file in &matches.files {
        shown += render_file(&mut text, file);
        if text.len() > MAX_BYTES {
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
fn render_file(text: &mut String, file: &FileMatches) -> usize {
    let mut shown = 0;
    let mut last = None;
    text.push_str(&file.path);
    text.push('\n');
    for line in &file.lines {
        if text.len() > MAX_BYTES && shown > 0 {
            break;
        }
        if last.is_some_and(|last| last + 1 < line.number)
            && file.lines.iter().any(|line| line.kind == LineKind::Context)
        {
            text.push_str("--\n");
        }
        last = Some(line.number);
        let mark = match line.kind {
            LineKind::Match => ':',
            LineKind::Context => '-',
        };
        shown += usize::from(line.kind == LineKind::Match);
        text.push_str(&format!("{}{mark}{}\n", line.number, line.text));
    }
    shown
}
