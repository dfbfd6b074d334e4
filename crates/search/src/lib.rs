//! Code search over a project: keeps the index on disk up to date and answers queries with current text.
//!
//! [`CodeIndex`] compares the files of the project with the index by modification time, then by content, analyses what
//! changed and appends it to the index file. A result is never stale: a file that changed after it was indexed is
//! analysed again before it is shown.

mod background;
mod code_index;
mod embedding_order;
mod error;
mod file_filter;
mod refresh;
mod results;

pub use code_index::{CodeIndex, IndexProgress, IndexStatus};
pub use error::Error;
pub use refresh::{RefreshOutcome, RefreshPriority};
pub use results::{CodeQuery, CodeResult, ResultChunk};
