//! The `[telemetry]` table. Only the user may set it: a project must not choose where data about the user's work is sent.

use super::ProjectAccess::Never;
use super::key::config_table;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

config_table! {
    /// Export of traces and metrics to an OpenTelemetry collector. A project cannot set these keys, even if it is trusted.
    pub struct TelemetryConfig {
        /// Whether traces and metrics are exported.
        enabled: bool [env: Some("HEW_TELEMETRY"), project: Never] = false,
        /// The address of the collector. Without it, `OTEL_EXPORTER_OTLP_ENDPOINT`, or `http://localhost:4318`
        /// (`http://localhost:4317` with gRPC).
        endpoint: Option<String> [env: Some("HEW_TELEMETRY_ENDPOINT"), project: Never],
        /// The protocol. Without it, `OTEL_EXPORTER_OTLP_PROTOCOL`, or `http/protobuf`.
        protocol: Option<TelemetryProtocol> [env: Some("HEW_TELEMETRY_PROTOCOL"), project: Never],
        /// Headers of each export, such as credentials. Without them, `OTEL_EXPORTER_OTLP_HEADERS`.
        headers: BTreeMap<String, String> [project: Never],
        /// Whether prompts, replies, inputs and results are exported, too.
        content: bool [env: Some("HEW_TELEMETRY_CONTENT"), project: Never] = false,
    }
}

/// The protocol of a collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
pub enum TelemetryProtocol {
    /// OTLP over HTTP with Protocol Buffers
    #[serde(rename = "http/protobuf")]
    #[value(name = "http/protobuf")]
    HttpProtobuf,
    /// OTLP over HTTP with JSON
    #[serde(rename = "http/json")]
    #[value(name = "http/json")]
    HttpJson,
    /// OTLP over gRPC
    #[serde(rename = "grpc")]
    #[value(name = "grpc")]
    Grpc,
}

impl From<TelemetryProtocol> for telemetry::OtlpProtocol {
    fn from(protocol: TelemetryProtocol) -> Self {
        match protocol {
            TelemetryProtocol::HttpProtobuf => telemetry::OtlpProtocol::HttpProtobuf,
            TelemetryProtocol::HttpJson => telemetry::OtlpProtocol::HttpJson,
            TelemetryProtocol::Grpc => telemetry::OtlpProtocol::Grpc,
        }
    }
}
