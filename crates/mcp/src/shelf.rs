//! Where things are kept between runs. Files are not this crate's business: whoever starts it has a shelf.

use futures::future::BoxFuture;

/// Where things are kept between runs. Nothing kept here is needed: what cannot be read is made again, and what cannot be
/// written is made again next time.
pub trait Shelf: Send + Sync {
    /// What is kept about a server.
    fn load(&self, what: What, server: &str) -> Option<String>;

    /// Keeps something about a server, in place of what was kept before.
    fn save(&self, what: What, server: &str, text: &str);

    /// The login at a server, if there is one.
    fn login(&self, server: &str) -> BoxFuture<'static, Option<String>>;

    /// Keeps the login at a server where others cannot read it, or forgets it.
    fn keep_login(&self, server: &str, login: Option<String>) -> BoxFuture<'static, Result<(), String>>;
}

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    /// What the server offers.
    Offer,
    /// What it wrote to its standard error.
    Log,
}
