//! Where telemetry is sent, and what it contains.

use std::time::Duration;

/// The protocol of the collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpProtocol {
    /// OTLP over HTTP with Protocol Buffers.
    HttpProtobuf,
    /// OTLP over HTTP with JSON.
    HttpJson,
    /// OTLP over gRPC.
    Grpc,
}

/// Whether the contents of messages, calls and results are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentCapture {
    /// Names, counts and times only.
    Off,
    /// Also prompts, replies, inputs and results.
    On,
}

/// Where telemetry is sent, and what it contains.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// The address of the collector, such as `http://localhost:4318`. With HTTP, the path of each signal is added.
    pub endpoint: String,
    /// The protocol.
    pub protocol: OtlpProtocol,
    /// Headers of each export, such as credentials.
    pub headers: Vec<(String, String)>,
    /// Whether contents are exported.
    pub content: ContentCapture,
    /// The name of the service.
    pub service: String,
    /// The version of hew.
    pub version: String,
    /// Further attributes of the resource.
    pub resource: Vec<(String, String)>,
    /// The timeout of one export.
    pub timeout: Duration,
    /// The HTTP client for the HTTP protocols.
    pub client: reqwest::Client,
}

/// Why telemetry cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The exporter cannot be built.
    #[error("telemetry cannot be exported to {endpoint}: {detail}")]
    Exporter {
        /// The address.
        endpoint: String,
        /// The cause.
        detail: String,
    },
    /// The thread cannot be started.
    #[error("the telemetry thread cannot be started: {0}")]
    Thread(#[from] std::io::Error),
}
