//! Round trips of every row.
