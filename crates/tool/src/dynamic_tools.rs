//! Tools that are added and removed while a session runs, such as those of MCP servers.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};

use crate::DynTool;

/// Tools that are added and removed while a session runs. They can be called, but those added later are not listed, so
/// that the tool list in the prompt stays constant: the model finds them with a search.
pub trait DynamicTools: Send + Sync {
    /// Reserves names that differ from `taken` and returns the tools to list from the start.
    fn reserve_names(&self, taken: &BTreeSet<String>) -> Vec<Arc<dyn DynTool>>;

    /// All other tools that are available now, in a deterministic order.
    fn tools(&self) -> Vec<Arc<dyn DynTool>>;

    /// The names of the providers that are still starting.
    fn starting(&self) -> Vec<String>;

    /// Waits until all providers have started, up to a time limit.
    fn wait_until_started(&self) -> BoxFuture<'static, ()>;
}

/// Selects tools.
pub(crate) type ToolFilter = Arc<dyn Fn(&dyn DynTool) -> bool + Send + Sync>;

/// Dynamic tools that pass a filter.
pub(crate) struct FilteredTools {
    pub(crate) guests: Arc<dyn DynamicTools>,
    pub(crate) fits: ToolFilter,
}

impl DynamicTools for FilteredTools {
    fn reserve_names(&self, taken: &BTreeSet<String>) -> Vec<Arc<dyn DynTool>> {
        self.chosen(self.guests.reserve_names(taken))
    }

    fn tools(&self) -> Vec<Arc<dyn DynTool>> {
        self.chosen(self.guests.tools())
    }

    fn starting(&self) -> Vec<String> {
        self.guests.starting()
    }

    fn wait_until_started(&self) -> BoxFuture<'static, ()> {
        self.guests.wait_until_started().boxed()
    }
}

impl FilteredTools {
    fn chosen(&self, mut tools: Vec<Arc<dyn DynTool>>) -> Vec<Arc<dyn DynTool>> {
        tools.retain(|tool| (self.fits)(tool.as_ref()));
        tools
    }
}
