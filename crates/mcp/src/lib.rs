//! Talks to MCP servers: their tools, resources and prompts, over every transport.
//!
//! [`Servers`] are made of [`Definition`]s, which come from hew's own configuration or from files of other programs
//! ([`read`]). They are guests among the tools: what they offer is remembered between runs, so that a server is started
//! only when one of its tools is called, and the model is told the same every time. A server that nobody has seen yet is
//! started in the background and announced when it is there.

mod auth;
mod calls;
mod carrier;
mod connect;
mod content;
mod definition;
mod elicit;
mod error;
mod expand;
mod handler;
mod import;
mod log;
mod name;
mod offer;
mod resource;
mod sample;
mod served;
mod server;
mod servers;
mod shelf;
mod sse;
mod surroundings;

pub use auth::login;
pub use definition::{Definition, Hints, OAuth, Sampling, TIMEOUT, Transport};
pub use error::Error;
pub use expand::{Variables, expand};
pub use import::{PROJECT_FILES, read};
pub use offer::{Argument, Offer, PromptOffer, ResourceOffer, ToolOffer};
pub use server::State;
pub use servers::{Prompt, Servers, Status};
pub use shelf::{Shelf, What};
pub use surroundings::{Offers, Surroundings, Web};
