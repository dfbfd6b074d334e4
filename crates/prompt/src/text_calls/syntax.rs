//! Call syntaxes with parameters as tags: hew's own, and those that models were trained on.
//!
//! Qwen's is `<tool_call><function=name><parameter=key>value</parameter>…</function></tool_call>`, Claude's is
//! `<function_calls><invoke name="name"><parameter name="key">value</parameter>…</invoke></function_calls>`, also with a
//! prefix. Models often omit the outer tag or its start, so neither is required.

use super::hermes;
use super::tags::{TagMatch, assigning, closing, naming, opening, word};

/// The syntax of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallSyntax {
    /// `<tool><parameter>value</parameter></tool>`
    Tags,
    /// `<function=tool><parameter=name>value</parameter></function>`
    Function,
    /// `<invoke name="tool"><parameter name="name">value</parameter></invoke>`
    Invoke,
    /// The same with a prefix before each name.
    PrefixedInvoke,
    /// A JSON object, or a tag without content.
    Json,
}

const FUNCTION: &str = "function";
const PARAMETER: &str = "parameter";
const INVOKE: &str = "invoke";
const PREFIXED_PARAMETER: &str = "antml:parameter";
const PREFIXED_INVOKE: &str = "antml:invoke";
const OUTER: [&str; 2] = ["<function_calls>", "<antml:function_calls>"];
const OUTER_END: [&str; 2] = ["</function_calls>", "</antml:function_calls>"];

impl CallSyntax {
    /// Whether the tool is named in an attribute and not by the tag.
    pub(super) fn names_tool_in_attribute(self) -> bool {
        match self {
            CallSyntax::Tags | CallSyntax::Json => false,
            CallSyntax::Function | CallSyntax::Invoke | CallSyntax::PrefixedInvoke => true,
        }
    }

    /// Matches the end of a call, with the end of the outer tag.
    pub(super) fn closing(self, text: &str, tool: &str) -> TagMatch {
        let (tag, outer): (&str, &[&str]) = match self {
            CallSyntax::Tags => return closing(text, tool),
            CallSyntax::Json => return TagMatch::No,
            CallSyntax::Function => (FUNCTION, &[hermes::CLOSE]),
            CallSyntax::Invoke => (INVOKE, &OUTER_END),
            CallSyntax::PrefixedInvoke => (PREFIXED_INVOKE, &OUTER_END),
        };
        let TagMatch::Yes(bytes) = closing(text, tag) else {
            return closing(text, tag);
        };
        let rest = text[bytes..].trim_start();
        match outer.iter().find_map(|end| rest.strip_prefix(end)) {
            Some(after) => TagMatch::Yes(text.len() - after.len()),
            None if outer.iter().any(|end| end.starts_with(rest)) => TagMatch::Maybe,
            None => TagMatch::Yes(bytes),
        }
    }

    /// Matches the start of a parameter and returns its name.
    pub(super) fn opening(self, text: &str) -> (TagMatch, &str) {
        match self {
            CallSyntax::Tags | CallSyntax::Json => {
                (opening(text), text.strip_prefix('<').map(word).unwrap_or_default())
            }
            CallSyntax::Function | CallSyntax::Invoke | CallSyntax::PrefixedInvoke if text.is_empty() => {
                (TagMatch::Maybe, "")
            }
            CallSyntax::Function => assigning(text, PARAMETER),
            CallSyntax::Invoke => naming(text, PARAMETER),
            CallSyntax::PrefixedInvoke => naming(text, PREFIXED_PARAMETER),
        }
    }

    /// The name of the tag that ends a value.
    pub(super) fn end_of(self, parameter: &str) -> &str {
        match self {
            CallSyntax::Tags | CallSyntax::Json => parameter,
            CallSyntax::Function | CallSyntax::Invoke => PARAMETER,
            CallSyntax::PrefixedInvoke => PREFIXED_PARAMETER,
        }
    }
}

/// Classifies a text that begins with `<function=…>`, `<invoke name=…>` or the tag around them.
pub(super) enum CallStart<'a> {
    /// A call of this tool; its tags have this many bytes.
    Call(&'a str, CallSyntax, usize),
    /// A call with JSON input.
    Json,
    Maybe,
    No,
}

/// Matches the start of a call in one of the syntaxes that models were trained on.
pub(super) fn call_start(text: &str) -> CallStart<'_> {
    for outer in OUTER {
        match text.strip_prefix(outer).map(str::trim_start) {
            Some("") => return CallStart::Maybe,
            Some(inside) => {
                return match invoke_start(inside) {
                    CallStart::Call(name, form, bytes) => {
                        CallStart::Call(name, form, text.len() - inside.len() + bytes)
                    }
                    other => other,
                };
            }
            None if outer.starts_with(text) => return CallStart::Maybe,
            None => {}
        }
    }
    let inside = match text.strip_prefix(hermes::OPEN) {
        Some(inside) => inside.trim_start(),
        None if hermes::OPEN.starts_with(text) => return CallStart::Maybe,
        None => text,
    };
    let before = text.len() - inside.len();
    match (assigning(inside, FUNCTION), invoke_start(inside)) {
        ((TagMatch::Yes(bytes), name), _) => CallStart::Call(name, CallSyntax::Function, before + bytes),
        (_, CallStart::Call(name, form, bytes)) => CallStart::Call(name, form, before + bytes),
        ((TagMatch::Maybe, _), _) | (_, CallStart::Maybe) => CallStart::Maybe,
        (_, _) if before > 0 => match inside.is_empty() {
            true => CallStart::Maybe,
            false => CallStart::Json,
        },
        (_, _) => CallStart::No,
    }
}

fn invoke_start(text: &str) -> CallStart<'_> {
    let tags = [
        (INVOKE, CallSyntax::Invoke),
        (PREFIXED_INVOKE, CallSyntax::PrefixedInvoke),
    ];
    let mut found = CallStart::No;
    for (tag, form) in tags {
        match naming(text, tag) {
            (TagMatch::Yes(bytes), name) => return CallStart::Call(name, form, bytes),
            (TagMatch::Maybe, _) => found = CallStart::Maybe,
            (TagMatch::No, _) => {}
        }
    }
    found
}
