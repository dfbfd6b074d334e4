//! Shows a file to the model.

use model::{Block, Media};
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};
use workspace::{Excerpt, Location, Window};

use crate::project::{Project, aside, explain};
use crate::text::count;

const MAX_LINES: usize = 2_000;
const MAX_BYTES: usize = 64 * 1024;
const MAX_LINE: usize = 2_000;
/// What the pickiest vendor takes, base64 included.
const MAX_IMAGE: u64 = 3_750_000;

pub(crate) struct ReadFile(pub(crate) Project);

/// Reads a text file as numbered lines, or an image. A long file comes in parts: the last line says how to go on.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// From the project root, or absolute.
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    /// First line wanted, from 1.
    #[serde(alias = "startLine")]
    start_line: Option<usize>,
    /// Last line wanted.
    #[serde(alias = "endLine")]
    end_line: Option<usize>,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const ALIASES: &'static [&'static str] = &["read", "view", "view_file"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        match (input.start_line, input.end_line) {
            (None, None) => input.path.clone(),
            (start, None) => format!("{}:{}-", input.path, start.unwrap_or(1)),
            (start, Some(end)) => format!("{}:{}-{end}", input.path, start.unwrap_or(1)),
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.reading(&input.path)
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let file = self.0.locate(&input.path)?;
        let first = input.start_line.unwrap_or(1).max(1);
        let last = input.end_line.unwrap_or(usize::MAX).max(first);
        let window = Window {
            first,
            last,
            max_lines: MAX_LINES,
            max_bytes: MAX_BYTES,
            max_line: MAX_LINE,
        };
        let read = {
            let file = file.clone();
            aside(move || content(&file, &window).map_err(explain)).await?
        };
        match read {
            Content::Text(excerpt) => {
                self.0.reads.remember(&file, excerpt.snapshot);
                text(&file, &excerpt, first, last)
            }
            Content::Image { mime, data } if context.features.images => Ok(image(&file, mime, data)),
            Content::Image { .. } => Err(Error::Failed(format!(
                "{} is an image, which this model cannot see",
                file.shown()
            ))),
        }
    }
}

enum Content {
    Text(Excerpt),
    Image { mime: &'static str, data: Vec<u8> },
}

/// Reads a file as text; one that is not text, as an image if it is one.
fn content(file: &Location, window: &Window) -> Result<Content, workspace::Error> {
    match file.read_lines(window) {
        Ok(excerpt) => Ok(Content::Text(excerpt)),
        Err(error @ (workspace::Error::Binary { .. } | workspace::Error::NotUtf8 { .. })) => {
            let data = match file.read_bytes(MAX_IMAGE) {
                Err(large @ workspace::Error::TooLarge { .. }) if is_image_name(file) => return Err(large),
                other => other.unwrap_or_default(),
            };
            match image_type(&data) {
                Some(mime) => Ok(Content::Image { mime, data }),
                None => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

fn text(file: &Location, excerpt: &Excerpt, first: usize, last: usize) -> Result<Output, Error> {
    let total = excerpt.total;
    if total == 0 {
        return Ok(Output::text("[empty file]").summary("empty"));
    }
    let Some((start, end)) = excerpt
        .lines
        .first()
        .zip(excerpt.lines.last())
        .map(|(a, b)| (a.number, b.number))
    else {
        let lines = count(total, "line");
        return Err(Error::Failed(format!(
            "{} has {lines}; start_line {first} is past its end",
            file.shown()
        )));
    };
    let mut shown = String::new();
    for line in &excerpt.lines {
        shown.push_str(&format!("{}\t{}", line.number, line.text));
        if line.cut > 0 {
            shown.push_str(&format!(" [+{} bytes]", line.cut));
        }
        shown.push('\n');
    }
    let lines = count(total, "line");
    match end < last.min(total) {
        true => shown.push_str(&format!(
            "[lines {start}-{end} of {total}; go on with start_line {}]",
            end + 1
        )),
        false if start == 1 && end == total => shown.push_str(&format!("[{lines}]")),
        false => shown.push_str(&format!("[lines {start}-{end} of {total}]")),
    }
    Ok(Output::text(shown).summary(match start == 1 && end == total {
        true => lines,
        false => format!("{start}-{end} of {lines}"),
    }))
}

fn image(file: &Location, mime: &str, data: Vec<u8>) -> Output {
    let summary = format!("{mime}, {} bytes", data.len());
    let name = file.path().file_name().map(|name| name.to_string_lossy().into_owned());
    let media = Media {
        mime: mime.to_owned(),
        name,
        data: data.into(),
    };
    Output {
        content: vec![Block::Media(media)],
        ..Output::default()
    }
    .summary(summary)
}

/// The image formats that models take, by their first bytes.
fn image_type(data: &[u8]) -> Option<&'static str> {
    match data {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn is_image_name(file: &Location) -> bool {
    let extension = file.path().extension().map(|extension| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| {
        ["png", "jpg", "jpeg", "gif", "webp"]
            .iter()
            .any(|known| extension == *known)
    })
}
