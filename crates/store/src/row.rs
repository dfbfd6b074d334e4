//! The stored JSON. These types define the file format: they may only be extended, even if the contract types change.
//!
//! Unknown fields are ignored. Unknown parts, chunks and item kinds are skipped when read; their rows stay unchanged.

mod body;
mod chunk;
mod facts;
mod message;
mod origin;
mod panels;
mod prompt;
mod section;
mod shared;
mod todo;
mod version;

pub(crate) use body::{changes as changes_of, decode as decode_body, encode as encode_body};
pub(crate) use chunk::{decode as decode_chunks, encode as encode_chunks};
pub(crate) use facts::{blobs as fact_blobs, decode as decode_facts, encode as encode_facts};
pub(crate) use prompt::{blobs as prompt_blobs, decode as decode_prompt, encode as encode_prompt};
pub(crate) use section::{decode as decode_sections, encode as encode_sections};
pub(crate) use version::{NOT_STORED, PLAIN_FILE, kind as kind_of, version};
