//! Stories about what is allowed, asked about and denied.

mod bypasses;
mod desk;
mod modes;
mod permissions;
mod properties;
mod roo;
