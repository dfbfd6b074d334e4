//! Describes applied and refused edits for the model.

use crate::support::project::LineMarks;
use edit::{EditFormat, EditReport, MatchMethod, RefusalReason, RefusedEdits};
use session::EditFact;

/// The lines of applied edits: `at line 3, 7-9`. Inexact matches are marked, so that the model can check them.
pub(crate) fn describe_places<'a>(reports: impl Iterator<Item = &'a EditReport>) -> String {
    let places = reports.filter(|report| report.changes).map(|report| {
        let lines = match report.first_line >= report.last_line {
            true => report.first_line.to_string(),
            false => format!("{}-{}", report.first_line, report.last_line),
        };
        match slack(report.how) {
            "" => lines,
            slack => format!("{lines} ({slack})"),
        }
    });
    format!("at line {}", places.collect::<Vec<_>>().join(", "))
}

/// The format of applied edits, and how each was matched.
pub(crate) fn edit_facts(format: EditFormat, reports: &[EditReport]) -> Vec<EditFact> {
    let fact = |report: &EditReport| EditFact {
        format: format.name().into(),
        method: report.how.name().into(),
    };
    reports.iter().map(fact).collect()
}

/// The changed lines with one line around them, for models that name lines by anchors; empty if they are many.
pub(crate) fn changed_lines(before: &str, after: &str, marks: LineMarks) -> String {
    const MOST: usize = 60;
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let equal = |pair: (&&str, &&str)| pair.0 == pair.1;
    let head = old.iter().zip(&new).take_while(|pair| equal(*pair)).count();
    let most = old.len().min(new.len()) - head;
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(most)
        .take_while(|pair| equal(*pair))
        .count();
    let range = head.saturating_sub(1)..(new.len() - tail + 1).min(new.len());
    if range.len() > MOST {
        return "; read the lines again before you edit below".into();
    }
    let lines = range.map(|at| format!("\n{}\t{}", marks.of(at as u64 + 1, new[at], 0), new[at]));
    lines.collect()
}

/// How the quoted text differed from the file.
fn slack(how: MatchMethod) -> &'static str {
    match how {
        MatchMethod::Exact | MatchMethod::Place | MatchMethod::Whole => "",
        MatchMethod::TrailingSpace => "ignoring trailing spaces",
        MatchMethod::Indentation => "ignoring indentation",
        MatchMethod::Spacing => "ignoring spacing",
        MatchMethod::BlankLines => "ignoring blank lines",
        MatchMethod::LineNumbers => "without line numbers",
        MatchMethod::Escapes => "without escapes",
        MatchMethod::Fences => "without code fences",
        MatchMethod::Elision => "around omitted lines",
        MatchMethod::Slips => "ignoring small errors",
    }
}

/// Whether an edit was refused because it matches several places.
pub(crate) fn is_ambiguous(refused: &RefusedEdits) -> bool {
    refused
        .refusals
        .iter()
        .any(|refusal| matches!(refusal.reason, RefusalReason::Ambiguous { .. }))
}
