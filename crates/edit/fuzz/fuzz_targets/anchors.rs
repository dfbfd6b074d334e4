//! Any text as anchors: no panic, the same edits in any chunks, and plans that fit the files.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| edit_fuzz::check(input, edit::EditFormat::Anchors));
