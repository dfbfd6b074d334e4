//! What servers are started with.

use std::path::PathBuf;
use std::sync::Arc;

use model::Model;
use tool::Notices;

use crate::Shelf;

/// Makes a client for an address, with the certificates and proxies of this machine; the error is a sentence.
pub type Web = Arc<dyn Fn(&str) -> Result<reqwest::ClientBuilder, String> + Send + Sync>;

/// Whether a tool of a server is offered, by their names.
pub type Offers = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// What servers are started with.
#[derive(Clone)]
pub struct Surroundings {
    /// The project's folder.
    pub root: PathBuf,
    /// What programs see of the environment.
    pub environment: sandbox::Environment,
    /// How addresses are reached.
    pub web: Web,
    /// Where things are kept between runs.
    pub shelf: Arc<dyn Shelf>,
    /// Where it is told that servers came, went or changed.
    pub notices: Notices,
    /// Answers servers that want to ask a model.
    pub model: Option<Arc<dyn Model>>,
    /// Which tools are offered; all, if nobody chooses.
    pub offers: Option<Offers>,
    /// With no more tools than this in all, every request lists them; else the model looks for them.
    pub listed: usize,
}
