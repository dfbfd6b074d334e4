//! One request and its response.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use serde_json::Value;

use crate::body::{self, BodyStep};
use crate::cache::tokens;
use crate::discovery;
use crate::fault::{Fault, FaultPosition};
use crate::parsed_request::ParsedRequest;
use crate::playback::Decision;
use crate::record::{RecordedRequest, RequestOutcome, ResponseEnd};
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::socket::ConnectionCutter;
use crate::wire::{self, Route, RouteKind, ScriptedReply, Wire};

/// Longer bodies are rejected, as by the vendors.
const LARGEST_BODY: usize = 32 << 20;

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Responds to one request.
pub(crate) async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    scissors: ConnectionCutter,
) -> io::Result<Response<Body>> {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let route = Route::of(&head.method, head.uri.path());
    let body = Limited::new(body, LARGEST_BODY)
        .collect()
        .await
        .map(|body| body.to_bytes());
    let number = shared.records.add(|number| RecordedRequest {
        number,
        at: Instant::now(),
        method: head.method,
        path,
        headers: head.headers,
        body: body.as_ref().map(Bytes::clone).unwrap_or_default(),
        outcome: RequestOutcome::NotFound,
        finish: None,
    });
    let ending = ResponseGuard {
        shared: shared.clone(),
        number,
        finish: ResponseEnd::ClientDisconnected,
    };
    let exchange = Exchange {
        shared,
        number,
        ending,
        scissors,
    };
    match (route, body) {
        (Some(route), Ok(body)) => exchange.model(&route, &body).await,
        (Some(route), Err(_)) => Ok(exchange.refuse(route.wire, &Refusal::TooLarge)),
        (None, body) => Ok(exchange.discovery(&body.unwrap_or_default())),
    }
}

/// Records how a response ended when it is dropped.
struct ResponseGuard {
    shared: Arc<Shared>,
    number: usize,
    finish: ResponseEnd,
}

impl ResponseGuard {
    fn mark_sent(&mut self) {
        self.finish = ResponseEnd::Sent;
    }
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        let finish = self.finish;
        self.shared
            .records
            .change(self.number, |record| record.finish = Some(finish));
    }
}

/// One request and the means to respond.
struct Exchange {
    shared: Arc<Shared>,
    number: usize,
    ending: ResponseGuard,
    scissors: ConnectionCutter,
}

impl Exchange {
    async fn model(self, route: &Route, body: &[u8]) -> io::Result<Response<Body>> {
        let wire = route.wire;
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            let refusal = Refusal::invalid("We could not parse the JSON body of your request.");
            self.record_outcome(RequestOutcome::Refused {
                message: refusal.message(wire),
            });
            return Ok(self.refuse(wire, &refusal));
        };
        let mut seen = route.read(body);
        if let Some(record) = self.shared.records.get(self.number) {
            seen.path = record.path;
            seen.headers = record.headers;
        }
        if route.ask == RouteKind::Count {
            self.record_outcome(RequestOutcome::Counted);
            return Ok(self.json(StatusCode::OK, &discovery::count(wire, tokens(seen.prompt_bytes()))));
        }
        let decision = self.shared.play().decide(&mut seen, self.number);
        match decision {
            Decision::Refuse { refusal, outcome } => {
                self.record_outcome(outcome);
                Ok(self.refuse(wire, &refusal))
            }
            Decision::Answer { answer, fault, outcome } => {
                self.record_outcome(outcome);
                self.answer(&seen, &answer, fault.as_ref()).await
            }
        }
    }

    async fn answer(
        self,
        seen: &ParsedRequest,
        answer: &ScriptedReply,
        fault: Option<&Fault>,
    ) -> io::Result<Response<Body>> {
        match fault {
            Some(Fault::RateLimit {
                retry_after,
                retry_after_ms,
            }) => {
                let mut response = self.refuse(
                    seen.wire,
                    &Refusal::RateLimited {
                        retry_after: *retry_after,
                    },
                );
                let hints = [
                    ("retry-after", retry_after.map(|s| s.to_string())),
                    ("retry-after-ms", retry_after_ms.map(|ms| ms.to_string())),
                ];
                for (name, hint) in hints {
                    let hint = hint.and_then(|hint| HeaderValue::try_from(hint).ok());
                    response
                        .headers_mut()
                        .extend(hint.map(|hint| (HeaderName::from_static(name), hint)));
                }
                Ok(response)
            }
            Some(Fault::Status { code }) => Ok(self.refuse(seen.wire, &Refusal::Failed { code: *code })),
            Some(Fault::Overloaded) => Ok(self.refuse(seen.wire, &Refusal::Overloaded)),
            Some(Fault::Unauthorized) => Ok(self.refuse(seen.wire, &Refusal::Unauthorized)),
            Some(Fault::BadRequest { message }) => Ok(self.refuse(seen.wire, &Refusal::invalid(message.clone()))),
            Some(Fault::ContextOverflow { in_stream: false }) => Ok(self.refuse(
                seen.wire,
                &Refusal::TooLong {
                    tokens: 208_310,
                    window: 200_000,
                },
            )),
            Some(
                Fault::Hangup
                | Fault::Cut {
                    at: FaultPosition::Head,
                },
            ) => Err(io::ErrorKind::ConnectionAborted.into()),
            Some(Fault::Stall {
                at: FaultPosition::Head,
                ms: None,
            }) => std::future::pending().await,
            Some(Fault::Stall {
                at: FaultPosition::Head,
                ms: Some(ms),
            }) => {
                tokio::time::sleep(Duration::from_millis(*ms)).await;
                Ok(self.stream_reply(seen, answer, None))
            }
            Some(Fault::HtmlPage) => Ok(self.plain(StatusCode::OK, "text/html; charset=utf-8", PORTAL.into())),
            Some(Fault::JsonError) => Ok(self.json(StatusCode::OK, &Refusal::Failed { code: 500 }.body(seen.wire))),
            fault => Ok(self.stream_reply(seen, answer, fault)),
        }
    }

    fn stream_reply(self, seen: &ParsedRequest, answer: &ScriptedReply, fault: Option<&Fault>) -> Response<Body> {
        let (kind, steps) = if !seen.streaming {
            let body = wire::whole(seen, answer).to_string().into_bytes();
            ("application/json", body::whole(body, &answer.pace, fault))
        } else if seen.wire == Wire::Gemini && !seen.path.contains("alt=sse") {
            let array: Vec<String> = wire::events(seen, answer).into_iter().map(|event| event.data).collect();
            let body = format!("[{}]", array.join("\n,\n")).into_bytes();
            (
                "application/json; charset=UTF-8",
                body::whole(body, &answer.pace, fault),
            )
        } else {
            let kind = match seen.wire {
                Wire::Bedrock => "application/vnd.amazon.eventstream",
                Wire::Gemini => "text/event-stream",
                Wire::Anthropic | Wire::Vertex | Wire::Chat | Wire::Responses => "text/event-stream; charset=utf-8",
            };
            (
                kind,
                body::stream(seen.wire, wire::events(seen, answer), &answer.pace, fault),
            )
        };
        let number = self.number;
        let body = BodyExt::boxed_unsync(StreamBody::new(self.body_stream(steps)));
        let mut response = response(StatusCode::OK, kind, body);
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        add_request_id(&mut response, seen.wire, number);
        response
    }

    /// The body, step by step.
    fn body_stream(self, steps: Vec<BodyStep>) -> impl futures::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
        stream::unfold((steps.into_iter(), self), |(mut steps, mut exchange)| async move {
            loop {
                match steps.next() {
                    None => {
                        exchange.ending.mark_sent();
                        return None;
                    }
                    Some(BodyStep::Send(bytes)) => return Some((Ok(Frame::data(bytes)), (steps, exchange))),
                    Some(BodyStep::SendAndDisconnect(bytes)) => {
                        exchange.ending.mark_sent();
                        let doomed = exchange.scissors.cut_after(&bytes);
                        return Some((Ok(Frame::data(doomed)), (vec![BodyStep::Stall].into_iter(), exchange)));
                    }
                    Some(BodyStep::Wait(time)) => tokio::time::sleep(time).await,
                    Some(BodyStep::Flush) => tokio::task::yield_now().await,
                    Some(BodyStep::Stall) => std::future::pending().await,
                }
            }
        })
    }

    fn discovery(self, body: &[u8]) -> Response<Body> {
        let record = self.shared.records.get(self.number);
        let (method, path) = record.map_or_else(Default::default, |record| (record.method, record.path));
        let path = path.split('?').next().unwrap_or_default();
        let found = discovery::answer(&method, path, body, self.shared.play().script());
        match found {
            Some(value) => {
                self.record_outcome(RequestOutcome::Discovery);
                self.json(StatusCode::OK, &value)
            }
            None => {
                let wire = if path.starts_with("/v1beta") {
                    Wire::Gemini
                } else {
                    Wire::Chat
                };
                self.refuse(wire, &Refusal::NotFound { path: path.to_owned() })
            }
        }
    }

    fn record_outcome(&self, outcome: RequestOutcome) {
        self.shared
            .records
            .change(self.number, |record| record.outcome = outcome);
    }

    fn refuse(self, wire: Wire, refusal: &Refusal) -> Response<Body> {
        let number = self.number;
        let mut response = self.json(refusal.status(wire), &refusal.body(wire));
        if wire == Wire::Bedrock {
            response
                .headers_mut()
                .insert("x-amzn-errortype", HeaderValue::from_static(refusal.aws_name()));
        }
        add_request_id(&mut response, wire, number);
        response
    }

    fn json(self, status: StatusCode, value: &Value) -> Response<Body> {
        self.plain(status, "application/json", value.to_string().into())
    }

    fn plain(mut self, status: StatusCode, kind: &'static str, body: Bytes) -> Response<Body> {
        self.ending.mark_sent();
        response(status, kind, Full::new(body).boxed_unsync())
    }
}

fn response(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Adds the vendor's request id header.
fn add_request_id(response: &mut Response<Body>, wire: Wire, number: usize) {
    let header = match wire {
        Wire::Anthropic | Wire::Vertex => "request-id",
        Wire::Chat | Wire::Responses => "x-request-id",
        Wire::Bedrock => "x-amzn-requestid",
        Wire::Gemini => return,
    };
    let id = HeaderValue::try_from(format!("req_{number:04}")).ok();
    response
        .headers_mut()
        .extend(id.map(|id| (HeaderName::from_static(header), id)));
}

const PORTAL: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\n\
                      <body><h1>Sign in to use this network</h1></body></html>\n";
