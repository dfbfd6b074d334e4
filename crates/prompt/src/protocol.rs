//! How a model calls tools: by the provider's own means, or in the text of its reply.

use model::Info;

/// How a model calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// By the provider's own means.
    #[default]
    Native,
    /// As XML in its text, for models that know no other way.
    Xml,
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
