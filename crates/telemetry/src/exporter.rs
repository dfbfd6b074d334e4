//! The telemetry thread: builds spans and metrics and exports them in batches.

use crate::metrics::SessionMetrics;
use crate::settings::{ContentCapture, Error, OtlpProtocol, TelemetrySettings};
use crate::spans::SpanBuilder;
use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_otlp::tonic_types::metadata::MetadataMap;
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
    WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter as _;
use opentelemetry_sdk::metrics::reader::MetricReader;
use opentelemetry_sdk::metrics::{InstrumentKind, ManualReader, Pipeline, SdkMeterProvider, Temporality};
use opentelemetry_sdk::trace::SpanExporter as _;
use session::{CallRecord, Item, ParentCall, RequestRecord, SessionId, SurvivalRecord, TurnRecord};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tokio::sync::mpsc;

/// Signals that wait for the thread; more are dropped and counted.
const CAPACITY: usize = 8192;
/// How often spans are exported.
const SPAN_INTERVAL: Duration = Duration::from_secs(2);
/// The maximum number of spans in one export.
const MAX_BATCH: usize = 512;
/// Metrics are exported with each of so many batches of spans.
const METRIC_INTERVALS: u32 = 5;
/// How long the end of the process waits for the last export.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A record of a session.
pub(crate) enum SessionSignal {
    Started(Option<ParentCall>),
    Item(Arc<Item>),
    Request(Box<RequestRecord>),
    Call(Box<CallRecord>),
    Turn(TurnRecord),
    Survival(SurvivalRecord),
}

/// Exports telemetry until it is closed. Dropping it exports nothing more.
pub struct Telemetry {
    signals: Mutex<Option<mpsc::Sender<(SessionId, SessionSignal)>>>,
    dropped: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<Option<String>>>>,
    content: ContentCapture,
}

impl Telemetry {
    /// Starts the telemetry thread.
    pub fn start(settings: TelemetrySettings) -> Result<Telemetry, Error> {
        let (signals, receiver) = mpsc::channel(CAPACITY);
        let content = settings.content;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let pipeline = {
            // The exporters need a runtime from the start.
            let _context = runtime.enter();
            ExportPipeline::new(&settings).map_err(|error| Error::Exporter {
                endpoint: settings.endpoint.clone(),
                detail: error.to_string(),
            })?
        };
        let thread = Builder::new()
            .name("telemetry".into())
            .spawn(move || runtime.block_on(pipeline.run(receiver)))?;
        Ok(Telemetry {
            signals: Mutex::new(Some(signals)),
            dropped: Arc::default(),
            thread: Mutex::new(Some(thread)),
            content,
        })
    }

    /// Reports how much of an edit remained.
    pub fn survival(&self, record: SurvivalRecord) {
        self.report(record.session, SessionSignal::Survival(record));
    }

    /// Exports the rest. Returns the error, if any.
    pub async fn close(&self) -> Option<String> {
        drop(lock(&self.signals).take());
        let thread = lock(&self.thread).take()?;
        let waiting = tokio::task::spawn_blocking(move || thread.join().unwrap_or_default());
        let failure = match tokio::time::timeout(CLOSE_TIMEOUT, waiting).await {
            Ok(failure) => failure.unwrap_or_default(),
            Err(_) => Some("the collector does not answer".to_owned()),
        };
        match (failure, self.dropped.load(Ordering::Relaxed)) {
            (Some(failure), _) => Some(format!("telemetry could not be exported: {failure}")),
            (None, 0) => None,
            (None, dropped) => Some(format!(
                "{dropped} telemetry signals were dropped: the collector is too slow"
            )),
        }
    }

    /// Queues a signal. If the queue is full, it is dropped: a session never waits.
    pub(crate) fn report(&self, session: SessionId, signal: SessionSignal) {
        let is_needed = match &signal {
            SessionSignal::Item(item) => {
                self.content == ContentCapture::On || matches!(item.body, session::Body::Summary { .. })
            }
            SessionSignal::Started(_)
            | SessionSignal::Request(_)
            | SessionSignal::Call(_)
            | SessionSignal::Turn(_)
            | SessionSignal::Survival(_) => true,
        };
        if is_needed
            && let Some(signals) = &*lock(&self.signals)
            && signals.try_send((session, signal)).is_err()
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of the telemetry thread.
struct ExportPipeline {
    spans: SpanBuilder,
    span_exporter: SpanExporter,
    metrics: SessionMetrics,
    metric_exporter: MetricExporter,
    reader: SharedReader,
    /// Owns the instruments.
    provider: SdkMeterProvider,
    failure: Option<String>,
}

impl ExportPipeline {
    fn new(settings: &TelemetrySettings) -> Result<Self, ExporterBuildError> {
        let own = [
            KeyValue::new("service.version", settings.version.clone()),
            KeyValue::new("telemetry.sdk.language", "rust"),
        ];
        let further = settings.resource.iter();
        let further = further.map(|(name, value)| KeyValue::new(name.clone(), value.clone()));
        let resource = Resource::builder_empty()
            .with_service_name(settings.service.clone())
            .with_attributes(own.into_iter().chain(further))
            .build();
        let (mut span_exporter, metric_exporter) = exporters(settings)?;
        span_exporter.set_resource(&resource);
        let reader = SharedReader(Arc::new(ManualReader::default()));
        let provider = SdkMeterProvider::builder()
            .with_reader(reader.clone())
            .with_resource(resource)
            .build();
        Ok(ExportPipeline {
            spans: SpanBuilder::new(settings.content, settings.version.clone()),
            span_exporter,
            metrics: SessionMetrics::new(&provider.meter("hew")),
            metric_exporter,
            reader,
            provider,
            failure: None,
        })
    }

    /// Exports until all senders are dropped. Returns the last failure.
    async fn run(mut self, mut signals: mpsc::Receiver<(SessionId, SessionSignal)>) -> Option<String> {
        let mut ticks = tokio::time::interval(SPAN_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut number = 0_u32;
        loop {
            tokio::select! {
                signal = signals.recv() => match signal {
                    Some((session, signal)) => {
                        self.observe(session, signal);
                        if self.spans.len() >= MAX_BATCH {
                            self.export_spans().await;
                        }
                    }
                    None => break,
                },
                _ = ticks.tick() => {
                    self.export_spans().await;
                    number += 1;
                    if number.is_multiple_of(METRIC_INTERVALS) {
                        self.export_metrics().await;
                    }
                }
            }
        }
        self.spans.close();
        self.export_spans().await;
        self.export_metrics().await;
        drop(self.provider);
        self.failure
    }

    fn observe(&mut self, session: SessionId, signal: SessionSignal) {
        match signal {
            SessionSignal::Started(parent) => self.spans.session_started(session, parent),
            SessionSignal::Item(item) => {
                if let session::Body::Summary { .. } = &item.body {
                    self.metrics.compaction();
                }
                self.spans.item(session, &item);
            }
            SessionSignal::Request(record) => {
                self.metrics.request(&record);
                self.spans.request(session, &record);
            }
            SessionSignal::Call(record) => {
                self.metrics.call(&record);
                self.spans.call(session, &record);
            }
            SessionSignal::Turn(record) => {
                self.metrics.turn(&record);
                self.spans.turn(session, &record);
            }
            SessionSignal::Survival(record) => self.metrics.survival(&record),
        }
    }

    async fn export_spans(&mut self) {
        let spans = self.spans.take_finished();
        if !spans.is_empty() {
            let exported = self.span_exporter.export(spans).await;
            self.note(exported);
        }
    }

    async fn export_metrics(&mut self) {
        let mut collected = ResourceMetrics::default();
        let collecting = self.reader.collect(&mut collected);
        let exported = match collecting {
            Ok(()) => self.metric_exporter.export(&collected).await,
            error => error,
        };
        self.note(exported);
    }

    fn note(&mut self, result: OTelSdkResult) {
        if let Err(error) = result {
            self.failure = Some(error.to_string());
        }
    }
}

fn exporters(settings: &TelemetrySettings) -> Result<(SpanExporter, MetricExporter), ExporterBuildError> {
    let protocol = match settings.protocol {
        OtlpProtocol::HttpProtobuf => Protocol::HttpBinary,
        OtlpProtocol::HttpJson => Protocol::HttpJson,
        OtlpProtocol::Grpc => return grpc_exporters(settings),
    };
    let base = settings.endpoint.trim_end_matches('/');
    let headers: std::collections::HashMap<String, String> = settings.headers.iter().cloned().collect();
    let spans = SpanExporter::builder()
        .with_http()
        .with_http_client(settings.client.clone())
        .with_protocol(protocol)
        .with_endpoint(format!("{base}/v1/traces"))
        .with_timeout(settings.timeout)
        .with_headers(headers.clone())
        .build()?;
    let metrics = MetricExporter::builder()
        .with_http()
        .with_http_client(settings.client.clone())
        .with_protocol(protocol)
        .with_endpoint(format!("{base}/v1/metrics"))
        .with_timeout(settings.timeout)
        .with_headers(headers)
        .build()?;
    Ok((spans, metrics))
}

fn grpc_exporters(settings: &TelemetrySettings) -> Result<(SpanExporter, MetricExporter), ExporterBuildError> {
    let mut metadata = MetadataMap::new();
    for (name, value) in &settings.headers {
        let name = reqwest::header::HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes());
        let value = reqwest::header::HeaderValue::from_str(value);
        if let (Ok(name), Ok(value)) = (name, value) {
            let mut headers = metadata.clone().into_headers();
            headers.insert(name, value);
            metadata = MetadataMap::from_headers(headers);
        }
    }
    let mut spans = SpanExporter::builder()
        .with_tonic()
        .with_endpoint(settings.endpoint.clone())
        .with_timeout(settings.timeout)
        .with_metadata(metadata.clone());
    let mut metrics = MetricExporter::builder()
        .with_tonic()
        .with_endpoint(settings.endpoint.clone())
        .with_timeout(settings.timeout)
        .with_metadata(metadata);
    if settings.endpoint.starts_with("https://") {
        spans = spans.with_tls_config(ClientTlsConfig::new().with_enabled_roots());
        metrics = metrics.with_tls_config(ClientTlsConfig::new().with_enabled_roots());
    }
    Ok((spans.build()?, metrics.build()?))
}

/// A reader that is collected by the telemetry thread and registered with the provider.
#[derive(Debug, Clone)]
struct SharedReader(Arc<ManualReader>);

impl MetricReader for SharedReader {
    fn register_pipeline(&self, pipeline: Weak<Pipeline>) {
        self.0.register_pipeline(pipeline);
    }

    fn collect(&self, metrics: &mut ResourceMetrics) -> OTelSdkResult {
        self.0.collect(metrics)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn temporality(&self, kind: InstrumentKind) -> Temporality {
        self.0.temporality(kind)
    }
}
