//! HTML as Markdown, for models: what a page says, without how it looks.
//!
//! The page is read tag by tag and no tree is built, so a page that is nested a million deep costs no more than a flat one.

mod table;
mod writer;

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use url::Url;

use writer::MarkdownWriter;

/// Minimum length of a `<main>` element that is used as the content.
const MIN_MAIN: usize = 200;

/// A page as Markdown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WebPage {
    /// The title, on one line.
    pub(crate) title: Option<String>,
    /// The text.
    pub(crate) text: String,
}

/// Converts a page to Markdown. Links become absolute; menus, footers, scripts and styles are omitted.
pub(crate) fn markdown(html: &str, base: &Url) -> WebPage {
    let page = read(html, base, MenuHandling::LeftOut);
    match page.text.is_empty() {
        // The page has only menus, or does not close them.
        true => read(html, base, MenuHandling::Kept),
        false => page,
    }
}

/// The text of an HTML fragment on one line, such as a search snippet.
pub(crate) fn one_line(html: &str) -> String {
    let mut text = String::new();
    let sink = PlainTextSink(RefCell::new(&mut text));
    tokenize(html, sink);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether menus and footers are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MenuHandling {
    LeftOut,
    Kept,
}

fn read(html: &str, base: &Url, menus: MenuHandling) -> WebPage {
    let sink = tokenize(html, HtmlSink(RefCell::new(HtmlReader::new(base, menus))));
    sink.0.into_inner().finish()
}

fn tokenize<S: TokenSink>(html: &str, sink: S) -> S {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    // A script ends a feed early; scripts are not run.
    while !input.is_empty() {
        drop(tokenizer.feed(&input));
    }
    tokenizer.end();
    tokenizer.sink
}

struct PlainTextSink<'a>(RefCell<&'a mut String>);

impl TokenSink for PlainTextSink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        if let Token::CharacterTokens(text) = token {
            self.0.borrow_mut().push_str(&text);
        }
        TokenSinkResult::Continue
    }
}

struct HtmlSink<'a>(RefCell<HtmlReader<'a>>);

impl TokenSink for HtmlSink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut reader = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => return reader.tag(&tag),
            Token::CharacterTokens(text) => reader.text(&text),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

/// Parser state of a page.
struct HtmlReader<'a> {
    base: Url,
    given: &'a Url,
    menus: MenuHandling,
    render: MarkdownWriter,
    /// The skipped element, and its nesting depth.
    skipped: Option<(String, usize)>,
    title: Option<String>,
    in_title: bool,
    /// The start of the open `<main>`, and the ranges of closed ones.
    main: Option<usize>,
    mains: Vec<(usize, usize)>,
}

impl<'a> HtmlReader<'a> {
    fn new(base: &'a Url, menus: MenuHandling) -> Self {
        Self {
            base: base.clone(),
            given: base,
            menus,
            render: MarkdownWriter::default(),
            skipped: None,
            title: None,
            in_title: false,
            main: None,
            mains: Vec::new(),
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        match self.in_title {
            true => self.title.get_or_insert_default().push_str(text),
            false => self.render.text(text),
        }
    }

    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        let opens = tag.kind == TagKind::StartTag;
        if let Some((skipped, depth)) = &mut self.skipped {
            if skipped == name {
                *depth = if opens { *depth + 1 } else { *depth - 1 };
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            return raw(name, opens);
        }
        match opens {
            true if self.is_left_out(tag) => {
                if !is_void(name) && !tag.self_closing {
                    self.skipped = Some((name.to_owned(), 1));
                }
            }
            true => self.open(name, tag),
            false => self.close(name),
        }
        raw(name, opens)
    }

    fn is_left_out(&self, tag: &Tag) -> bool {
        match &*tag.name {
            "script" | "style" | "noscript" | "template" | "svg" | "iframe" | "object" | "canvas" | "select"
            | "textarea" | "audio" | "video" => true,
            "nav" | "footer" => self.menus == MenuHandling::LeftOut,
            "html" | "body" | "main" => false,
            _ => attribute(tag, "hidden").is_some() || attribute(tag, "aria-hidden").as_deref() == Some("true"),
        }
    }

    fn open(&mut self, name: &str, tag: &Tag) {
        match name {
            "title" => self.in_title = self.title.is_none(),
            "base" => {
                if let Some(base) = attribute(tag, "href").and_then(|href| self.given.join(&href).ok()) {
                    self.base = base;
                }
            }
            "main" => {
                self.render.open(name);
                self.main = self.main.or_else(|| self.render.mark());
            }
            "a" => self
                .render
                .open_link(attribute(tag, "href").and_then(|href| self.absolute(&href))),
            "img" => {
                let source = attribute(tag, "src").and_then(|source| self.absolute(&source));
                if let (Some(source), Some(alt)) = (source, attribute(tag, "alt")) {
                    self.render.image(alt.trim(), &source);
                }
            }
            "pre" | "code" => self
                .render
                .open_code(name, attribute(tag, "class").as_deref().and_then(language)),
            "ol" => {
                let start = attribute(tag, "start").and_then(|start| start.trim().parse().ok());
                self.render.open_list(Some(start.unwrap_or(1)));
            }
            _ => self.render.open(name),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "title" => self.in_title = false,
            "main" => {
                if let (Some(start), Some(end)) = (self.main.take(), self.render.mark()) {
                    self.mains.push((start, end));
                }
                self.render.close(name);
            }
            _ => self.render.close(name),
        }
    }

    /// The absolute URL; `None` for a fragment of the same page or another scheme.
    fn absolute(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') {
            return None;
        }
        let url = self.base.join(href).ok()?;
        matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.into())
    }

    fn finish(mut self) -> WebPage {
        let text = self.render.finish();
        let main = self.mains.iter().filter_map(|(start, end)| text.get(*start..*end));
        let main = main.max_by_key(|part| part.len()).map(str::trim);
        let text = match main.filter(|part| part.len() >= MIN_MAIN) {
            Some(part) => part.to_owned(),
            None => text.trim().to_owned(),
        };
        let title = self
            .title
            .map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        WebPage {
            title: title.filter(|title| !title.is_empty()),
            text,
        }
    }
}

/// Inside some elements `<` is plain text.
fn raw(name: &str, opens: bool) -> TokenSinkResult<()> {
    match name {
        "script" if opens => TokenSinkResult::RawData(RawKind::ScriptData),
        "style" | "iframe" | "xmp" | "noembed" | "noframes" if opens => TokenSinkResult::RawData(RawKind::Rawtext),
        "title" | "textarea" if opens => TokenSinkResult::RawData(RawKind::Rcdata),
        _ => TokenSinkResult::Continue,
    }
}

fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "source"
            | "track"
            | "wbr"
    )
}

fn attribute(tag: &Tag, name: &str) -> Option<String> {
    let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == name)?;
    Some(found.value.to_string())
}

/// The language of a code block, from the class of a highlighter.
fn language(class: &str) -> Option<String> {
    class.split_whitespace().find_map(|class| {
        ["language-", "lang-", "highlight-source-"]
            .iter()
            .find_map(|prefix| class.strip_prefix(prefix))
            .filter(|language| language.len() < 24)
            .map(str::to_owned)
    })
}

#[cfg(test)]
mod tests;
