//! Tools of other programs, noted and bounded like our own.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use tool::{DynTool, Effect, Guests};
use workspace::checkpoint::Checkpoints;

use crate::around::around;
use crate::bounded::Bounded;
use crate::covered::Covered;
use crate::spill::Spill;

/// Guests whose changes are noted and whose answers are bounded.
pub(crate) struct Hosted {
    pub(crate) guests: Arc<dyn Guests>,
    pub(crate) checkpoints: Option<Checkpoints>,
    pub(crate) spill: Spill,
}

impl Guests for Hosted {
    fn seat(&self, taken: &BTreeSet<String>) -> Vec<Arc<dyn DynTool>> {
        let listed = self.guests.seat(taken).into_iter();
        listed.map(|tool| covered(tool, self.checkpoints.as_ref())).collect()
    }

    fn tools(&self) -> Vec<Arc<dyn DynTool>> {
        let there = self.guests.tools().into_iter();
        there
            .map(|tool| {
                let tool = covered(tool, self.checkpoints.as_ref());
                around(tool, Bounded(self.spill.clone()))
            })
            .collect()
    }

    fn expected(&self) -> Vec<String> {
        self.guests.expected()
    }

    fn arrived(&self) -> BoxFuture<'static, ()> {
        self.guests.arrived()
    }
}

/// A tool that does not know itself what it changes: that is found out, where it can be.
pub(crate) fn covered(tool: Arc<dyn DynTool>, checkpoints: Option<&Checkpoints>) -> Arc<dyn DynTool> {
    match checkpoints {
        Some(checkpoints) if tool.effect() == Effect::Changes => around(tool, Covered(checkpoints.clone())),
        Some(_) | None => tool,
    }
}
