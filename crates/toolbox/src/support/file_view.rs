//! Rendering files for the model.

pub(crate) mod lines;
pub(crate) mod media;
pub(crate) mod notebook;
pub(crate) mod outline;
pub(crate) mod ranges;

use model::Block;
use tool::Output;

/// The content of one file for the model.
pub(crate) struct FileView {
    pub(crate) blocks: Vec<Block>,
    pub(crate) summary: String,
}

impl FileView {
    pub(crate) fn text(text: String, summary: impl Into<String>) -> Self {
        FileView {
            blocks: vec![Block::text(text)],
            summary: summary.into(),
        }
    }

    pub(crate) fn into_output(self) -> Output {
        Output {
            content: self.blocks,
            ..Output::default()
        }
        .with_summary(self.summary)
    }
}
