//! The properties checked by every fuzz target: chunking does not matter, nothing panics, and a plan's old content is
//! the file's.

use std::path::Path;

use edit::{FileChange, EditFormat, EditParser, EditPreview, plan};

const FILE: &str = "fn one() {\n    go(1);\n}\n\nfn two() {\r\n\tgo(2);\n}\nlast";

/// Parses `input` as `format`, in one piece and in many, and plans it against a small file.
pub fn check(input: &[u8], format: EditFormat) {
    let text = String::from_utf8_lossy(input);
    let step = usize::from(input.first().copied().unwrap_or(3) % 7) + 1;
    let mut whole = EditParser::new(format);
    whole.push(&text);
    let mut cut = EditParser::new(format);
    let characters: Vec<char> = text.chars().collect();
    for chunk in characters.chunks(step) {
        cut.push(&chunk.iter().collect::<String>());
    }
    assert_eq!(whole.finish(), cut.finish());

    let lookup = |path: &Path| (path == Path::new("a.rs")).then(|| FILE.to_owned());
    let mut preview = EditPreview::new(format, Some(Path::new("a.rs")), Box::new(lookup));
    preview.push(&text);
    preview.finish();
    if let Ok(plan) = plan(&text, format, Some(Path::new("a.rs")), &lookup) {
        for file in &plan.files {
            if let FileChange::Update { before, after, .. } = file {
                assert_eq!(before, FILE);
                assert_ne!(before, after);
            }
        }
    }
}
