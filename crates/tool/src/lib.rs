//! What a tool is: typed input, the actions it needs approved, its output, the registry.
//!
//! To add a tool, implement [`Tool`] for a type whose `Input` derives `Deserialize` and `JsonSchema`: the doc comment of
//! the input is what the model reads. Then put it into the [`Registry`].

mod change;
mod coerce;
mod context;
mod desk;
mod error;
mod guests;
mod notice;
mod output;
mod preview;
mod read;
mod registry;
mod spending;
mod terminals;
mod todo;
mod tool;

pub use change::{Change, Changes, Content, Kind, Version};
pub use context::{Context, Progress};
pub use desk::{Choice, Desk, Inquiry, Multiple, Nobody, Report, Task, Waiting, Worker};
pub use error::Error;
pub use guests::Guests;
pub use notice::{Expected, Notice, Notices};
pub use output::{Next, Output};
pub use preview::{Glimpse, Op, Preview, Sight};
pub use read::{Misread, Step, read};
pub use registry::Registry;
pub use spending::{Spending, Spent};
pub use terminals::{TerminalEnd, TerminalOrder, Terminals};
pub use todo::{Status, Todo};
pub use tool::{DynTool, Effect, Tool};
