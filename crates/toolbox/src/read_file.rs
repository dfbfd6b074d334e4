//! Shows files to the model.

mod input;
mod media;
mod notebook;
mod outline;
mod text;

use model::Block;
use policy::Action;
use tool::{Context, Effect, Error, Output, Tool};
use workspace::{Location, Window};

use crate::caps;
use crate::project::{Project, aside, explain};
use crate::shown::{Now, Showing};
use crate::text::count;
use input::{Input, Lines, Wanted};

/// As many files as one call shows.
const MOST_FILES: usize = 30;
/// With less room than this left in the answer, a further file is not begun.
const LITTLE: usize = 4_000;

pub(crate) struct ReadFile(pub(crate) Project);

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const ALIASES: &'static [&'static str] = &[
        "Open",
        "copilot_getNotebookSummary",
        "read",
        "read_many_files",
        "view",
        "view_file",
        "view_image",
    ];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let names: Vec<String> = self.wanted(input).iter().map(Wanted::title).collect();
        names.join(", ")
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let mut actions: Vec<Action> = Vec::new();
        for wanted in self.wanted(input) {
            for action in self.0.reading(&wanted.path) {
                if !actions.contains(&action) {
                    actions.push(action);
                }
            }
        }
        actions
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let wanted = self.wanted(&input);
        match wanted.as_slice() {
            [one] => {
                let seen = self.look(one, caps::of(Self::NAME).bytes, &context).await?;
                Ok(seen.into_output())
            }
            several => self.look_at_all(several, &context).await,
        }
    }
}

/// What the model gets to see of one file.
struct Seen {
    blocks: Vec<Block>,
    summary: String,
}

impl Seen {
    fn text(text: String, summary: impl Into<String>) -> Self {
        Seen {
            blocks: vec![Block::text(text)],
            summary: summary.into(),
        }
    }

    fn into_output(self) -> Output {
        Output {
            content: self.blocks,
            ..Output::default()
        }
        .summary(self.summary)
    }
}

/// What a file turned out to be.
enum Content {
    Text(workspace::Excerpt),
    Outline { text: String, total: usize },
    Notebook(notebook::Rendered, workspace::Snapshot),
    Media(media::Medium),
}

impl ReadFile {
    /// The files and parts of files that are wanted.
    fn wanted(&self, input: &Input) -> Vec<Wanted> {
        input.wanted(|path| self.0.workspace.locate(path).is_ok_and(|file| file.exists()))
    }

    async fn look_at_all(&self, several: &[Wanted], context: &Context) -> Result<Output, Error> {
        let cap = caps::of(Self::NAME);
        let (mut blocks, mut left, mut failed) = (Vec::new(), cap.answer - LITTLE, 0);
        let mut text = String::new();
        for (place, wanted) in several.iter().enumerate() {
            if place >= MOST_FILES || left < LITTLE {
                let rest: Vec<String> = several.iter().skip(place).map(Wanted::title).collect();
                text.push_str(&format!("[not read, since this answer is full: {}]", rest.join(", ")));
                break;
            }
            let seen = self.look(wanted, cap.bytes.min(left), context).await;
            text.push_str(&format!("==> {} <==\n", wanted.title()));
            let seen = seen.unwrap_or_else(|error| {
                failed += 1;
                Seen::text(format!("[{error}]"), "")
            });
            for block in seen.blocks {
                match block {
                    Block::Text { text: part } => {
                        left = left.saturating_sub(part.len());
                        text.push_str(&part);
                    }
                    media @ Block::Media(_) => {
                        blocks.push(Block::text(std::mem::take(&mut text)));
                        blocks.push(media);
                    }
                }
            }
            text.push_str("\n\n");
        }
        if failed == several.len() {
            return Err(Error::Failed(text.trim_end().to_owned()));
        }
        blocks.push(Block::text(text.trim_end()));
        Ok(Output {
            content: blocks,
            ..Output::default()
        }
        .summary(count(several.len(), "file")))
    }

    async fn look(&self, wanted: &Wanted, most: usize, context: &Context) -> Result<Seen, Error> {
        let file = self.0.locate(&wanted.path)?;
        let (lines, features) = (wanted.lines, context.features);
        let content = {
            let file = file.clone();
            aside(move || content(&file, lines, most)).await?
        };
        match content {
            Content::Media(medium) => medium.show(&file, features),
            Content::Outline { text, total } => {
                let summary = format!("outline of {}", count(total, "line"));
                Ok(Seen::text(text, summary))
            }
            Content::Notebook(rendered, snapshot) => {
                self.0.reads.remember(&file, snapshot);
                let now = Now {
                    snapshot,
                    bytes: rendered.text.len(),
                };
                match self.0.shown.show(context, &file, (0, 0), now) {
                    Showing::Again => Ok(unchanged(&file, "")),
                    Showing::Needed => Ok(rendered.show(features)),
                }
            }
            Content::Text(excerpt) => {
                self.0.reads.remember(&file, excerpt.snapshot);
                let page = text::render(&file, &excerpt, lines)?;
                let now = Now {
                    snapshot: excerpt.snapshot,
                    bytes: page.text.len(),
                };
                match self.0.shown.show(context, &file, page.shown, now) {
                    Showing::Again => Ok(unchanged(&file, &page.which)),
                    Showing::Needed => Ok(Seen::text(page.text, page.summary)),
                }
            }
        }
    }
}

/// What is said instead of showing the same once more.
fn unchanged(file: &Location, which: &str) -> Seen {
    let text = format!(
        "[unchanged since it was last shown to you: {}{which}; that still holds]",
        file.shown()
    );
    Seen::text(text, "unchanged")
}

/// Reads a file as what it is.
fn content(file: &Location, lines: Lines, most: usize) -> Result<Content, Error> {
    let head = file.head(media::SNIFF).map_err(explain)?;
    if let Some(kind) = media::Kind::of(&head) {
        return media::Medium::read(file, kind).map(Content::Media).map_err(explain);
    }
    if lines == Lines::ALL && notebook::is_name(file) {
        let text = file.read_text().map_err(explain)?;
        if let Some(rendered) = notebook::render(&text.content, most) {
            return Ok(Content::Notebook(rendered, text.snapshot));
        }
    }
    let cap = caps::of(ReadFile::NAME);
    let window = Window {
        first: lines.first.max(1),
        last: lines.last,
        max_lines: cap.entries,
        max_bytes: most,
        max_line: cap.line,
    };
    let excerpt = file.read_lines(&window).map_err(explain)?;
    let is_cut = excerpt.lines.last().is_some_and(|line| line.number < excerpt.total);
    if lines == Lines::ALL
        && is_cut
        && let Some(text) = outline::of(file, excerpt.total)
    {
        let total = excerpt.total;
        return Ok(Content::Outline { text, total });
    }
    Ok(Content::Text(excerpt))
}
