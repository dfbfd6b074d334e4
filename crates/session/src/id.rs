//! Identifiers and time.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::SystemTime;
use uuid::{NoContext, Timestamp, Uuid};

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new id that sorts after all earlier ones.
            pub fn new() -> Self {
                $name(later())
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name::new()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::from_str(text).map($name)
            }
        }
    };
}

/// An id that sorts after all earlier ones. If the clock is before 1970, only the order is lost.
fn later() -> Uuid {
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(_) => Uuid::now_v7(),
        Err(_) => Uuid::new_v7(Timestamp::from_unix(NoContext, 0, 0)),
    }
}

identifier!(
    /// Id of a session.
    SessionId
);
identifier!(
    /// Id of an item.
    ItemId
);
identifier!(
    /// Id of a request to a model.
    RequestId
);
identifier!(
    /// Id of a question to the user.
    QuestionId
);

identifier!(
    /// Id of a queued prompt.
    QueuedPromptId
);

/// Id of a blob: the hash of its content.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(pub Arc<str>);

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);
