//! The scripted model server: real HTTP/1.1 on loopback, every request recorded.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::cache::tokens;
use crate::discovery;
use crate::error::Error;
use crate::fault::{Fault, Place};
use crate::play::{Decision, Play};
use crate::pour::{self, Step};
use crate::refusal::Refusal;
use crate::script::Script;
use crate::seen::Seen;
use crate::socket::{Scissors, Socket};
use crate::wire::{self, Answer, Ask, Route, Wire};

/// Longer bodies are refused, as the vendors do.
const LARGEST_BODY: usize = 32 << 20;

/// A scripted model server. It stops when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// A request that came in, and what became of it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its number, from 1.
    pub number: usize,
    /// When it was there in full.
    pub at: Instant,
    /// Its method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// What it got.
    pub outcome: Outcome,
    /// How the response ended; `None` while it is under way.
    pub finish: Option<Finish>,
}

/// What a request got.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The real answer of a turn.
    Turn {
        /// Which, from 0.
        turn: usize,
    },
    /// A fault of a turn.
    Fault {
        /// Which turn.
        turn: usize,
        /// Which fault.
        fault: Fault,
    },
    /// The answer for requests without tools.
    Side,
    /// A closing sentence, since the script has no turn for it.
    Over,
    /// An error, since the request breaks the rules of the API.
    Refused {
        /// Why.
        message: String,
    },
    /// A count of tokens.
    Counted,
    /// A list of models or the like.
    Discovery,
    /// 404.
    NotFound,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// All that was to be sent was handed over (a cut connection counts).
    Sent,
    /// The client went away first.
    Gone,
}

impl Server {
    /// Starts on a free port.
    pub async fn start(script: Script) -> Result<Self, Error> {
        Self::start_on(0, script).await
    }

    /// Starts on a given port.
    pub async fn start_on(port: u16, script: Script) -> Result<Self, Error> {
        let failed = |source| Error::Listen { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            play: Mutex::new(Play::new(script)),
            records: Mutex::new(Vec::new()),
            changes: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// Where it listens, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// All requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        locked(&self.shared.records).clone()
    }

    /// The requests so far that took a turn, in the order of their arrival, as the script saw them.
    pub fn main_requests(&self) -> Vec<Recorded> {
        let main = |record: &Recorded| {
            matches!(
                record.outcome,
                Outcome::Turn { .. } | Outcome::Fault { .. } | Outcome::Over
            )
        };
        self.requests().into_iter().filter(main).collect()
    }

    /// Waits until this is true of the requests so far.
    pub async fn until(&self, is_so: impl Fn(&[Recorded]) -> bool) {
        let mut changes = self.shared.changes.subscribe();
        while !is_so(&locked(&self.shared.records)) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The connections belong to the accepting task and end with it.
        self.accepting.abort();
    }
}

impl Recorded {
    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The request in the form that all wires share, if it was one for a model.
    pub fn seen(&self) -> Option<Seen> {
        let path = self.path.split('?').next().unwrap_or_default();
        let route = Route::of(&self.method, path)?;
        let mut seen = route.read(serde_json::from_slice(&self.body).ok()?);
        seen.path = self.path.clone();
        seen.headers = self.headers.clone();
        seen.turn = match self.outcome {
            Outcome::Turn { turn } | Outcome::Fault { turn, .. } => turn,
            _ => seen.progress(),
        };
        Some(seen)
    }
}

/// What the connections share.
struct Shared {
    play: Mutex<Play>,
    records: Mutex<Vec<Recorded>>,
    changes: watch::Sender<u64>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("records", &locked(&self.records).len())
            .finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn change(&self, number: usize, change: impl FnOnce(&mut Recorded)) {
        if let Some(record) = locked(&self.records).get_mut(number - 1) {
            change(record);
        }
        self.changes.send_modify(|version| *version += 1);
    }
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(stream, shared.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // Without it, small deltas would wait for the acknowledgement of the one before.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let scissors = Scissors::default();
    let socket = Socket::new(stream, scissors.clone());
    let service = service_fn(|request| respond(request, shared.clone(), scissors.clone()));
    // A client that goes away is an everyday event here, and the record already says so.
    drop(
        http1::Builder::new()
            .serve_connection(TokioIo::new(socket), service)
            .await,
    );
}

async fn respond(request: Request<Incoming>, shared: Arc<Shared>, scissors: Scissors) -> io::Result<Response<Body>> {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let route = Route::of(&head.method, head.uri.path());
    let body = Limited::new(body, LARGEST_BODY)
        .collect()
        .await
        .map(|body| body.to_bytes());
    let number = {
        let mut records = locked(&shared.records);
        let number = records.len() + 1;
        records.push(Recorded {
            number,
            at: Instant::now(),
            method: head.method,
            path,
            headers: head.headers,
            body: body.as_ref().map(Bytes::clone).unwrap_or_default(),
            outcome: Outcome::NotFound,
            finish: None,
        });
        number
    };
    let ending = Ending {
        shared: shared.clone(),
        number,
        finish: Finish::Gone,
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

/// Notes how a response ended when it is dropped.
struct Ending {
    shared: Arc<Shared>,
    number: usize,
    finish: Finish,
}

impl Ending {
    fn mark_sent(&mut self) {
        self.finish = Finish::Sent;
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let finish = self.finish;
        self.shared.change(self.number, |record| record.finish = Some(finish));
    }
}

/// One request and the way to answer it.
struct Exchange {
    shared: Arc<Shared>,
    number: usize,
    ending: Ending,
    scissors: Scissors,
}

impl Exchange {
    async fn model(self, route: &Route, body: &[u8]) -> io::Result<Response<Body>> {
        let wire = route.wire;
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            let refusal = Refusal::invalid("We could not parse the JSON body of your request.");
            self.note(Outcome::Refused {
                message: refusal.message(wire),
            });
            return Ok(self.refuse(wire, &refusal));
        };
        let mut seen = route.read(body);
        if let Some(record) = locked(&self.shared.records).get(self.number - 1) {
            seen.path = record.path.clone();
            seen.headers = record.headers.clone();
        }
        if route.ask == Ask::Count {
            self.note(Outcome::Counted);
            return Ok(self.json(StatusCode::OK, &discovery::count(wire, tokens(seen.prompt_bytes()))));
        }
        let decision = locked(&self.shared.play).decide(&mut seen, self.number);
        match decision {
            Decision::Refuse { refusal, outcome } => {
                self.note(outcome);
                Ok(self.refuse(wire, &refusal))
            }
            Decision::Answer { answer, fault, outcome } => {
                self.note(outcome);
                self.answer(&seen, &answer, fault.as_ref()).await
            }
        }
    }

    async fn answer(self, seen: &Seen, answer: &Answer, fault: Option<&Fault>) -> io::Result<Response<Body>> {
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
                        .extend(hint.map(|hint| (header::HeaderName::from_static(name), hint)));
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
            Some(Fault::Hangup | Fault::Cut { at: Place::Head }) => Err(io::ErrorKind::ConnectionAborted.into()),
            Some(Fault::Stall {
                at: Place::Head,
                ms: None,
            }) => std::future::pending().await,
            Some(Fault::Stall {
                at: Place::Head,
                ms: Some(ms),
            }) => {
                tokio::time::sleep(std::time::Duration::from_millis(*ms)).await;
                Ok(self.pour(seen, answer, None))
            }
            Some(Fault::HtmlPage) => Ok(self.plain(StatusCode::OK, "text/html; charset=utf-8", PORTAL.into())),
            Some(Fault::JsonError) => Ok(self.json(StatusCode::OK, &Refusal::Failed { code: 500 }.body(seen.wire))),
            fault => Ok(self.pour(seen, answer, fault)),
        }
    }

    fn pour(self, seen: &Seen, answer: &Answer, fault: Option<&Fault>) -> Response<Body> {
        let (kind, steps) = if !seen.streaming {
            let body = wire::whole(seen, answer).to_string().into_bytes();
            ("application/json", pour::whole(body, &answer.pace, fault))
        } else if seen.wire == Wire::Gemini && !seen.path.contains("alt=sse") {
            let array: Vec<String> = wire::events(seen, answer).into_iter().map(|event| event.data).collect();
            let body = format!("[{}]", array.join("\n,\n")).into_bytes();
            (
                "application/json; charset=UTF-8",
                pour::whole(body, &answer.pace, fault),
            )
        } else {
            let kind = match seen.wire {
                Wire::Bedrock => "application/vnd.amazon.eventstream",
                Wire::Gemini => "text/event-stream",
                Wire::Anthropic | Wire::Vertex | Wire::Chat | Wire::Responses => "text/event-stream; charset=utf-8",
            };
            (
                kind,
                pour::stream(seen.wire, wire::events(seen, answer), &answer.pace, fault),
            )
        };
        let number = self.number;
        let body = BodyExt::boxed_unsync(StreamBody::new(self.flow(steps)));
        let mut response = response(StatusCode::OK, kind, body);
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        name(&mut response, seen.wire, number);
        response
    }

    /// The body, step by step.
    fn flow(self, steps: Vec<Step>) -> impl futures::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
        stream::unfold((steps.into_iter(), self), |(mut steps, mut exchange)| async move {
            loop {
                match steps.next() {
                    None => {
                        exchange.ending.mark_sent();
                        return None;
                    }
                    Some(Step::Send(bytes)) => return Some((Ok(Frame::data(bytes)), (steps, exchange))),
                    Some(Step::Cut(bytes)) => {
                        exchange.ending.mark_sent();
                        let doomed = exchange.scissors.cut_after(&bytes);
                        return Some((Ok(Frame::data(doomed)), (vec![Step::Stall].into_iter(), exchange)));
                    }
                    Some(Step::Wait(time)) => tokio::time::sleep(time).await,
                    Some(Step::Leave) => tokio::task::yield_now().await,
                    Some(Step::Stall) => std::future::pending().await,
                }
            }
        })
    }

    fn discovery(self, body: &[u8]) -> Response<Body> {
        let (method, path) = match locked(&self.shared.records).get(self.number - 1) {
            Some(record) => (record.method.clone(), record.path.clone()),
            None => (Method::GET, String::new()),
        };
        let path = path.split('?').next().unwrap_or_default();
        let found = discovery::answer(&method, path, body, locked(&self.shared.play).script());
        match found {
            Some(value) => {
                self.note(Outcome::Discovery);
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

    fn note(&self, outcome: Outcome) {
        self.shared.change(self.number, |record| record.outcome = outcome);
    }

    fn refuse(self, wire: Wire, refusal: &Refusal) -> Response<Body> {
        let number = self.number;
        let mut response = self.json(refusal.status(wire), &refusal.body(wire));
        if wire == Wire::Bedrock {
            response
                .headers_mut()
                .insert("x-amzn-errortype", HeaderValue::from_static(refusal.aws_name()));
        }
        name(&mut response, wire, number);
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

/// Adds the header by which the vendor names a request.
fn name(response: &mut Response<Body>, wire: Wire, number: usize) {
    let header = match wire {
        Wire::Anthropic | Wire::Vertex => "request-id",
        Wire::Chat | Wire::Responses => "x-request-id",
        Wire::Bedrock => "x-amzn-requestid",
        Wire::Gemini => return,
    };
    let id = HeaderValue::try_from(format!("req_{number:04}")).ok();
    response
        .headers_mut()
        .extend(id.map(|id| (header::HeaderName::from_static(header), id)));
}

const PORTAL: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\n\
                      <body><h1>Sign in to use this network</h1></body></html>\n";
