//! Storage between runs. The caller implements it; this crate does no file I/O.

use crate::BoxError;
use futures::future::BoxFuture;

/// Storage between runs. All data can be recreated: a failed read or write is not an error.
pub trait ServerCache: Send + Sync {
    /// Returns the stored data of a server.
    fn load(&self, what: CacheEntry, server: &str) -> Option<String>;

    /// Replaces the stored data of a server.
    fn save(&self, what: CacheEntry, server: &str, text: &str);

    /// Returns the credentials of a server, if any.
    fn login(&self, server: &str) -> BoxFuture<'static, Option<String>>;

    /// Stores the credentials of a server securely, or removes them.
    fn save_login(&self, server: &str, login: Option<String>) -> BoxFuture<'static, Result<(), BoxError>>;
}

/// A kind of stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheEntry {
    /// The offer of a server.
    Offer,
    /// Its standard error and log.
    Log,
    /// The `WWW-Authenticate` header of the response that requires a login.
    Challenge,
    /// The metadata of the authorization server of the last login.
    Metadata,
}
