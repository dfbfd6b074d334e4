//! Stories of this wire.
