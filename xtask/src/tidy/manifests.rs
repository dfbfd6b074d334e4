//! Rule: versions and features are in the dependency table of the root manifest, and tables are sorted.

use toml_edit::{DocumentMut, Item, TableLike};

use super::{File, Problem};

const KINDS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

/// Checks the root's table and every member's tables.
pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| is_manifest(&file.path)) {
        let document = match file.text.parse::<DocumentMut>() {
            Ok(document) => document,
            Err(error) => {
                problems.push(Problem::new(&file.path, format!("not valid TOML: {error}")));
                continue;
            }
        };
        if file.path == "Cargo.toml" {
            if let Some(table) = document
                .get("workspace")
                .and_then(|w| w.get("dependencies"))
                .and_then(Item::as_table_like)
            {
                problems.extend(unsorted(&file.path, "workspace.dependencies", table));
            }
        } else {
            for (name, table) in tables(&document) {
                problems.extend(unsorted(&file.path, &name, table));
                problems.extend(own_versions(&file.path, table));
            }
        }
    }
    problems
}

/// The manifests of the workspace, without those in test data.
fn is_manifest(path: &str) -> bool {
    let member = |path: &str| {
        path.strip_prefix("crates/")
            .is_some_and(|rest| rest.matches('/').count() == 1)
    };
    path == "Cargo.toml" || path == "xtask/Cargo.toml" || (path.ends_with("/Cargo.toml") && member(path))
}

/// Every dependency table of a member, including those for a single platform.
fn tables(document: &DocumentMut) -> Vec<(String, &dyn TableLike)> {
    let mut found = Vec::new();
    for kind in KINDS {
        if let Some(table) = document.get(kind).and_then(Item::as_table_like) {
            found.push(((*kind).to_owned(), table));
        }
    }
    for (platform, item) in document
        .get("target")
        .and_then(Item::as_table_like)
        .into_iter()
        .flat_map(TableLike::iter)
    {
        for kind in KINDS {
            if let Some(table) = item.get(kind).and_then(Item::as_table_like) {
                found.push((format!("target.{platform}.{kind}"), table));
            }
        }
    }
    found
}

/// The first key of a table that is out of order. A blank line or a comment line starts a new group.
fn unsorted(place: &str, name: &str, table: &dyn TableLike) -> Option<Problem> {
    let mut previous: Option<&str> = None;
    for (key, item) in table.iter() {
        if starts_group(table, key, item) {
            previous = None;
        }
        if let Some(before) = previous.filter(|before| *before > key) {
            let message =
                format!("[{name}] is not sorted: `{key}` belongs above `{before}` (a blank line starts a new group)");
            return Some(Problem::new(place, message));
        }
        previous = Some(key);
    }
    None
}

fn starts_group(table: &dyn TableLike, key: &str, item: &Item) -> bool {
    // `key.workspace = true` keeps its leading blank line on the inner key, because the outer one is only a path.
    let inner = item.as_table_like().and_then(|inner| {
        let (first, _) = inner.iter().next()?;
        inner.key(first)
    });
    let keys = [table.key(key), inner].into_iter().flatten();
    keys.flat_map(|key| [key.leaf_decor(), key.dotted_decor()])
        .filter_map(|decor| decor.prefix().and_then(|prefix| prefix.as_str()))
        .any(|prefix| prefix.contains('\n'))
}

fn own_versions(place: &str, table: &dyn TableLike) -> Vec<Problem> {
    let from_the_table = |item: &Item| item.get("workspace").and_then(Item::as_bool) == Some(true);
    let own = table.iter().filter(|(_, item)| !from_the_table(item));
    own.map(|(key, _)| {
        Problem::new(
            place,
            format!("`{key}` must come from the root's table: {key}.workspace = true"),
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&[File::new(path, text)])
            .into_iter()
            .map(|problem| problem.message)
            .collect()
    }

    #[test]
    fn sorted_tables_that_use_the_root_pass() {
        let text = "[package]\nname = \"a\"\n\n[dependencies]\nmodel.workspace = true\ntool = { workspace = true }\n\n\
                    anyhow.workspace = true\nserde.workspace = true\n\n[dev-dependencies]\ninsta.workspace = true\n";
        assert_eq!(messages("crates/a/Cargo.toml", text), Vec::<String>::new());
        let root = "[workspace.dependencies]\nb = { path = \"crates/b\" }\nc = { path = \"crates/c\" }\n\na = \"1\"\nd = \"2\"\n";
        assert_eq!(messages("Cargo.toml", root), Vec::<String>::new());
    }

    #[test]
    fn a_local_version_is_found_in_every_kind_of_table() {
        for table in [
            "dependencies",
            "dev-dependencies",
            "build-dependencies",
            "target.'cfg(unix)'.dependencies",
        ] {
            for entry in [
                "serde = \"1\"",
                "serde = { version = \"1\" }",
                "serde.path = \"../serde\"",
                "serde.workspace = false",
            ] {
                let found = messages("crates/a/Cargo.toml", &format!("[{table}]\n{entry}\n"));
                assert_eq!(
                    found,
                    ["`serde` must come from the root's table: serde.workspace = true"],
                    "{table}: {entry}"
                );
            }
        }
    }

    #[test]
    fn an_unsorted_entry_is_found() {
        let member = "[dependencies]\nserde.workspace = true\nanyhow.workspace = true\n";
        assert!(messages("crates/a/Cargo.toml", member)[0].contains("`anyhow` belongs above `serde`"));
        let root = "[workspace.dependencies]\nzeta = \"1\"\n\nb = { version = \"1\" }\na = \"1\"\n";
        assert!(messages("Cargo.toml", root)[0].contains("`a` belongs above `b`"));
    }

    #[test]
    fn a_blank_or_comment_line_starts_a_new_group() {
        for gap in ["\n", "# outside\n"] {
            let text = format!("[dependencies]\ntool.workspace = true\n{gap}anyhow.workspace = true\n");
            assert_eq!(messages("crates/a/Cargo.toml", &text), Vec::<String>::new(), "{gap:?}");
        }
    }

    #[test]
    fn a_manifest_that_is_not_toml_is_reported() {
        assert!(messages("xtask/Cargo.toml", "[dependencies\n")[0].contains("not valid TOML"));
    }

    #[test]
    fn manifests_in_test_data_are_ignored() {
        assert_eq!(
            messages("crates/a/tests/data/demo/Cargo.toml", "[dependencies]\nserde = \"1\"\n"),
            Vec::<String>::new()
        );
    }
}
