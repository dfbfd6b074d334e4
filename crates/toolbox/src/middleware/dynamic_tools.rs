//! Applies middleware to the tools of other programs.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use tool::{DynTool, DynamicTools};
use workspace::checkpoint::Checkpointer;

use crate::middleware::checkpoint::with_checkpoints;
use crate::middleware::output_cap::OutputCapped;
use crate::middleware::wrap;
use crate::support::spill::Spill;

/// Dynamic tools with checkpoints and output caps.
pub(crate) struct WrappedDynamicTools {
    pub(crate) tools: Arc<dyn DynamicTools>,
    pub(crate) checkpoints: Option<Checkpointer>,
    pub(crate) spill: Spill,
    pub(crate) secrets: Arc<[String]>,
    pub(crate) root: Arc<str>,
}

impl DynamicTools for WrappedDynamicTools {
    fn reserve_names(&self, taken: &BTreeSet<String>) -> Vec<Arc<dyn DynTool>> {
        let listed = self.tools.reserve_names(taken).into_iter();
        listed
            .map(|tool| with_checkpoints(tool, self.checkpoints.as_ref()))
            .collect()
    }

    fn tools(&self) -> Vec<Arc<dyn DynTool>> {
        self.tools
            .tools()
            .into_iter()
            .map(|tool| {
                let tool = with_checkpoints(tool, self.checkpoints.as_ref());
                let (spill, secrets) = (self.spill.clone(), Arc::clone(&self.secrets));
                let root = Arc::clone(&self.root);
                wrap(tool, OutputCapped { spill, secrets, root })
            })
            .collect()
    }

    fn starting(&self) -> Vec<String> {
        self.tools.starting()
    }

    fn wait_until_started(&self) -> BoxFuture<'static, ()> {
        self.tools.wait_until_started()
    }
}
