//! The editor's buffers: unsaved text is read from the editor, and files are written through it.

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

/// Timeout of the editor.
const EDITOR_TIMEOUT: Duration = Duration::from_secs(10);

/// The editor's buffers for one session.
pub(super) struct AcpBuffers {
    pub(super) peer: Peer,
    pub(super) can: FileSystemCapabilities,
    /// The session id, once known.
    pub(super) session: OnceLock<String>,
    /// Runs the connection on another thread: callers may block theirs.
    pub(super) wire: Handle,
}

impl workspace::EditorBuffers for AcpBuffers {
    fn read(&self, path: &Path) -> Option<String> {
        let session = self.session.get().filter(|_| self.can.read_text_file)?;
        let request = ReadTextFileRequest::new(session.clone(), path);
        let response: ReadTextFileResponse = self.request_blocking("fs/read_text_file", request)?;
        Some(response.content)
    }

    fn write(&self, path: &Path, text: &str) -> bool {
        let Some(session) = self.session.get().filter(|_| self.can.write_text_file) else {
            return false;
        };
        let request = WriteTextFileRequest::new(session.clone(), path, text);
        self.request_blocking::<Value>("fs/write_text_file", request).is_some()
    }
}

impl AcpBuffers {
    /// Sends a request to the editor and blocks this thread; another one runs the connection.
    fn request_blocking<A: DeserializeOwned + Send + 'static>(
        &self,
        method: &'static str,
        request: impl Serialize + Send + Sync + 'static,
    ) -> Option<A> {
        let (sender, answer) = sync_channel(1);
        let peer = self.peer.clone();
        self.wire.spawn(async move {
            let answer = tokio::time::timeout(EDITOR_TIMEOUT, peer.request::<A>(method, &request)).await;
            // The caller waits longer than this timeout.
            drop(sender.send(answer));
        });
        match answer.recv_timeout(2 * EDITOR_TIMEOUT) {
            Ok(Ok(Ok(answer))) => Some(answer),
            Ok(Ok(Err(error))) => {
                tracing::debug!(method, %error, "the editor rejected the request");
                None
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(method, "the editor did not respond in time");
                None
            }
        }
    }
}
