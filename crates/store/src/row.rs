//! What is kept in the database, as JSON. These types belong to the file format: the contracts may change, these may only grow.
//!
//! Fields that this version does not know are ignored. Parts, chunks and kinds of items that it does not know are skipped
//! when read; the rows that hold them stay as they are.

mod body;
mod chunk;
mod message;
mod panels;
mod prompt;
mod section;
mod shared;
mod todo;
mod version;

pub(crate) use body::{changes as changes_of, decode as decode_body, encode as encode_body};
pub(crate) use chunk::{decode as decode_chunks, encode as encode_chunks};
pub(crate) use prompt::{blobs as prompt_blobs, decode as decode_prompt, encode as encode_prompt};
pub(crate) use section::{decode as decode_sections, encode as encode_sections};
pub(crate) use version::{PLAIN, UNKEPT, kind as kind_of, version};
