//! How a model calls tools: by the provider's own means, or in the text of its reply.

mod catalogue;
mod form;
mod grammar;
mod hermes;
mod reader;
mod tags;
mod value;
mod written;

pub use grammar::Grammar;
pub use reader::Reader;

pub(crate) use catalogue::catalogue;
pub(crate) use written::written;

use model::Info;

/// What marks the data that is kept to write a reply again as the model wrote it.
const WIRE: &str = "xml";
/// The tag around results.
const RESULT: &str = "tool_result";

/// How a model calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// By the provider's own means.
    #[default]
    Native,
    /// As XML in its text, for models that know no other way.
    Xml,
}

/// The tool whose result a text of the person's is, where it is one.
pub(crate) fn result_of(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('<')?.strip_prefix(RESULT)?.strip_prefix(" tool=\"")?;
    rest.split('"').next()
}

impl Protocol {
    /// The protocol of a model: what is known about it decides.
    pub fn of(info: &Info) -> Self {
        match info.features.tools {
            true => Protocol::Native,
            false => Protocol::Xml,
        }
    }

    /// Its name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Native => "native",
            Protocol::Xml => "xml",
        }
    }
}
