//! Front matter of Markdown files: the YAML between two `---` lines at the top.

use serde_yaml_ng::Value;
use std::collections::BTreeMap;

/// Maximum size of front matter in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// Front matter by key. Lists are joined with commas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrontMatter(BTreeMap<String, String>);

impl FrontMatter {
    /// Splits a file into front matter and body.
    ///
    /// Invalid YAML is read line by line as `key: value`: `argument-hint: [a] [b]` is common, and YAML rejects it.
    pub fn split(text: &str) -> (Self, &str) {
        let text = text.trim_start_matches('\u{feff}');
        let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
            return (FrontMatter::default(), text);
        };
        let (front, body) = match rest.starts_with("---") {
            true => ("", &rest[3..]),
            false => match rest.split_once("\n---") {
                Some(split) => split,
                None => return (FrontMatter::default(), text),
            },
        };
        if front.len() > MAX_BYTES || !policy::is_bounded_yaml(front) {
            return (FrontMatter::default(), text);
        }
        let body = body.split_once('\n').map_or("", |(_, body)| body);
        let read = serde_yaml_ng::from_str::<BTreeMap<String, Value>>(front);
        let keys = match read {
            Ok(keys) => keys.into_iter().map(|(key, value)| (key, flat(value))).collect(),
            Err(_) => lines(front),
        };
        (FrontMatter(keys), body)
    }

    /// Returns the first non-empty value of these keys.
    pub fn get(&self, keys: &[&str]) -> Option<&str> {
        let value = keys.iter().find_map(|key| self.0.get(*key));
        value.map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns the boolean value of a key.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.get(&[key])?.to_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }
}

fn flat(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text,
        Value::Sequence(list) => list.into_iter().map(flat).collect::<Vec<_>>().join(","),
        Value::Mapping(_) | Value::Tagged(_) => String::new(),
    }
}

fn lines(front: &str) -> BTreeMap<String, String> {
    let pairs = front.lines().filter_map(|line| line.split_once(':'));
    let plain = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    pairs
        .filter(|(key, _)| !key.starts_with([' ', '#', '-']))
        .map(|(key, value)| (key.trim().to_owned(), plain(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_parsed_as_yaml_or_line_by_line() {
        let (front, body) =
            FrontMatter::split("---\napplyTo: ['*.rs', \"*.toml\"]\ndefault: yes\nnone:\n---\nText\n---\nmore");
        assert_eq!(front.get(&["applyTo"]), Some("*.rs,*.toml"));
        assert_eq!((front.flag("default"), front.get(&["none"])), (Some(true), None));
        assert_eq!(body, "Text\n---\nmore");
        let (front, body) =
            FrontMatter::split("---\r\nargument-hint: [a] [b]\r\ndescription: \"It: does\"\r\n---\r\nText");
        assert_eq!(front.get(&["argument-hint"]), Some("[a] [b]"));
        assert_eq!((front.get(&["description"]), body), (Some("It: does"), "Text"));
    }

    #[test]
    fn without_front_matter_everything_is_body() {
        for text in ["plain", "---\nnever: closed", "--- \nx\n---\n", ""] {
            assert_eq!(FrontMatter::split(text), (FrontMatter::default(), text));
        }
        assert_eq!(FrontMatter::split("---\n---\nbody"), (FrontMatter::default(), "body"));
    }
}
