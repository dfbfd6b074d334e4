//! Unique tool names that every vendor accepts.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum length of a name.
const MAX_NAME: usize = 64;

/// The assigned names. An assigned name never changes, so that names in a conversation keep their meaning.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    taken: BTreeSet<String>,
    given: BTreeMap<(String, String), String>,
}

impl ToolNames {
    /// Reserves names for other tools.
    pub(crate) fn reserve(&mut self, taken: &BTreeSet<String>) {
        self.taken.extend(taken.iter().cloned());
    }

    /// Assigns names to the tools of all servers. Ambiguous names are prefixed with the server.
    pub(crate) fn assign<'a>(&mut self, tools: impl Iterator<Item = (&'a str, &'a str)> + Clone) {
        let mut expected_name: BTreeMap<String, usize> = BTreeMap::new();
        for (_, tool) in tools.clone() {
            *expected_name.entry(sanitize(tool)).or_default() += 1;
        }
        for (server, tool) in tools {
            let key = (server.to_owned(), tool.to_owned());
            if self.given.contains_key(&key) {
                continue;
            }
            let plain = sanitize(tool);
            let alone = expected_name.get(&plain).is_none_or(|count| *count == 1);
            let candidates = [
                alone.then(|| plain.clone()),
                prefixed(server, &plain),
                Some(hashed(server, tool, &plain)),
            ];
            let free = candidates.into_iter().flatten().find(|name| !self.taken.contains(name));
            // If even the hashed name is taken, the tool gets no name.
            if let Some(name) = free {
                self.taken.insert(name.clone());
                self.given.insert(key, name);
            }
        }
    }

    /// The name of a tool, if assigned.
    pub(crate) fn of(&self, server: &str, tool: &str) -> Option<&str> {
        self.given
            .get(&(server.to_owned(), tool.to_owned()))
            .map(String::as_str)
    }
}

/// Replaces characters that vendors do not accept, and bounds the length.
pub(crate) fn sanitize(name: &str) -> String {
    let fine = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let mut name: String = name
        .chars()
        .map(|letter| if fine(letter) { letter } else { '_' })
        .collect();
    name.truncate(MAX_NAME);
    if name.is_empty() { "tool".into() } else { name }
}

/// The name prefixed with the server, as far as it fits; `None` if it does not.
fn prefixed(server: &str, plain: &str) -> Option<String> {
    let room = MAX_NAME.checked_sub(plain.len() + 1).filter(|room| *room >= 2)?;
    let mut server = snake(server);
    server.truncate(room);
    Some(format!("{server}_{plain}"))
}

/// The name with a unique suffix.
fn hashed(server: &str, tool: &str, plain: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (server, tool).hash(&mut hasher);
    let room = MAX_NAME - 9;
    format!("{}_{:08x}", &plain[..plain.len().min(room)], hasher.finish() as u32)
}

/// `Azure DevOps` as `azure_dev_ops`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut before = '_';
    for letter in name.chars() {
        let letter_or = if letter.is_ascii_alphanumeric() { letter } else { '_' };
        if letter_or.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            out.push('_');
        }
        if letter_or != '_' || !out.ends_with('_') {
            out.push(letter_or.to_ascii_lowercase());
        }
        before = letter_or;
    }
    out.trim_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(taken: &[&str], tools: &[(&str, &str)]) -> Vec<String> {
        let mut names = ToolNames::default();
        names.reserve(&taken.iter().map(|name| (*name).to_owned()).collect());
        names.assign(tools.iter().copied());
        let of = |(server, tool): &(&str, &str)| names.of(server, tool).unwrap_or("none").to_owned();
        tools.iter().map(of).collect()
    }

    #[test]
    fn names_are_sanitized_and_prefixed_only_on_collision() {
        let long = "x".repeat(70);
        for (taken, tools, expected) in [
            (
                &[][..],
                &[("s", "get-sum"), ("s", "a.b/c")][..],
                &["get-sum", "a_b_c"][..],
            ),
            (&["grep"], &[("Azure DevOps", "grep")], &["azure_dev_ops_grep"]),
            (&[], &[("one", "echo"), ("two", "echo")], &["one_echo", "two_echo"]),
            (
                &["one_echo"],
                &[("one", "echo"), ("two", "echo")],
                &["echo_f0a3a27a", "two_echo"],
            ),
            (&[], &[("s", "")], &["tool"]),
        ] {
            let named = named(taken, tools);
            let same = named.iter().zip(expected).all(|(name, expected_name)| {
                name == expected_name
                    || (expected_name.starts_with("echo_") && name.starts_with("echo_") && name.len() == 13)
            });
            assert!(same, "{named:?} {expected:?}");
        }
        let cut = named(&[], &[("s", &long), ("t", &long)]);
        assert!(cut.iter().all(|name| name.len() == 64), "{cut:?}");
        assert_ne!(cut[0], cut[1], "never one for two");
    }

    #[test]
    fn an_assigned_name_stays_when_tools_are_added() {
        let mut names = ToolNames::default();
        names.assign([("one", "echo")].into_iter());
        names.assign([("one", "echo"), ("two", "echo")].into_iter());
        assert_eq!(
            (names.of("one", "echo"), names.of("two", "echo")),
            (Some("echo"), Some("two_echo"))
        );
    }
}
