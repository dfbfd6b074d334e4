//! Talks to language servers: starts the right one for a file, keeps its documents in step, and asks it about code.
//!
//! [`Servers`] holds all servers of a project. None runs until a file of its language is needed; none is waited for longer
//! than [`Limits`] say; one that dies is started again, later each time. What a server wants to change is handed back as
//! [`Rewrite`]s: here nothing is ever written.

mod ask;
mod connection;
mod error;
mod frame;
mod heard;
mod server;
mod servers;
mod table;
mod text;

pub use ask::{At, Named, Rewrite, Spot};
pub use error::Error;
pub use heard::{Finding, Severity};
pub use servers::{Before, Limits, Servers, Status};
pub use table::{Spec, known};
