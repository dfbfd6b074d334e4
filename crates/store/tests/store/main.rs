//! The store's promises, as stories.

mod contract;
mod story;
