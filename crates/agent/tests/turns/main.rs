//! Whole turns in memory: a scripted model, real loop, small tools, a store that keeps everything in a list.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ends;
mod hooks;
mod memory;
mod modes;
mod panels;
mod permissions;
mod prompts;
mod room;
mod spending;
mod stops;
mod subtasks;
mod surroundings;
mod tools;
mod wakes;
mod world;
