//! The project on disk: read, write, ignore, search.
