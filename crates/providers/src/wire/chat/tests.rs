//! Stories of this wire.

mod replies;
mod requests;
