//! The views beside the conversation, one file each.

pub(crate) mod transcript;
