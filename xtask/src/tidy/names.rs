//! Rule: a type name has one meaning in the workspace.

use std::collections::BTreeMap;

use super::{File, Problem};

/// Names that every crate or tool may use: the crate or module in front of them gives the meaning.
pub(crate) const FREE_NAMES: &[&str] = &[
    "Err",
    "Error",
    "Input",
    "Item",
    "Ok",
    "Options",
    "Output",
    "Rejection",
    "Response",
    "Result",
    "Target",
    "Value",
];

/// Names that more than one type has, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[("Handle", "associated type of html5ever's `TreeSink` and `TokenSink`")];

/// Checks every type of the product.
pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, places) in definitions(files) {
        if places.len() < 2 || EXCEPTIONS.iter().any(|(free, _)| *free == name) {
            continue;
        }
        let (first, others) = places.split_at(1);
        for other in others {
            problems.push(Problem::new(
                *other,
                format!(
                    "`{name}` is also defined in {}; give one of them another name",
                    first[0]
                ),
            ));
        }
    }
    problems
}

/// The files that define each type name of the product, without [`FREE_NAMES`].
pub(crate) fn definitions(files: &[File]) -> BTreeMap<&str, Vec<&str>> {
    let mut types: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| is_product(&file.path)) {
        for name in without_tests(&file.text).lines().filter_map(defined_type) {
            if !FREE_NAMES.contains(&name) {
                types.entry(name).or_default().push(&file.path);
            }
        }
    }
    types
}

/// How many of the places are in a crate that defines the name more than once.
pub(crate) fn within_one_crate(places: &[&str]) -> usize {
    let repeated = |place: &&&str| {
        places
            .iter()
            .filter(|other| crate_name(other) == crate_name(place))
            .count()
            > 1
    };
    places.iter().filter(repeated).count()
}

/// The crate that a file under `crates/` belongs to.
pub(crate) fn crate_name(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.split('/').next()
}

/// Whether a file is a source of the product, as opposed to its tests and test support.
pub(crate) fn is_product(path: &str) -> bool {
    let Some((name, inside)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    name != "testkit"
        && inside.starts_with("src/")
        && inside.ends_with(".rs")
        && !inside.ends_with("/tests.rs")
        && !inside.contains("/tests/")
}

/// A file's text up to its unit tests.
pub(crate) fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

/// The name of the type that a line defines.
fn defined_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    if !matches!(words.next()?, "struct" | "enum" | "trait" | "type" | "union") {
        return None;
    }
    let name = words.next()?;
    let end = name
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(name.len());
    name[..end]
        .starts_with(|c: char| c.is_ascii_uppercase())
        .then_some(&name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(files: &[File]) -> Vec<String> {
        check(files).into_iter().map(|problem| problem.place).collect()
    }

    #[test]
    fn a_second_type_of_the_same_name_is_found() {
        let files = [
            File::new("crates/a/src/one.rs", "//! One.\npub(crate) struct Twice<T>(T);\n"),
            File::new("crates/a/src/two.rs", "//! Two.\nmod inner {\n    enum Twice {}\n}\n"),
            File::new(
                "crates/b/src/lib.rs",
                "//! B.\npub trait Twice: Send {}\ntype Once = u8;\n",
            ),
        ];
        assert_eq!(places(&files), ["crates/a/src/two.rs", "crates/b/src/lib.rs"]);
    }

    #[test]
    fn tests_and_free_names_may_repeat() {
        let files = [
            File::new("crates/a/src/lib.rs", "//! A.\nstruct Fake;\nenum Error {}\n"),
            File::new(
                "crates/b/src/lib.rs",
                "//! B.\nenum Error {}\n#[cfg(test)]\nmod tests {\n    struct Fake;\n}\n",
            ),
            File::new("crates/b/src/tests.rs", "//! Tests.\nstruct Fake;\n"),
            File::new("crates/b/tests/all.rs", "struct Fake;\n"),
            File::new("crates/testkit/src/lib.rs", "//! T.\nstruct Fake;\n"),
        ];
        assert_eq!(places(&files), Vec::<String>::new());
    }

    #[test]
    fn repetitions_within_a_crate_are_counted() {
        assert_eq!(
            within_one_crate(&["crates/a/src/x.rs", "crates/a/src/y.rs", "crates/b/src/z.rs"]),
            2
        );
        assert_eq!(within_one_crate(&["crates/a/src/x.rs", "crates/b/src/z.rs"]), 0);
    }
}
