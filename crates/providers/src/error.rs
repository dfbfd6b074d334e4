//! What can be wrong with a provider's settings.

/// Why a provider cannot be used as configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The base URL or proxy address is not one.
    #[error("{provider}: {url:?} is not a usable address: {detail}")]
    Address {
        /// The provider's name.
        provider: String,
        /// The address as configured.
        url: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A header that HTTP does not allow.
    #[error("{provider}: the header {name:?} cannot be sent")]
    Header {
        /// The provider's name.
        provider: String,
        /// The header's name; its value may be secret.
        name: String,
    },
    /// No credentials were found.
    #[error("{provider}: no credentials: {detail}")]
    NoCredentials {
        /// The provider's name.
        provider: String,
        /// Where hew looked.
        detail: String,
    },
    /// Credentials were found, but they cannot be used.
    #[error("{provider}: unusable credentials: {detail}")]
    BadCredentials {
        /// The provider's name.
        provider: String,
        /// What is wrong with them.
        detail: String,
    },
    /// The system's certificates could not be loaded.
    #[error("the system's certificates cannot be used: {detail}")]
    Certificates {
        /// What went wrong.
        detail: String,
    },
}

impl Error {
    /// What the person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Address { .. } => "addresses look like https://host/path; see `hew config`",
            Error::Header { .. } => "check the provider's headers in the configuration",
            Error::NoCredentials { .. } => {
                "set the provider's key in the environment, the config or the keyring; `hew doctor` shows what is missing"
            }
            Error::BadCredentials { .. } => "make new credentials at the provider, or choose another profile",
            Error::Certificates { .. } => "install the system's CA certificates (often the package ca-certificates)",
        }
    }
}
