//! How a model calls tools: natively, or in the text of its reply.

mod catalogue;
mod fences;
mod grammar;
mod hermes;
mod model_tokens;
mod parser;
mod readings;
mod render;
mod syntax;
mod tags;
mod text_call;
mod value;
mod written;
mod written_edits;

pub use grammar::CallGrammar;
pub use parser::{AMBIGUOUS_CALL, TextCallParser};
pub use written::{CallPlacement, WrittenCall, resembles_call, written_calls};
pub use written_edits::{WrittenChanges, written_changes};

pub(crate) use catalogue::tool_catalogue;
pub(crate) use render::{with_direct_calls, with_text_calls};
pub(crate) use written_edits::{edit_of_file, is_path, quoted_lines};

use model::{CallId, Info, Message};

/// Marks replay data that reproduces a reply as the model wrote it.
const WIRE: &str = "xml";
/// The tag around results.
const RESULT: &str = "tool_result";

/// How a model calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallProtocol {
    /// Natively, through the provider's API.
    #[default]
    Native,
    /// As XML in its text, for models without native tool calls.
    Xml,
}

/// Asks the model to repeat a call that could not be understood.
pub fn unusable_call_message() -> Message {
    Message::user(
        "Your last reply looks like a tool call, but it could not be understood, and nothing was done. If you want to call a tool, write the whole call and nothing else, in this form:\n\n<tool_name>\n<parameter_name>value</parameter_name>\n</tool_name>\n\nIf you are done, answer in plain words.",
    )
}

/// Asks the model to continue after an empty reply. The same request would get the same reply at temperature 0.
pub fn empty_reply_message() -> Message {
    Message::user("Your last reply was empty. Call a tool to continue with the task, or give your final answer.")
}

/// The id of the `n`th change or command that a small model wrote directly in the reply to a request.
pub fn direct_call_id(request: &str, n: usize) -> CallId {
    CallId::from(format!("{request}{DIRECT}{n}"))
}

/// Whether a call is a change or a command that a small model wrote directly in its reply.
pub(crate) fn is_direct_call(id: &CallId) -> bool {
    let number = id.as_str().rsplit_once(DIRECT).map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Separates the request from the number in the id of a direct call.
const DIRECT: &str = "-direct";

/// Returns the tool if a user text is the result of a call.
pub(crate) fn result_of(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('<')?.strip_prefix(RESULT)?.strip_prefix(" tool=\"")?;
    rest.split('"').next()
}

impl CallProtocol {
    /// Returns the protocol of a model.
    pub fn of(info: &Info) -> Self {
        match info.features.tools {
            true => CallProtocol::Native,
            false => CallProtocol::Xml,
        }
    }

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            CallProtocol::Native => "native",
            CallProtocol::Xml => "xml",
        }
    }
}
