//! Splits streaming Markdown into complete blocks, so that only the last one is parsed again.

/// A complete Markdown block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MarkdownBlock {
    /// A paragraph, heading, table or other block.
    Text(String),
    /// A list item with its contents.
    Item(String),
    /// Lines of a code block.
    Code {
        /// The language after the fence.
        language: String,
        /// Preceding lines of the same block, as highlighting context.
        before: String,
        text: String,
        /// Whether these are the first lines of the block.
        first: bool,
    },
}

/// Maximum lines of a code block that are held back, because later lines may affect highlighting.
const HELD_LINES: usize = 24;
/// Bytes of preceding code used as highlighting context.
const CONTEXT_BYTES: usize = 4 << 10;

/// Bytes of a line needed to classify it.
const LINE_START: usize = 16;
/// Visible bytes of an incomplete block.
const VISIBLE_BYTES: usize = 16 << 10;

/// Splits streaming Markdown.
#[derive(Debug, Clone, Default)]
pub(crate) struct MarkdownSplitter {
    /// Text that was not returned yet.
    tail: String,
    /// Whether new text may have completed a block.
    stale: bool,
    /// Length of the last line.
    line: usize,
    /// The code block that contains the tail.
    fence: Option<CodeFence>,
}

#[derive(Debug, Clone)]
struct CodeFence {
    mark: String,
    language: String,
    before: String,
    first: bool,
}

impl MarkdownSplitter {
    /// Appends text.
    pub(crate) fn push(&mut self, text: &str) {
        // The start of a line can end the previous block; the rest of a long line cannot.
        self.stale |= text.contains('\n') || self.line < LINE_START;
        self.line = match text.rfind('\n') {
            Some(at) => text.len() - at - 1,
            None => self.line + text.len(),
        };
        self.tail.push_str(text);
    }

    /// The incomplete block.
    pub(crate) fn incomplete(&self) -> Option<MarkdownBlock> {
        match &self.fence {
            Some(fence) => Some(fence.block(self.tail.trim_end_matches('\n'))).filter(|_| !self.tail.is_empty()),
            None if self.tail.trim().is_empty() => None,
            // For a block longer than the screen, the end is enough.
            None => {
                let from = self.tail.len().saturating_sub(VISIBLE_BYTES);
                let from = (from..self.tail.len())
                    .find(|at| self.tail.is_char_boundary(*at))
                    .unwrap_or(0);
                Some(text_block(self.tail.get(from..).unwrap_or_default()))
            }
        }
    }

    /// The next complete block.
    pub(crate) fn next(&mut self) -> Option<MarkdownBlock> {
        if !self.stale {
            return None;
        }
        let block = self.split_next();
        self.stale = block.is_some();
        block
    }

    fn split_next(&mut self) -> Option<MarkdownBlock> {
        loop {
            if self.fence.is_some() {
                return self.next_code();
            }
            self.skip_blank();
            if let Some((mark, language)) = fence_at(self.first_line()?) {
                let length = self.first_line()?.len();
                self.tail.drain(..length);
                self.fence = Some(CodeFence {
                    mark,
                    language,
                    before: String::new(),
                    first: true,
                });
                continue;
            }
            let end = self.block_end()?;
            let block: String = self.tail.drain(..end).collect();
            return Some(text_block(&block));
        }
    }

    /// Returns all remaining blocks.
    pub(crate) fn finish(&mut self) -> Vec<MarkdownBlock> {
        if !self.tail.is_empty() && !self.tail.ends_with('\n') {
            self.tail.push('\n');
        }
        self.stale = true;
        let mut blocks: Vec<MarkdownBlock> = std::iter::from_fn(|| self.next()).collect();
        if let Some(fence) = &self.fence {
            blocks.extend((!self.tail.is_empty()).then(|| fence.block(self.tail.trim_end_matches('\n'))));
        } else if !self.tail.trim().is_empty() {
            blocks.push(text_block(&self.tail));
        }
        *self = MarkdownSplitter::default();
        blocks
    }

    /// Lines of a code block: all when it is closed, the oldest when there are many.
    fn next_code(&mut self) -> Option<MarkdownBlock> {
        let fence = self.fence.as_mut()?;
        let mut at = 0;
        let mut starts = Vec::new();
        for line in self.tail.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            if closes(line, &fence.mark) {
                let text = self
                    .tail
                    .get(..at)
                    .unwrap_or_default()
                    .trim_end_matches('\n')
                    .to_string();
                let block = fence.block(&text);
                let is_empty = at == 0 && !fence.first;
                self.tail.drain(..at + line.len());
                self.fence = None;
                return if is_empty { self.split_next() } else { Some(block) };
            }
            starts.push(at);
            at += line.len();
        }
        let cut = *starts.get(HELD_LINES).filter(|_| starts.len() >= 2 * HELD_LINES)?;
        let cut = starts.get(starts.len() - HELD_LINES).copied().unwrap_or(cut);
        let text: String = self.tail.drain(..cut).collect();
        let block = fence.block(text.trim_end_matches('\n'));
        fence.first = false;
        fence.before.push_str(&text);
        let excess = fence.before.len().saturating_sub(CONTEXT_BYTES);
        let excess = fence
            .before
            .get(excess..)
            .and_then(|rest| rest.find('\n'))
            .map_or(0, |at| excess + at + 1);
        if fence.before.len() > CONTEXT_BYTES {
            fence.before.drain(..excess);
        }
        Some(block)
    }

    fn first_line(&self) -> Option<&str> {
        let end = self.tail.find('\n')?;
        self.tail.get(..=end)
    }

    fn skip_blank(&mut self) {
        let mut blank = 0;
        for line in self.tail.split_inclusive('\n') {
            if !line.ends_with('\n') || !line.trim().is_empty() {
                break;
            }
            blank += line.len();
        }
        self.tail.drain(..blank);
    }

    /// Where the first block ends, if that is known.
    fn block_end(&mut self) -> Option<usize> {
        let mut at = 0;
        let mut was_blank = false;
        let mut inner: Option<String> = None;
        let in_list = is_item(self.tail.trim_start_matches('\n'));
        for line in self.tail.split_inclusive('\n') {
            let is_first = at == 0;
            // The first characters are enough to classify a line.
            let known = line.ends_with('\n') || line.trim_start().len() >= 4;
            if !known {
                break;
            }
            if let Some(mark) = &inner {
                if closes(line.trim_start(), mark) {
                    inner = None;
                }
            } else if line.trim().is_empty() {
                was_blank = true;
            } else {
                let indented = line.starts_with([' ', '\t']);
                let begins = match in_list {
                    true => !indented && (was_blank || is_item(line) || fence_at(line).is_some()),
                    false => was_blank || fence_at(line).is_some() || (is_item(line) && !is_numbered_late(line)),
                };
                if begins && !is_first {
                    return Some(at);
                }
                was_blank = false;
                if let Some((mark, _)) = fence_at(line.trim_start()).filter(|_| line.ends_with('\n') && in_list) {
                    inner = Some(mark);
                }
                // A heading ends with its line.
                if is_first && line.starts_with('#') && line.ends_with('\n') {
                    return Some(line.len());
                }
            }
            at += line.len();
        }
        None
    }
}

impl CodeFence {
    fn block(&self, text: &str) -> MarkdownBlock {
        MarkdownBlock::Code {
            language: self.language.clone(),
            before: self.before.clone(),
            text: text.into(),
            first: self.first,
        }
    }
}

fn text_block(text: &str) -> MarkdownBlock {
    let text = text.trim_end().to_string();
    if is_item(&text) {
        MarkdownBlock::Item(text)
    } else {
        MarkdownBlock::Text(text)
    }
}

/// The marker and language of a line that opens a code block.
fn fence_at(line: &str) -> Option<(String, String)> {
    let mark = if line.starts_with("```") { '`' } else { '~' };
    let length = line.chars().take_while(|c| *c == mark).count();
    let info = line.get(length..)?.trim();
    let is_fence = length >= 3 && line.ends_with('\n') && !(mark == '`' && info.contains('`'));
    let language = info.split([' ', ',', '{']).next().unwrap_or_default().to_string();
    is_fence.then(|| (mark.to_string().repeat(length), language))
}

fn closes(line: &str, mark: &str) -> bool {
    let line = line.trim_end();
    let unindented = line.trim_start_matches(' ');
    line.len() - unindented.len() <= 3
        && unindented.starts_with(mark)
        && mark
            .chars()
            .next()
            .is_some_and(|c| unindented.chars().all(|other| other == c))
}

/// Whether a line starts a top-level list item.
fn is_item(line: &str) -> bool {
    let bullet = ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark));
    bullet || numbered(line).is_some()
}

fn numbered(line: &str) -> Option<u64> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.get(digits..)?;
    let is_it = (1..=9).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "));
    is_it.then(|| line.get(..digits)?.parse().ok()).flatten()
}

/// A number other than 1 does not interrupt a paragraph.
fn is_numbered_late(line: &str) -> bool {
    numbered(line).is_some_and(|number| number != 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of a text that arrives in pieces.
    fn split(text: &str, piece: usize) -> Vec<MarkdownBlock> {
        let mut splitter = MarkdownSplitter::default();
        let mut blocks = Vec::new();
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(piece) {
            splitter.push(&piece.iter().collect::<String>());
            blocks.extend(std::iter::from_fn(|| splitter.next()));
        }
        blocks.extend(splitter.finish());
        blocks
    }

    fn text(text: &str) -> MarkdownBlock {
        MarkdownBlock::Text(text.into())
    }

    fn item(text: &str) -> MarkdownBlock {
        MarkdownBlock::Item(text.into())
    }

    fn code(language: &str, text: &str) -> MarkdownBlock {
        MarkdownBlock::Code {
            language: language.into(),
            before: String::new(),
            text: text.into(),
            first: true,
        }
    }

    #[test]
    fn text_is_split_where_blocks_end_however_it_arrives() {
        let cases: &[(&str, Vec<MarkdownBlock>)] = &[
            ("one\ntwo\n\nthree", vec![text("one\ntwo"), text("three")]),
            ("# Title\ntext\n", vec![text("# Title"), text("text")]),
            (
                "- a\n- b\n  more\n\n  still b\n- c\n\nend",
                vec![item("- a"), item("- b\n  more\n\n  still b"), item("- c"), text("end")],
            ),
            ("1. a\n2. b\n", vec![item("1. a"), item("2. b")]),
            ("see\n- a\n", vec![text("see"), item("- a")]),
            ("in the year\n1984. was\n", vec![text("in the year\n1984. was")]),
            (
                "say:\n```rust\nfn a() {}\n\nfn b() {}\n```\nend",
                vec![text("say:"), code("rust", "fn a() {}\n\nfn b() {}"), text("end")],
            ),
            ("~~~\n```\n~~~\n", vec![code("", "```")]),
            ("```\nopen", vec![code("", "open")]),
            (
                "- a\n  ```\n  x\n\n- no item\n  ```\n- b\n",
                vec![item("- a\n  ```\n  x\n\n- no item\n  ```"), item("- b")],
            ),
            (
                "| a | b |\n|---|---|\n| 1 | 2 |\n\nend",
                vec![text("| a | b |\n|---|---|\n| 1 | 2 |"), text("end")],
            ),
            ("> a\n> b\n\nc", vec![text("> a\n> b"), text("c")]),
            ("", vec![]),
        ];
        for (source, expected) in cases {
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(&split(source, piece), expected, "{source:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn a_long_code_block_is_returned_while_it_streams_without_losing_lines() {
        let lines: Vec<String> = (0..500).map(|n| format!("let line_{n} = {n};")).collect();
        let source = format!("```rust\n{}\n```\n", lines.join("\n"));
        for piece in [1, 13, 100_000] {
            let blocks = split(&source, piece);
            let mut joined = Vec::new();
            for (index, block) in blocks.iter().enumerate() {
                let MarkdownBlock::Code {
                    before, text, first, ..
                } = block
                else {
                    panic!("{block:?}")
                };
                assert_eq!(*first, index == 0);
                assert!(before.len() <= CONTEXT_BYTES);
                joined.push(text.clone());
            }
            assert_eq!(joined.join("\n"), lines.join("\n"), "in pieces of {piece}");
        }
        assert!(split(&source, 13).len() > 5);
    }

    #[test]
    fn an_incomplete_block_is_visible() {
        let mut splitter = MarkdownSplitter::default();
        splitter.push("one\n\ntwo **th");
        assert_eq!(splitter.next(), Some(text("one")));
        assert_eq!(splitter.next(), None);
        assert_eq!(splitter.incomplete(), Some(text("two **th")));
        splitter.push("ree**\n\n```py\nx = 1\ny");
        assert_eq!(splitter.next(), Some(text("two **three**")));
        assert_eq!(splitter.next(), None);
        assert_eq!(splitter.incomplete(), Some(code("py", "x = 1\ny")));
    }
}
