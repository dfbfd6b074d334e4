//! Rewrites call syntaxes of single model families to the common ones, so that the same parsers read them.
//!
//! A server without a parser for a family's special tokens sends them as text: Mistral's `[TOOL_CALLS]`, the tokens of
//! DeepSeek, Kimi and gpt-oss, GLM's argument tags, Llama's `<function=name>{…}`, ReAct's `Action:`, names and values in
//! attributes, and calls in Python's syntax.

use super::grammar::CallGrammar;
use super::hermes::{CLOSE, OPEN};
use super::tags::word;
use super::written::{call_json, read_json};
use serde_json::Value;

/// Tokens with a common spelling: those of DeepSeek, Step, LFM, Llama, Gemma and Functionary, and those around their tags.
const SPELLINGS: [(&str, &str); 26] = [
    ("<｜tool▁calls▁begin｜>", ""),
    ("<｜tool▁calls▁end｜>", ""),
    ("<｜tool▁call▁begin｜>", CALL_TOKEN),
    ("<｜tool▁sep｜>", " "),
    ("<｜tool▁call▁end｜>", ""),
    ("<｜DSML｜", "<"),
    ("</｜DSML｜", "</"),
    ("<|DSML|", "<"),
    ("</|DSML|", "</"),
    ("<｜tool_calls_begin｜>", ""),
    ("<｜tool_calls_end｜>", ""),
    ("<｜tool_call_begin｜>function<｜tool_sep｜>", ""),
    ("<｜tool_call_end｜>", ""),
    ("<steptml:", "<"),
    ("</steptml:", "</"),
    ("<|tool_call_start|>", ""),
    ("<|tool_call_end|>", ""),
    ("<|tool_call>call:", "<start_function_call>call:"),
    ("<tool_call|>", ""),
    ("<|\"|>", "<escape>"),
    ("<end_function_call>", ""),
    ("<|python_start|>", ""),
    ("<|python_end|>", ""),
    (">>>all\n", "\n"),
    ("<|from|>assistant", ""),
    ("<|recipient|>all\n<|content|>", ""),
];
/// Starts a call of Kimi and DeepSeek.
const CALL_TOKEN: &str = "<|tool_call_begin|>";
/// What begins a call: a name and a JSON object follow, with other tokens between them.
const STARTS: [&str; 14] = [
    CALL_TOKEN,
    "<start_function_call>call:",
    "<tool_call name=",
    "<tool name=",
    "<function name=",
    "[TOOL_CALLS]",
    "<|channel|>commentary to=functions.",
    "<|start|>assistant to=functions.",
    "commentary to=functions.",
    "<|recipient|>",
    "<function=",
    "<tool_use>",
    "\nAction:",
    "\n>>>",
];
/// Tokens and words that are no names.
const FILLERS: [&str; 22] = [
    "<|tool_call_argument_begin|>",
    "</tool_call>",
    "</tool>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|constrain|>",
    "<|channel|>",
    "<|message|>",
    "<|content|>",
    "<|call|>",
    "commentary",
    "[ARGS]",
    "</function>",
    "</tool_use>",
    "</name>",
    "<name>",
    "</arguments>",
    "<arguments>",
    "</input>",
    "<input>",
    "Action Input:",
    "```",
];
/// The maximum distance between the start of a call and its input.
const MAX_HEAD: usize = 240;

/// The text with calls in the common syntaxes.
pub(super) fn with_common_syntax(text: &str, grammar: &CallGrammar) -> String {
    let mut text = SPELLINGS
        .iter()
        .fold(text.to_owned(), |text, (token, common)| text.replace(token, common));
    if ["Action:", ">>>"].iter().any(|start| text.starts_with(start)) {
        text.insert(0, '\n');
    }
    let text = alias_call(&text, grammar).unwrap_or(text);
    let text = named_lines(&text.replace("functools[", "["), grammar);
    let text = json_calls(&escaped_strings(&text), grammar);
    let text = attribute_tags(&argument_tags(&file_lists(&text)), grammar);
    python_calls(&text, grammar).unwrap_or(text)
}

/// GLM-4, Hunyuan and others: marks lines with only a tool's name, possibly after tags, followed by lines with its input as
/// JSON.
fn named_lines(text: &str, grammar: &CallGrammar) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let marked = lines.iter().enumerate().map(|(at, line)| {
        let next = lines.get(at + 1).map_or("", |next| next.trim_start());
        let (tags, name) = line.rsplit_once('>').map_or(("", *line), |(tags, name)| (tags, name));
        let is_call = grammar.has(name.trim()) && (next.starts_with('{') || next.starts_with("```json"));
        match is_call && (tags.is_empty() || tags.ends_with(OPEN.trim_end_matches('>'))) {
            true => {
                let before = tags.rsplit_once('<').map_or("", |(before, _)| before);
                // Text before the tag remains; other tags before it belong to the call.
                let before = if before.contains('<') { "" } else { before };
                format!("{before}{CALL_TOKEN}{name}")
            }
            false => (*line).to_owned(),
        }
    });
    marked.collect()
}

/// Rewrites calls that consist of a start, a name and a JSON object.
fn json_calls(text: &str, grammar: &CallGrammar) -> String {
    let (mut out, mut rest) = (String::new(), text);
    let next = |rest: &str| {
        let found = STARTS
            .iter()
            .filter_map(|start| rest.find(start).map(|at| (at, *start)));
        found.min()
    };
    while let Some((at, start)) = next(rest) {
        let after = &rest[at + start.len()..];
        match named_object(after, grammar) {
            Some((call, bytes)) => {
                out.push_str(&rest[..at]);
                out.push_str(&format!("\n{OPEN}{call}{CLOSE}\n"));
                rest = after[bytes..].trim_start();
                while let Some(shorter) = FILLERS.iter().find_map(|token| rest.strip_prefix(token)) {
                    rest = shorter.trim_start();
                }
            }
            None => {
                out.push_str(&rest[..at + start.len()]);
                rest = after;
            }
        }
    }
    match out.is_empty() {
        true => text.to_owned(),
        false => out + rest,
    }
}

/// Reads a tool's name and its input; also returns their length.
fn named_object(text: &str, grammar: &CallGrammar) -> Option<(String, usize)> {
    let brace = text.find('{').filter(|at| *at <= MAX_HEAD)?;
    let head = FILLERS
        .iter()
        .fold(text[..brace].to_owned(), |head, token| head.replace(token, " "));
    let head = head.replace(['>', '"', '\''], " ");
    let mut words = head
        .split_whitespace()
        .filter(|word| !matches!(*word, "function" | "json"));
    let (name, id) = (words.next()?, words.next());
    let name = word(name.trim_start_matches("functions."));
    // A call id may follow the name.
    let is_id = |id: &str| id.contains(char::is_numeric) && !id.contains(['<', '=']);
    if !grammar.has(name) || words.next().is_some() || id.is_some_and(|id| !is_id(id)) {
        return None;
    }
    let (value, bytes) = read_json(&text[brace..])?;
    Some((call_json(name, value), brace + bytes))
}

/// GLM: `<tool_call>name <arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`.
fn argument_tags(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(OPEN) {
        out.push_str(before);
        let name = word(after.trim_start());
        let (inside, end) = match after.find(CLOSE) {
            Some(end) => (&after[..end], end + CLOSE.len()),
            None => (after, after.len()),
        };
        let arguments = inside.trim_start()[name.len()..].trim_start();
        match !name.is_empty() && arguments.starts_with("<arg_key>") {
            true => {
                out.push_str(&format!("<function={name}>"));
                for pair in arguments.split("<arg_key>").skip(1) {
                    let (key, value) = pair.split_once("</arg_key>").unwrap_or((pair, ""));
                    let value = value.trim_start().trim_start_matches("<arg_value>");
                    let value = value.split("</arg_value>").next().unwrap_or(value);
                    out.push_str(&format!("<parameter={}>{value}</parameter>", key.trim()));
                }
                out.push_str("</function>");
                rest = &after[end..];
            }
            false => {
                out.push_str(OPEN);
                rest = after;
            }
        }
    }
    out + rest
}

/// A text that consists of one call in tags with a name that is too common to be recognised elsewhere:
/// `<bash><command>ls</command></bash>`.
fn alias_call(text: &str, grammar: &CallGrammar) -> Option<String> {
    let name = word(text.trim_start().strip_prefix('<')?);
    let inside = text.trim().strip_prefix(&format!("<{name}>"))?;
    let mut rest = inside.strip_suffix(&format!("</{name}>"))?.trim();
    let mut input = serde_json::Map::new();
    while !rest.is_empty() {
        let key = word(rest.strip_prefix('<')?);
        let (value, after) = rest
            .strip_prefix(&format!("<{key}>"))?
            .split_once(&format!("</{key}>"))?;
        if !grammar.has_parameter(name, key) {
            return None;
        }
        input.insert(key.to_owned(), value.trim().into());
        rest = after.trim_start();
    }
    let is_call = !grammar.has(name) && grammar.names_tool(name) && !input.is_empty();
    is_call.then(|| format!("{OPEN}{}{CLOSE}", call_json(name, Value::Object(input))))
}

/// FunctionGemma: strings between `<escape>` tokens.
fn escaped_strings(text: &str) -> String {
    if !text.contains("<start_function_call>") {
        return text.to_owned();
    }
    let parts = text.split("<escape>").enumerate();
    let parts = parts.map(|(at, part)| match at % 2 {
        0 => part.to_owned(),
        _ => Value::from(part).to_string(),
    });
    parts.collect()
}

/// Names and values in attributes at the start of a line: `<tool name="read_file"><path>a</path></tool>` and
/// `<read_file path="a"/>`.
fn attribute_tags(text: &str, grammar: &CallGrammar) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        let name = word(&tag[1..]);
        let is_first = out.is_empty() || out.ends_with(['\n', '>', ' ']);
        let rewritten = match name {
            "tool" | "tool_call" | "function" if is_first => named_tag(tag, name, grammar),
            _ if is_first && grammar.has(name) => valued_tag(tag, name),
            _ => None,
        };
        match rewritten {
            Some((call, bytes)) => {
                out.push_str(&call);
                rest = &tag[bytes..];
            }
            None => {
                out.push('<');
                rest = &tag[1..];
            }
        }
    }
    out + rest
}

/// Rewrites `<tool name="read_file">…</tool>` to `<read_file>…</read_file>`; also returns its length.
fn named_tag(text: &str, tag: &str, grammar: &CallGrammar) -> Option<(String, usize)> {
    let (head, rest) = text.split_once('>')?;
    let name = head.split_once("name=")?.1.trim_matches(['"', '\'', ' ']);
    let closing = format!("</{tag}>");
    let inside = rest.find(&closing).map_or(rest, |end| &rest[..end]);
    let bytes = head.len() + 1 + inside.len();
    let end = if inside.len() < rest.len() { closing.len() } else { 0 };
    let call = match inside.contains("<parameter name=") {
        true => format!("<invoke name=\"{name}\">{inside}</invoke>"),
        false => format!("<{name}>{inside}</{name}>"),
    };
    grammar.has(name).then_some((call, bytes + end))
}

/// Rewrites `<read_file path="a"/>` to a call as JSON; also returns its length.
fn valued_tag(text: &str, name: &str) -> Option<(String, usize)> {
    let mut rest = text[1 + name.len()..].trim_start();
    let mut input = serde_json::Map::new();
    while !rest.starts_with(['/', '>']) {
        let key = word(rest);
        let quoted = rest[key.len()..].strip_prefix('=')?;
        let quote = quoted.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (value, after) = quoted[1..].split_once(quote)?;
        input.insert(key.to_owned(), value.into());
        rest = after.trim_start();
    }
    let closing = format!("></{name}>");
    let after = rest.strip_prefix("/>").or_else(|| rest.strip_prefix(&closing))?;
    (!input.is_empty()).then(|| {
        let call = call_json(name, Value::Object(input));
        (format!("\n{OPEN}{call}{CLOSE}\n"), text.len() - after.len())
    })
}

/// Roo: several files in one `read_file` become one call each.
fn file_lists(text: &str) -> String {
    const OPEN_READ: &str = "<read_file>";
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(OPEN_READ) {
        out.push_str(before);
        let (inside, next) = after.split_once("</read_file>").unwrap_or((after, ""));
        match inside.trim_start().starts_with("<args>") {
            true => {
                for path in inside.split("<path>").skip(1) {
                    let path = path.split('<').next().unwrap_or(path);
                    out.push_str(&format!("{OPEN_READ}<path>{path}</path></read_file>\n"));
                }
                rest = next;
            }
            false => {
                out.push_str(OPEN_READ);
                rest = after;
            }
        }
    }
    out + rest
}

/// Rewrites lines such as `[read_file(path="a")]`. Without brackets they must be the whole reply, in a block of
/// `tool_code` or after another mark.
fn python_calls(text: &str, grammar: &CallGrammar) -> Option<String> {
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    let marks = ["```tool_code", "<|python_tag|>", "<function_calls>"];
    let is_marked = marks.iter().any(|mark| text.contains(mark));
    let is_tag = |line: &str| matches!(line.trim(), "" | "<function_calls>" | "</function_calls>");
    let lines = || text.lines().filter(|line| !is_tag(line) && !is_fence(line));
    let is_whole = is_marked || lines().all(|line| python_call(line, grammar).is_some());
    let mut found = false;
    let rewritten = text.lines().map(|line| {
        let is_list = line.trim().starts_with('[') && line.trim().ends_with(']');
        match python_call(line, grammar).filter(|_| is_whole || is_list) {
            Some(call) => {
                found = true;
                format!("{OPEN}{call}{CLOSE}")
            }
            // The parser ignores calls in code blocks.
            None if is_fence(line) => String::new(),
            None => line.to_owned(),
        }
    });
    let rewritten: Vec<String> = rewritten.collect();
    found.then(|| rewritten.join("\n"))
}

/// Reads a call with arguments that are literals: all of them named, or those of the required parameters.
fn python_call(line: &str, grammar: &CallGrammar) -> Option<String> {
    let line = line.trim().trim_start_matches("<|python_tag|>");
    let line = line
        .trim_start_matches("<function_calls>")
        .trim_end_matches("</function_calls>");
    let line = line
        .strip_prefix('[')
        .and_then(|line| line.strip_suffix(']'))
        .unwrap_or(line);
    let line = line
        .strip_prefix("print(")
        .and_then(|line| line.strip_suffix(')'))
        .unwrap_or(line);
    let line = line.trim_start_matches("default_api.").trim_start_matches("functions.");
    let name = word(line);
    let arguments = line[name.len()..].strip_prefix('(')?.strip_suffix(')')?;
    let name = name.strip_suffix(".call").unwrap_or(name);
    if !grammar.has(name) {
        return None;
    }
    let is_named = arguments[word(arguments).len()..].trim_start().starts_with(['=', ':']);
    if !is_named && !arguments.is_empty() {
        let values = model::json::repair(&format!("[{arguments}]")).ok()?;
        let input = match values.as_array()?.as_slice() {
            [Value::Object(input)] => input.clone(),
            values => grammar.positional_input(name, values.to_vec())?,
        };
        return Some(call_json(name, input.into()));
    }
    // `key=value` is JSON with bare keys except for the sign.
    let (mut quote, mut is_escaped) = (None, false);
    let entries = arguments.chars().map(|letter| {
        match (quote, letter) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), letter) if open == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '=') => return ':',
            (Some(_), _) | (None, _) => {}
        }
        letter
    });
    let entries: String = entries.collect();
    let input = model::json::repair(&format!("{{{entries}}}")).ok()?;
    input.is_object().then(|| call_json(name, input))
}
