//! Calls in the forms that models write, and texts that are no calls.

use super::*;
use model::ToolSpec;
use serde_json::json;

fn grammar() -> Arc<CallGrammar> {
    let mut grammar = CallGrammar::default();
    for (name, parameters) in [("read_file", ["path", "line"]), ("terminal", ["command", "cd"])] {
        let properties: Map<String, Value> = parameters
            .iter()
            .map(|name| ((*name).to_owned(), json!({"type": "string"})))
            .collect();
        let spec = ToolSpec {
            name: name.into(),
            description: String::new(),
            input_schema: json!({"type": "object", "properties": properties, "required": parameters[..1]}),
        };
        grammar.add(name, &spec);
    }
    Arc::new(grammar)
}

fn found(text: &str, placement: CallPlacement) -> Vec<(String, Value)> {
    let calls = written_calls(text, &grammar(), placement);
    calls
        .into_iter()
        .map(|call| (call.name, Value::Object(call.input)))
        .collect()
}

#[test]
fn a_call_is_found_in_every_form_that_models_write() {
    let plain = r#"{"name": "read_file", "arguments": {"path": "a.txt"}}"#;
    let forms = [
        plain.to_owned(),
        format!("```json\n{plain}\n```"),
        format!("```\n{plain}\n```\n"),
        format!("```json\n{plain}"),
        format!("```tool_call\n{plain}\n```"),
        format!("<tool_call>\n{plain}\n</tool_call>"),
        format!("<tool_call>\n{plain}"),
        format!("<tool_call>{plain}</tool_call"),
        format!("<|tool_call|>{plain}"),
        format!("<|python_tag|>{plain}"),
        format!("[TOOL_CALLS] [{plain}]"),
        format!("<tools>\n{plain}\n</tools>"),
        format!("[{plain}]"),
        r#"{"name": "read_file", "arguments": {"path": "a.txt"}"#.to_owned(),
        "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}\n```".to_owned(),
        r#"{"name": "read_file", "parameters": {"path": "a.txt"}}"#.to_owned(),
        r#"{"name": "read_file", "arguments": "{\"path\": \"a.txt\"}"}"#.to_owned(),
        r#"{"tool": "read_file", "input": {"path": "a.txt"}}"#.to_owned(),
        r#"{"tool_name": "read_file", "tool_input": {"path": "a.txt"}}"#.to_owned(),
        r#"<|python_tag|>read_file.call(path="a.txt")"#.to_owned(),
        "<start_function_call>call:read_file{path:<escape>a.txt<escape>}<end_function_call>".to_owned(),
        r#"<function_calls>read_file(path="a.txt")</function_calls>"#.to_owned(),
        "<function_calls>\nread_file(path=\"a.txt\")\n</function_calls>".to_owned(),
        "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"read_file\"><steptml:parameter \
         name=\"path\">a.txt</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>"
            .to_owned(),
        "<|tool_call_start|>[read_file(path='a.txt')]<|tool_call_end|>".to_owned(),
        r#"<tool name="read_file"><path>a.txt</path></tool>"#.to_owned(),
        r#"<tool name="read_file"><parameter name="path">a.txt</parameter></tool>"#.to_owned(),
        "<tool_calls><tool_call>read_file\n```json\n{\"path\": \"a.txt\"}\n```\n</tool_call></tool_calls>".to_owned(),
        r#"<tool_call name="read_file">{"path": "a.txt"}</tool_call>"#.to_owned(),
        r#"<read_file path="a.txt" />"#.to_owned(),
        r#"{"function": {"name": "read_file", "arguments": {"path": "a.txt"}}}"#.to_owned(),
        r#"{"type": "function", "function": {"name": "read_file", "arguments": {"path": "a.txt"}}}"#.to_owned(),
        r#"{"function_call": {"name": "read_file", "arguments": "{\"path\": \"a.txt\"}"}}"#.to_owned(),
        r#"{"tool_calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}"#.to_owned(),
        r#"{"name": "read_file", "path": "a.txt"}"#.to_owned(),
        r#"{"read_file": {"path": "a.txt"}}"#.to_owned(),
        "{'name': 'read_file', 'arguments': {'path': 'a.txt',}}".to_owned(),
        "<read_file>\n<path>a.txt</path>\n</read_file>".to_owned(),
        "<read_file><path>a.txt</path>".to_owned(),
        "<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n</function>".to_owned(),
        "```xml\n<read_file>\n<path>a.txt</path>\n</read_file>\n```".to_owned(),
        "<function=read_file>{\"path\": \"a.txt\"}</function>".to_owned(),
        "<read_file>\n<args>\n<file>\n<path>a.txt</path>\n</file>\n</args>\n</read_file>".to_owned(),
        "<tool_use>\n<name>read_file</name>\n<arguments>{\"path\": \"a.txt\"}</arguments>\n</tool_use>".to_owned(),
        "[TOOL_CALLS]read_file{\"path\": \"a.txt\"}".to_owned(),
        "[TOOL_CALLS]read_file[CALL_ID]a1b2[ARGS]{\"path\": \"a.txt\"}".to_owned(),
        format!("functools[{plain}]"),
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{\"path\": \"a.txt\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>".to_owned(),
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{\"path\": \"a.txt\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>".to_owned(),
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"read_file\">\n<｜DSML｜parameter name=\"path\" string=\"true\">a.txt</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>".to_owned(),
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"path\": \"a.txt\"}<|tool_call_end|><|tool_calls_section_end|>".to_owned(),
        "<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{\"path\": \"a.txt\"}<|call|>".to_owned(),
        "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>".to_owned(),
        "[read_file(path=\"a.txt\")]".to_owned(),
        "read_file(path='a.txt')".to_owned(),
        "```tool_code\nprint(default_api.read_file(path=\"a.txt\"))\n```".to_owned(),
        "Action: read_file\nAction Input: {\"path\": \"a.txt\"}".to_owned(),
        "<|tool_call>call:read_file{path:<|\"|>a.txt<|\"|>}<tool_call|>".to_owned(),
        "<|python_start|>[read_file(path=\"a.txt\")]<|python_end|>".to_owned(),
        "read_file\n{\"path\": \"a.txt\"}".to_owned(),
        "read_file\n```json\n{\"path\": \"a.txt\"}\n```".to_owned(),
        ">>>read_file\n{\"path\": \"a.txt\"}".to_owned(),
        ">>>all\n>>>read_file\n{\"path\": \"a.txt\"}".to_owned(),
        "<|from|>assistant\n<|recipient|>read_file\n<|content|>{\"path\": \"a.txt\"}".to_owned(),
        "assistantcommentary to=functions.read_file json{\"path\": \"a.txt\"}".to_owned(),
        "commentary to=functions.read_file json{\"path\": \"a.txt\"}".to_owned(),
        "```tool_code\nread_file(\"a.txt\")\n```".to_owned(),
        "read_file('a.txt')".to_owned(),
    ];
    for form in forms {
        for placement in [CallPlacement::WholeReply, CallPlacement::Anywhere] {
            let expected = [("read_file".to_owned(), json!({"path": "a.txt"}))];
            assert_eq!(found(&form, placement), expected, "{form}");
        }
        let is_code = form.starts_with("read_file(");
        let with_text = format!("I read the file first.\n\n{form}\n\nThen I continue.");
        assert_eq!(found(&with_text, CallPlacement::Anywhere).is_empty(), is_code, "{form}");
    }
}

#[test]
fn tags_in_a_code_block_are_an_example_for_a_model_that_writes_calls_outside_of_blocks() {
    let block = "```xml\n<read_file>\n<path>a.txt</path>\n</read_file>\n```";
    let example = format!("An example:\n{block}\nThat is all.");
    for (text, placement, calls) in [
        (example.as_str(), CallPlacement::OutsideBlocks, 0),
        (&example, CallPlacement::Anywhere, 1),
        (block, CallPlacement::OutsideBlocks, 1),
    ] {
        assert_eq!(found(text, placement).len(), calls, "{text}");
    }
}

#[test]
fn a_model_with_native_calls_may_end_its_reply_with_a_call_in_tags() {
    let call = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>";
    assert_eq!(found(&format!("I look.\n{call}\n"), CallPlacement::WholeReply).len(), 1);
    for text in [
        format!("{call}\nreads a file."),
        format!("An example:\n```\n{call}\n```"),
    ] {
        assert_eq!(found(&text, CallPlacement::WholeReply), [], "{text}");
    }
}

#[test]
fn several_calls_are_found_in_order_with_text_between_them() {
    let text = "I look.\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a {b\"}}\n```\nThen:\n{\"name\": \"terminal\", \"arguments\": {\"command\": \"echo '}'\"}}\nDone.";
    let calls = found(text, CallPlacement::Anywhere);
    assert_eq!(
        calls,
        [
            ("read_file".to_owned(), json!({"path": "a {b"})),
            ("terminal".to_owned(), json!({"command": "echo '}'"})),
        ]
    );
    assert_eq!(found(text, CallPlacement::WholeReply), []);
}

#[test]
fn other_text_is_no_call() {
    for text in [
        "",
        "Done.",
        "```json\n{\"name\": \"my-package\", \"version\": \"1.0.0\"}\n```",
        "{\"read_file\": true}",
        "The call {\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}} reads a file.",
        "[1, 2, 3]",
        "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a",
        "{\"name\": \"read_file\", \"arguments\": ",
        "fn main() {\n    println!(\"{}\", 1);\n}",
    ] {
        assert_eq!(found(text, CallPlacement::Anywhere), [], "{text}");
    }
}

#[test]
fn an_unknown_tool_counts_only_if_the_reply_consists_of_the_call() {
    let call = "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```";
    assert_eq!(found(call, CallPlacement::WholeReply).len(), 1);
    assert_eq!(found(&format!("An example:\n{call}"), CallPlacement::Anywhere), []);
}

#[test]
fn a_reply_in_tags_with_a_common_name_is_a_call_if_it_has_the_parameters_of_the_tool() {
    let mut grammar = CallGrammar::clone(&grammar());
    grammar.add_alias("bash", "terminal");
    let grammar = Arc::new(grammar);
    let calls = |text: &str| written_calls(text, &grammar, CallPlacement::WholeReply);
    let call = "<bash>\n<command>ls</command>\n<cd>src</cd>\n</bash>";
    let input = calls(call).remove(0);
    assert_eq!(
        (input.name.as_str(), Value::Object(input.input)),
        ("bash", json!({"command": "ls", "cd": "src"}))
    );
    for text in [
        "<bash>ls</bash>",
        "<bash><title>ls</title></bash>",
        "<bash><command>ls</command></bash> lists files.",
        "<zsh><command>ls</command></zsh>",
    ] {
        assert_eq!(calls(text), [], "{text}");
    }
}

#[test]
fn an_attempt_at_a_call_is_recognised() {
    let grammar = grammar();
    for text in [
        "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a",
        "{\"name\": \"read_file\", \"arguments\": path}",
        "<tool_call>\nread a.txt\n</tool_call>",
        "I look.\n<tool_call>\n{\"name\": ",
        "<read_file>a.txt</read_file>",
        "I look.\n<read_file>\n<path>a.txt\n\nThen I continue.",
        "I look.\n[TOOL_CALLS]read_file a.txt",
        "I look.\nAction: read_file\nAction Input: a.txt",
    ] {
        assert!(resembles_call(text, &grammar), "{text}");
    }
    for text in [
        "A reply looks like this:\n```\nAction: read_file\n```\n",
        "Done.",
        "A call starts with `<tool_call>` and ends with `</tool_call>`.",
        "```json\n{\"name\": \"my-package\", \"version\": \"1.0.0\"}\n```",
        "Use `<read_file>` for that.",
        "```rust\nfn main() {}\n```",
    ] {
        assert!(!resembles_call(text, &grammar), "{text}");
    }
}
