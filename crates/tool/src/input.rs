//! The input of a call.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, OnceLock, PoisonError};

use policy::Action;
use serde::de::{Deserializer, Visitor};
use serde_json::Value;

use crate::{ApprovedActions, Error};

/// The input of a call: the JSON value, and its typed form once the tool has parsed it.
pub struct CallInput {
    value: Value,
    parsed: OnceLock<Result<Box<dyn Any + Send + Sync>, Error>>,
    /// The actions that the tool reported last.
    actions: Mutex<ApprovedActions>,
}

impl CallInput {
    /// Stores the actions that are submitted for approval.
    pub(crate) fn submit(&self, actions: &[Action]) {
        *self.actions.lock().unwrap_or_else(PoisonError::into_inner) = ApprovedActions::of(actions);
    }

    /// The actions that were submitted last, so that only these are performed.
    pub(crate) fn submitted(&self) -> ApprovedActions {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The typed input. `parse` runs at the first use only.
    pub(crate) fn parsed<T: Send + Sync + 'static>(
        &self,
        parse: impl FnOnce(&Value) -> Result<T, Error>,
    ) -> Result<&T, Error> {
        let parsed = self
            .parsed
            .get_or_init(|| parse(&self.value).map(|input| Box::new(input) as Box<dyn Any + Send + Sync>));
        match parsed {
            Ok(input) => input.downcast_ref().ok_or_else(other_tool),
            Err(error) => Err(error.clone()),
        }
    }

    /// Takes the typed input.
    pub(crate) fn into_parsed<T: Send + Sync + 'static>(
        self,
        parse: impl FnOnce(&Value) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self.parsed.into_inner() {
            Some(Ok(input)) => input.downcast().map(|input| *input).map_err(|_| other_tool()),
            Some(Err(error)) => Err(error),
            None => parse(&self.value),
        }
    }
}

/// Deserializes optional text that may be empty. Without it, empty text in an optional argument means that it is absent.
pub fn optional_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct OptionalText;

    impl Visitor<'_> for OptionalText {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(text.to_owned()))
        }

        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(OptionalText)
}

fn other_tool() -> Error {
    Error::Failed("the input was parsed by another tool".into())
}

impl From<Value> for CallInput {
    fn from(value: Value) -> Self {
        CallInput {
            value,
            parsed: OnceLock::new(),
            actions: Mutex::default(),
        }
    }
}

impl Deref for CallInput {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}

impl fmt::Debug for CallInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
