//! Whole turns in memory: a scripted model, real loop, small tools, a store that keeps everything in a list.

mod ends;
mod memory;
mod stops;
mod tools;
mod world;
