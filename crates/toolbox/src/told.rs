//! How placed and refused edits are told to the model.

use edit::{How, Refused, Report, Why};

/// Where edits went: `at line 3, 7-9`. A place that was not found as quoted is told, so that the model can look.
pub(crate) fn places<'a>(reports: impl Iterator<Item = &'a Report>) -> String {
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

/// How far the quoted text was from what the file holds.
fn slack(how: How) -> &'static str {
    match how {
        How::Exact | How::Place | How::Whole => "",
        How::TrailingSpace => "but for trailing spaces",
        How::Indentation => "but for indentation",
        How::Spacing => "but for spacing",
        How::BlankLines => "but for blank lines",
        How::LineNumbers => "without line numbers",
        How::Escapes => "without escapes",
        How::Fences => "without code fences",
        How::Elision => "around lines left out",
        How::Slips => "but for small slips",
    }
}

/// Whether any edit was refused because it fits several places.
pub(crate) fn is_ambiguous(refused: &Refused) -> bool {
    refused
        .refusals
        .iter()
        .any(|refusal| matches!(refusal.why, Why::Ambiguous { .. }))
}
