//! Markdown while it is written.

use super::table::Table;

/// Where writing ends, however much a page still says.
const MOST: usize = 16 * 1024 * 1024;
/// Deeper than this, lists and quotes are no longer indented.
const DEEPEST: usize = 12;
/// Deeper than this, marks within a line are left out.
const MOST_MARKS: usize = 8;
/// Longer addresses carry state, not places.
const LONGEST_LINK: usize = 500;

#[derive(Debug, Default)]
pub(super) struct Render {
    out: String,
    gap: Gap,
    around: Vec<Around>,
    /// What stands before the next line in place of the innermost indent.
    marker: Option<String>,
    lists: Vec<Option<usize>>,
    marks: Vec<Mark>,
    code: Option<Code>,
    tables: Vec<Table>,
}

/// What comes before the next word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Space,
    Line,
    Blank,
}

/// What every line begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    Quote,
    Item(usize),
}

/// A stretch within a line that gets marks when it ends.
#[derive(Debug)]
struct Mark {
    name: &'static str,
    start: usize,
    link: Option<String>,
}

#[derive(Debug)]
struct Code {
    language: Option<String>,
    text: String,
}

impl Render {
    pub(super) fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            if self.out.len() + code.text.len() < MOST {
                code.text.push_str(text);
            }
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.widen(Gap::Space);
        }
        for (index, word) in text.split_whitespace().enumerate() {
            if index > 0 {
                self.widen(Gap::Space);
            }
            self.put(word);
        }
        if text.ends_with(char::is_whitespace) {
            self.widen(Gap::Space);
        }
    }

    pub(super) fn open(&mut self, name: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.widen(Gap::Blank);
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.put(&"#".repeat(level));
                self.gap = Gap::Space;
            }
            "br" => match &mut self.code {
                Some(code) => code.text.push('\n'),
                None => self.widen(Gap::Line),
            },
            "hr" => {
                self.widen(Gap::Blank);
                self.put("---");
                self.widen(Gap::Blank);
            }
            "ul" | "menu" => self.open_list(None),
            "li" => self.open_item(),
            "blockquote" => {
                self.widen(Gap::Blank);
                self.enter(Around::Quote);
            }
            "dt" => self.widen(Gap::Line),
            "dd" => {
                self.widen(Gap::Line);
                self.put(":");
                self.gap = Gap::Space;
            }
            "b" | "strong" => self.open_mark("**", None),
            "i" | "em" => self.open_mark("*", None),
            "del" | "s" => self.open_mark("~~", None),
            "kbd" | "samp" | "tt" => self.open_mark("`", None),
            "table" => self.open_table(),
            "tr" => self.open_row(),
            "td" | "th" => self.open_cell(),
            _ if is_block(name) => self.widen(Gap::Blank),
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
                self.leave(|around| around == Around::Quote);
                self.widen(Gap::Blank);
            }
            "td" | "th" => self.close_cell(),
            "tr" => self.close_row(),
            "table" => self.close_table(),
            "dt" | "dd" => self.widen(Gap::Line),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.widen(Gap::Blank),
            _ if is_block(name) => self.widen(Gap::Blank),
            _ => {}
        }
    }

    pub(super) fn open_link(&mut self, to: Option<String>) {
        // A link that was not ended ends where the next begins.
        self.close_mark("[");
        self.open_mark("[", to.filter(|to| to.len() <= LONGEST_LINK));
    }

    pub(super) fn image(&mut self, alt: &str, source: &str) {
        if self.code.is_none() && !alt.is_empty() && source.len() <= LONGEST_LINK {
            let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
            self.put(&format!("![{alt}]({source})"));
        }
    }

    pub(super) fn open_code(&mut self, name: &str, language: Option<String>) {
        match (&mut self.code, name) {
            (Some(code), _) => code.language = code.language.take().or(language),
            (None, "pre") => {
                self.widen(Gap::Blank);
                let text = String::new();
                self.code = Some(Code { language, text });
            }
            (None, _) => self.open_mark("`", None),
        }
    }

    pub(super) fn open_list(&mut self, first: Option<usize>) {
        let gap = if self.lists.is_empty() { Gap::Blank } else { Gap::Line };
        self.widen(gap);
        if self.lists.len() < DEEPEST {
            self.lists.push(first);
        }
    }

    /// Where the text stands now; nothing inside of a table, whose text is not written yet.
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
        self.widen(Gap::Line);
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", *number - 1)
            }
            Some(None) | None => "- ".to_owned(),
        };
        self.enter(Around::Item(marker.len()));
        self.marker = Some(marker);
    }

    /// Ends an item that the next one, or the end of the list, shows to be over.
    fn leave_item(&mut self) {
        let open = self
            .around
            .iter()
            .filter(|around| matches!(around, Around::Item(_)))
            .count();
        if open >= self.lists.len().max(1) {
            self.leave(|around| matches!(around, Around::Item(_)));
        }
    }

    fn close_item(&mut self) {
        self.leave(|around| matches!(around, Around::Item(_)));
        self.marker = None;
        self.widen(Gap::Line);
    }

    fn close_list(&mut self) {
        self.leave_item();
        self.marker = None;
        self.lists.pop();
        let gap = if self.lists.is_empty() { Gap::Blank } else { Gap::Line };
        self.widen(gap);
    }

    fn enter(&mut self, around: Around) {
        if self.around.len() < DEEPEST {
            self.around.push(around);
        }
    }

    fn leave(&mut self, is_it: impl Fn(Around) -> bool) {
        if let Some(at) = self.around.iter().rposition(|around| is_it(*around)) {
            self.around.truncate(at);
        }
    }

    fn open_mark(&mut self, name: &'static str, link: Option<String>) {
        if self.code.is_none() && self.marks.len() < MOST_MARKS {
            // What comes before belongs outside of the marks.
            self.flush();
            let start = self.out.len();
            self.marks.push(Mark { name, start, link });
        }
    }

    fn close_mark(&mut self, name: &str) {
        let Some(at) = self.marks.iter().rposition(|mark| mark.name == name) else {
            return;
        };
        let mark = self.marks.remove(at);
        // A mark inside of another that moves keeps its place only roughly, so those that are still open are dropped.
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
            self.gap = Gap::Line;
            self.put(line.trim_end());
        }
        self.gap = Gap::Line;
        self.put(fence);
        self.widen(Gap::Blank);
    }

    fn open_table(&mut self) {
        self.widen(Gap::Blank);
        // Tables within tables are layout; their cells are read as paragraphs of the outer cell.
        if self.tables.is_empty() {
            self.flush();
            self.marks.clear();
            self.tables.push(Table::begin());
        } else if let Some(table) = self.tables.last_mut() {
            table.inner += 1;
        }
    }

    fn outer_table(&mut self) -> Option<&mut Table> {
        self.tables.last_mut().filter(|table| table.inner == 0)
    }

    fn open_row(&mut self) {
        self.widen(Gap::Line);
        self.close_cell();
        if let Some(table) = self.outer_table() {
            table.row();
        }
    }

    fn open_cell(&mut self) {
        self.widen(Gap::Space);
        self.close_cell();
        let start = self.out.len();
        if let Some(table) = self.outer_table() {
            table.cell = Some(start);
            self.gap = Gap::None;
            self.marks.clear();
        }
    }

    /// Takes the cell's text out of what was written.
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
            self.gap = Gap::None;
        }
    }

    fn close_row(&mut self) {
        self.close_cell();
        self.widen(Gap::Line);
    }

    fn close_table(&mut self) {
        if let Some(table) = self.tables.last_mut().filter(|table| table.inner > 0) {
            table.inner -= 1;
            self.widen(Gap::Blank);
            return;
        }
        self.close_cell();
        let Some(table) = self.tables.pop() else { return };
        self.gap = Gap::Blank;
        for (index, line) in table.lines().iter().enumerate() {
            if index > 0 {
                self.gap = Gap::Line;
            }
            self.put(line);
        }
        self.widen(Gap::Blank);
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn put(&mut self, text: &str) {
        if self.out.len() < MOST {
            self.flush();
            self.out.push_str(text);
        }
    }

    /// Writes what comes before the next word.
    fn flush(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        let begins = self.out.is_empty()
            || self
                .tables
                .last()
                .is_some_and(|table| table.cell == Some(self.out.len()));
        match gap {
            _ if begins => {}
            Gap::None if self.marker.is_none() => return,
            Gap::Space if self.marker.is_none() => {
                if !self.out.ends_with(char::is_whitespace) {
                    self.out.push(' ');
                }
                return;
            }
            Gap::None | Gap::Space | Gap::Line => self.out.push('\n'),
            Gap::Blank => {
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
        let own = usize::from(marker.is_some()).min(self.around.len());
        let outer = &self.around[..self.around.len() - own];
        let mut prefix = String::new();
        for around in outer {
            match around {
                Around::Quote => prefix.push_str("> "),
                Around::Item(width) => prefix.extend(std::iter::repeat_n(' ', *width)),
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
