//! File types, by ripgrep's names.

use ignore::types::{Types, TypesBuilder};

use crate::Error;

/// The files of a type: a type name of ripgrep in any case, or an extension with or without a dot.
pub(super) fn types(name: &str) -> Result<Types, Error> {
    let wanted = name
        .trim()
        .trim_start_matches("*.")
        .trim_start_matches('.')
        .to_ascii_lowercase();
    let wanted = OTHER_NAMES
        .iter()
        .find(|(other, _)| *other == wanted)
        .map_or(wanted.as_str(), |(_, name)| name);
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let unknown = || Error::FileType {
        name: name.to_owned(),
        similar: similar(&builder, wanted),
    };
    let ending = format!("*.{wanted}");
    let known: Vec<String> = builder
        .definitions()
        .iter()
        .filter(|one| one.name() == wanted)
        .map(|one| one.name().to_owned())
        .collect();
    let named = match known.is_empty() {
        false => known,
        true => builder
            .definitions()
            .iter()
            .filter(|one| one.globs().contains(&ending))
            .map(|one| one.name().to_owned())
            .collect(),
    };
    if named.is_empty() {
        return Err(unknown());
    }
    for name in &named {
        builder.select(name);
    }
    builder.build().map_err(|_| Error::FileType {
        name: name.to_owned(),
        similar: Vec::new(),
    })
}

/// Names that models use but ripgrep does not.
const OTHER_NAMES: [(&str, &str); 8] = [
    ("c#", "csharp"),
    ("c++", "cpp"),
    ("golang", "go"),
    ("javascript", "js"),
    ("python3", "python"),
    ("shell", "sh"),
    ("bash", "sh"),
    ("tsx", "ts"),
];

fn similar(builder: &TypesBuilder, wanted: &str) -> Vec<String> {
    let most = if wanted.len() <= 4 { 1 } else { 2 };
    let mut close: Vec<(usize, String)> = builder
        .definitions()
        .iter()
        .map(|one| (strsim::levenshtein(one.name(), wanted), one.name().to_owned()))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    close.sort();
    close.into_iter().take(3).map(|(_, name)| name).collect()
}
