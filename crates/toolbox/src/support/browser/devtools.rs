//! The DevTools protocol: commands, answers and events over two pipes, each message ended by a NUL.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{mpsc, oneshot};
use tool::Error;
use url::Url;

use super::AbortOnDrop;
use super::requested_hosts::RequestedHosts;
use crate::support::web::{failed, is_same_host, shorten};

/// The timeout of a command, in seconds.
const TIMEOUT: usize = 30;
const MAX_LINES: usize = 50;
const MAX_LINE_BYTES: usize = 500;

/// The maximum size of a message; screenshots are large.
const MAX_MESSAGE: usize = 64 * 1024 * 1024;
const BUFFER: usize = 64 * 1024;

/// A connection to a browser, attached to one of its pages.
#[derive(Debug)]
pub(super) struct DevTools {
    orders: mpsc::Sender<DevToolsCommand>,
    shared: Arc<Mutex<PageState>>,
    _pump: AbortOnDrop,
    _reader: AbortOnDrop,
}

/// The browser's reason not to run a method.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct RejectedMethod(String);

#[derive(Debug)]
struct DevToolsCommand {
    method: &'static str,
    params: Value,
    reply: Option<oneshot::Sender<Result<Value, RejectedMethod>>>,
}

/// A navigation to a host that has not been approved.
#[derive(Debug)]
pub(crate) struct NavigationRequest {
    pub(crate) url: Url,
    request: String,
}

/// The state collected from events.
#[derive(Debug, Default)]
struct PageState {
    session: Option<String>,
    frame: Option<String>,
    lines: VecDeque<String>,
    /// Number of dropped lines.
    lost: usize,
    approved: Vec<Url>,
    known: RequestedHosts,
    /// Receives approval requests, if a call is running.
    approvals: Option<mpsc::Sender<NavigationRequest>>,
}

impl DevTools {
    pub(super) fn new(input: Sender, output: Receiver, known: RequestedHosts) -> Self {
        let (messages, received) = mpsc::channel(64);
        let (orders, taken) = mpsc::channel(64);
        let shared = Arc::new(Mutex::new(PageState {
            known,
            ..PageState::default()
        }));
        let pump = DevToolsTask {
            input,
            next: 0,
            waiting: HashMap::new(),
            shared: Arc::clone(&shared),
        };
        Self {
            orders,
            shared,
            _pump: AbortOnDrop(tokio::spawn(pump.run(taken, received))),
            _reader: AbortOnDrop(tokio::spawn(read_messages(output, messages))),
        }
    }

    /// Sends a command and waits for its answer.
    pub(super) async fn send(&self, method: &'static str, params: Value) -> Result<Value, Error> {
        let (reply, mut answer) = oneshot::channel();
        let order = DevToolsCommand {
            method,
            params,
            reply: Some(reply),
        };
        let ended = || failed("the browser has ended; launch it again".into());
        self.orders.send(order).await.map_err(|_| ended())?;
        // Count seconds one by one, so that the time for an approval does not count.
        for _ in 0..TIMEOUT {
            tokio::select! {
                biased;
                answer = &mut answer => return match answer {
                    Ok(Ok(value)) => Ok(value),
                    Ok(Err(error)) => Err(failed(format!("{method}: {error}"))),
                    Err(_) => Err(ended()),
                },
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
        Err(failed(format!(
            "the browser did not answer to {method} within {TIMEOUT} s"
        )))
    }

    /// Attaches to a page: further commands are for it.
    pub(super) fn attach(&self, session: &str, frame: &str) {
        let mut shared = lock(&self.shared);
        shared.session = Some(session.to_owned());
        shared.frame = Some(frame.to_owned());
    }

    /// Approves a host.
    pub(super) fn approve(&self, url: &Url) {
        let mut shared = lock(&self.shared);
        if !shared.approved.iter().any(|known| is_same_host(known, url)) {
            shared.approved.push(url.clone());
        }
    }

    /// Receives approval requests for new hosts until the receiver is dropped.
    pub(super) fn approval_requests(&self) -> mpsc::Receiver<NavigationRequest> {
        let (sender, receiver) = mpsc::channel(8);
        lock(&self.shared).approvals = Some(sender);
        receiver
    }

    /// Answers an approval request.
    pub(super) async fn answer(&self, navigation: NavigationRequest, approved: bool) {
        if approved {
            self.approve(&navigation.url);
            lock(&self.shared).known.add(&navigation.url);
        }
        let (method, params) = verdict(&navigation.request, approved);
        let order = DevToolsCommand {
            method,
            params,
            reply: None,
        };
        // A closed channel means that the browser has ended.
        drop(self.orders.send(order).await);
    }

    /// Console output since the last call.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut shared = lock(&self.shared);
        let lost = std::mem::take(&mut shared.lost);
        let lost = (lost > 0).then(|| format!("[{lost} earlier lines left out]"));
        lost.into_iter().chain(shared.lines.drain(..)).collect()
    }
}

fn lock(shared: &Mutex<PageState>) -> MutexGuard<'_, PageState> {
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

/// Reads messages until the browser ends. A read that was begun must not be cancelled, so this is a task.
async fn read_messages(mut output: Receiver, messages: mpsc::Sender<Value>) {
    let mut received: Vec<u8> = Vec::new();
    let mut buffer = vec![0; BUFFER];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        received.extend_from_slice(&buffer[..count]);
        while let Some(end) = received.iter().position(|byte| *byte == 0) {
            let message = serde_json::from_slice::<Value>(&received[..end]);
            received.drain(..=end);
            if let Ok(message) = message
                && messages.send(message).await.is_err()
            {
                return;
            }
        }
        if received.len() > MAX_MESSAGE {
            return;
        }
    }
}

/// The task that sends commands and handles messages.
struct DevToolsTask {
    input: Sender,
    next: u64,
    waiting: HashMap<u64, oneshot::Sender<Result<Value, RejectedMethod>>>,
    shared: Arc<Mutex<PageState>>,
}

impl DevToolsTask {
    /// Runs until either side is closed. Pending commands then fail.
    async fn run(mut self, mut orders: mpsc::Receiver<DevToolsCommand>, mut messages: mpsc::Receiver<Value>) {
        loop {
            let order = tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => Some(order),
                    None => return,
                },
                message = messages.recv() => match message {
                    Some(message) => self.handle_message(&message),
                    None => return,
                },
            };
            if let Some(order) = order
                && self.send_command(order).await.is_err()
            {
                return;
            }
        }
    }

    async fn send_command(&mut self, order: DevToolsCommand) -> std::io::Result<()> {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": order.method, "params": order.params});
        let session = lock(&self.shared).session.clone();
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        if let Some(reply) = order.reply {
            self.waiting.insert(self.next, reply);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).await
    }

    /// Handles an answer or an event, and returns a command to send in response.
    fn handle_message(&mut self, message: &Value) -> Option<DevToolsCommand> {
        if let Some(id) = message["id"].as_u64() {
            let answer = match message.get("error") {
                Some(error) => Err(RejectedMethod(
                    error["message"].as_str().unwrap_or("it failed").to_owned(),
                )),
                None => Ok(message["result"].clone()),
            };
            if let Some(reply) = self.waiting.remove(&id) {
                // The caller may have been cancelled.
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
                let dialog_text = params["message"].as_str().unwrap_or_default();
                shared.print("dialog", dialog_text);
                return Some(DevToolsCommand {
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

impl PageState {
    /// Handles a request before it is sent: navigation of the page to a new host needs approval; the proxy filters
    /// everything else.
    fn paused(&mut self, params: &Value) -> Option<DevToolsCommand> {
        let request = params["requestId"].as_str()?.to_owned();
        let url = params["request"]["url"].as_str().and_then(|url| Url::parse(url).ok());
        let top = params["resourceType"] == "Document" && params["frameId"].as_str() == self.frame.as_deref();
        let known = |url: &Url| self.approved.iter().any(|known| is_same_host(known, url));
        let approved = match url {
            Some(url) if top && !known(&url) => {
                let approvals = self.approvals.as_ref();
                let navigation = NavigationRequest {
                    url: url.clone(),
                    request: request.clone(),
                };
                if approvals.is_some_and(|approvals| approvals.try_send(navigation).is_ok()) {
                    return None;
                }
                self.print(
                    "blocked",
                    &format!("navigation to {url}: approval is only possible during a call"),
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
        Some(DevToolsCommand {
            method,
            params,
            reply: None,
        })
    }

    fn print(&mut self, kind: &str, text: &str) {
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
            self.lost += 1;
        }
        let text = shorten(text.trim(), MAX_LINE_BYTES);
        self.lines.push_back(format!("[{kind}] {text}"));
    }
}

/// A value printed to the console.
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
