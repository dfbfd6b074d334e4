//! Recognises content that is only a part of the file it would replace, and merges it where the place is certain. Small
//! models write the function that they changed as if it were the whole file.

/// How content relates to the file that it would replace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FilePart {
    /// It is a whole file.
    Whole,
    /// It consists of definitions of the file: the file with them replaced, and their names.
    Merged { content: String, names: Vec<String> },
    /// It is a part of the file that cannot be merged: what would be lost.
    Part { lost: Vec<String> },
}

/// A definition that starts at the margin: its lines, with comments and attributes above it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OuterDefinition {
    name: String,
    /// Its first line below the comments.
    head: usize,
    lines: std::ops::Range<usize>,
}

/// Classifies `new` as a replacement of `old`.
pub(crate) fn classify(old: &str, new: &str) -> FilePart {
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let ((before, _), (after, others)) = (definitions(&old_lines), definitions(&new_lines));
    let is_in = |list: &[OuterDefinition], name: &str| list.iter().any(|definition| definition.name == name);
    let lost: Vec<String> = before
        .iter()
        .filter(|definition| !is_in(&after, &definition.name))
        .map(|definition| definition.name.clone())
        .collect();
    let is_known = !after.is_empty() && after.iter().all(|definition| is_in(&before, &definition.name));
    if !is_known || lost.is_empty() || (lost.len() < 2 && after.len() * 2 > before.len()) {
        return FilePart::Whole;
    }
    // Lines outside of definitions are only expected if the file has them, too.
    let is_foreign = |at: &usize| !old_lines.contains(&new_lines[*at]);
    let is_unique = |name: &str| before.iter().filter(|definition| definition.name == name).count() == 1;
    if others.iter().any(is_foreign) || !after.iter().all(|definition| is_unique(&definition.name)) {
        return FilePart::Part { lost };
    }
    let mut lines: Vec<&str> = Vec::new();
    let mut next = 0;
    for definition in &before {
        let Some(replacement) = after.iter().find(|other| other.name == definition.name) else {
            continue;
        };
        // Comments above that are not repeated stay.
        let has_comments = replacement.lines.start < replacement.head;
        let start = if has_comments {
            definition.lines.start
        } else {
            definition.head
        };
        lines.extend(&old_lines[next..start]);
        lines.extend(&new_lines[replacement.lines.clone()]);
        next = definition.lines.end;
    }
    lines.extend(&old_lines[next..]);
    let mut content = lines.join("\n");
    if old.ends_with('\n') {
        content.push('\n');
    }
    let names = after.into_iter().map(|definition| definition.name).collect();
    FilePart::Merged { content, names }
}

/// The definitions at the margin, and the other non-blank lines at the margin.
fn definitions(lines: &[&str]) -> (Vec<OuterDefinition>, Vec<usize>) {
    let is_outer = |line: &str| !line.trim().is_empty() && !line.starts_with([' ', '\t']);
    let is_closing = |line: &str| line.starts_with(['}', ')', ']']) || line.trim() == "end";
    let is_above = |line: &str| ["@", "#", "//", "/*", " *"].iter().any(|mark| line.starts_with(mark));
    let (mut found, mut others): (Vec<OuterDefinition>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < lines.len() {
        let Some(name) = defined_name(lines[at]).filter(|_| is_outer(lines[at])) else {
            if is_outer(lines[at]) && !is_above(lines[at]) {
                others.push(at);
            }
            at += 1;
            continue;
        };
        let mut start = at;
        let floor = found.last().map_or(0, |definition| definition.lines.end);
        while start > floor && is_above(lines[start - 1]) {
            start -= 1;
        }
        let mut end = at + 1;
        while end < lines.len() && (!is_outer(lines[end]) || is_closing(lines[end])) {
            end += 1;
        }
        while end > at + 1 && lines[end - 1].trim().is_empty() {
            end -= 1;
        }
        found.push(OuterDefinition {
            name,
            head: at,
            lines: start..end,
        });
        at = end;
    }
    (found, others)
}

/// The kind and the name that a line defines.
fn defined_name(line: &str) -> Option<String> {
    const MODIFIERS: [&str; 12] = [
        "pub",
        "pub(crate)",
        "async",
        "export",
        "default",
        "static",
        "public",
        "private",
        "abstract",
        "final",
        "unsafe",
        "const",
    ];
    const KINDS: [&str; 14] = [
        "def",
        "class",
        "function",
        "fn",
        "func",
        "sub",
        "struct",
        "interface",
        "enum",
        "trait",
        "impl",
        "type",
        "module",
        "proc",
    ];
    let mut words = line.split_whitespace().skip_while(|word| MODIFIERS.contains(word));
    let kind = words.next().filter(|word| KINDS.contains(word))?;
    let name: String = words
        .next()?
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (!name.is_empty()).then(|| format!("{kind} {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "import os\n\n\n# Adds.\ndef add(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n\n\nprint(add(1, 2))\n";

    #[test]
    fn a_definition_replaces_its_old_version() {
        let expected = FILE.replace("a - b", "a + b");
        for part in [
            "def add(a, b):\n    return a + b\n",
            "# Adds.\ndef add(a, b):\n    return a + b\n",
            "import os\n\n# Adds.\ndef add(a, b):\n    return a + b\n",
        ] {
            let merged = FilePart::Merged {
                content: expected.clone(),
                names: vec!["def add".into()],
            };
            assert_eq!(classify(FILE, part), merged, "{part}");
        }
    }

    #[test]
    fn other_parts_are_recognised_and_whole_files_are_not() {
        let lost = FilePart::Part {
            lost: vec!["def mul".into()],
        };
        assert_eq!(
            classify(FILE, "def add(a, b):\n    return a + b\n\nprint(add(3, 4))\n"),
            lost
        );
        for whole in [
            &*FILE.replace("a - b", "a + b"),
            &*FILE.replace("add", "plus"),
            "def other():\n    pass\n",
            "print(1)\n",
        ] {
            assert_eq!(classify(FILE, whole), FilePart::Whole, "{whole}");
        }
    }
}
