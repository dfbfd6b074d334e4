//! Checkpoints.

mod depot;

pub use depot::{Depot, Held, Limits, NotKept, Put};
