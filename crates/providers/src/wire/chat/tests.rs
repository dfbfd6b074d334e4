//! Tests of the Chat Completions wire.

mod replies;
mod requests;
