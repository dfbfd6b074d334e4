//! Requests that let a second model apply a described change to one file.

use model::{Breakpoint, Effort, Message, Request, ToolChoice};
use std::fmt::Write as _;
use std::sync::Arc;

/// Format of the edits in the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EditReplyFormat {
    /// `<old_text line=N>` and `<new_text>` tags.
    Xml,
    /// `<<<<<<< SEARCH line=N` blocks.
    SearchReplace,
    /// `*** Begin Patch`.
    ApplyPatch,
    /// The whole file in a code fence.
    Whole,
}

/// A described change.
#[derive(Debug, Clone, Copy)]
pub struct EditInstruction<'a> {
    /// Path of the file, as shown to the model.
    pub path: &'a str,
    /// Content of the file; `None` for a new file, which always uses [`EditReplyFormat::Whole`].
    pub content: Option<&'a str>,
    /// The instructions.
    pub instructions: &'a str,
    /// The format of the edits.
    pub form: EditReplyFormat,
}

/// Builds the request. The constant part comes first. With the conversation in which the change was requested, it extends
/// the conversation's request, so that their common prefix is cached.
pub fn edit_request(task: &EditInstruction<'_>, conversation: Option<&Request>) -> Request {
    if let Some(conversation) = conversation {
        let introduction = include_str!("../templates/edit-conversation.md").trim_end();
        let text = format!("{introduction}\n\n{}\n\n{}", template(task).trim_end(), question(task));
        let mut messages = Vec::clone(&conversation.messages);
        messages.push(Arc::new(Message::user(text)));
        let mut breakpoints = conversation.breakpoints.clone();
        breakpoints.push(Breakpoint::Message(messages.len() - 1));
        return Request {
            messages: messages.into(),
            breakpoints,
            tool_choice: ToolChoice::None,
            output_schema: None,
            ..conversation.clone()
        };
    }
    Request {
        system: vec![template(task).trim_end().into()],
        messages: vec![Arc::new(Message::user(question(task)))].into(),
        breakpoints: vec![Breakpoint::Message(0)],
        effort: Some(Effort::Low),
        ..Request::default()
    }
}

/// Builds the follow-up request after edits that could not be applied. It extends the first request, so that its prefix
/// is cached.
pub fn edit_retry(mut request: Request, reply: &str, refusal: &str) -> Request {
    let answer = match reply.trim().is_empty() {
        // Some providers reject an empty message.
        true => "(nothing)",
        false => reply,
    };
    let message = include_str!("../templates/edit-retry.md").replace("{{refusal}}", refusal);
    let messages = Arc::make_mut(&mut request.messages);
    messages.push(Arc::new(Message::assistant(answer)));
    messages.push(Arc::new(Message::user(message.trim_end())));
    request
}

fn template(task: &EditInstruction<'_>) -> &'static str {
    match (task.content, task.form) {
        (None, _) => include_str!("../templates/edit-create.md"),
        (Some(_), EditReplyFormat::Xml) => include_str!("../templates/edit-xml.md"),
        (Some(_), EditReplyFormat::SearchReplace) => include_str!("../templates/edit-search-replace.md"),
        (Some(_), EditReplyFormat::ApplyPatch) => include_str!("../templates/edit-apply-patch.md"),
        (Some(_), EditReplyFormat::Whole) => include_str!("../templates/edit-whole.md"),
    }
}

fn question(task: &EditInstruction<'_>) -> String {
    let path = task.path;
    let file = task.content.map(|content| {
        let shown = match task.form {
            EditReplyFormat::Xml | EditReplyFormat::SearchReplace => numbered(content),
            EditReplyFormat::ApplyPatch | EditReplyFormat::Whole => content.to_owned(),
        };
        let end = if shown.is_empty() || shown.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!("<file path=\"{path}\">\n{shown}{end}</file>\n\n")
    });
    let what = match task.content {
        Some(_) => "Change",
        None => "Create",
    };
    let instructions = task.instructions.trim();
    format!(
        "{}{what} `{path}` as follows:\n\n{instructions}",
        file.unwrap_or_default()
    )
}

/// Adds line numbers, for formats in which edits name a line.
fn numbered(content: &str) -> String {
    let mut text = String::with_capacity(content.len() + content.len() / 8);
    for (index, line) in content.lines().enumerate() {
        // Writing to a string cannot fail.
        writeln!(text, "{}\t{line}", index + 1).ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(form: EditReplyFormat, content: Option<&str>) -> Request {
        edit_request(
            &EditInstruction {
                path: "src/a.rs",
                content,
                instructions: "Rename b to c.\n",
                form,
            },
            None,
        )
    }

    #[test]
    fn the_request_extends_the_conversation() {
        let conversation = Request {
            system: vec!["system".into()],
            messages: vec![Arc::new(Message::user("Please rename it."))].into(),
            breakpoints: vec![Breakpoint::System(0)],
            ..Request::default()
        };
        let task = EditInstruction {
            path: "a",
            content: Some("x\n"),
            instructions: "Do it.",
            form: EditReplyFormat::Xml,
        };
        let request = edit_request(&task, Some(&conversation));
        assert_eq!(request.system, conversation.system);
        assert!(Arc::ptr_eq(&request.messages[0], &conversation.messages[0]));
        let question = request.messages[1].text();
        for part in ["<old_text line=", "<file path=\"a\">", "Do it.", "no tool"] {
            assert!(question.contains(part), "{question}");
        }
        assert_eq!(request.breakpoints, [Breakpoint::System(0), Breakpoint::Message(1)]);
        assert_eq!(request.tool_choice, ToolChoice::None);
    }

    #[test]
    fn the_file_has_line_numbers_only_for_formats_that_need_them() {
        let plain = "<file path=\"src/a.rs\">\na\nb\n</file>\n\nChange `src/a.rs` as follows:\n\nRename b to c.";
        let numbered = plain.replace("\na\nb\n", "\n1\ta\n2\tb\n");
        for (form, mark, question) in [
            (EditReplyFormat::Xml, "<old_text line=", numbered.as_str()),
            (EditReplyFormat::SearchReplace, "<<<<<<< SEARCH line=", &numbered),
            (EditReplyFormat::ApplyPatch, "*** Update File: ", plain),
            (EditReplyFormat::Whole, "````", plain),
        ] {
            let request = task(form, Some("a\nb"));
            assert!(request.system[0].contains(mark), "{form:?}");
            assert_eq!(request.messages[0].text(), question, "{form:?}");
            assert!(request.system[0].len() < 1_600, "{form:?}");
        }
    }

    #[test]
    fn a_new_file_is_always_requested_as_a_whole() {
        let requests = [task(EditReplyFormat::Xml, None), task(EditReplyFormat::Whole, None)];
        assert_eq!(requests[0].system, requests[1].system);
        assert_eq!(
            requests[0].messages[0].text(),
            "Create `src/a.rs` as follows:\n\nRename b to c."
        );
        assert!(requests[0].system[0].contains("````"));
    }

    #[test]
    fn a_retry_extends_the_request_with_the_error() {
        let first = task(EditReplyFormat::Xml, Some("a\n"));
        let second = edit_retry(first.clone(), "", "Edit 1: the old text is not in the file.");
        assert!(Arc::ptr_eq(&first.messages[0], &second.messages[0]));
        assert_eq!(second.messages[1].text(), "(nothing)");
        let message = second.messages[2].text();
        assert!(message.contains("the old text is not in the file."), "{message}");
        assert!(!message.contains("{{"), "{message}");
    }
}
