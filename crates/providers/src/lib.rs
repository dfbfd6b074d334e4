//! Each vendor's HTTP dialect.
