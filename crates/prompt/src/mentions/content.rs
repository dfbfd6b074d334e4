//! Renders the content of a prompt's mentions as one block after the prompt: files, directories, symbols, selections,
//! diffs, sessions, pages, rules, diagnostics.

use std::ops::RangeInclusive;

/// The content of a mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MentionedContent {
    /// A file, or its outline if it is too long.
    File {
        /// Relative to the project if it is inside the project.
        path: String,
        /// Its text.
        text: String,
    },
    /// A directory listing.
    Folder {
        /// Relative to the project if it is inside the project.
        path: String,
        /// One entry per line.
        listing: String,
    },
    /// A definition.
    Symbol {
        /// The file that contains it.
        path: String,
        /// Its lines.
        lines: RangeInclusive<usize>,
        /// Its name.
        name: String,
        /// Its text.
        text: String,
    },
    /// Some lines of a file.
    Selection {
        /// The file.
        path: String,
        /// The lines.
        lines: RangeInclusive<usize>,
        /// Their text.
        text: String,
    },
    /// Changes since the last commit.
    Diff {
        /// As a unified diff.
        text: String,
    },
    /// Another session.
    Thread {
        /// Its name.
        title: String,
        /// Its transcript.
        text: String,
    },
    /// A web page.
    Page {
        /// Its URL.
        url: String,
        /// Its text.
        text: String,
    },
    /// A rules file or a saved prompt.
    Rule {
        /// Its name.
        name: String,
        /// Its text.
        text: String,
    },
    /// Diagnostics of compilers and linters.
    Diagnostics {
        /// One per line.
        text: String,
    },
    /// Code that was found by meaning.
    Codebase {
        /// The words.
        words: String,
        /// The places and their text.
        text: String,
    },
}

/// The rendered block, and what did not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MentionContext {
    /// The text that the model sees after the prompt.
    pub text: String,
    /// What was cut or omitted, for the user.
    pub cut: Vec<String>,
}

/// Minimum bytes for a piece to be shown.
const LEAST: usize = 400;

/// Renders mentions in at most this many bytes; `None` if there are none.
///
/// Small pieces are shown whole; larger ones share the rest equally.
pub fn mention_context(pieces: &[MentionedContent], bytes: usize) -> Option<MentionContext> {
    if pieces.is_empty() {
        return None;
    }
    let mut ordered: Vec<&MentionedContent> = pieces.iter().collect();
    ordered.sort_by_key(|piece| rank(piece));
    let budgets = share(
        &ordered.iter().map(|piece| body(piece).len()).collect::<Vec<_>>(),
        bytes,
    );
    let mut text = String::from("<context>\nContent of the mentions in the message above, as of now.\n");
    let mut cut = Vec::new();
    let mut group = "";
    for (piece, budget) in ordered.iter().zip(budgets) {
        let whole = body(piece);
        if budget < whole.len() && budget < LEAST {
            cut.push(format!("{} was omitted because it exceeds the budget", title(piece)));
            continue;
        }
        let (excerpt, note) = truncate_lines(whole, budget);
        if note.is_some() {
            cut.push(format!(
                "{} was cut to {} of {} bytes",
                title(piece),
                excerpt.len(),
                whole.len()
            ));
        }
        if group != tag(piece) {
            close(&mut text, group);
            group = tag(piece);
            text.push_str(&format!("<{group}>\n"));
        }
        show(&mut text, piece, excerpt, note);
    }
    close(&mut text, group);
    for line in &cut {
        text.push_str(&format!("({line})\n"));
    }
    text.push_str("</context>");
    Some(MentionContext { text, cut })
}

fn close(text: &mut String, group: &str) {
    if !group.is_empty() {
        text.push_str(&format!("</{group}>\n"));
    }
}

/// Distributes a total among sizes: small ones get all they need, the others equal shares.
fn share(sizes: &[usize], total: usize) -> Vec<usize> {
    let mut budgets = vec![0; sizes.len()];
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&index| sizes[index]);
    let mut left = total;
    for (done, &index) in order.iter().enumerate() {
        let budget = sizes[index].min(left / (sizes.len() - done));
        budgets[index] = budget;
        left -= budget;
    }
    budgets
}

fn rank(piece: &MentionedContent) -> u8 {
    match piece {
        MentionedContent::File { .. } => 0,
        MentionedContent::Folder { .. } => 1,
        MentionedContent::Symbol { .. } => 2,
        MentionedContent::Selection { .. } => 3,
        MentionedContent::Diff { .. } => 4,
        MentionedContent::Thread { .. } => 5,
        MentionedContent::Page { .. } => 6,
        MentionedContent::Rule { .. } => 7,
        MentionedContent::Diagnostics { .. } => 8,
        MentionedContent::Codebase { .. } => 9,
    }
}

fn tag(piece: &MentionedContent) -> &'static str {
    match piece {
        MentionedContent::File { .. } => "files",
        MentionedContent::Folder { .. } => "directories",
        MentionedContent::Symbol { .. } => "symbols",
        MentionedContent::Selection { .. } => "selections",
        MentionedContent::Diff { .. } => "diffs",
        MentionedContent::Thread { .. } => "threads",
        MentionedContent::Page { .. } => "fetched_urls",
        MentionedContent::Rule { .. } => "rules",
        MentionedContent::Diagnostics { .. } => "diagnostics",
        MentionedContent::Codebase { .. } => "codebase",
    }
}

fn body(piece: &MentionedContent) -> &str {
    match piece {
        MentionedContent::File { text, .. }
        | MentionedContent::Symbol { text, .. }
        | MentionedContent::Selection { text, .. }
        | MentionedContent::Diff { text }
        | MentionedContent::Thread { text, .. }
        | MentionedContent::Page { text, .. }
        | MentionedContent::Rule { text, .. }
        | MentionedContent::Diagnostics { text }
        | MentionedContent::Codebase { text, .. } => text,
        MentionedContent::Folder { listing, .. } => listing,
    }
}

/// Name of a piece, for the user.
fn title(piece: &MentionedContent) -> String {
    match piece {
        MentionedContent::File { path, .. } | MentionedContent::Folder { path, .. } => path.clone(),
        MentionedContent::Symbol { name, .. } => format!("#{name}"),
        MentionedContent::Selection { path, lines, .. } => format!("{path}:{}-{}", lines.start(), lines.end()),
        MentionedContent::Diff { .. } => "the diff".into(),
        MentionedContent::Thread { title, .. } => format!("the session `{title}`"),
        MentionedContent::Page { url, .. } => url.clone(),
        MentionedContent::Rule { name, .. } => format!("the rule `{name}`"),
        MentionedContent::Diagnostics { .. } => "the list of diagnostics".into(),
        MentionedContent::Codebase { words, .. } => format!("the search for \"{words}\""),
    }
}

fn show(text: &mut String, piece: &MentionedContent, excerpt: &str, note: Option<String>) {
    let heading = match piece {
        MentionedContent::File { path, .. } | MentionedContent::Folder { path, .. } => path.clone(),
        MentionedContent::Symbol { path, lines, .. } | MentionedContent::Selection { path, lines, .. } => {
            format!("{path}#L{}-{}", lines.start(), lines.end())
        }
        MentionedContent::Diff { .. } => "diff".into(),
        MentionedContent::Thread { title, .. } => title.clone(),
        MentionedContent::Page { url, .. } => url.clone(),
        MentionedContent::Rule { name, .. } => name.clone(),
        MentionedContent::Diagnostics { .. } => String::new(),
        MentionedContent::Codebase { words, .. } => format!("Found for: {words}"),
    };
    let fence = "`".repeat(longest_run(excerpt).max(2) + 1);
    text.push_str(&format!(
        "{fence}{}\n{}\n",
        heading.replace(['\n', '`'], " "),
        excerpt.trim_end_matches('\n')
    ));
    text.push_str(&fence);
    text.push('\n');
    if let Some(note) = note {
        text.push_str(&format!("({note})\n"));
    }
}

/// Length of the longest run of backticks; a fence must be longer.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// The beginning of a text, cut at a line end if possible, and a note about the rest.
fn truncate_lines(text: &str, bytes: usize) -> (&str, Option<String>) {
    if text.len() <= bytes {
        return (text, None);
    }
    let end = text.floor_char_boundary(bytes);
    let end = text[..end].rfind('\n').unwrap_or(end);
    let left = text[end..].lines().filter(|line| !line.is_empty()).count();
    (
        &text[..end],
        Some(format!("{left} more lines omitted; read the rest with a tool")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> MentionedContent {
        MentionedContent::File {
            path: path.into(),
            text: text.into(),
        }
    }

    #[test]
    fn the_order_of_mentions_does_not_depend_on_the_prompt() {
        let selection = MentionedContent::Selection {
            path: "src/a.rs".into(),
            lines: 1..=50,
            text: "fn a() {}\n".into(),
        };
        let pieces = vec![
            MentionedContent::Diagnostics {
                text: "a.rs:1: error".into(),
            },
            MentionedContent::Rule {
                name: "style".into(),
                text: "Use tabs.".into(),
            },
            MentionedContent::Page {
                url: "https://example.org".into(),
                text: "A page.".into(),
            },
            MentionedContent::Thread {
                title: "Old talk".into(),
                text: "hello".into(),
            },
            MentionedContent::Diff { text: "-a\n+b".into() },
            selection,
            MentionedContent::Symbol {
                path: "src/b.rs".into(),
                lines: 3..=4,
                name: "b".into(),
                text: "fn b() {\n}".into(),
            },
            MentionedContent::Folder {
                path: "src/".into(),
                listing: "a.rs\nb.rs".into(),
            },
            file("README.md", "```sh\nls\n```\n"),
            file("a.txt", "a"),
        ];
        let shown = mention_context(&pieces, 10_000).unwrap();
        assert_eq!(shown.cut, Vec::<String>::new());
        insta::assert_snapshot!(shown.text);
        let mut turned = pieces.clone();
        turned.rotate_left(3);
        // Within one kind, the order of the prompt is kept.
        assert_eq!(mention_context(&turned, 10_000).unwrap().text.len(), shown.text.len());
    }

    #[test]
    fn small_pieces_are_whole_and_large_ones_share_the_rest() {
        let long = "line of text\n".repeat(1_000);
        let pieces = [file("long1", &long), file("small", "tiny"), file("long2", &long)];
        let shown = mention_context(&pieces, 4_004).unwrap();
        assert!(
            shown.text.contains("tiny") && shown.text.len() < 4_700,
            "{}",
            shown.text.len()
        );
        assert_eq!(shown.cut.len(), 2, "{:?}", shown.cut);
        assert!(shown.text.contains("more lines omitted"));
        let none = mention_context(&pieces, 300).unwrap();
        assert_eq!(none.cut.len(), 2, "{:?}", none.cut);
        assert!(none.text.contains("tiny"));
    }

    #[test]
    fn without_mentions_nothing_is_shown() {
        assert_eq!(mention_context(&[], 1_000), None);
    }
}
