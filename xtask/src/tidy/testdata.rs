//! Rule: test data from other projects names its source and licence.

use std::collections::BTreeMap;

use super::{File, Problem};

/// Names of data folders. Output of our own tests, such as `snapshots/`, is not data.
const DATA_FOLDERS: &[&str] = &["data", "fixtures", "recordings", "testdata"];

/// Every data folder of a crate needs a README.md that names a source and a licence.
pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let mut folders: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for file in files {
        let Some(folder) = data_folder(&file.path) else {
            continue;
        };
        let readme = folders.entry(folder).or_default();
        if file.path.strip_prefix(folder) == Some("/README.md") {
            *readme = Some(&file.text);
        }
    }
    folders
        .into_iter()
        .filter_map(|(folder, readme)| judge(folder, readme))
        .collect()
}

fn judge(folder: &str, readme: Option<&str>) -> Option<Problem> {
    let Some(readme) = readme else {
        return Some(Problem::new(
            folder,
            "needs a README.md that names the data's source and licence",
        ));
    };
    let text = readme.to_lowercase();
    let missing = match (
        text.contains("source"),
        text.contains("licence") || text.contains("license"),
    ) {
        (true, true) => return None,
        (false, true) => "its source",
        (true, false) => "its licence",
        (false, false) => "its source and its licence",
    };
    Some(Problem::new(
        format!("{folder}/README.md"),
        format!("must name {missing}"),
    ))
}

/// The outermost data folder of a crate that holds this path.
fn data_folder(path: &str) -> Option<&str> {
    if !path.starts_with("crates/") {
        return None;
    }
    // The first two parts are `crates` and the crate's own name.
    let mut end = 0;
    for (index, part) in path.split('/').enumerate() {
        end += part.len();
        if index >= 2 && DATA_FOLDERS.contains(&part) && end < path.len() {
            return Some(&path[..end]);
        }
        end += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = "Source: recorded by us.\nLicence: MIT OR Apache-2.0.\n";

    fn places(files: &[File]) -> Vec<String> {
        check(files).into_iter().map(|problem| problem.place).collect()
    }

    #[test]
    fn data_with_source_and_licence_passes() {
        let files = [
            File::new("crates/a/tests/data/README.md", README),
            File::new("crates/a/tests/data/deep/er/one.json", "{}"),
            File::new("crates/a/src/data.rs", "//! Code."),
            File::new("crates/a/tests/snapshots/x.snap", ""),
        ];
        assert_eq!(places(&files), Vec::<String>::new());
    }

    #[test]
    fn data_without_a_readme_is_found_once_per_folder() {
        let files = [
            File::new("crates/a/tests/data/one.json", "{}"),
            File::new("crates/a/tests/data/deep/two.json", "{}"),
            File::new("crates/a/tests/data/deep/README.md", README),
            File::new("crates/b/recordings/x.sse", ""),
            File::new("crates/c/data/models.json", ""),
        ];
        assert_eq!(
            places(&files),
            ["crates/a/tests/data", "crates/b/recordings", "crates/c/data"]
        );
    }

    #[test]
    fn the_readme_must_name_source_and_licence() {
        for (text, missing) in [
            ("Licence: MIT", "its source"),
            ("Source: us", "its licence"),
            ("", "its source and its licence"),
        ] {
            let problems = check(&[File::new("crates/a/tests/data/README.md", text)]);
            assert_eq!(
                problems,
                [Problem::new(
                    "crates/a/tests/data/README.md",
                    format!("must name {missing}")
                )]
            );
        }
    }

    #[test]
    fn a_crate_called_data_is_not_a_data_folder() {
        assert_eq!(data_folder("crates/data/src/lib.rs"), None);
        assert_eq!(data_folder("crates/a/src/data"), None);
        assert_eq!(data_folder("docs/data/x"), None);
    }
}
