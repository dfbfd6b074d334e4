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
            /// A new one, later than all before it.
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

/// An id later than all before it. A clock that stands before 1970 only costs the order.
fn later() -> Uuid {
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(_) => Uuid::now_v7(),
        Err(_) => Uuid::new_v7(Timestamp::from_unix(NoContext, 0, 0)),
    }
}

identifier!(
    /// Names a session.
    SessionId
);
identifier!(
    /// Names an item of a session.
    ItemId
);
identifier!(
    /// Names a request to a model.
    RequestId
);
identifier!(
    /// Names a question to the person.
    QuestionId
);

identifier!(
    /// Names a prompt that waits for its turn.
    WaitingId
);

/// Names bytes by their content.
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
