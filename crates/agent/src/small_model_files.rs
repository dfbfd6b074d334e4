//! The files that a small model sees with its first prompt: those that the prompt names, and all files of a tiny project.
//!
//! A small model often changes a file without reading it, or reads nothing else; with the content in the prompt, it writes the
//! change in its first reply.

use crate::mentions::run_without_asking;
use crate::session::Session;
use crate::turn::approval::MentionIntent;
use futures::future::join_all;
use model::Block;
use prompt::ProjectFiles;
use serde_json::{Value, json};
use session::ItemKind;
use std::path::PathBuf;
use tool::ContextOutput;

/// The number of files up to which all of them are shown.
const TINY_PROJECT: usize = 12;
/// The maximum number of listed paths.
const MAX_LISTED: usize = 60;
/// The maximum size of a shown file.
const MAX_FILE: usize = 6_000;
/// The maximum size of all shown files.
const MAX_TOTAL: usize = 12_000;

/// The files for a prompt, with the paths that were read. Empty unless the model is small and this is its first prompt.
pub(crate) async fn collect(session: &Session, text: &str) -> (ProjectFiles, Vec<PathBuf>) {
    let is_first = !session
        .conversation
        .items
        .iter()
        .any(|item| item.kind() == ItemKind::Prompt);
    if !session.turn.model.info().is_small() || session.env.depth > 0 || !is_first {
        return Default::default();
    }
    let Some((listing, _)) = read(session, "find_path", json!({"glob": "**"})).await else {
        return Default::default();
    };
    // The last line is the number of paths.
    let paths: Vec<&str> = listing
        .lines()
        .filter(|line| !line.starts_with('[') && !line.ends_with('/'))
        .collect();
    let words: Vec<&str> = text
        .split(|letter: char| letter.is_whitespace() || "`'\"(),:;".contains(letter))
        .map(|word| word.trim_end_matches(['.', '?', '!']).trim_start_matches("./"))
        .collect();
    let is_named = |path: &str| {
        words
            .iter()
            .any(|word| *word == path || path.rsplit('/').next() == Some(word))
    };
    let (named, others): (Vec<&str>, Vec<&str>) = paths.iter().partition(|path| is_named(path));
    let is_tiny = paths.len() <= TINY_PROJECT;
    let wanted: Vec<&str> = named
        .iter()
        .copied()
        .chain(others.iter().copied().filter(|_| is_tiny))
        .take(TINY_PROJECT)
        .collect();
    let contents = join_all(
        wanted
            .iter()
            .map(|path| read(session, "read_file", json!({"path": path}))),
    )
    .await;
    let (mut shown, mut touched, mut total) = (ProjectFiles::default(), Vec::new(), 0);
    for (path, content) in wanted.iter().zip(contents) {
        let text = content.and_then(|(text, paths)| Some((without_numbers(&text)?, paths)));
        match text {
            Some((text, paths)) if text.len() <= MAX_FILE && total + text.len() <= MAX_TOTAL => {
                total += text.len();
                touched.extend(paths);
                shown.files.push(((*path).to_owned(), text));
            }
            Some(_) | None => shown.others.push((*path).to_owned()),
        }
    }
    let rest = paths.iter().filter(|path| !wanted.contains(path));
    shown
        .others
        .extend(rest.take(MAX_LISTED).map(|path| (*path).to_owned()));
    (shown, touched)
}

/// The text of a tool's result.
async fn read(session: &Session, tool: &str, input: Value) -> Option<(String, Vec<PathBuf>)> {
    let ContextOutput { output, touched } = run_without_asking(session, tool, input, MentionIntent::Possible)
        .await
        .ok()?;
    let texts = output.content.iter().map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Media(_) => None,
    });
    Some((texts.collect::<Option<Vec<&str>>>()?.join("\n"), touched))
}

/// The content of a file from numbered lines and their count; `None` if it is not complete.
fn without_numbers(text: &str) -> Option<String> {
    let mut content = String::new();
    let mut count = 0;
    for line in text.lines() {
        match line.split_once('\t') {
            Some((number, rest)) if number.trim().parse() == Ok(count + 1) => {
                content.push_str(rest);
                content.push('\n');
                count += 1;
            }
            _ if line == format!("[{count} lines]") || (count == 1 && line == "[1 line]") => break,
            Some(_) | None => return None,
        }
    }
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_files_are_shown() {
        assert_eq!(without_numbers("1\ta\n2\t\tb\n[2 lines]").as_deref(), Some("a\n\tb\n"));
        assert_eq!(without_numbers("1\ta\n[1 line]").as_deref(), Some("a\n"));
        assert_eq!(without_numbers("1\ta").as_deref(), Some("a\n"));
        assert_eq!(without_numbers("1\ta\n[lines 1-1 of 9]"), None);
        assert_eq!(without_numbers("an outline"), None);
    }
}
