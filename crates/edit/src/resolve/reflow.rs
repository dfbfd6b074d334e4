//! Matches old text with other line breaks, or without one line of the file. The file keeps its own line breaks: only
//! whole lines match, and a change must be at a place where quoted and actual lines agree.

use crate::document::TextDocument;
use crate::fold::{is_blank, squash};
use crate::matcher::{Haystack, MatchLevel, QuotedLine};
use crate::parsed_edit::{EndOfFile, ReplaceScope};
use crate::refusal::RefusalReason;
use crate::resolve::replace::{ReplaceTarget, ambiguous};
use crate::resolve::{LineOp, MatchMethod, OpSource, ResolvedEdit, build_splices, line_ops};

/// Shorter text, without spaces, is too ambiguous for this search.
const MIN_LENGTH: usize = 12;

/// Finds the old text, ignoring all whitespace.
pub(crate) fn resolve(
    haystack: &Haystack<'_>,
    target: ReplaceTarget<'_>,
) -> Result<Option<ResolvedEdit>, RefusalReason> {
    let sought = squash(target.old);
    if sought.len() < MIN_LENGTH || target.scope == ReplaceScope::All || is_blank(target.new) {
        return Ok(None);
    }
    let document = haystack.document;
    let squashed = SquashedText::of(document);
    let found: Vec<usize> = squashed
        .text
        .match_indices(&sought)
        .map(|(at, _)| at)
        .filter(|at| squashed.starts_line(*at) && squashed.ends_line(at + sought.len()))
        .collect();
    let lines: Vec<usize> = found.iter().map(|at| squashed.line_at(*at)).collect();
    let start = match (
        found.as_slice(),
        target.hint.and_then(|hint| haystack.nearest(&lines, hint)),
    ) {
        ([], _) => return Ok(None),
        ([only], _) => *only,
        (many, Some(at)) => many[at],
        (_, None) => return Err(ambiguous(&lines)),
    };
    let (old, new) = target.lines();
    let Some(relaid) = relaid(document, &squashed, start, &old, &new) else {
        return Err(RefusalReason::LineBreaks {
            line: squashed.line_at(start) + 1,
        });
    };
    let candidate = haystack.candidate_of(&relaid.quoted, relaid.pairs);
    let adds = relaid.ops.iter().any(|op| matches!(op, LineOp::Add(_)));
    if adds && matches!(candidate.level, MatchLevel::UnevenIndent | MatchLevel::Slips) {
        return Err(RefusalReason::Indentation);
    }
    let ends = (OpSource::Replacement, EndOfFile::Unchanged);
    Ok(Some(ResolvedEdit {
        splices: build_splices(haystack, &relaid.quoted, &candidate, &relaid.ops, ends)?,
        lines: candidate.first()..candidate.end(),
        method: MatchMethod::Spacing,
    }))
}

/// An edit with the line breaks of the file.
struct RelaidEdit {
    quoted: Vec<QuotedLine>,
    pairs: Vec<Option<usize>>,
    ops: Vec<LineOp>,
}

/// Replaces the quoted lines by the file's; `None` if a change does not start and end at the ends of the file's lines.
fn relaid(
    document: &TextDocument,
    squashed: &SquashedText,
    start: usize,
    old: &[&str],
    new: &[&str],
) -> Option<RelaidEdit> {
    let mut relaid = RelaidEdit {
        quoted: Vec::new(),
        pairs: Vec::new(),
        ops: Vec::new(),
    };
    let mut at = start;
    let mut kept_from = start;
    for op in line_ops(old, new) {
        match op {
            LineOp::Keep(number) if is_blank(old[number]) => {
                // A blank line at the end of a line of the file may be in the file too.
                if squashed.ends_line(at) && at > start {
                    relaid.keep(document, squashed, kept_from, at, old)?;
                    kept_from = at;
                    relaid.keep_blank(document);
                }
            }
            LineOp::Keep(number) => at += squash(old[number]).len(),
            LineOp::Remove(number) => {
                relaid.keep(document, squashed, kept_from, at, old)?;
                let length = squash(old[number]).len();
                // A blank line may be anywhere in the file's own layout.
                let line = squashed.line_at(at);
                if length == 0 || !squashed.is_line(at, at + length) {
                    return None;
                }
                relaid.push(QuotedLine::plain(old[number]), line, LineOp::Remove);
                at += length;
                kept_from = at;
            }
            LineOp::Add(line) => {
                relaid.keep(document, squashed, kept_from, at, old)?;
                kept_from = at;
                relaid.ops.push(LineOp::Add(line));
            }
        }
    }
    relaid.keep(document, squashed, kept_from, at, old)?;
    Some(relaid)
}

impl RelaidEdit {
    fn push(&mut self, line: QuotedLine, at: usize, op: fn(usize) -> LineOp) {
        self.ops.push(op(self.quoted.len()));
        self.quoted.push(line);
        self.pairs.push(Some(at));
    }

    /// Keeps the next line of the file if it is blank.
    fn keep_blank(&mut self, document: &TextDocument) {
        if let Some(next) = self.pairs.iter().flatten().max().map(|last| last + 1)
            && next < document.line_count()
            && is_blank(document.line(next))
        {
            self.push(QuotedLine::plain(""), next, LineOp::Keep);
        }
    }

    /// Keeps the file's lines between two positions, which must be ends of lines. Lines that are quoted as they are
    /// keep their quoted indentation, from which that of new lines is derived.
    fn keep(
        &mut self,
        document: &TextDocument,
        squashed: &SquashedText,
        from: usize,
        to: usize,
        old: &[&str],
    ) -> Option<()> {
        if from == to {
            return Some(());
        }
        if !squashed.starts_line(from) || !squashed.ends_line(to) {
            return None;
        }
        for line in squashed.line_at(from)..=squashed.line_at(to - 1) {
            let actual = document.line(line);
            if !is_blank(actual) {
                let key = squash(actual);
                let as_quoted = old.iter().find(|quoted| squash(quoted) == key).copied();
                self.push(QuotedLine::plain(as_quoted.unwrap_or(actual)), line, LineOp::Keep);
            }
        }
        Some(())
    }
}

/// The edit if the quoted text lacks one line of the file between two kept lines, and only one place fits.
pub(crate) fn with_omitted_line(
    haystack: &Haystack<'_>,
    target: ReplaceTarget<'_>,
) -> Result<Option<ResolvedEdit>, RefusalReason> {
    if target.scope == ReplaceScope::All {
        return Ok(None);
    }
    let (old, new) = target.lines();
    let quoted: Vec<QuotedLine> = old.iter().map(|line| QuotedLine::plain(*line)).collect();
    let found = haystack.with_omitted_line(&quoted);
    let [(candidate, before)] = found.as_slice() else {
        return Ok(None);
    };
    let ops = line_ops(&old, &new);
    if candidate.level > MatchLevel::TrailingSpace || !is_kept_around(&ops, *before, &old) {
        return Ok(None);
    }
    let ends = (OpSource::Replacement, EndOfFile::Unchanged);
    Ok(Some(ResolvedEdit {
        splices: build_splices(haystack, &quoted, candidate, &ops, ends)?,
        lines: candidate.first()..candidate.end(),
        method: MatchMethod::Elision,
    }))
}

/// Whether the quoted line `before` and the next non-blank one are kept, with nothing added or removed between them.
fn is_kept_around(ops: &[LineOp], before: usize, old: &[&str]) -> bool {
    let mut rest = ops
        .iter()
        .skip_while(|op| !matches!(op, LineOp::Keep(number) if *number == before))
        .skip(1)
        .skip_while(|op| matches!(op, LineOp::Keep(number) if is_blank(old[*number])));
    let is_kept = ops
        .iter()
        .any(|op| matches!(op, LineOp::Keep(number) if *number == before));
    is_kept && matches!(rest.next(), Some(LineOp::Keep(_)))
}

/// The visible characters of a file, with the line of each position.
struct SquashedText {
    text: String,
    /// The start of each non-blank line in `text`, and its line.
    starts: Vec<(usize, usize)>,
}

impl SquashedText {
    fn of(document: &TextDocument) -> Self {
        let mut squashed = Self {
            text: String::with_capacity(document.body().len()),
            starts: Vec::new(),
        };
        for (number, line) in document.lines().enumerate() {
            if !is_blank(line) {
                squashed.starts.push((squashed.text.len(), number));
                squashed.text.push_str(&squash(line));
            }
        }
        squashed
    }

    fn starts_line(&self, at: usize) -> bool {
        self.starts.binary_search_by_key(&at, |(start, _)| *start).is_ok()
    }

    fn ends_line(&self, at: usize) -> bool {
        at == self.text.len() || self.starts_line(at)
    }

    /// Whether the range is exactly one line.
    fn is_line(&self, from: usize, to: usize) -> bool {
        let index = self.starts.binary_search_by_key(&from, |(start, _)| *start);
        index.is_ok_and(|index| self.starts.get(index + 1).map_or(self.text.len(), |(next, _)| *next) == to)
    }

    fn line_at(&self, at: usize) -> usize {
        let index = self.starts.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        self.starts.get(index).map_or(0, |(_, line)| *line)
    }
}
