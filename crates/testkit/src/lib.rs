//! A scripted model server over real HTTP, other web servers, throw-away projects, and a runner for the binary under test.
//!
//! ```no_run
//! use serde_json::json;
//! use testkit::{Fault, Script, Server, Turn};
//!
//! # async fn story() -> Result<(), testkit::Error> {
//! let script = Script::new()
//!     .turn(Turn::text("I will look.").call("read_file", json!({"path": "a.txt"})))
//!     .turn(Turn::text("It says hello.").fails(Fault::rate_limit(), 1));
//! let server = Server::start(script).await?;
//! println!("{}", server.url());
//! # Ok(())
//! # }
//! ```
//!
//! The same script as JSON, for `Script::from_json` and the `scripted` binary:
//!
//! ```json
//! {"turns": [
//!   {"text": "I will look.", "calls": [{"name": "read_file", "input": {"path": "a.txt"}}]},
//!   {"text": "It says hello.", "faults": [{"fault": {"rate_limit": {}}, "times": 1}]}
//! ]}
//! ```
//!
//! Which turn a request gets is read off the request (see [`Order`]), so retries and restarts do not confuse the
//! server; requests without tools get a title and take no turn. Requests are checked as strictly as the vendors do and
//! refused in their words. Thoughts are signed, and have to come back as they went.

mod cache;
mod check;
mod chromium;
mod discovery;
mod error;
mod eventstream;
mod exchange;
mod fault;
mod hew;
mod pace;
mod plain;
mod play;
mod pour;
mod project;
mod record;
mod refusal;
mod script;
mod seal;
mod seen;
mod server;
mod site;
mod socket;
mod tmux;
mod wire;

pub use chromium::chromium;
pub use error::Error;
pub use fault::{Fault, Place, Planned, Times};
pub use hew::{Hew, Output, Running};
pub use pace::Pace;
pub use project::Project;
pub use record::{Finish, Outcome, Recorded};
pub use script::{Call, Counting, Order, Script, Stop, Thinking, Turn, Usage};
pub use seen::{CallSeen, Message, ResultSeen, Role, Seen};
pub use server::Server;
pub use site::{Answer, Site, Visit, page, redirect};
pub use tmux::Tmux;
pub use wire::Wire;
