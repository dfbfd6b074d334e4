//! Errors in a provider's settings.

/// Why a provider cannot be used as configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The base URL or proxy address is invalid.
    #[error("{provider}: {url:?} is not a valid address: {detail}")]
    Address {
        /// The provider's name.
        provider: String,
        /// The address as configured.
        url: String,
        /// The problem.
        detail: String,
    },
    /// A header is not valid HTTP.
    #[error("{provider}: the header {name:?} is not valid")]
    Header {
        /// The provider's name.
        provider: String,
        /// The header's name; its value may be secret.
        name: String,
    },
    /// No credentials were found.
    #[error("{provider}: no credentials found: {detail}")]
    NoCredentials {
        /// The provider's name.
        provider: String,
        /// The locations that were searched.
        detail: String,
    },
    /// The credentials are unusable.
    #[error("{provider}: invalid credentials: {detail}")]
    BadCredentials {
        /// The provider's name.
        provider: String,
        /// The problem.
        detail: String,
    },
    /// The system's certificates could not be loaded.
    #[error("could not load the system's certificates: {detail}")]
    Certificates {
        /// The cause.
        detail: String,
    },
}

impl Error {
    /// A hint for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Address { .. } => "addresses look like https://host/path; see `hew config`",
            Error::Header { .. } => "check the provider's headers in the configuration",
            Error::NoCredentials { .. } => {
                "set the provider's key in the environment, the config or the keyring; `hew doctor` shows what is missing"
            }
            Error::BadCredentials { .. } => "create new credentials at the provider, or choose another profile",
            Error::Certificates { .. } => "install the system's CA certificates (often the package ca-certificates)",
        }
    }
}
