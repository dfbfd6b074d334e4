//! Sessions and file history in SQLite.
