//! Recognises errors about models or servers without tool calls.

/// Phrases of single servers, in lower case.
const PHRASES: [&str; 9] = [
    // llama.cpp without --jinja
    "tools param requires --jinja",
    "cannot use tools with",
    // vLLM
    "requires --enable-auto-tool-choice",
    "requires --tool-call-parser",
    // OpenRouter
    "endpoints found that support tool use",
    // Others
    "no tool support",
    "no tool call",
    "no function call",
    "without tool support",
];
/// The feature, as a word of its own: `tool_choice` and `tools[0].name` are other subjects.
const SUBJECTS: [&str; 9] = [
    "tools",
    "functions",
    "tool use",
    "tool call",
    "tool calls",
    "tool calling",
    "function call",
    "function calls",
    "function calling",
];
/// How servers state that a feature or a parameter is missing.
const DENIALS: [&str; 17] = [
    "not support",
    "n't support",
    "unsupported",
    "no support",
    "not enabled",
    "not available",
    "not implemented",
    "unrecognized",
    "unknown parameter",
    "unknown field",
    "unknown argument",
    "unknown property",
    "unknown name",
    "additional properties are not allowed",
    "unexpected keyword",
    "extra inputs are not permitted",
    "extra fields not permitted",
];

/// Whether the request was rejected because of its tools. `field` is the request field that the error names.
pub(super) fn is_unsupported(status: u16, detail: &str, field: Option<&str>) -> bool {
    let detail = detail.to_lowercase();
    let words = detail
        .split_whitespace()
        .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()));
    let words = format!(" {} ", words.collect::<Vec<_>>().join(" "));
    let names_tools = SUBJECTS.iter().any(|subject| words.contains(&format!(" {subject} ")));
    let is_denied = DENIALS.iter().any(|denial| detail.contains(denial));
    matches!(status, 200 | 400 | 404 | 422 | 500 | 501)
        && (PHRASES.iter().any(|phrase| detail.contains(phrase))
            || (is_denied && (names_tools || field == Some("tools"))))
}
