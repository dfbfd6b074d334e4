//! Renders Markdown as styled rows.

mod code;
mod inline;
mod splitter;
mod table;

pub(crate) use code::code_rows;
pub(crate) use splitter::{MarkdownBlock, MarkdownSplitter};

use crate::backend::Backend;
use crate::keys::{KeyAction, KeyMap};
use crate::row::{StyledRow, StyledSpan, sanitise, wrap};
use crate::theme::Theme;
use inline::InlineText;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use std::path::Path;
use table::MarkdownTable;

/// Context for rendering text.
#[derive(Clone, Copy)]
pub(crate) struct RenderContext<'a> {
    pub(crate) theme: &'a Theme,
    /// Highlights source text.
    pub(crate) backend: &'a dyn Backend,
    /// Names the key that shows hidden lines.
    pub(crate) keys: &'a KeyMap,
    /// The project's root, which is omitted from displayed paths.
    pub(crate) root: &'a Path,
}

impl RenderContext<'_> {
    /// The key that shows hidden lines.
    pub(crate) fn details_key(&self) -> String {
        self.keys.hint(KeyAction::ToggleDetails)
    }
}

/// Renders Markdown in rows of at most `width` columns.
pub(crate) fn rows(source: &str, width: usize, context: RenderContext<'_>) -> Vec<StyledRow> {
    let source = sanitise(source);
    let mut writer = MarkdownRenderer {
        context,
        width,
        rows: Vec::new(),
        inline: InlineText::new(context.theme),
        containers: Vec::new(),
        code: None,
        table: None,
        tight: true,
    };
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(&source, options) {
        writer.handle(event);
    }
    writer.flush();
    writer.rows
}

/// A container around a paragraph.
enum BlockContainer {
    Quote,
    /// A list, with the number of its next item if it is numbered.
    List(Option<u64>),
    /// A list item: its marker until it is drawn, and its indentation.
    Item {
        mark: Option<StyledSpan>,
        indent: usize,
    },
}

struct MarkdownRenderer<'a> {
    context: RenderContext<'a>,
    width: usize,
    rows: Vec<StyledRow>,
    inline: InlineText<'a>,
    containers: Vec<BlockContainer>,
    /// Language and text of a code block.
    code: Option<(String, String)>,
    table: Option<MarkdownTable>,
    /// Whether no blank row is needed before the next block.
    tight: bool,
}

impl MarkdownRenderer<'_> {
    fn handle(&mut self, event: Event<'_>) {
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
                self.blank_row();
                let dashes = "─".repeat(self.width.saturating_sub(self.indent()).min(40));
                self.push_row(StyledRow::new(dashes, self.context.theme.border));
            }
            Event::TaskListMarker(done) => self.inline.text(if done { "☑ " } else { "☐ " }),
            Event::Html(text) | Event::InlineHtml(text) => self.inline.text(text.trim_end_matches('\n')),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.inline.text(&text),
            Event::FootnoteReference(name) => self.inline.text(&format!("[{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.blank_row(),
            Tag::Heading { level, .. } => {
                self.blank_row();
                self.inline.push(heading(level, self.context.theme));
            }
            Tag::BlockQuote(_) => {
                self.blank_row();
                self.containers.push(BlockContainer::Quote);
                self.inline.push(self.context.theme.quiet);
                self.tight = true;
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.blank_row();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',']).next().unwrap_or_default().to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                self.flush();
                if self.containers.is_empty() {
                    self.blank_row();
                }
                self.containers.push(BlockContainer::List(first));
            }
            Tag::Item => self.item(),
            Tag::Table(columns) => {
                self.blank_row();
                self.table = Some(MarkdownTable::new(columns));
            }
            Tag::TableHead | Tag::TableRow => {}
            Tag::TableCell => self.inline.clear(),
            Tag::Emphasis => self.inline.push_emphasis(),
            Tag::Strong => self.inline.push(self.context.theme.strong),
            Tag::Strikethrough => self.inline.push_struck(),
            Tag::Link { dest_url, .. } => self.inline.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.inline.link(&dest_url);
                self.inline.text("image: ");
            }
            Tag::FootnoteDefinition(name) => {
                self.blank_row();
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
                self.containers.pop();
            }
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::List(_) => {
                self.flush();
                self.containers.pop();
            }
            TagEnd::Item => {
                self.flush();
                // An empty item still has its marker.
                if matches!(self.containers.last(), Some(BlockContainer::Item { mark: Some(_), .. })) {
                    self.push_row(StyledRow::empty());
                }
                self.containers.pop();
                self.tight = true;
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let width = self.width.saturating_sub(self.indent());
                    for row in table.rows(width, self.context.theme) {
                        self.push_row(row);
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
        let mark = match self.containers.last_mut() {
            Some(BlockContainer::List(Some(number))) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            Some(BlockContainer::List(None) | BlockContainer::Quote | BlockContainer::Item { .. }) | None => {
                "• ".into()
            }
        };
        let indent = mark.chars().count();
        let mark = Some(StyledSpan::new(mark, self.context.theme.accent));
        self.containers.push(BlockContainer::Item { mark, indent });
        self.tight = true;
    }

    fn code_block(&mut self) {
        let Some((language, text)) = self.code.take() else {
            return;
        };
        let width = self.width.saturating_sub(self.indent());
        for row in code_rows(&language, "", text.trim_end_matches('\n'), width, self.context) {
            self.push_row(row);
        }
    }

    /// Writes the collected text.
    fn flush(&mut self) {
        if self.table.is_some() {
            return;
        }
        for line in self.inline.take() {
            let width = self.width.saturating_sub(self.indent());
            for row in wrap(&line, width, &StyledRow::empty()) {
                self.push_row(row);
            }
        }
    }

    /// Adds a blank row before a block unless it is the first.
    fn blank_row(&mut self) {
        self.flush();
        if !std::mem::take(&mut self.tight) {
            self.rows.push(StyledRow::empty());
        }
    }

    fn indent(&self) -> usize {
        self.containers
            .iter()
            .map(|nest| match nest {
                BlockContainer::Quote => 2,
                BlockContainer::List(_) => 0,
                BlockContainer::Item { indent, .. } => *indent,
            })
            .sum()
    }

    /// Writes a row after the prefixes of its containers.
    fn push_row(&mut self, row: StyledRow) {
        let mut pieces = Vec::new();
        for nest in &mut self.containers {
            match nest {
                BlockContainer::Quote => pieces.push(StyledSpan::new("▎ ", self.context.theme.border)),
                BlockContainer::List(_) => {}
                BlockContainer::Item { mark, indent } => {
                    pieces.push(
                        mark.take()
                            .unwrap_or_else(|| StyledSpan::new(" ".repeat(*indent), Style::new())),
                    );
                }
            }
        }
        pieces.extend(row.spans);
        self.rows.push(StyledRow::from(pieces));
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
