//! The `hew` binary.
fn main() {}
