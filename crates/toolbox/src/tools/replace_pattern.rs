//! Replaces text or a regular expression in a file or a range of its lines, as in Roo Code.

use std::sync::Arc;

use policy::Action;
use regex::{Captures, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{CallContext, DynTool, Error, Output, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing, ToolSet};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::edits::write::{check_content, write_content};
use crate::support::project::Project;
use crate::support::text::count;

/// Maximum size of a compiled expression.
const MAX_COMPILED: usize = 1 << 20;

pub(crate) struct ReplacePatternTool(pub(crate) Project);

/// Replaces every match in a file that you have read.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
    search: String,
    #[serde(default, deserialize_with = "tool::optional_text")]
    replace: Option<String>,
    #[serde(default)]
    use_regex: bool,
    #[serde(default)]
    ignore_case: bool,
    /// The first and the last line.
    start_line: Option<usize>,
    end_line: Option<usize>,
}

/// Whether a replacement needs this tool instead of `edit_file`.
pub(crate) fn is_needed(input: &Map<String, Value>) -> bool {
    let is_set = |name: &str| input.get(name).and_then(arguments::truth) == Some(true);
    let is_number = |name: &str| input.get(name).and_then(arguments::number).is_some();
    let has_search = arguments::text(input, "search").is_some();
    has_search && (is_set("use_regex") || is_set("ignore_case") || is_number("start_line") || is_number("end_line"))
}

impl BuiltIn for ReplacePatternTool {
    fn build(_: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        // Part of `EditTools`.
        None
    }
}

impl Tool for ReplacePatternTool {
    const NAME: &'static str = "replace_pattern";
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Edit,
        sets: &[ToolSet::FileAccess],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.write_actions(&input.path)
    }

    async fn check(&self, input: &Input) -> Result<(), Error> {
        let file = self.0.locate(&input.path)?;
        let input = input.clone();
        check_content(&self.0, file, move |content| change(content, &input)).await
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let file = self.0.locate(&input.path)?;
        write_content(&self.0, file, move |content| change(content, &input)).await
    }
}

/// The content after the replacement, and a summary.
fn change(content: &str, input: &Input) -> Result<(String, String), Error> {
    let (after, places) = replaced(content, input)?;
    Ok((after, count(places, "place")))
}

/// The content after the replacement, and the number of places.
fn replaced(content: &str, input: &Input) -> Result<(String, usize), Error> {
    let failed = |text: String| Error::Failed(format!("{text}; nothing was changed"));
    let pattern = match input.use_regex {
        true => input.search.clone(),
        false => regex::escape(&input.search),
    };
    let pattern = RegexBuilder::new(&pattern)
        .case_insensitive(input.ignore_case)
        .multi_line(true)
        .size_limit(MAX_COMPILED)
        .build()
        .map_err(|error| failed(format!("`{}` is not a valid regular expression: {error}", input.search)))?;
    let first = input.start_line.unwrap_or(1).max(1);
    let last = input.end_line.unwrap_or(usize::MAX);
    let offset = |line: usize| content.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
    let (start, end) = (offset(first - 1), offset(last).max(offset(first - 1)));
    let new = input.replace.as_deref().unwrap_or_default();
    let mut places = 0;
    let inside = pattern.replace_all(&content[start..end], |found: &Captures<'_>| {
        places += 1;
        match input.use_regex {
            true => expanded(new, found),
            false => new.to_owned(),
        }
    });
    match places {
        0 => Err(failed(format!("`{}` was not found", input.search))),
        _ => Ok((format!("{}{inside}{}", &content[..start], &content[end..]), places)),
    }
}

/// The replacement with `$1`, `$<name>` and `$&` expanded.
fn expanded(new: &str, found: &Captures<'_>) -> String {
    let mut text = String::new();
    let mut rest = new;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let digits = after.len() - after.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let named = after.strip_prefix('<').and_then(|name| name.split_once('>'));
        let group = |at: usize| found.get(at).map_or("", |group| group.as_str());
        rest = match (after[..digits.min(2)].parse::<usize>(), named) {
            (Ok(at), _) if at > 0 && at < found.len() => {
                text.push_str(group(at));
                &after[digits.min(2)..]
            }
            (_, Some((name, after))) => {
                text.push_str(found.name(name).map_or("", |group| group.as_str()));
                after
            }
            _ if after.starts_with('&') => {
                text.push_str(group(0));
                &after[1..]
            }
            _ => {
                text.push('$');
                after.strip_prefix('$').unwrap_or(after)
            }
        };
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: Value, after: &str) {
        let input: Input = serde_json::from_value(input).unwrap();
        let done = replaced("one = 1\ntwo = 2\nOne = 3\n", &input).unwrap_or_else(|error| (error.to_string(), 0));
        assert_eq!(done.0, after);
    }

    #[test]
    fn text_and_patterns_are_replaced_in_a_range_of_lines() {
        use serde_json::json;
        let all = |more: Value| {
            let mut input = json!({"path": "f", "search": "one", "replace": "x"});
            input
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().cloned().unwrap());
            input
        };
        check(all(json!({})), "x = 1\ntwo = 2\nOne = 3\n");
        check(all(json!({"ignore_case": true})), "x = 1\ntwo = 2\nx = 3\n");
        check(
            all(json!({"ignore_case": true, "start_line": 2})),
            "one = 1\ntwo = 2\nx = 3\n",
        );
        check(
            all(json!({"ignore_case": true, "end_line": 2})),
            "x = 1\ntwo = 2\nOne = 3\n",
        );
        check(
            all(json!({"start_line": 2, "end_line": 3})),
            "`one` was not found; nothing was changed",
        );
        check(
            all(json!({"start_line": 9})),
            "`one` was not found; nothing was changed",
        );
        let pattern =
            json!({"use_regex": true, "search": r"^(?<name>\w+) = (\d)$", "replace": "$2$2 $& $<name> $$ $9"});
        check(
            all(pattern),
            "11 one = 1 one $ $9\n22 two = 2 two $ $9\n33 One = 3 One $ $9\n",
        );
        check(
            all(json!({"search": "(", "replace": "$1"})),
            "`(` was not found; nothing was changed",
        );
    }
}
