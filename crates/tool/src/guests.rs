//! Tools that come and go while a session runs, such as those of other programs.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};

use crate::DynTool;

/// Tools that come and go while a session runs. They are served like all others but never listed on the way, so that what
/// the model was told at first stays as it was: it finds them when it looks for them.
pub trait Guests: Send + Sync {
    /// Takes seats beside tools of these names, which stay theirs, and says which guests are listed from the start.
    fn seat(&self, taken: &BTreeSet<String>) -> Vec<Arc<dyn DynTool>>;

    /// All others that are there now, in an order that does not change by chance.
    fn tools(&self) -> Vec<Arc<dyn DynTool>>;

    /// Who is still to come, by name.
    fn expected(&self) -> Vec<String>;

    /// Waits until nobody is expected any more, for as long as that is worth it.
    fn arrived(&self) -> BoxFuture<'static, ()>;
}

/// Whether a tool fits.
pub(crate) type Fits = Arc<dyn Fn(&dyn DynTool) -> bool + Send + Sync>;

/// Only those guests that fit.
pub(crate) struct Chosen {
    pub(crate) guests: Arc<dyn Guests>,
    pub(crate) fits: Fits,
}

impl Guests for Chosen {
    fn seat(&self, taken: &BTreeSet<String>) -> Vec<Arc<dyn DynTool>> {
        self.chosen(self.guests.seat(taken))
    }

    fn tools(&self) -> Vec<Arc<dyn DynTool>> {
        self.chosen(self.guests.tools())
    }

    fn expected(&self) -> Vec<String> {
        self.guests.expected()
    }

    fn arrived(&self) -> BoxFuture<'static, ()> {
        self.guests.arrived().boxed()
    }
}

impl Chosen {
    fn chosen(&self, mut tools: Vec<Arc<dyn DynTool>>) -> Vec<Arc<dyn DynTool>> {
        tools.retain(|tool| (self.fits)(tool.as_ref()));
        tools
    }
}
