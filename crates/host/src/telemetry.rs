//! Starts the export of telemetry, if the user has enabled it.

use crate::config::{Config, TelemetryProtocol};
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::{log, models};
use clap::ValueEnum as _;
use std::sync::Arc;
use std::time::Duration;
use telemetry::{ContentCapture, OtlpProtocol, Telemetry, TelemetrySettings};

/// The timeout of one export.
const TIMEOUT: Duration = Duration::from_secs(4);

/// Starts the export. Returns `None` unless telemetry is enabled; `OTEL_SDK_DISABLED` disables it.
pub(crate) fn start(config: &Config, env: &ProcessEnv) -> Result<Option<Arc<Telemetry>>> {
    let settings = &config.telemetry;
    let is_disabled = env
        .get("OTEL_SDK_DISABLED")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if !settings.enabled || is_disabled {
        return Ok(None);
    }
    let named = env.get("OTEL_EXPORTER_OTLP_PROTOCOL");
    let named = named.and_then(|name| TelemetryProtocol::from_str(name, true).ok());
    let protocol = settings.protocol.or(named);
    let protocol = protocol.map_or(OtlpProtocol::HttpProtobuf, OtlpProtocol::from);
    let default = match protocol {
        OtlpProtocol::HttpProtobuf | OtlpProtocol::HttpJson => "http://localhost:4318",
        OtlpProtocol::Grpc => "http://localhost:4317",
    };
    let endpoint = settings.endpoint.as_deref().or(env.get("OTEL_EXPORTER_OTLP_ENDPOINT"));
    let endpoint = endpoint.unwrap_or(default).to_owned();
    let failed = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("telemetry cannot be exported to {endpoint}: {error}"))
            .hint("check `telemetry` in your configuration; `telemetry.enabled = false` disables it")
    };
    if !endpoint.starts_with("http://") && !endpoint.starts_with("https://") {
        return Err(failed(&"the address must begin with http:// or https://"));
    }
    let headers = match settings.headers.is_empty() {
        true => pairs(env.get("OTEL_EXPORTER_OTLP_HEADERS")),
        false => settings.headers.clone().into_iter().collect(),
    };
    headers.iter().for_each(|(_, value)| log::hide(value));
    let tls = providers::tls_config().map_err(|error| failed(&error))?;
    let mut client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .timeout(TIMEOUT)
        .user_agent(concat!("hew/", env!("CARGO_PKG_VERSION")))
        .no_proxy();
    if let Some(proxy) = models::proxy_for(&endpoint, config.proxy.as_deref(), env) {
        client = client.proxy(reqwest::Proxy::all(proxy).map_err(|error| failed(&error))?);
    }
    let started = Telemetry::start(TelemetrySettings {
        protocol,
        headers,
        content: match settings.content {
            true => ContentCapture::On,
            false => ContentCapture::Off,
        },
        service: env.get("OTEL_SERVICE_NAME").unwrap_or("hew").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        resource: pairs(env.get("OTEL_RESOURCE_ATTRIBUTES")),
        timeout: TIMEOUT,
        client: client.build().map_err(|error| failed(&error))?,
        endpoint: endpoint.clone(),
    });
    started.map(Arc::new).map(Some).map_err(|error| failed(&error))
}

/// Pairs as in `OTEL_RESOURCE_ATTRIBUTES`: `name=value,name=value`, with percent-encoded values.
fn pairs(text: Option<&str>) -> Vec<(String, String)> {
    let pairs = text
        .unwrap_or_default()
        .split(',')
        .filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.trim().to_owned(), decode(value.trim())))
        .filter(|(name, _)| !name.is_empty())
        .collect()
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let code = more.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &more[2..] } else { more };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_variables_are_parsed() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            pairs(Some("a=1, b = x%20y,bad,=c,d=")),
            [pair("a", "1"), pair("b", "x y"), pair("d", "")]
        );
        assert_eq!(decode("100%"), "100%");
        assert_eq!(pairs(None), []);
    }
}
