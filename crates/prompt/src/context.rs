//! Lays out what a prompt mentions in one block behind it: first files, then folders, symbols, lines, differences, sessions,
//! pages, rules, diagnostics.

use std::ops::RangeInclusive;

/// What a mention stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mentioned {
    /// A whole file, or an outline of one that is too long.
    File {
        /// Relative to the project where it lies inside it.
        path: String,
        /// Its text.
        text: String,
    },
    /// What a folder holds.
    Folder {
        /// Relative to the project where it lies inside it.
        path: String,
        /// One entry a line.
        listing: String,
    },
    /// A definition.
    Symbol {
        /// The file that it is in.
        path: String,
        /// The lines that it takes.
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
    /// What was changed since the last commit.
    Diff {
        /// As a unified diff.
        text: String,
    },
    /// Another session.
    Thread {
        /// What it is called.
        title: String,
        /// What was said in it.
        text: String,
    },
    /// A page.
    Page {
        /// Its address.
        url: String,
        /// Its text.
        text: String,
    },
    /// A rules file or a saved prompt.
    Rule {
        /// What it is called.
        name: String,
        /// What it says.
        text: String,
    },
    /// What compilers and linters complain about.
    Diagnostics {
        /// One a line.
        text: String,
    },
}

/// The block, and what had no room in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// What the model sees behind the prompt.
    pub text: String,
    /// What was cut or left out, in words for the person.
    pub cut: Vec<String>,
}

/// A piece that gets less room than this is not worth showing.
const LEAST: usize = 400;

/// Lays out what a prompt mentions in so many bytes; nothing when it mentions nothing.
///
/// Small pieces are shown whole; larger ones share what is left in equal parts.
pub fn context(pieces: &[Mentioned], bytes: usize) -> Option<Context> {
    if pieces.is_empty() {
        return None;
    }
    let mut ordered: Vec<&Mentioned> = pieces.iter().collect();
    ordered.sort_by_key(|piece| rank(piece));
    let rooms = share(
        &ordered.iter().map(|piece| body(piece).len()).collect::<Vec<_>>(),
        bytes,
    );
    let mut text = String::from("<context>\nWhat the message above mentions, as it is now.\n");
    let mut cut = Vec::new();
    let mut group = "";
    for (piece, room) in ordered.iter().zip(rooms) {
        let whole = body(piece);
        if room < whole.len() && room < LEAST {
            cut.push(format!("{} was left out, for lack of room", title(piece)));
            continue;
        }
        let (kept, note) = bound(whole, room);
        if note.is_some() {
            cut.push(format!(
                "{} was cut to {} of {} bytes",
                title(piece),
                kept.len(),
                whole.len()
            ));
        }
        if group != tag(piece) {
            close(&mut text, group);
            group = tag(piece);
            text.push_str(&format!("<{group}>\n"));
        }
        show(&mut text, piece, kept, note);
    }
    close(&mut text, group);
    for line in &cut {
        text.push_str(&format!("({line})\n"));
    }
    text.push_str("</context>");
    Some(Context { text, cut })
}

fn close(text: &mut String, group: &str) {
    if !group.is_empty() {
        text.push_str(&format!("</{group}>\n"));
    }
}

/// How many bytes each of these sizes gets of a total: the small ones all they need, the rest equal parts.
fn share(sizes: &[usize], total: usize) -> Vec<usize> {
    let mut rooms = vec![0; sizes.len()];
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&index| sizes[index]);
    let mut left = total;
    for (done, &index) in order.iter().enumerate() {
        let room = sizes[index].min(left / (sizes.len() - done));
        rooms[index] = room;
        left -= room;
    }
    rooms
}

fn rank(piece: &Mentioned) -> u8 {
    match piece {
        Mentioned::File { .. } => 0,
        Mentioned::Folder { .. } => 1,
        Mentioned::Symbol { .. } => 2,
        Mentioned::Selection { .. } => 3,
        Mentioned::Diff { .. } => 4,
        Mentioned::Thread { .. } => 5,
        Mentioned::Page { .. } => 6,
        Mentioned::Rule { .. } => 7,
        Mentioned::Diagnostics { .. } => 8,
    }
}

fn tag(piece: &Mentioned) -> &'static str {
    match piece {
        Mentioned::File { .. } => "files",
        Mentioned::Folder { .. } => "directories",
        Mentioned::Symbol { .. } => "symbols",
        Mentioned::Selection { .. } => "selections",
        Mentioned::Diff { .. } => "diffs",
        Mentioned::Thread { .. } => "threads",
        Mentioned::Page { .. } => "fetched_urls",
        Mentioned::Rule { .. } => "rules",
        Mentioned::Diagnostics { .. } => "diagnostics",
    }
}

fn body(piece: &Mentioned) -> &str {
    match piece {
        Mentioned::File { text, .. }
        | Mentioned::Symbol { text, .. }
        | Mentioned::Selection { text, .. }
        | Mentioned::Diff { text }
        | Mentioned::Thread { text, .. }
        | Mentioned::Page { text, .. }
        | Mentioned::Rule { text, .. }
        | Mentioned::Diagnostics { text } => text,
        Mentioned::Folder { listing, .. } => listing,
    }
}

/// What a piece is called, for the person.
fn title(piece: &Mentioned) -> String {
    match piece {
        Mentioned::File { path, .. } | Mentioned::Folder { path, .. } => path.clone(),
        Mentioned::Symbol { name, .. } => format!("#{name}"),
        Mentioned::Selection { path, lines, .. } => format!("{path}:{}-{}", lines.start(), lines.end()),
        Mentioned::Diff { .. } => "the diff".into(),
        Mentioned::Thread { title, .. } => format!("the session `{title}`"),
        Mentioned::Page { url, .. } => url.clone(),
        Mentioned::Rule { name, .. } => format!("the rule `{name}`"),
        Mentioned::Diagnostics { .. } => "the list of diagnostics".into(),
    }
}

fn show(text: &mut String, piece: &Mentioned, kept: &str, note: Option<String>) {
    let heading = match piece {
        Mentioned::File { path, .. } | Mentioned::Folder { path, .. } => path.clone(),
        Mentioned::Symbol { path, lines, .. } | Mentioned::Selection { path, lines, .. } => {
            format!("{path}#L{}-{}", lines.start(), lines.end())
        }
        Mentioned::Diff { .. } => "diff".into(),
        Mentioned::Thread { title, .. } => title.clone(),
        Mentioned::Page { url, .. } => url.clone(),
        Mentioned::Rule { name, .. } => name.clone(),
        Mentioned::Diagnostics { .. } => String::new(),
    };
    let fence = "`".repeat(longest_run(kept).max(2) + 1);
    text.push_str(&format!(
        "{fence}{}\n{}\n",
        heading.replace(['\n', '`'], " "),
        kept.trim_end_matches('\n')
    ));
    text.push_str(&fence);
    text.push('\n');
    if let Some(note) = note {
        text.push_str(&format!("({note})\n"));
    }
}

/// The longest run of backticks, which a fence must outdo.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// The beginning of a text, whole lines where possible, and what to say about the rest.
fn bound(text: &str, bytes: usize) -> (&str, Option<String>) {
    if text.len() <= bytes {
        return (text, None);
    }
    let end = text.floor_char_boundary(bytes);
    let end = text[..end].rfind('\n').unwrap_or(end);
    let left = text[end..].lines().filter(|line| !line.is_empty()).count();
    (
        &text[..end],
        Some(format!("{left} more lines are left out; read the rest with a tool")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Mentioned {
        Mentioned::File {
            path: path.into(),
            text: text.into(),
        }
    }

    #[test]
    fn the_layout_of_mentions_follows_one_order_whatever_the_order_in_the_prompt() {
        let selection = Mentioned::Selection {
            path: "src/a.rs".into(),
            lines: 1..=50,
            text: "fn a() {}\n".into(),
        };
        let pieces = vec![
            Mentioned::Diagnostics {
                text: "a.rs:1: error".into(),
            },
            Mentioned::Rule {
                name: "style".into(),
                text: "Use tabs.".into(),
            },
            Mentioned::Page {
                url: "https://example.org".into(),
                text: "A page.".into(),
            },
            Mentioned::Thread {
                title: "Old talk".into(),
                text: "hello".into(),
            },
            Mentioned::Diff { text: "-a\n+b".into() },
            selection,
            Mentioned::Symbol {
                path: "src/b.rs".into(),
                lines: 3..=4,
                name: "b".into(),
                text: "fn b() {\n}".into(),
            },
            Mentioned::Folder {
                path: "src/".into(),
                listing: "a.rs\nb.rs".into(),
            },
            file("README.md", "```sh\nls\n```\n"),
            file("a.txt", "a"),
        ];
        let shown = context(&pieces, 10_000).unwrap();
        assert_eq!(shown.cut, Vec::<String>::new());
        insta::assert_snapshot!(shown.text);
        let mut turned = pieces.clone();
        turned.rotate_left(3);
        // Within one kind the order of the prompt counts.
        assert_eq!(context(&turned, 10_000).unwrap().text.len(), shown.text.len());
    }

    #[test]
    fn small_pieces_are_whole_and_large_ones_share_the_rest() {
        let long = "line of text\n".repeat(1_000);
        let pieces = [file("long1", &long), file("small", "tiny"), file("long2", &long)];
        let shown = context(&pieces, 4_004).unwrap();
        assert!(
            shown.text.contains("tiny") && shown.text.len() < 4_700,
            "{}",
            shown.text.len()
        );
        assert_eq!(shown.cut.len(), 2, "{:?}", shown.cut);
        assert!(shown.text.contains("more lines are left out"));
        let none = context(&pieces, 300).unwrap();
        assert_eq!(none.cut.len(), 2, "{:?}", none.cut);
        assert!(none.text.contains("tiny"));
    }

    #[test]
    fn nothing_mentioned_is_nothing_shown() {
        assert_eq!(context(&[], 1_000), None);
    }
}
