//! Analyses stored sessions and measures models: costs, statistics, requests, replays, evaluations and canaries.
//!
//! Results are values with a text and a JSON form; nothing is printed here.

pub mod canary;
mod costs;
mod dates;
pub mod evaluation;
mod first_request;
pub mod predictions;
mod project_copy;
pub mod replay;
pub mod requests;
mod selection;
mod session_search;
mod statistics;

pub use costs::{CostGrouping, CostReport};
pub use dates::parse_since;
pub use first_request::FirstRequest;
pub use selection::SessionSelection;
pub use session_search::{SessionMatch, search_sessions};
pub use statistics::{StatsData, StatsGrouping, StatsReport};

use headless::output;
use host::{failure, models};
