//! Each tool at work in a temporary project, called as a model calls it.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test prepares files, and a failed preparation is a failed test"
)]

mod browsing;
mod coding;
mod describing;
mod desk;
mod diagnosing;
mod editing;
mod escalating;
mod fetching;
mod finding;
mod jobs;
mod minding;
mod offering;
mod painting;
mod patching;
mod paths;
mod previewing;
mod reading;
mod searching;
mod searching_the_web;
mod seeds;
mod showing;
mod site;
mod terminal;
