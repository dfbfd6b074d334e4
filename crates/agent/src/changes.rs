//! Stores the files changed by tools.

use bytes::Bytes;
use session::{Change, Store};
use tool::UnsavedChange;

/// Stores both versions of a changed path.
pub(crate) fn store_change(store: &dyn Store, change: UnsavedChange) -> Change {
    change.map(|version| version.store(|bytes| store.put_blob(Bytes::from(bytes))))
}
