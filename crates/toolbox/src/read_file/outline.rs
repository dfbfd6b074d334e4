//! What stands in for a file that is too long to be shown whole: its definitions, with their lines.

use workspace::Location;

/// The outline of a file, where its language is known.
pub(super) fn of(_file: &Location, _total: usize) -> Option<String> {
    None
}
