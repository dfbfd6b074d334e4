//! Writes Markdown.

use super::table::HtmlTable;

/// Maximum size of the output.
const MAX_OUTPUT: usize = 16 * 1024 * 1024;
/// Maximum indentation of lists and quotes.
const MAX_DEPTH: usize = 12;
/// Maximum nesting of inline marks.
const MAX_MARKS: usize = 8;
/// Maximum length of a URL; longer ones carry state.
const MAX_LINK_BYTES: usize = 500;

#[derive(Debug, Default)]
pub(super) struct MarkdownWriter {
    out: String,
    gap: MarkdownGap,
    prefixes: Vec<LinePrefix>,
    /// The list marker for the next line, instead of the innermost indent.
    marker: Option<String>,
    lists: Vec<Option<usize>>,
    marks: Vec<InlineMark>,
    code: Option<CodeBlock>,
    tables: Vec<HtmlTable>,
}

/// The whitespace before the next word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum MarkdownGap {
    #[default]
    None,
    Space,
    Line,
    Blank,
}

/// A prefix of every line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinePrefix {
    Quote,
    Item(usize),
}

/// An inline element that is marked when it ends.
#[derive(Debug)]
struct InlineMark {
    name: &'static str,
    start: usize,
    link: Option<String>,
}

#[derive(Debug)]
struct CodeBlock {
    language: Option<String>,
    text: String,
}

impl MarkdownWriter {
    pub(super) fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            if self.out.len() + code.text.len() < MAX_OUTPUT {
                code.text.push_str(text);
            }
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.widen(MarkdownGap::Space);
        }
        for (index, word) in text.split_whitespace().enumerate() {
            if index > 0 {
                self.widen(MarkdownGap::Space);
            }
            self.put(word);
        }
        if text.ends_with(char::is_whitespace) {
            self.widen(MarkdownGap::Space);
        }
    }

    pub(super) fn open(&mut self, name: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.widen(MarkdownGap::Blank);
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.put(&"#".repeat(level));
                self.gap = MarkdownGap::Space;
            }
            "br" => match &mut self.code {
                Some(code) => code.text.push('\n'),
                None => self.widen(MarkdownGap::Line),
            },
            "hr" => {
                self.widen(MarkdownGap::Blank);
                self.put("---");
                self.widen(MarkdownGap::Blank);
            }
            "ul" | "menu" => self.open_list(None),
            "li" => self.open_item(),
            "blockquote" => {
                self.widen(MarkdownGap::Blank);
                self.enter(LinePrefix::Quote);
            }
            "dt" => self.widen(MarkdownGap::Line),
            "dd" => {
                self.widen(MarkdownGap::Line);
                self.put(":");
                self.gap = MarkdownGap::Space;
            }
            "b" | "strong" => self.open_mark("**", None),
            "i" | "em" => self.open_mark("*", None),
            "del" | "s" => self.open_mark("~~", None),
            "kbd" | "samp" | "tt" => self.open_mark("`", None),
            "table" => self.open_table(),
            "tr" => self.open_row(),
            "td" | "th" => self.open_cell(),
            _ if is_block(name) => self.widen(MarkdownGap::Blank),
            _ => {}
        }
    }

    pub(super) fn close(&mut self, name: &str) {
        match name {
            "pre" => self.close_code(),
            "code" if self.code.is_some() => {}
            "code" | "kbd" | "samp" | "tt" => self.close_mark("`"),
            "b" | "strong" => self.close_mark("**"),
            "i" | "em" => self.close_mark("*"),
            "del" | "s" => self.close_mark("~~"),
            "a" => self.close_mark("["),
            "ul" | "ol" | "menu" => self.close_list(),
            "li" => self.close_item(),
            "blockquote" => {
                self.leave(|level| level == LinePrefix::Quote);
                self.widen(MarkdownGap::Blank);
            }
            "td" | "th" => self.close_cell(),
            "tr" => self.close_row(),
            "table" => self.close_table(),
            "dt" | "dd" => self.widen(MarkdownGap::Line),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.widen(MarkdownGap::Blank),
            _ if is_block(name) => self.widen(MarkdownGap::Blank),
            _ => {}
        }
    }

    pub(super) fn open_link(&mut self, to: Option<String>) {
        // An unclosed link ends where the next one starts.
        self.close_mark("[");
        self.open_mark("[", to.filter(|to| to.len() <= MAX_LINK_BYTES));
    }

    pub(super) fn image(&mut self, alt: &str, source: &str) {
        if self.code.is_none() && !alt.is_empty() && source.len() <= MAX_LINK_BYTES {
            let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
            self.put(&format!("![{alt}]({source})"));
        }
    }

    pub(super) fn open_code(&mut self, name: &str, language: Option<String>) {
        match (&mut self.code, name) {
            (Some(code), _) => code.language = code.language.take().or(language),
            (None, "pre") => {
                self.widen(MarkdownGap::Blank);
                let text = String::new();
                self.code = Some(CodeBlock { language, text });
            }
            (None, _) => self.open_mark("`", None),
        }
    }

    pub(super) fn open_list(&mut self, first: Option<usize>) {
        let gap = if self.lists.is_empty() {
            MarkdownGap::Blank
        } else {
            MarkdownGap::Line
        };
        self.widen(gap);
        if self.lists.len() < MAX_DEPTH {
            self.lists.push(first);
        }
    }

    /// The current position; `None` inside a table, which is written later.
    pub(super) fn mark(&self) -> Option<usize> {
        self.tables.is_empty().then_some(self.out.len())
    }

    pub(super) fn finish(&mut self) -> String {
        self.close_code();
        while !self.tables.is_empty() {
            self.close_table();
        }
        while let Some(mark) = self.marks.last() {
            self.close_mark(mark.name);
        }
        std::mem::take(&mut self.out)
    }

    fn open_item(&mut self) {
        self.leave_item();
        self.widen(MarkdownGap::Line);
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", *number - 1)
            }
            Some(None) | None => "- ".to_owned(),
        };
        self.enter(LinePrefix::Item(marker.len()));
        self.marker = Some(marker);
    }

    /// Closes an item that has no end tag.
    fn leave_item(&mut self) {
        let open = self
            .prefixes
            .iter()
            .filter(|level| matches!(level, LinePrefix::Item(_)))
            .count();
        if open >= self.lists.len().max(1) {
            self.leave(|level| matches!(level, LinePrefix::Item(_)));
        }
    }

    fn close_item(&mut self) {
        self.leave(|level| matches!(level, LinePrefix::Item(_)));
        self.marker = None;
        self.widen(MarkdownGap::Line);
    }

    fn close_list(&mut self) {
        self.leave_item();
        self.marker = None;
        self.lists.pop();
        let gap = if self.lists.is_empty() {
            MarkdownGap::Blank
        } else {
            MarkdownGap::Line
        };
        self.widen(gap);
    }

    fn enter(&mut self, level: LinePrefix) {
        if self.prefixes.len() < MAX_DEPTH {
            self.prefixes.push(level);
        }
    }

    fn leave(&mut self, is_it: impl Fn(LinePrefix) -> bool) {
        if let Some(at) = self.prefixes.iter().rposition(|level| is_it(*level)) {
            self.prefixes.truncate(at);
        }
    }

    fn open_mark(&mut self, name: &'static str, link: Option<String>) {
        if self.code.is_none() && self.marks.len() < MAX_MARKS {
            // Preceding whitespace is outside the marks.
            self.flush();
            let start = self.out.len();
            self.marks.push(InlineMark { name, start, link });
        }
    }

    fn close_mark(&mut self, name: &str) {
        let Some(at) = self.marks.iter().rposition(|mark| mark.name == name) else {
            return;
        };
        let mark = self.marks.remove(at);
        // Inserting a mark shifts the positions of inner ones, so those still open are dropped.
        self.marks.truncate(at);
        let inner = self.out.get(mark.start..).unwrap_or_default();
        if inner.trim().is_empty() {
            return;
        }
        let lines = inner.contains('\n');
        match (mark.name, mark.link) {
            ("[", Some(to)) if !lines => {
                self.out.insert(mark.start, '[');
                self.out.push_str(&format!("]({to})"));
            }
            ("[", Some(to)) => self.out.push_str(&format!(" ({to})")),
            ("[", None) => {}
            (_, _) if lines => {}
            (name, _) => {
                self.out.insert_str(mark.start, name);
                self.out.push_str(name);
            }
        }
    }

    fn close_code(&mut self) {
        let Some(code) = self.code.take() else { return };
        let text = code.text.trim_matches('\n').trim_end();
        if text.is_empty() {
            return;
        }
        let fence = if text.contains("```") { "~~~~" } else { "```" };
        self.put(&format!("{fence}{}", code.language.unwrap_or_default()));
        for line in text.lines() {
            self.gap = MarkdownGap::Line;
            self.put(line.trim_end());
        }
        self.gap = MarkdownGap::Line;
        self.put(fence);
        self.widen(MarkdownGap::Blank);
    }

    fn open_table(&mut self) {
        self.widen(MarkdownGap::Blank);
        // Nested tables are layout; their cells become paragraphs of the outer cell.
        if self.tables.is_empty() {
            self.flush();
            self.marks.clear();
            self.tables.push(HtmlTable::begin());
        } else if let Some(table) = self.tables.last_mut() {
            table.inner += 1;
        }
    }

    fn outer_table(&mut self) -> Option<&mut HtmlTable> {
        self.tables.last_mut().filter(|table| table.inner == 0)
    }

    fn open_row(&mut self) {
        self.widen(MarkdownGap::Line);
        self.close_cell();
        if let Some(table) = self.outer_table() {
            table.row();
        }
    }

    fn open_cell(&mut self) {
        self.widen(MarkdownGap::Space);
        self.close_cell();
        let start = self.out.len();
        if let Some(table) = self.outer_table() {
            table.cell = Some(start);
            self.gap = MarkdownGap::None;
            self.marks.clear();
        }
    }

    /// Moves the cell's text from the output to the table.
    fn close_cell(&mut self) {
        let out = &mut self.out;
        let Some(table) = self.tables.last_mut().filter(|table| table.inner == 0) else {
            return;
        };
        if let Some(start) = table.cell.take() {
            let text = out.get(start..).unwrap_or_default().trim().to_owned();
            out.truncate(start);
            table.add(text);
            self.marks.clear();
            self.gap = MarkdownGap::None;
        }
    }

    fn close_row(&mut self) {
        self.close_cell();
        self.widen(MarkdownGap::Line);
    }

    fn close_table(&mut self) {
        if let Some(table) = self.tables.last_mut().filter(|table| table.inner > 0) {
            table.inner -= 1;
            self.widen(MarkdownGap::Blank);
            return;
        }
        self.close_cell();
        let Some(table) = self.tables.pop() else { return };
        self.gap = MarkdownGap::Blank;
        for (index, line) in table.lines().iter().enumerate() {
            if index > 0 {
                self.gap = MarkdownGap::Line;
            }
            self.put(line);
        }
        self.widen(MarkdownGap::Blank);
    }

    fn widen(&mut self, gap: MarkdownGap) {
        self.gap = self.gap.max(gap);
    }

    fn put(&mut self, text: &str) {
        if self.out.len() < MAX_OUTPUT {
            self.flush();
            self.out.push_str(text);
        }
    }

    /// Writes the whitespace before the next word.
    fn flush(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        let begins = self.out.is_empty()
            || self
                .tables
                .last()
                .is_some_and(|table| table.cell == Some(self.out.len()));
        match gap {
            _ if begins => {}
            MarkdownGap::None if self.marker.is_none() => return,
            MarkdownGap::Space if self.marker.is_none() => {
                if !self.out.ends_with(char::is_whitespace) {
                    self.out.push(' ');
                }
                return;
            }
            MarkdownGap::None | MarkdownGap::Space | MarkdownGap::Line => self.out.push('\n'),
            MarkdownGap::Blank => {
                self.out.push('\n');
                let prefix = self.prefix(None);
                self.out.push_str(prefix.trim_end());
                self.out.push('\n');
            }
        }
        let marker = self.marker.take();
        let prefix = self.prefix(marker.as_deref());
        self.out.push_str(&prefix);
    }

    fn prefix(&self, marker: Option<&str>) -> String {
        let own = usize::from(marker.is_some()).min(self.prefixes.len());
        let outer = &self.prefixes[..self.prefixes.len() - own];
        let mut prefix = String::new();
        for level in outer {
            match level {
                LinePrefix::Quote => prefix.push_str("> "),
                LinePrefix::Item(width) => prefix.extend(std::iter::repeat_n(' ', *width)),
            }
        }
        prefix.push_str(marker.unwrap_or_default());
        prefix
    }
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "body"
            | "details"
            | "div"
            | "dl"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "header"
            | "hgroup"
            | "main"
            | "nav"
            | "p"
            | "section"
            | "summary"
            | "caption"
    )
}
