//! Test kit: a scripted model server over real HTTP, a web server, temporary projects, and a runner for the binary.
//!
//! ```no_run
//! use serde_json::json;
//! use testkit::{Fault, Script, Server, Turn};
//!
//! # async fn example() -> Result<(), testkit::Error> {
//! let script = Script::new()
//!     .turn(Turn::text("I will look.").call("read_file", json!({"path": "a.txt"})))
//!     .turn(Turn::text("It says hello.").with_fault(Fault::rate_limit(), 1));
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
//! The request's content selects the turn (see [`TurnOrder`]), so retries and restarts get the same one; requests
//! without tools get a title and take no turn. Requests are validated as strictly as by the vendors and refused with
//! their messages. Thinking is signed and must be sent back unchanged.

mod body;
mod cache;
mod check;
mod chromium;
mod discovery;
mod error;
mod eventstream;
mod exchange;
mod fault;
mod hew;
mod json_schema;
mod pace;
mod parsed_request;
mod plain_blocks;
mod playback;
mod project;
mod record;
mod refusal;
mod script;
mod server;
mod signatures;
mod site;
mod socket;
mod tmux;
mod wire;

pub use chromium::chromium;
pub use error::Error;
pub use fault::{Fault, FaultPosition, PlannedFault, Times};
pub use hew::{Hew, Output, Running};
pub use json_schema::JsonSchemaValidator;
pub use pace::Pace;
pub use parsed_request::{Message, ParsedCall, ParsedRequest, ParsedResult, Role};
pub use project::Project;
pub use record::{RecordedRequest, RequestOutcome, ResponseEnd};
pub use script::{Call, Script, Stop, Thinking, TokenCounting, Turn, TurnOrder, Usage};
pub use server::Server;
pub use site::{SiteRequest, SiteResponse, StubSite, page, redirect};
pub use tmux::Tmux;
pub use wire::Wire;
