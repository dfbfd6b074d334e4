//! Exports traces and metrics of sessions to an OpenTelemetry collector, over OTLP.
//!
//! [`Telemetry::start`] starts a thread with its own runtime, which builds spans and metrics from what a session stores
//! and sends them in batches; the session never waits for it. [`ObservedStore`] wraps a session's store and reports each
//! record. Names follow the GenAI and MCP semantic conventions; names of hew's own begin with `hew.`.
//!
//! Nothing is sent unless the user configures a collector, and contents of messages are not sent unless requested.

mod content;
mod exporter;
mod metrics;
pub mod names;
mod observed_store;
mod settings;
mod spans;

pub use exporter::Telemetry;
pub use observed_store::ObservedStore;
pub use settings::{ContentCapture, Error, OtlpProtocol, TelemetrySettings};
