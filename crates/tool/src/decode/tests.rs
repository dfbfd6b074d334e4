//! Input that is accepted, and the errors of other input.

use super::*;
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Edits {
    path: String,
    #[serde(default)]
    edits: Vec<Edit>,
    mode: Option<Mode>,
    #[serde(default)]
    numbered: BTreeMap<u16, f32>,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    line: u8,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Whole,
    Part(u32),
    Named { name: String },
}

/// The result must equal that of serde_json, except that an array is not accepted for a struct, and that errors use
/// the terms of JSON.
fn check(input: Value) {
    let expected = serde_json::from_value::<Edits>(input.clone()).ok();
    assert_eq!(decode::<Edits>(&input).ok(), expected, "{input}");
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Read {
    #[serde(alias = "file_path", alias = "filename")]
    path: String,
    #[serde(default, alias = "sections")]
    parts: Vec<Part>,
    note: Option<String>,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Part {
    #[serde(alias = "start_line")]
    start: u32,
}

#[test]
fn an_argument_under_two_names_is_accepted_if_the_values_are_equal() {
    let read = |input: Value| decode_call::<Read>(&input).map_err(|error| error.to_string());
    let expected = Read {
        path: "a".into(),
        parts: vec![Part { start: 3 }, Part { start: 4 }],
        note: Some("b".into()),
    };
    let twice = json!({"file_path": "a", "note": "b", "path": "a", "filename": "a",
        "parts": [{"start": 3}, {"startLine": 4, "start": 4}]});
    assert_eq!(read(twice), Ok(expected));
    for (input, message) in [
        (
            json!({"note": "b", "file_path": "a", "path": "b"}),
            "`file_path` and `path` are names of one argument, and their values differ",
        ),
        (
            json!({"path": "a", "parts": [{"start": 3}, {"start": 1, "start_line": 4}]}),
            "parts[1]: `start` and `start_line` are names of one argument, and their values differ",
        ),
    ] {
        assert_eq!(read(input), Err(message.into()));
    }
}

#[test]
fn values_are_decoded_like_serde_json() {
    let modes = [
        json!("whole"),
        json!({"whole": null}),
        json!({"part": 7}),
        json!({"named": {"name": "x"}}),
        json!("part"),
        json!({"part": "x"}),
        json!({"named": {}}),
        json!({"a": 1, "b": 2}),
        json!("other"),
        json!(5),
        json!(null),
    ];
    for mode in modes {
        check(json!({"path": "a", "mode": mode}));
    }
    check(json!({"path": "a", "edits": [{"line": 1}, {"line": 255}], "numbered": {"5": 1, "6": 0.5, "7": -1}}));
    check(json!({"path": "a", "edits": [{"line": 256}]}));
    check(json!({"path": "a", "edits": [{"line": -1}]}));
    check(json!({"path": "a", "edits": [{"line": null}]}));
    check(json!({"path": "a", "edits": {"line": 1}}));
    check(json!({"path": 1.5}));
    check(json!({"path": "a", "pfad": 1}));
    check(json!({"edits": []}));
    check(json!("a"));
    check(json!({"path": "a", "edits": "b"}));
    check(json!({"path": "a", "edits": [1]}));
    check(json!({"path": "a", "edits": [{"line": true}]}));
    check(json!({"path": "a", "numbered": []}));
    check(json!({"path": ["a"]}));
    check(json!({"path": null}));
}

#[test]
fn an_array_is_not_accepted_for_a_struct() {
    let wrong = decode::<Edits>(&json!(["a", [], null, {}])).map_err(|error| error.reason);
    assert_eq!(wrong, Err("invalid type: list, expected an object".to_owned()));
}

#[test]
fn the_path_of_an_error_is_reported() {
    for (input, path) in [
        (json!({"path": 5}), "path"),
        (
            json!({"path": "a", "edits": [{"line": 1}, {"line": "x"}]}),
            "edits[1].line",
        ),
        (json!({"path": "a", "edits": [{"lien": 1}]}), "edits[0].lien"),
        (json!({"path": "a", "mode": {"named": {"name": 1}}}), "mode.named.name"),
        (json!({"path": "a", "numbered": {"x": 1}}), "numbered.x"),
        (json!({}), ""),
    ] {
        assert_eq!(
            decode::<Edits>(&input).map_err(|error| error.path()),
            Err(path.to_owned())
        );
    }
}
