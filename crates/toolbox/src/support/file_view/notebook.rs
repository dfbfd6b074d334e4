//! Jupyter notebooks, cell by cell.

use model::{Block, Features, Media};
use serde_json::Value;
use workspace::Location;

use super::FileView;
use crate::support::commands::clean_output::clean_output;
use crate::support::text::count;

/// Maximum bytes of one output.
const MAX_OUTPUT: usize = 2_000;
/// Maximum number of images, and maximum base64 size of one.
const MAX_IMAGES: usize = 4;
const MAX_IMAGE_BASE64: usize = 1_500_000;
/// Supported image types.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A notebook as text, and the images in its outputs.
pub(crate) struct RenderedNotebook {
    pub(crate) text: String,
    cells: usize,
    pictures: Vec<Media>,
}

/// Whether a file has the extension of a notebook.
pub(crate) fn is_name(file: &Location) -> bool {
    file.path()
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

/// Renders a notebook with about `most` bytes; `None` if the text is not a notebook.
pub(crate) fn render(text: &str, most: usize) -> Option<RenderedNotebook> {
    let notebook: Value = serde_json::from_str(text).ok()?;
    let cells = notebook.get("cells")?.as_array()?;
    let language = notebook
        .pointer("/metadata/kernelspec/language")
        .or_else(|| notebook.pointer("/metadata/language_info/name"))
        .and_then(Value::as_str)
        .unwrap_or("code");
    let mut rendered = RenderedNotebook {
        text: String::new(),
        cells: cells.len(),
        pictures: Vec::new(),
    };
    let mut shown = 0;
    for (place, cell) in cells.iter().enumerate() {
        let part = render_cell(place + 1, cell, language, &mut rendered.pictures);
        if !rendered.text.is_empty() && rendered.text.len() + part.len() > most {
            break;
        }
        let fits = part.len() <= most;
        rendered.text.push_str(&part[..part.floor_char_boundary(most)]);
        if !fits {
            rendered.text.push_str(&format!("\n[cell {} is cut]\n", place + 1));
        }
        shown = place + 1;
    }
    rendered.text.push_str(&match shown == cells.len() {
        true => format!("[{}]", count(cells.len(), "cell")),
        false => format!(
            "[cells 1-{shown} of {}; with start_line the file's own lines are shown]",
            cells.len()
        ),
    });
    Some(rendered)
}

fn render_cell(number: usize, cell: &Value, language: &str, pictures: &mut Vec<Media>) -> String {
    let kind = match cell.get("cell_type").and_then(Value::as_str).unwrap_or("raw") {
        "code" => language,
        other => other,
    };
    let mut text = format!("[cell {number}: {kind}]\n");
    text.push_str(joined(cell.get("source")).trim_end());
    text.push('\n');
    for output in cell.get("outputs").and_then(Value::as_array).into_iter().flatten() {
        render_output(output, &mut text, pictures);
    }
    text.push('\n');
    text
}

fn render_output(output: &Value, text: &mut String, pictures: &mut Vec<Media>) {
    let plain = match output.get("output_type").and_then(Value::as_str).unwrap_or_default() {
        "stream" => joined(output.get("text")),
        "error" => {
            let field = |name| output.get(name).and_then(Value::as_str).unwrap_or_default();
            let trace = joined_with(output.get("traceback"), "\n");
            format!("{}: {}\n{trace}", field("ename"), field("evalue"))
        }
        _ => joined(output.pointer("/data/text~1plain")),
    };
    let plain = clean_output(&plain);
    let plain = plain.trim_end();
    if !plain.is_empty() {
        let end = plain.floor_char_boundary(MAX_OUTPUT);
        text.push_str("[output]\n");
        text.push_str(&plain[..end]);
        if end < plain.len() {
            text.push_str(&format!("\n[+{} bytes]", plain.len() - end));
        }
        text.push('\n');
    }
    for (mime, data) in output.get("data").and_then(Value::as_object).into_iter().flatten() {
        let data = joined(Some(data));
        if !IMAGE_TYPES.contains(&mime.as_str()) {
            continue;
        }
        text.push_str(&format!("[output: {mime}]\n"));
        if pictures.len() < MAX_IMAGES
            && data.len() <= MAX_IMAGE_BASE64
            && let Some(bytes) = decode(&data)
        {
            pictures.push(Media {
                mime: mime.clone(),
                name: None,
                data: bytes.into(),
            });
        }
    }
}

/// Notebooks store text as a string or as a list of lines.
fn joined(value: Option<&Value>) -> String {
    joined_with(value, "")
}

fn joined_with(value: Option<&Value>, between: &str) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => {
            let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
            lines.join(between)
        }
        Some(_) | None => String::new(),
    }
}

fn decode(data: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let data: String = data.chars().filter(|letter| !letter.is_whitespace()).collect();
    base64::engine::general_purpose::STANDARD.decode(data).ok()
}

impl RenderedNotebook {
    /// The result, with images if the model supports them.
    pub(crate) fn show(self, features: Features) -> FileView {
        let mut blocks = vec![Block::text(self.text)];
        if features.images {
            blocks.extend(self.pictures.into_iter().map(Block::Media));
        }
        FileView {
            blocks,
            summary: count(self.cells, "cell"),
        }
    }
}
