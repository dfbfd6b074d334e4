//! Rule: no file names the machine on which it was written or the host of a package registry.
//!
//! The words are concatenated from pieces, so that this file does not violate the rule.

use super::{File, Problem};

/// Written by package managers, with the registry in every entry.
const LOCK_FILES: &[&str] = &["Cargo.lock", "package-lock.json"];

/// Searches every file for the forbidden words.
pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let (paths, hosts) = (local_paths(), registry_hosts());
    let mut problems = Vec::new();
    for file in files {
        let is_lock = LOCK_FILES.contains(&file.path.rsplit('/').next().unwrap_or_default());
        let hosts = if is_lock { &[][..] } else { &hosts[..] };
        for (index, line) in file.text.lines().enumerate() {
            for word in paths.iter().chain(hosts).filter(|word| line.contains(word.as_str())) {
                let place = format!("{}:{}", file.path, index + 1);
                problems.push(Problem::new(
                    place,
                    format!("`{word}` means nothing on another machine; leave it out"),
                ));
            }
        }
    }
    problems
}

fn local_paths() -> Vec<String> {
    [["/work", "main"], ["/work", "shared"], ["..", "shared"]]
        .map(|parts| parts.join("/"))
        .to_vec()
}

fn registry_hosts() -> Vec<String> {
    [
        ["crates", "io"],
        ["pypi", "org"],
        ["pythonhosted", "org"],
        ["registry.npmjs", "org"],
    ]
    .map(|p| p.join("."))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_forbidden_word_is_found_with_its_line() {
        for word in local_paths().into_iter().chain(registry_hosts()) {
            let problems = check(&[File::new("docs/a.md", &format!("fine\nsee {word}/x\n"))]);
            assert_eq!(problems.len(), 1, "{word}");
            assert_eq!(problems[0].place, "docs/a.md:2");
        }
    }

    #[test]
    fn the_forbidden_words_are_as_expected() {
        assert!(local_paths().contains(&format!("..{}shared", '/')));
        assert!(registry_hosts().contains(&format!("pypi{}org", '.')));
    }

    #[test]
    fn lock_files_may_name_their_registry_but_not_a_local_path() {
        let host = registry_hosts().remove(0);
        let path = local_paths().remove(0);
        assert_eq!(check(&[File::new("Cargo.lock", &host)]), []);
        assert_eq!(check(&[File::new("web/package-lock.json", &path)]).len(), 1);
    }

    #[test]
    fn ordinary_text_passes() {
        assert_eq!(
            check(&[File::new("README.md", "hard work, shared mainly\n../src/main.rs\n")]),
            []
        );
    }
}
