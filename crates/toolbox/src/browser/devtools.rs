//! The DevTools protocol: commands and their answers over a WebSocket, and the events in between.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tool::Error;
use url::Url;

use super::Owned;
use super::known::Known;
use crate::web::{failed, is_same_host, shorten};

/// How many times a second is waited for an answer.
const PATIENCE: usize = 30;
const MOST_LINES: usize = 50;
const LONGEST_LINE: usize = 500;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A connection to a browser, attached to one of its pages once it is told which.
#[derive(Debug)]
pub(super) struct DevTools {
    orders: mpsc::Sender<Order>,
    shared: Arc<Mutex<Shared>>,
    _pump: Owned,
}

#[derive(Debug)]
struct Order {
    method: &'static str,
    params: Value,
    reply: Option<oneshot::Sender<Result<Value, String>>>,
}

/// A host that the page wants to go to and that nobody has approved.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) url: Url,
    request: String,
}

/// What the events have told so far.
#[derive(Debug, Default)]
struct Shared {
    session: Option<String>,
    frame: Option<String>,
    lines: VecDeque<String>,
    /// Lines that no longer fit.
    lost: usize,
    approved: Vec<Url>,
    known: Known,
    /// Who can be asked at the moment.
    asking: Option<mpsc::Sender<Wish>>,
}

impl DevTools {
    pub(super) async fn connect(address: &str, known: Known) -> Result<Self, Error> {
        let connected = connect_async(address).await;
        let (socket, _) = connected.map_err(|error| failed(format!("the browser does not answer: {error}")))?;
        let (orders, taken) = mpsc::channel(64);
        let shared = Arc::new(Mutex::new(Shared {
            known,
            ..Shared::default()
        }));
        let pump = Pump {
            socket,
            next: 0,
            waiting: HashMap::new(),
            shared: Arc::clone(&shared),
        };
        let pump = Owned(tokio::spawn(pump.run(taken)));
        Ok(Self {
            orders,
            shared,
            _pump: pump,
        })
    }

    /// Sends a command and waits for its answer.
    pub(super) async fn send(&self, method: &'static str, params: Value) -> Result<Value, Error> {
        let (reply, mut answer) = oneshot::channel();
        let order = Order {
            method,
            params,
            reply: Some(reply),
        };
        let gone = || failed("the browser has ended; launch it again".into());
        self.orders.send(order).await.map_err(|_| gone())?;
        // Seconds are counted one by one, so that the time in which a person thinks does not count.
        for _ in 0..PATIENCE {
            tokio::select! {
                biased;
                answer = &mut answer => return match answer {
                    Ok(Ok(value)) => Ok(value),
                    Ok(Err(why)) => Err(failed(format!("{method}: {why}"))),
                    Err(_) => Err(gone()),
                },
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
        Err(failed(format!(
            "the browser did not answer to {method} within {PATIENCE} s"
        )))
    }

    /// From now on commands go to this page.
    pub(super) fn attach(&self, session: &str, frame: &str) {
        let mut shared = lock(&self.shared);
        shared.session = Some(session.to_owned());
        shared.frame = Some(frame.to_owned());
    }

    /// Lets the page go to a host.
    pub(super) fn approve(&self, url: &Url) {
        let mut shared = lock(&self.shared);
        if !shared.approved.iter().any(|known| is_same_host(known, url)) {
            shared.approved.push(url.clone());
        }
    }

    /// Takes over the questions about new hosts, until the receiver is dropped.
    pub(super) fn asks(&self) -> mpsc::Receiver<Wish> {
        let (sender, receiver) = mpsc::channel(8);
        lock(&self.shared).asking = Some(sender);
        receiver
    }

    /// Answers a question.
    pub(super) async fn answer(&self, wish: Wish, approved: bool) {
        if approved {
            self.approve(&wish.url);
            lock(&self.shared).known.add(&wish.url);
        }
        let (method, params) = verdict(&wish.request, approved);
        let order = Order {
            method,
            params,
            reply: None,
        };
        // A browser that has ended waits for no answer.
        drop(self.orders.send(order).await);
    }

    /// What the page printed since the last time.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut shared = lock(&self.shared);
        let lost = std::mem::take(&mut shared.lost);
        let lost = (lost > 0).then(|| format!("[{lost} earlier lines left out]"));
        lost.into_iter().chain(shared.lines.drain(..)).collect()
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn verdict(request: &str, approved: bool) -> (&'static str, Value) {
    match approved {
        true => ("Fetch.continueRequest", json!({"requestId": request})),
        false => (
            "Fetch.failRequest",
            json!({"requestId": request, "errorReason": "BlockedByClient"}),
        ),
    }
}

/// The task that owns the socket.
struct Pump {
    socket: Socket,
    next: u64,
    waiting: HashMap<u64, oneshot::Sender<Result<Value, String>>>,
    shared: Arc<Mutex<Shared>>,
}

impl Pump {
    /// Runs until one of both sides is gone; whoever still waits for an answer then learns it.
    async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        loop {
            let order = tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => Some(order),
                    None => return,
                },
                message = self.socket.next() => match message {
                    Some(Ok(Message::Text(text))) => match serde_json::from_str::<Value>(&text) {
                        Ok(message) => self.take(&message),
                        Err(_) => None,
                    },
                    Some(Ok(_)) => None,
                    Some(Err(_)) | None => return,
                },
            };
            if let Some(order) = order
                && self.put(order).await.is_err()
            {
                return;
            }
        }
    }

    async fn put(&mut self, order: Order) -> Result<(), tokio_tungstenite::tungstenite::Error> {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": order.method, "params": order.params});
        let session = lock(&self.shared).session.clone();
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        if let Some(reply) = order.reply {
            self.waiting.insert(self.next, reply);
        }
        self.socket.send(Message::text(message.to_string())).await
    }

    /// Takes in an answer or an event; some events want an answer at once.
    fn take(&mut self, message: &Value) -> Option<Order> {
        if let Some(id) = message["id"].as_u64() {
            let answer = match message.get("error") {
                Some(error) => Err(error["message"].as_str().unwrap_or("it failed").to_owned()),
                None => Ok(message["result"].clone()),
            };
            if let Some(reply) = self.waiting.remove(&id) {
                // Whoever asked may have given up.
                drop(reply.send(answer));
            }
            return None;
        }
        let params = &message["params"];
        let mut shared = lock(&self.shared);
        match message["method"].as_str().unwrap_or_default() {
            "Fetch.requestPaused" => return shared.paused(params),
            "Network.webSocketCreated" => {
                if let Some(url) = params["url"].as_str().and_then(|url| Url::parse(url).ok()) {
                    shared.known.add(&url);
                }
            }
            "Page.javascriptDialogOpening" => {
                let said = params["message"].as_str().unwrap_or_default();
                shared.print("dialog", said);
                return Some(Order {
                    method: "Page.handleJavaScriptDialog",
                    params: json!({"accept": true}),
                    reply: None,
                });
            }
            "Runtime.consoleAPICalled" => {
                let words = params["args"].as_array().into_iter().flatten().map(word);
                let words: Vec<String> = words.collect();
                shared.print(params["type"].as_str().unwrap_or("log"), &words.join(" "));
            }
            "Runtime.exceptionThrown" => {
                let details = &params["exceptionDetails"];
                let what = details["exception"]["description"]
                    .as_str()
                    .or(details["text"].as_str());
                shared.print("error", what.unwrap_or("an exception"));
            }
            "Log.entryAdded" => {
                let entry = &params["entry"];
                let text = entry["text"].as_str().unwrap_or_default();
                let url = entry["url"].as_str().unwrap_or_default();
                shared.print(
                    entry["level"].as_str().unwrap_or("info"),
                    format!("{text} {url}").trim(),
                );
            }
            _ => {}
        }
        None
    }
}

impl Shared {
    /// Something is about to be loaded: as the page in the window itself, each new host is asked about; all else is a matter of
    /// the gate.
    fn paused(&mut self, params: &Value) -> Option<Order> {
        let request = params["requestId"].as_str()?.to_owned();
        let url = params["request"]["url"].as_str().and_then(|url| Url::parse(url).ok());
        let top = params["resourceType"] == "Document" && params["frameId"].as_str() == self.frame.as_deref();
        let known = |url: &Url| self.approved.iter().any(|known| is_same_host(known, url));
        let approved = match url {
            Some(url) if top && !known(&url) => {
                let asking = self.asking.as_ref();
                let wish = Wish {
                    url: url.clone(),
                    request: request.clone(),
                };
                if asking.is_some_and(|asking| asking.try_send(wish).is_ok()) {
                    return None;
                }
                self.print(
                    "blocked",
                    &format!("the page wanted to go to {url} while nobody could be asked"),
                );
                false
            }
            Some(url) => {
                self.known.add(&url);
                true
            }
            None => false,
        };
        let (method, params) = verdict(&request, approved);
        Some(Order {
            method,
            params,
            reply: None,
        })
    }

    fn print(&mut self, kind: &str, text: &str) {
        if self.lines.len() == MOST_LINES {
            self.lines.pop_front();
            self.lost += 1;
        }
        let text = shorten(text.trim(), LONGEST_LINE);
        self.lines.push_back(format!("[{kind}] {text}"));
    }
}

/// A value that was printed.
fn word(value: &Value) -> String {
    match &value["value"] {
        Value::String(text) => text.clone(),
        Value::Null => value["description"]
            .as_str()
            .or(value["type"].as_str())
            .unwrap_or_default()
            .to_owned(),
        other => other.to_string(),
    }
}
