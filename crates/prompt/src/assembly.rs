//! Builds requests from the items of a session.

pub(crate) mod history;
mod inputs;
pub(crate) mod layout_cache;
mod repair;
mod replay;
mod request;
mod snapshot;
mod token_counts;
pub(crate) mod view;

pub use inputs::{RebuiltFrame, RequestInputs, SystemPromptFacts, differing_section};
pub use layout_cache::LayoutCache;
pub use replay::{replay_messages, request_layout};
pub use request::{AssembledRequest, RequestFrame, RequestOptions, assemble};
pub use snapshot::RequestSnapshot;
pub use view::{current_elision, elided_items, preview_elision, visible_items};
