//! Draws a session in the terminal and turns keys into commands.
//!
//! What is finished goes into the terminal's own history, where it can be scrolled, marked and searched as anything else;
//! what still changes is drawn in a live region below it. [`House`] is everything the front end needs besides commands and
//! events.

mod app;
mod approval;
#[doc(hidden)]
pub mod bench;
mod composer;
mod conversation;
mod diff;
mod draw;
mod fuzzy;
mod house;
mod input;
mod keys;
mod markdown;
mod row;
#[cfg(unix)]
mod run;
#[cfg(test)]
mod scenes;
mod screen;
mod slash;
#[cfg(test)]
mod stage;
mod state;
mod status;
mod terminal;
mod theme;
mod view;
mod views;
pub mod words;

pub use house::{
    Access, Choice, Clip, Contents, Done, Facts, FileChanges, Health, House, Hunk, Job, Keep, Later, Opened, Provider,
    Remedy, Rule, Server, Setting, Token, Trouble, Verdict, Which, unavailable,
};
pub use keys::{Binding, Context, Deed, Error as KeyError, Key, Keys, Press, Stroke, markdown as keys_markdown};
#[cfg(unix)]
pub use run::{Ended, Options, run};
pub use screen::{Depth, Pictures, Reflow};
pub use theme::{Error as ThemeError, NAMES as THEMES, ROLES, Spec, Theme};
