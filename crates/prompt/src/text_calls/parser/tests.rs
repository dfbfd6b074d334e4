//! Parsing calls in a model's text, in every syntax and split anywhere.

use super::*;
use crate::text_calls::with_text_calls;
use model::{Message, Part, Reply, ToolSpec};
use proptest::prelude::*;
use serde_json::json;

fn grammar() -> Arc<CallGrammar> {
    let mut grammar = CallGrammar::default();
    let string = || json!({"type": "string"});
    for (name, properties) in [
        (
            "read_file",
            json!({"path": string(), "start_line": {"type": "integer"}, "more": {"type": "array", "items": string()}}),
        ),
        ("write_file", json!({"path": string(), "content": string()})),
        (
            "edit_file",
            json!({"path": string(), "old_text": string(), "new_text": string(), "replace_all": {"type": "boolean"}, "edits": {"type": "array", "items": {"type": "object"}}}),
        ),
        (
            "terminal",
            json!({"command": string(), "background": {"type": "boolean"}}),
        ),
        ("now", json!({})),
    ] {
        let spec = ToolSpec {
            name: name.into(),
            description: String::new(),
            input_schema: json!({"type": "object", "properties": properties}),
        };
        grammar.add(name, &spec);
    }
    Arc::new(grammar)
}

/// Parses pieces of text as one reply.
fn read_pieces<'a>(pieces: impl IntoIterator<Item = &'a str>, stop: Stop) -> (Message, Option<Stop>) {
    let mut reader = TextCallParser::new(grammar(), "r");
    let mut reply = Reply::default();
    let chunks = pieces.into_iter().map(|piece| Chunk::Text(piece.into()));
    for chunk in chunks.chain([Chunk::Stop(stop)]) {
        let mut out = Vec::new();
        reader.push(chunk, &mut out);
        out.into_iter().for_each(|chunk| reply.push(chunk));
    }
    let stop = reply.stop.clone();
    (reply.into_message(), stop)
}

fn read(text: &str) -> Message {
    read_pieces([text], Stop::End).0
}

/// Summarises the parts: text as it is, `name(input)` for a call.
fn emitted(message: &Message) -> Vec<String> {
    let describe = |part: &Part| match part {
        Part::Text { text, .. } => text.clone(),
        Part::Thinking { text, .. } => format!("({text})"),
        Part::ToolCall {
            name,
            malformed: Some(_),
            ..
        } => format!("{name} cut off"),
        Part::ToolCall { name, input, .. } => format!("{name}({input})"),
        Part::ToolResult { .. } | Part::Media(_) => "?".into(),
    };
    message.parts.iter().map(describe).collect()
}

fn check(text: &str, expected: &[&str]) {
    let message = read(text);
    assert_eq!(emitted(&message), expected, "{text}");
    for (position, _) in text.char_indices() {
        let (split, _) = read_pieces([&text[..position], &text[position..]], Stop::End);
        assert_eq!(split, message, "split at {position} of {text}");
    }
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let (single, _) = read_pieces(letters.iter().map(String::as_str), Stop::End);
    assert_eq!(single, message, "letter by letter: {text}");
    // Rendered again, it is the model's text without trailing whitespace.
    let again = with_text_calls(Arc::new(message));
    let whole: String = again
        .parts
        .iter()
        .map(|part| match part {
            Part::Text { text, .. } => text.as_str(),
            _ => "",
        })
        .collect();
    if !expected.iter().any(|part| part.starts_with('(')) && !text.contains("<tool_result") {
        assert_eq!(whole.trim_end(), text.trim_end(), "written again");
    }
}

#[test]
fn text_and_calls_are_distinguished_wherever_the_text_is_split() {
    check(
        "Just words, 1 < 2 and a <b>tag</b>.",
        &["Just words, 1 < 2 and a <b>tag</b>."],
    );
    check(
        "I look.\n\n<read_file>\n<path>src/ä.rs</path>\n</read_file>\n",
        &["I look.", r#"read_file({"path":"src/ä.rs"})"#],
    );
    check(
        "<read_file><path>a</path></read_file><read_file><path>b</path></read_file>",
        &[r#"read_file({"path":"a"})"#, r#"read_file({"path":"b"})"#],
    );
    check("<now></now>", &["now({})"]);
    check("The time: <now/> and on", &["The time:", "now({})", " and on"]);
}

#[test]
fn text_that_only_looks_like_a_call_stays_text() {
    for text in [
        "Use the <read_file> tool for it.",
        "Write `<read_file><path>a</path></read_file>` to read.",
        "<unknown_tool>\n<path>a</path>\n</unknown_tool>",
        "<read_file path=\"a\">",
        "<read_fil",
        "<",
        "a </read_file> b",
        "<tool_result tool=\"x\">",
        "For example:\n```xml\n<terminal>\n<command>ls</command>\n</terminal>\n```\nThat lists files.",
        "~~~~\n```\n<now/>\n~~~~",
        "```\n<tool_call>{\"name\": \"now\"}</tool_call>\n```",
        "```\n<invoke name=\"now\"></invoke>",
    ] {
        check(text, &[text]);
    }
}

#[test]
fn values_may_contain_code_and_their_own_end_tag() {
    check(
        "<write_file>\n<path>a.html</path>\n<content>\n<p>if a < b && c</p>\n<content>x</content>\n</body>\n</content>\n</write_file>",
        &[r#"write_file({"path":"a.html","content":"<p>if a < b && c</p>\n<content>x</content>\n</body>\n"})"#],
    );
    check(
        "<edit_file>\n<path>a</path>\n<old_text>\n    a </path> \"q\" \\ \n</old_text>\n<new_text></new_text>\n</edit_file>",
        &[r#"edit_file({"path":"a","old_text":"    a </path> \"q\" \\ ","new_text":""})"#],
    );
    check(
        "<edit_file><path>\n a \n</path><old_text>  x</old_text><new_text>y  </new_text></edit_file>",
        &[r#"edit_file({"path":"a","old_text":"  x","new_text":"y  "})"#],
    );
    check(
        "<write_file><path>doc.md</path><content>\nCall it so:\n<read_file>\n<path>a</path>\n</read_file>\n</content></write_file>",
        &[r#"write_file({"path":"doc.md","content":"Call it so:\n<read_file>\n<path>a</path>\n</read_file>\n"})"#],
    );
    check(
        "<write_file>\r\n<path>a</path>\r\n<content>\r\nx\r\ny\r\n</content>\r\n</write_file>",
        &[r#"write_file({"path":"a","content":"x\r\ny\r\n"})"#],
    );
}

#[test]
fn a_value_with_closing_tags_is_complete_or_the_call_is_refused() {
    for (text, expected) in [
        (
            "<write_file><path>a</path><content>one</content> two</content></write_file>",
            r#"write_file({"path":"a","content":"one</content> two"})"#,
        ),
        (
            "<write_file>\n<path>a</path>\n<content>\nx\n</content>\n<path>b</path>\n</content>\n</write_file>",
            r#"write_file({"path":"a","content":"x\n</content>\n<path>b</path>\n"})"#,
        ),
        (
            "<write_file>\n<content>\nx\n</content>\n<path>b</path>\n</content>\n<path>a</path>\n</write_file>",
            r#"write_file({"content":"x\n</content>\n<path>b</path>\n","path":"a"})"#,
        ),
        (
            "<write_file>\n<path>a</path>\n<content>\n<write_file>\n<path>b</path>\n<content>\nx\n</content>\n</write_file>\nMore.\n</content>\n</write_file>",
            r#"write_file({"path":"a","content":"<write_file>\n<path>b</path>\n<content>\nx\n</content>\n</write_file>\nMore.\n"})"#,
        ),
        (
            "<write_file>\n<path>a</path>\n<content>\nx\n</content>\n</write_file>\n</content>\n</write_file>",
            r#"write_file({"path":"a","content":"x\n</content>\n</write_file>\n"})"#,
        ),
        (
            "<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=content>\nx\n</parameter>\n<parameter=path>\nb\n</parameter>\ny\n</parameter>\n</function>",
            r#"write_file({"path":"a","content":"x\n</parameter>\n<parameter=path>\nb\n</parameter>\ny"})"#,
        ),
        (
            "<terminal><command>echo '</command>' > x</command></terminal>",
            r#"terminal({"command":"echo '</command>' > x"})"#,
        ),
        (
            "<edit_file><path>a</path><old_text>x</old_text><new_text>y</old_text><new_text>z</new_text></edit_file>",
            "edit_file cut off",
        ),
        (
            "<write_file>\n<path>a</path>\n<content>\nx\n</content>\nThanks.\n</write_file>",
            "write_file cut off",
        ),
    ] {
        check(text, &[expected]);
    }
    // A second call that may be part of the first one.
    check(
        "<write_file>\n<path>a</path>\n<content>\nx\n</content>\n</write_file>\n<write_file>\n<path>b</path>\n<content>\ny\n</content>\n</write_file>\n</content>\n</write_file>",
        &[
            "write_file cut off",
            "write_file cut off",
            "\n</content>\n</write_file>",
        ],
    );
}

#[test]
fn invoke_tags_are_parsed() {
    let call = "<PFXinvoke name=\"write_file\">\n<PFXparameter name=\"path\">a</PFXparameter>\n<PFXparameter name=\"content\">\n<p>\nx</p>\n</PFXparameter>\n</PFXinvoke>";
    let expected = r#"write_file({"path":"a","content":"<p>\nx</p>"})"#;
    for prefix in ["", "antml:"] {
        let call = call.replace("PFX", prefix);
        check(&call, &[expected]);
        check(
            &format!("So:\n<{prefix}function_calls>\n{call}\n</{prefix}function_calls>"),
            &["So:", expected],
        );
        check(&format!("{call}\n{call}"), &[expected, expected]);
    }
    check("<invoke name='now'></invoke>", &["now({})"]);
    for text in [
        "<invoke name=\"unknown\"></invoke>",
        "<invoke it",
        "<invoke name=",
        "<invoke>",
        "<function_calls>x",
    ] {
        check(text, &[text]);
    }
}

#[test]
fn entities_are_decoded_if_the_whole_value_is_encoded() {
    for (text, expected) in [
        (
            "<terminal><command>cd a &amp;&amp; ls &gt; out</command></terminal>",
            r#"terminal({"command":"cd a && ls > out"})"#,
        ),
        (
            "<write_file><path>a.c</path><content>if (a &lt; b &amp;&amp; c) {}</content></write_file>",
            r#"write_file({"path":"a.c","content":"if (a < b && c) {}"})"#,
        ),
        (
            "<write_file><path>a.html</path><content>&lt;p&gt;a&lt;/p&gt;</content></write_file>",
            r#"write_file({"path":"a.html","content":"<p>a</p>"})"#,
        ),
        (
            "<write_file><path>a.html</path><content><p>a &amp;&amp; b</p></content></write_file>",
            r#"write_file({"path":"a.html","content":"<p>a &amp;&amp; b</p>"})"#,
        ),
        (
            "<write_file><path>a.md</path><content>Write &amp;&amp; for it.</content></write_file>",
            r#"write_file({"path":"a.md","content":"Write &amp;&amp; for it."})"#,
        ),
        (
            "<write_file><path>a.py</path><content>text = \"&lt;b&gt; &amp;&amp;\"</content></write_file>",
            r#"write_file({"path":"a.py","content":"text = \"&lt;b&gt; &amp;&amp;\""})"#,
        ),
        (
            "<write_file><path>a.js</path><content>a && x.replace('&amp;')</content></write_file>",
            r#"write_file({"path":"a.js","content":"a && x.replace('&amp;')"})"#,
        ),
        (
            "<edit_file><path>a.c</path><old_text>a &amp;&amp; b</old_text><new_text>a &amp;&amp; c</new_text></edit_file>",
            r#"edit_file({"path":"a.c","old_text":"a &amp;&amp; b","new_text":"a &amp;&amp; c"})"#,
        ),
    ] {
        check(text, &[expected]);
    }
}

#[test]
fn numbers_lists_and_objects_are_parsed() {
    check(
        "<read_file><path>a</path><start_line> 10 </start_line><more>[\"b\", \"c:1-2\"]</more></read_file>",
        &[r#"read_file({"path":"a","start_line":10,"more":["b","c:1-2"]})"#],
    );
    check(
        "<read_file><path>a</path><more>b</more><more>c\nd</more></read_file>",
        &[r#"read_file({"path":"a","more":["b","c","d"]})"#],
    );
    check(
        "<edit_file><path>a</path><replace_all>True</replace_all><edits>[{\"old_text\": \"x\", \"new_text\": \"<y>\"},]</edits></edit_file>",
        &[r#"edit_file({"path":"a","replace_all":true,"edits":[{"old_text":"x","new_text":"<y>"}]})"#],
    );
    check(
        "<read_file><path>a</path><start_line>soon</start_line></read_file>",
        &[r#"read_file({"path":"a","start_line":"soon"})"#],
    );
}

#[test]
fn hermes_calls_are_parsed() {
    check(
        "So:\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a<b\", \"start_line\": 2}}\n</tool_call>\n<tool_call>{\"name\": \"now\"}</tool_call>",
        &["So:", r#"read_file({"path":"a<b","start_line":2})"#, "now({})"],
    );
    check(
        "<tool_call>{\"name\": \"terminal\", \"arguments\": \"{\\\"command\\\": \\\"ls\\\"}\"}",
        &[r#"terminal({"command":"ls"})"#],
    );
    for text in [
        "<tool_call>{\"name\": \"unknown\"}</tool_call>",
        "<tool_call>{\"name\": \"read_file\", \"arg",
        "<tool_call>never mind</tool_call> yes",
    ] {
        check(text, &[text]);
    }
}

#[test]
fn qwen_calls_are_parsed() {
    check(
        "So:\n<tool_call>\n<function=read_file>\n<parameter=path>\nsrc/ä.rs\n</parameter>\n<parameter=start_line>\n2\n</parameter>\n</function>\n</tool_call>",
        &["So:", r#"read_file({"path":"src/ä.rs","start_line":2})"#],
    );
    // Several calls, without the outer tag, or with only its end.
    check(
        "<function=now>\n</function>\n<function=terminal><parameter=command>ls</parameter></function></tool_call> and on",
        &["now({})", r#"terminal({"command":"ls"})"#, " and on"],
    );
    check(
        "<tool_call>\n<function=terminal>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>",
        &[r#"terminal({"command":"ls"})"#, "now({})"],
    );
    // Code needs no escaping, and a value may contain its own closing tag.
    check(
        "<function=write_file>\n<parameter=path>\na.html\n</parameter>\n<parameter=content>\n<p>\nif a < b</p>\n</parameter> is no end\n\n</parameter>\n</function>",
        &[r#"write_file({"path":"a.html","content":"<p>\nif a < b</p>\n</parameter> is no end\n"})"#],
    );
    // Spaces and quotes, a list in lines, and a missing end.
    check(
        "<function = \"read_file\">\n<parameter = path>a</parameter>\n<parameter=more>\nb\nc\n</parameter>\n",
        &[r#"read_file({"path":"a","more":["b","c"]})"#],
    );
    check(
        "<tool_call>\n<function=terminal>\n<parameter=command>\nls\n</function>\n</tool_call>",
        &[r#"terminal({"command":"ls"})"#],
    );
    for text in [
        "<function=unknown>\n<parameter=path>a</parameter>\n</function>",
        "<tool_call>\n<function=unknown>\n</function>\n</tool_call>",
        "Write `<function=now></function>` for it.",
        "the <function= of it",
        "<function",
        "<function=read_fi",
        "<tool_call>\n<func",
    ] {
        check(text, &[text]);
    }
    let (cut, stop) = read_pieces(["<function=terminal><parameter=command>rm -r"], Stop::MaxTokens);
    assert_eq!(
        (emitted(&cut), stop),
        (vec!["terminal cut off".into()], Some(Stop::MaxTokens))
    );
}

#[test]
fn a_long_value_in_qwens_tags_is_streamed() {
    let mut reader = TextCallParser::new(grammar(), "r");
    let mut out = Vec::new();
    for piece in [
        "<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=con",
        "tent>\none\n",
        "two",
    ] {
        reader.push(Chunk::Text(piece.into()), &mut out);
    }
    let emitted: String = out
        .iter()
        .map(|chunk| match chunk {
            Chunk::ToolInput { delta, .. } => delta.as_str(),
            _ => "",
        })
        .collect();
    assert_eq!(emitted, r#"{"path":"a","content":"one\ntwo"#);
}

#[test]
fn missing_end_tags_and_text_between_parameters_are_tolerated() {
    check(
        "<read_file>\n<path>a</path>\nthat is the path\n",
        &[r#"read_file({"path":"a"})"#],
    );
    check(
        "<read_file><path>a</path><read_file><path>b</path></read_file>",
        &[r#"read_file({"path":"a"})"#, r#"read_file({"path":"b"})"#],
    );
    check(
        "<terminal><command>ls -l</terminal>\n",
        &[r#"terminal({"command":"ls -l"})"#],
    );
    check(
        "<terminal><command>ls</command><why>to see</why></terminal>",
        &[r#"terminal({"command":"ls","why":"to see"})"#],
    );
}

#[test]
fn unknown_parameters_may_follow_each_other() {
    check(
        "<terminal><diff>\na\nb\n</diff>\n<why>\nc\nd\n</why>\n</terminal>",
        &[r#"terminal({"diff":"a\nb","why":"c\nd"})"#],
    );
}

#[test]
fn a_truncated_call_is_reported_and_not_run() {
    let text = "<write_file><path>a</path><content>half of";
    for stop in [Stop::MaxTokens, Stop::End] {
        let (message, reported_stop) = read_pieces([text], stop.clone());
        assert_eq!(emitted(&message), ["write_file cut off"]);
        assert_eq!(
            reported_stop,
            Some(if stop == Stop::End { Stop::ToolUse } else { stop })
        );
        assert_eq!(with_text_calls(Arc::new(message)).parts, [Part::text(text)]);
    }
    // At the limit it is unknown whether more parameters would have followed.
    let (message, _) = read_pieces(["<terminal><command>rm -r x</command>"], Stop::MaxTokens);
    assert_eq!(emitted(&message), ["terminal cut off"]);
}

#[test]
fn tagged_thinking_is_thinking_and_calls_in_it_are_ignored() {
    check(
        "<thinking>Perhaps <read_file><path>a</path></read_file>?</thinking>\n\n<now/>",
        &["(Perhaps <read_file><path>a</path></read_file>?)", "now({})"],
    );
    let (message, _) = read_pieces(["So.\n<think>hm</think>\n\nYes."], Stop::End);
    assert_eq!(emitted(&message), ["So.", "(hm)", "\n\nYes."]);
    assert_eq!(
        with_text_calls(Arc::new(message)).parts,
        [Part::text("So.\n<think>hm</think>\n\nYes.")]
    );
}

#[test]
fn invented_results_and_everything_after_are_ignored() {
    check(
        "<now></now>\n<tool_result tool=\"now\">\n12:00\n</tool_result>\nIt is noon. <now></now>",
        &["now({})"],
    );
}

#[test]
fn a_reply_with_calls_waits_for_results_and_other_chunks_pass_through() {
    assert_eq!(read_pieces(["<now/>"], Stop::End).1, Some(Stop::ToolUse));
    assert_eq!(read_pieces(["now"], Stop::End).1, Some(Stop::End));
    let mut reader = TextCallParser::new(grammar(), "r");
    let mut out = Vec::new();
    for chunk in [
        Chunk::Text("a <".into()),
        Chunk::Thinking("t".into()),
        Chunk::Usage(model::Usage::default()),
        Chunk::Text("b".into()),
    ] {
        reader.push(chunk, &mut out);
    }
    let expected = [
        Chunk::Text("a".into()),
        Chunk::Text(" <".into()),
        Chunk::Thinking("t".into()),
        Chunk::Usage(model::Usage::default()),
        Chunk::Text("b".into()),
    ];
    assert_eq!(out, expected);
}

#[test]
fn canonical_calls_are_not_stored_twice() {
    let replay = |text: &str| {
        read(text).parts.into_iter().find_map(|part| match part {
            Part::ToolCall { replay, .. } => Some(replay),
            _ => None,
        })
    };
    let usual = "<write_file>\n<path>a</path>\n<content>\nx\ny\n</content>\n</write_file>";
    for text in [
        usual.to_owned(),
        format!("Words.\n\n{usual}\n"),
        usual.replace("\nx\ny\n", "z"),
    ] {
        assert_eq!(replay(&text), Some(None), "{text}");
    }
    assert!(replay(&usual.replace("<path>a", "<path> a")).unwrap().is_some());
}

#[test]
fn values_are_streamed() {
    let mut reader = TextCallParser::new(grammar(), "r");
    let mut out = Vec::new();
    reader.push(
        Chunk::Text("<write_file><path>a</path><content>\none\ntw".into()),
        &mut out,
    );
    let json: String = out
        .iter()
        .filter_map(|chunk| match chunk {
            Chunk::ToolInput { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(json, r#"{"path":"a","content":"one\ntw"#);
}

/// Pieces of text that can combine into almost anything.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "<",
            ">",
            "/",
            "</",
            "\n",
            " ",
            "`",
            "a",
            "ä",
            "{",
            "\"",
            "\r\n",
            "<now/>",
            "<read_file>",
            "</read_file>",
            "<path>",
            "</path>",
            "<write_file>",
            "</write_file>",
            "<content>",
            "</content>",
            "<think>",
            "</think>",
            "<tool_result tool=\"x\">",
            "<more>",
            "</more>",
            "<edit_file>",
            "<old_text>",
            "</old_text>",
            "<new_text>",
            "</new_text>",
            "</edit_file>",
            "<tool_call>",
            "</tool_call>",
            "<function=now>",
            "<function=write_file>",
            "</function>",
            "<parameter=content>",
            "</parameter>",
            "{\"name\":\"now\"}",
            "<b>",
        ])
        .prop_map(String::from),
        "[a-z<>/ ]{0,6}",
    ]
}

proptest! {
    #[test]
    fn a_reply_parses_the_same_wherever_it_is_split(
        fragments in prop::collection::vec(fragment(), 0..24),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let text = fragments.concat();
        let whole = read(&text);
        let mut positions: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|at| text.is_char_boundary(*at)).collect();
        positions.extend([0, text.len()]);
        positions.sort_unstable();
        let pieces = positions.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        prop_assert_eq!(&read_pieces(pieces, Stop::End).0, &whole);
        let letters: Vec<String> = text.chars().map(String::from).collect();
        prop_assert_eq!(&read_pieces(letters.iter().map(String::as_str), Stop::End).0, &whole);
    }

    /// The content of a value affects neither its end nor other parameters.
    #[test]
    fn a_call_with_any_content_is_the_same_or_refused(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "</content>", "<content>", "</write_file>", "<path>b</path>", "</path>", "<path>", "\n", "x", " ", "&gt", "`",
            "</old_text>", "<new_text>", "</parameter>", "<parameter=path>b</parameter>", "</function>", "```", "</tool_call>",
        ]), 0..8),
        form in 0..3_usize,
        is_first in any::<bool>(),
    ) {
        let content = pieces.concat();
        let (path, content_tag) = match form {
            0 => ("<path>a</path>".to_owned(), format!("<content>\n{content}\n</content>")),
            1 => ("<parameter=path>a</parameter>".to_owned(), format!("<parameter=content>\n{content}\n</parameter>")),
            _ => ("<parameter name=\"path\">a</parameter>".to_owned(), format!("<parameter name=\"content\">\n{content}\n</parameter>")),
        };
        let inside = if is_first { format!("{path}\n{content_tag}") } else { format!("{content_tag}\n{path}") };
        let text = match form {
            0 => format!("<write_file>\n{inside}\n</write_file>"),
            1 => format!("<function=write_file>\n{inside}\n</function>"),
            _ => format!("<invoke name=\"write_file\">\n{inside}\n</invoke>"),
        };
        let whole = if form == 0 { format!("{content}\n") } else { content.clone() };
        for part in &read(&text).parts {
            if let Part::ToolCall { input, malformed: None, .. } = part {
                prop_assert_eq!(input["path"].as_str(), Some("a"), "{}", text);
                prop_assert_eq!(input["content"].as_str(), Some(whole.as_str()), "{}", text);
            }
        }
    }

    #[test]
    fn a_rendered_call_parses_to_the_same_call(
        path in "[a-z./]{1,8}",
        content in "([a-z <>&\"\\\\]{0,6}\n?){0,5}",
        old in "([a-z <>]{0,6}\n?){0,4}",
        line in any::<i32>(),
    ) {
        for (name, input) in [
            ("write_file", json!({"path": path, "content": content})),
            ("edit_file", json!({"path": path, "old_text": old, "new_text": content})),
            ("read_file", json!({"path": path, "start_line": line})),
        ] {
            let message = read(&render::call(name, &input));
            prop_assert_eq!(emitted(&message), vec![format!("{name}({input})")]);
        }
    }
}
