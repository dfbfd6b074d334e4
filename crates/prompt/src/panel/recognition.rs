//! Recognises panels in sent messages, for the ledger.

use model::{Block, CallId};
use serde_json::Value;

/// Prefix of the ids of panel calls.
pub(super) const CALL: &str = "panel_";
const OPEN: &str = "<panel name=\"";
const CLOSE: &str = "</panel>";
/// Name for the text before the first panel and after the last one.
const AROUND: &str = "around";

/// Whether a text shows panels.
pub(crate) fn is_panels(text: &str) -> bool {
    text.starts_with(OPEN) || text.starts_with("Panels, kept up to date") || text.starts_with("End of the panels.")
}

/// The first panel of a text.
pub(crate) fn first_panel(text: &str) -> &str {
    split_panels(text)
        .map(|(name, _)| name)
        .find(|name| *name != AROUND)
        .unwrap_or(AROUND)
}

/// Splits a text into panels. Every byte belongs to one of them.
pub(crate) fn split_panels(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = match rest.starts_with(OPEN) {
            // A panel may quote a closing tag: it ends where the next panel begins, or before the footer.
            true => rest.find("</panel>\n<panel name=").map_or_else(
                || rest.rfind(CLOSE).map(|place| place + CLOSE.len()),
                |place| Some(place + CLOSE.len() + 1),
            ),
            false => rest.find(OPEN),
        };
        let (piece, after) = rest.split_at(end.filter(|end| *end > 0).unwrap_or(rest.len()));
        rest = after;
        Some((name(piece).unwrap_or(AROUND), piece))
    })
}

/// The panel of a panel call.
pub(crate) fn panel_of_call<'a>(id: &CallId, input: &'a Value) -> Option<&'a str> {
    id.as_str().starts_with(CALL).then_some(())?;
    input.get("open")?.get(0)?.as_str()
}

/// The panel of a panel result.
pub(crate) fn panel_of_result<'a>(id: &CallId, content: &'a [Block]) -> Option<&'a str> {
    id.as_str().starts_with(CALL).then_some(())?;
    match content.first()? {
        Block::Text { text } => name(text),
        Block::Media(_) => None,
    }
}

fn name(text: &str) -> Option<&str> {
    text.strip_prefix(OPEN)?.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::PanelTexts;

    #[test]
    fn the_texts_around_panels_are_recognised() {
        let texts = PanelTexts::load();
        let panel = |name: &str| format!("{}\nwords\n{}", texts.open.replace("{name}", name), texts.close);
        let text = format!(
            "{}\n{}\n{}\n{}",
            texts.header,
            panel("git"),
            panel("todo"),
            texts.footer
        );
        assert!(is_panels(&text) && is_panels(&texts.header) && is_panels(&texts.footer));
        let shown: Vec<&str> = split_panels(&text).map(|(name, _)| name).collect();
        assert_eq!(shown, ["around", "git", "todo", "around"]);
        let whole: String = split_panels(&text).map(|(_, piece)| piece).collect();
        assert_eq!(whole, text);
        assert_eq!(first_panel(&text), "git");
        assert!(!is_panels("<panels>") && !is_panels("What is a panel?"));
    }

    #[test]
    fn a_panel_that_quotes_a_closing_tag_stays_one_panel() {
        let text = "<panel name=\"a\" since=\"x\">\nquoted </panel> here\n</panel>";
        assert_eq!(split_panels(text).collect::<Vec<_>>(), [("a", text)]);
        assert_eq!(split_panels("<panel name=\"a").count(), 1);
    }
}
