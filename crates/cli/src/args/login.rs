//! Arguments of `hew login` and `hew logout`.

use clap::Args;

#[derive(Debug, Clone, Args)]
pub(crate) struct LoginArgs {
    /// The provider: `github-copilot` or `chatgpt`, or one with `sign_in` in the configuration
    pub(crate) provider: Option<String>,
    /// Show a code to enter on any device, for machines without a browser
    #[arg(long, visible_alias = "device-auth", conflicts_with = "browser")]
    pub(crate) device: bool,
    /// Sign in with a browser on this machine
    #[arg(long)]
    pub(crate) browser: bool,
    /// Store the tokens in accounts.json next to your configuration, with private permissions, instead of the keyring
    #[arg(long)]
    pub(crate) file: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct LogoutArgs {
    /// The provider; may be omitted if you are signed in to one only
    pub(crate) provider: Option<String>,
    /// Sign out of all providers
    #[arg(long, conflicts_with = "provider")]
    pub(crate) all: bool,
}
