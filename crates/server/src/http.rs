//! hew as a web server: the sessions of one user over HTTP, for browsers and programs.
//!
//! Every request passes `service`, which checks the host, the origin and the device before a route runs. Sessions run on
//! the runtime of the caller; connections are served on another one, so that a tool that blocks its thread delays no client.

mod acp_sessions;
mod acp_socket;
mod api_json;
mod assets;
mod backend;
mod connections;
mod devices;
mod guard;
mod hub;
mod live;
mod local;
mod openapi;
mod registry;
mod routes;
mod service;
mod stream;
mod tls;
mod types;
mod wire;

pub use backend::{
    CompletionQuery, OpenedWebSession, PublishedSession, RestoredFiles, SessionServices, TextCompletion, WebError,
    WebErrorKind, WebExportFormat, WebFuture, WebSessions, WebTarget,
};
pub use devices::{DeviceRegistry, DeviceStorage, PairedDevice};
pub use local::{SharedSession, share};
pub use openapi::document as openapi_document;
pub use service::{HttpServer, HttpSettings};
pub use tls::{SelfSigned, TlsError, pinned_tls, self_signed};
pub use types::{
    ChangedFileRow, ChangedHunkRow, CommandRow, ConflictResolution, DeviceInfo, EditApproval, FileTextsRow, FoundCode,
    JobInfo, ModeChoice, ModelRow, OperationReport, PanelInfo, PermissionRuleRow, RestoreOperation, RestoreOrder,
    RestoreReportRow, RewindParts, RulesFileInfo, SearchHit, ServerInfo, SessionSettings, SettingInfo, TokenSpan,
};

use qrcodegen::{QrCode, QrCodeEcc};
use ring::rand::{SecureRandom as _, SystemRandom};
use std::fmt::Write as _;
use std::time::SystemTime;

/// Random bytes of the operating system.
fn random_bytes(count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    // It fails only before the system has collected entropy.
    while SystemRandom::new().fill(&mut bytes).is_err() {
        std::thread::yield_now();
    }
    bytes
}

fn random_hex(bytes: usize) -> String {
    random_bytes(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A QR code as rows of `0` and `1`, without the quiet zone; empty if the text is too long.
pub fn qr_rows(text: &str) -> Vec<String> {
    let Ok(code) = QrCode::encode_text(text, QrCodeEcc::Low) else {
        return Vec::new();
    };
    let row = |y| {
        (0..code.size())
            .map(|x| if code.get_module(x, y) { '1' } else { '0' })
            .collect()
    };
    (0..code.size()).map(row).collect()
}
