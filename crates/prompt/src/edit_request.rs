//! Asks a second model to carry out a change of one file that the first one has only described.

use model::{Breakpoint, Effort, Message, Request};
use std::fmt::Write as _;
use std::sync::Arc;

/// How the model is asked to write its edits down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EditForm {
    /// `<old_text line=N>` and `<new_text>` tags.
    Xml,
    /// `<<<<<<< SEARCH line=N` blocks.
    SearchReplace,
    /// `*** Begin Patch`.
    ApplyPatch,
    /// The whole file in a code fence.
    Whole,
}

/// A change that was described.
#[derive(Debug, Clone, Copy)]
pub struct EditTask<'a> {
    /// The file, as the model shall call it.
    pub path: &'a str,
    /// What it holds; nothing when it is to be created, for which every form is [`EditForm::Whole`].
    pub content: Option<&'a str>,
    /// What to do.
    pub instructions: &'a str,
    /// How to write it down.
    pub form: EditForm,
}

/// The request that asks for the edits. What stays the same for every file comes first.
pub fn edit_request(task: &EditTask<'_>) -> Request {
    Request {
        system: vec![template(task).trim_end().into()],
        messages: vec![Arc::new(Message::user(question(task)))].into(),
        breakpoints: vec![Breakpoint::Message(0)],
        effort: Some(Effort::Low),
        ..Request::default()
    }
}

/// The request that follows a reply whose edits could not be made. It extends the first one, so that its prefix is cached.
pub fn edit_retry(mut request: Request, reply: &str, refusal: &str) -> Request {
    let answer = match reply.trim().is_empty() {
        // An empty message is refused by some providers.
        true => "(nothing)",
        false => reply,
    };
    let told = include_str!("../templates/edit-retry.md").replace("{{refusal}}", refusal);
    let messages = Arc::make_mut(&mut request.messages);
    messages.push(Arc::new(Message::assistant(answer)));
    messages.push(Arc::new(Message::user(told.trim_end())));
    request
}

fn template(task: &EditTask<'_>) -> &'static str {
    match (task.content, task.form) {
        (None, _) => include_str!("../templates/edit-create.md"),
        (Some(_), EditForm::Xml) => include_str!("../templates/edit-xml.md"),
        (Some(_), EditForm::SearchReplace) => include_str!("../templates/edit-search-replace.md"),
        (Some(_), EditForm::ApplyPatch) => include_str!("../templates/edit-apply-patch.md"),
        (Some(_), EditForm::Whole) => include_str!("../templates/edit-whole.md"),
    }
}

fn question(task: &EditTask<'_>) -> String {
    let path = task.path;
    let file = task.content.map(|content| {
        let shown = match task.form {
            EditForm::Xml | EditForm::SearchReplace => numbered(content),
            EditForm::ApplyPatch | EditForm::Whole => content.to_owned(),
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

/// Each line with its number, for forms in which the model says where its edit goes.
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

    fn task(form: EditForm, content: Option<&str>) -> Request {
        edit_request(&EditTask {
            path: "src/a.rs",
            content,
            instructions: "Rename b to c.\n",
            form,
        })
    }

    #[test]
    fn the_file_is_shown_with_numbers_only_where_the_form_asks_for_lines() {
        let plain = "<file path=\"src/a.rs\">\na\nb\n</file>\n\nChange `src/a.rs` as follows:\n\nRename b to c.";
        let numbered = plain.replace("\na\nb\n", "\n1\ta\n2\tb\n");
        for (form, mark, question) in [
            (EditForm::Xml, "<old_text line=", numbered.as_str()),
            (EditForm::SearchReplace, "<<<<<<< SEARCH line=", &numbered),
            (EditForm::ApplyPatch, "*** Update File: ", plain),
            (EditForm::Whole, "````", plain),
        ] {
            let request = task(form, Some("a\nb"));
            assert!(request.system[0].contains(mark), "{form:?}");
            assert_eq!(request.messages[0].text(), question, "{form:?}");
            assert!(request.system[0].len() < 1_600, "{form:?}");
        }
    }

    #[test]
    fn a_new_file_is_asked_for_as_a_whole_whatever_the_form() {
        let requests = [task(EditForm::Xml, None), task(EditForm::Whole, None)];
        assert_eq!(requests[0].system, requests[1].system);
        assert_eq!(
            requests[0].messages[0].text(),
            "Create `src/a.rs` as follows:\n\nRename b to c."
        );
        assert!(requests[0].system[0].contains("````"));
    }

    #[test]
    fn a_retry_extends_the_request_and_tells_what_was_wrong() {
        let first = task(EditForm::Xml, Some("a\n"));
        let second = edit_retry(first.clone(), "", "Edit 1: the old text is not in the file.");
        assert!(Arc::ptr_eq(&first.messages[0], &second.messages[0]));
        assert_eq!(second.messages[1].text(), "(nothing)");
        let told = second.messages[2].text();
        assert!(told.contains("the old text is not in the file."), "{told}");
        assert!(!told.contains("{{"), "{told}");
    }
}
