//! Markdown becomes rows.

mod code;
mod inline;
mod split;
mod table;

pub(crate) use code::code_rows;
pub(crate) use split::{Block, Splitter};

use crate::house::House;
use crate::row::{Piece, Row, tame, wrap};
use crate::theme::Theme;
use inline::Inline;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use table::Table;

/// How text is made to look.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    /// The styles.
    pub(crate) theme: &'a Theme,
    /// Who colours source text.
    pub(crate) house: &'a dyn House,
}

/// Markdown as rows of at most `width` columns.
pub(crate) fn rows(source: &str, width: usize, look: Look<'_>) -> Vec<Row> {
    let source = tame(source);
    let mut writer = Writer {
        look,
        width,
        rows: Vec::new(),
        inline: Inline::new(look.theme),
        nest: Vec::new(),
        code: None,
        table: None,
        tight: true,
    };
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(&source, options) {
        writer.take(event);
    }
    writer.flush();
    writer.rows
}

/// What stands around a paragraph.
enum Nest {
    /// A quote.
    Quote,
    /// A list, and the number of its next item where it is numbered.
    List(Option<u64>),
    /// An item: what stands before its first row, and how wide that is.
    Item { mark: Option<Piece>, indent: usize },
}

struct Writer<'a> {
    look: Look<'a>,
    width: usize,
    rows: Vec<Row>,
    inline: Inline<'a>,
    nest: Vec<Nest>,
    /// The language and text of a code block.
    code: Option<(String, String)>,
    table: Option<Table>,
    /// Whether nothing has been written since the last item began: no blank row is wanted then.
    tight: bool,
}

impl Writer<'_> {
    fn take(&mut self, event: Event<'_>) {
        if let (Some((_, text)), Event::Text(more)) = (&mut self.code, &event) {
            text.push_str(more);
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.inline.text(&text),
            Event::Code(code) => self.inline.code(&code),
            Event::SoftBreak => self.inline.text(" "),
            Event::HardBreak => self.inline.line_break(),
            Event::Rule => {
                self.gap();
                let dashes = "─".repeat(self.width.saturating_sub(self.indent()).min(40));
                self.put(Row::of(dashes, self.look.theme.border));
            }
            Event::TaskListMarker(done) => self.inline.text(if done { "☑ " } else { "☐ " }),
            Event::Html(text) | Event::InlineHtml(text) => self.inline.text(text.trim_end_matches('\n')),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.inline.text(&text),
            Event::FootnoteReference(name) => self.inline.text(&format!("[{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                self.inline.push(heading(level, self.look.theme));
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.nest.push(Nest::Quote);
                self.inline.push(self.look.theme.quiet);
                self.tight = true;
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',']).next().unwrap_or_default().to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                self.flush();
                if self.nest.is_empty() {
                    self.gap();
                }
                self.nest.push(Nest::List(first));
            }
            Tag::Item => self.item(),
            Tag::Table(columns) => {
                self.gap();
                self.table = Some(Table::new(columns));
            }
            Tag::TableHead | Tag::TableRow => {}
            Tag::TableCell => self.inline.clear(),
            Tag::Emphasis => self.inline.push_emphasis(),
            Tag::Strong => self.inline.push(self.look.theme.strong),
            Tag::Strikethrough => self.inline.push_struck(),
            Tag::Link { dest_url, .. } => self.inline.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.inline.link(&dest_url);
                self.inline.text("image: ");
            }
            Tag::FootnoteDefinition(name) => {
                self.gap();
                self.inline.text(&format!("[{name}]: "));
            }
            Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::FootnoteDefinition => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.inline.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.inline.pop();
                self.nest.pop();
            }
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::List(_) => {
                self.flush();
                self.nest.pop();
            }
            TagEnd::Item => {
                self.flush();
                // An item without any text still has its mark.
                if matches!(self.nest.last(), Some(Nest::Item { mark: Some(_), .. })) {
                    self.put(Row::empty());
                }
                self.nest.pop();
                self.tight = true;
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let width = self.width.saturating_sub(self.indent());
                    for row in table.rows(width, self.look.theme) {
                        self.put(row);
                    }
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::TableCell => {
                let cell = self.inline.take();
                if let Some(table) = &mut self.table {
                    table.cell(cell.into_iter().next().unwrap_or_default());
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.inline.pop(),
            TagEnd::Link | TagEnd::Image => self.inline.end_link(),
            TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn item(&mut self) {
        self.flush();
        let mark = match self.nest.last_mut() {
            Some(Nest::List(Some(number))) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            Some(Nest::List(None) | Nest::Quote | Nest::Item { .. }) | None => "• ".into(),
        };
        let indent = mark.chars().count();
        let mark = Some(Piece::new(mark, self.look.theme.accent));
        self.nest.push(Nest::Item { mark, indent });
        self.tight = true;
    }

    fn code_block(&mut self) {
        let Some((language, text)) = self.code.take() else {
            return;
        };
        let width = self.width.saturating_sub(self.indent());
        for row in code_rows(&language, "", text.trim_end_matches('\n'), width, self.look) {
            self.put(row);
        }
    }

    /// Writes the text that was gathered.
    fn flush(&mut self) {
        if self.table.is_some() {
            return;
        }
        for line in self.inline.take() {
            let width = self.width.saturating_sub(self.indent());
            for row in wrap(&line, width, &Row::empty()) {
                self.put(row);
            }
        }
    }

    /// A blank row before a block, unless it is the first.
    fn gap(&mut self) {
        self.flush();
        if !std::mem::take(&mut self.tight) {
            self.rows.push(Row::empty());
        }
    }

    fn indent(&self) -> usize {
        self.nest
            .iter()
            .map(|nest| match nest {
                Nest::Quote => 2,
                Nest::List(_) => 0,
                Nest::Item { indent, .. } => *indent,
            })
            .sum()
    }

    /// Writes a row behind whatever stands around it.
    fn put(&mut self, row: Row) {
        let mut pieces = Vec::new();
        for nest in &mut self.nest {
            match nest {
                Nest::Quote => pieces.push(Piece::new("▎ ", self.look.theme.border)),
                Nest::List(_) => {}
                Nest::Item { mark, indent } => {
                    pieces.push(
                        mark.take()
                            .unwrap_or_else(|| Piece::new(" ".repeat(*indent), Style::new())),
                    );
                }
            }
        }
        pieces.extend(row.pieces);
        self.rows.push(Row::from(pieces));
        self.tight = false;
    }
}

fn heading(level: HeadingLevel, theme: &Theme) -> Style {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => theme.heading,
        HeadingLevel::H3 | HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => theme.strong,
    }
}

#[cfg(test)]
mod tests;
