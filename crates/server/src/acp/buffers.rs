//! The editor's buffers: what is not saved is read, and what is written goes through the editor.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use acp::Peer;
use acp::schema::{FileSystemCapabilities, ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Handle;

/// An editor that takes longer is worked around.
const PATIENCE: Duration = Duration::from_secs(10);

/// The buffers of an editor, for one session.
pub(super) struct Buffers {
    pub(super) peer: Peer,
    pub(super) can: FileSystemCapabilities,
    /// The session, once it has a name.
    pub(super) session: OnceLock<String>,
    /// Carries the connection, on a thread of its own: whoever asks may block theirs.
    pub(super) wire: Handle,
}

impl workspace::Buffers for Buffers {
    fn read(&self, path: &Path) -> Option<String> {
        let session = self.session.get().filter(|_| self.can.read_text_file)?;
        let request = ReadTextFileRequest::new(session.clone(), path);
        let response: ReadTextFileResponse = self.ask("fs/read_text_file", request)?;
        Some(response.content)
    }

    fn write(&self, path: &Path, text: &str) -> bool {
        let Some(session) = self.session.get().filter(|_| self.can.write_text_file) else {
            return false;
        };
        let request = WriteTextFileRequest::new(session.clone(), path, text);
        self.ask::<Value>("fs/write_text_file", request).is_some()
    }
}

impl Buffers {
    /// Asks the editor, and blocks this thread for the answer; another carries the conversation.
    fn ask<A: DeserializeOwned + Send + 'static>(
        &self,
        method: &'static str,
        request: impl Serialize + Send + Sync + 'static,
    ) -> Option<A> {
        let (sender, answer) = sync_channel(1);
        let peer = self.peer.clone();
        self.wire.spawn(async move {
            let answer = tokio::time::timeout(PATIENCE, peer.ask::<A>(method, &request)).await;
            // Whoever asked waits as long as this.
            drop(sender.send(answer));
        });
        match answer.recv_timeout(2 * PATIENCE) {
            Ok(Ok(Ok(answer))) => Some(answer),
            Ok(Ok(Err(error))) => {
                tracing::debug!(method, %error, "the editor did not do it");
                None
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(method, "the editor did not answer in time");
                None
            }
        }
    }
}
