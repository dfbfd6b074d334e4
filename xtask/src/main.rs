//! Tasks for people who work on hew.
fn main() {}
