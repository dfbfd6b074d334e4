//! The browser's page.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tool::Error;
use url::Url;

use super::devtools::{DevTools, NavigationRequest};
use super::keys::BrowserKey;
use super::launch::{BrowserLaunch, BrowserProcess, launch};
use super::proxy::BrowserProxy;
use super::requested_hosts::RequestedHosts;
use crate::support::web::{WebClient, failed};

/// The default window size.
const SIZE: (u32, u32) = (900, 600);
const MIN_SIZE: u32 = 100;
const MAX_SIZE: u32 = 2_000;
/// Polling of the page until it is stable: number of polls and interval.
const MAX_POLLS: usize = 50;
const MAX_LOAD_POLLS: usize = 300;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Number of equal polls after which a page is stable.
const STABLE_POLLS: usize = 3;

/// Links that would open another window open in this one.
const ONE_WINDOW: &str = "addEventListener('click', e => { const a = e.target.closest && e.target.closest('a[target], area[target]'); \
    if (a) a.target = '_self'; }, true); window.open = url => { if (url) location.href = url; return null; };";
const STATE: &str =
    "document.readyState + ' ' + (document.documentElement ? document.documentElement.innerHTML.length : 0)";

/// A page in its own browser, which is stopped when this is dropped.
#[derive(Debug)]
pub(crate) struct BrowserTab {
    devtools: DevTools,
    gate: BrowserProxy,
    size: (u32, u32),
    running: BrowserProcess,
}

/// The state of a page.
#[derive(Debug, Default)]
pub(crate) struct PageView {
    pub(crate) url: String,
    pub(crate) title: String,
    /// Console output and refused requests.
    pub(crate) lines: Vec<String>,
    pub(crate) size: (u32, u32),
}

/// The target of an action on a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PageTarget {
    /// The first element that matches a CSS selector.
    Selector(String),
    /// A point, and the size of the screenshot that it refers to.
    Point { x: f64, y: f64, within: Option<(f64, f64)> },
}

impl BrowserTab {
    pub(crate) async fn launch(what: BrowserLaunch<'_>, net: WebClient) -> Result<Self, Error> {
        let known = RequestedHosts::default();
        let gate = BrowserProxy::open(net, known.clone()).await;
        let gate = gate.map_err(|error| failed(format!("cannot start the browser's proxy: {error}")))?;
        let (running, input, output) = launch(what, gate.port)?;
        let tab = Self {
            devtools: DevTools::new(input, output, known),
            gate,
            size: SIZE,
            running,
        };
        match tab.prepare().await {
            Ok(()) => Ok(tab),
            Err(error) => Err(failed(format!(
                "the browser did not start: {error}\n{}",
                tab.running.output()
            ))),
        }
    }

    async fn prepare(&self) -> Result<(), Error> {
        let targets = self.devtools.send("Target.getTargets", json!({})).await?;
        let mut pages = targets["targetInfos"].as_array().into_iter().flatten();
        let page = pages
            .find(|target| target["type"] == "page")
            .map(|target| target["targetId"].clone());
        let target = match page {
            Some(page) => page,
            None => self
                .devtools
                .send("Target.createTarget", json!({"url": "about:blank"}))
                .await?["targetId"]
                .clone(),
        };
        let deny = json!({"behavior": "deny"});
        self.devtools.send("Browser.setDownloadBehavior", deny).await?;
        let attach = json!({"targetId": target, "flatten": true});
        let attached = self.devtools.send("Target.attachToTarget", attach).await?;
        // The main frame has the id of the page.
        let session = attached["sessionId"].as_str().unwrap_or_default();
        self.devtools.attach(session, target.as_str().unwrap_or_default());
        for method in ["Page.enable", "Runtime.enable", "Log.enable", "Network.enable"] {
            self.devtools.send(method, json!({})).await?;
        }
        let all = json!({"patterns": [{"urlPattern": "*", "requestStage": "Request"}]});
        self.devtools.send("Fetch.enable", all).await?;
        let script = json!({"source": ONE_WINDOW});
        self.devtools
            .send("Page.addScriptToEvaluateOnNewDocument", script)
            .await?;
        self.set_size().await
    }

    /// Approval requests for new hosts.
    pub(crate) fn approval_requests(&self) -> mpsc::Receiver<NavigationRequest> {
        self.devtools.approval_requests()
    }

    /// Answers an approval request.
    pub(crate) async fn answer(&self, navigation: NavigationRequest, approved: bool) {
        self.devtools.answer(navigation, approved).await;
    }

    pub(crate) async fn navigate(&self, url: &Url) -> Result<(), Error> {
        self.devtools.approve(url);
        let answer = self
            .devtools
            .send("Page.navigate", json!({"url": url.as_str()}))
            .await?;
        if let Some(why) = answer["errorText"].as_str().filter(|why| !why.is_empty()) {
            let mut message = format!("{url} could not be loaded: {why}");
            for refusal in self.gate.refusals() {
                message.push_str(&format!("; {refusal}"));
            }
            return Err(failed(message));
        }
        self.wait_until_stable(MAX_LOAD_POLLS).await
    }

    pub(crate) async fn click(&self, target: &PageTarget) -> Result<(), Error> {
        let (x, y) = self.point(target).await?;
        self.mouse("mouseMoved", x, y, "none").await?;
        self.mouse("mousePressed", x, y, "left").await?;
        self.mouse("mouseReleased", x, y, "left").await?;
        self.wait_until_stable(MAX_POLLS).await
    }

    pub(crate) async fn hover(&self, target: &PageTarget) -> Result<(), Error> {
        let (x, y) = self.point(target).await?;
        self.mouse("mouseMoved", x, y, "none").await?;
        self.wait_until_stable(MAX_POLLS).await
    }

    /// Types at the cursor or at a target.
    pub(crate) async fn type_text(&self, text: &str, target: Option<&PageTarget>) -> Result<(), Error> {
        if let Some(target) = target {
            self.click(target).await?;
        }
        self.devtools.send("Input.insertText", json!({"text": text})).await?;
        self.wait_until_stable(MAX_POLLS).await
    }

    pub(crate) async fn press(&self, key: &str) -> Result<(), Error> {
        let unknown = || {
            failed(format!(
                "`{key}` is not a key name; use Enter, Tab, ArrowDown, a, Control+a …"
            ))
        };
        let key = BrowserKey::parse(key).ok_or_else(unknown)?;
        self.devtools
            .send("Input.dispatchKeyEvent", key.event("keyDown"))
            .await?;
        self.devtools.send("Input.dispatchKeyEvent", key.event("keyUp")).await?;
        self.wait_until_stable(MAX_POLLS).await
    }

    /// Scrolls by a number of window heights.
    pub(crate) async fn scroll(&self, windows: i32) -> Result<(), Error> {
        let down = i64::from(windows) * i64::from(self.size.1);
        let script = format!("scrollBy({{top: {down}, behavior: 'instant'}})");
        self.evaluate(&script).await?;
        self.wait_until_stable(MAX_POLLS).await
    }

    pub(crate) async fn resize(&mut self, size: (u32, u32)) -> Result<(), Error> {
        self.size = (size.0.clamp(MIN_SIZE, MAX_SIZE), size.1.clamp(MIN_SIZE, MAX_SIZE));
        self.set_size().await?;
        self.wait_until_stable(MAX_POLLS).await
    }

    /// A WebP screenshot of the window.
    pub(crate) async fn screenshot(&self) -> Result<Vec<u8>, Error> {
        let shot = json!({"format": "webp", "quality": 75});
        let shot = self.devtools.send("Page.captureScreenshot", shot).await?;
        let data = shot["data"].as_str().unwrap_or_default();
        STANDARD
            .decode(data)
            .map_err(|error| failed(format!("the screenshot cannot be read: {error}")))
    }

    /// The text of the page, up to `most` characters.
    pub(crate) async fn text(&self, most: usize) -> Result<String, Error> {
        let script = format!("(document.body ? document.body.innerText : '').slice(0, {most})");
        let text = self.evaluate(&script).await?;
        Ok(text.as_str().unwrap_or_default().trim().to_owned())
    }

    pub(crate) async fn view(&self) -> Result<PageView, Error> {
        let about = self.evaluate("[location.href, document.title]").await?;
        let text = |index: usize| about[index].as_str().unwrap_or_default().to_owned();
        let refused = self.gate.refusals().into_iter().map(|why| format!("[refused] {why}"));
        Ok(PageView {
            url: text(0),
            title: text(1),
            lines: self.devtools.lines().into_iter().chain(refused).collect(),
            size: self.size,
        })
    }

    async fn set_size(&self) -> Result<(), Error> {
        let (width, height) = self.size;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools
            .send("Emulation.setDeviceMetricsOverride", metrics)
            .await?;
        Ok(())
    }

    async fn mouse(&self, kind: &str, x: f64, y: f64, button: &str) -> Result<(), Error> {
        let count = u8::from(button == "left");
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": count});
        self.devtools.send("Input.dispatchMouseEvent", event).await?;
        Ok(())
    }

    async fn evaluate(&self, script: &str) -> Result<Value, Error> {
        let params = json!({"expression": script, "returnByValue": true, "awaitPromise": false});
        let answer = self.devtools.send("Runtime.evaluate", params).await?;
        match answer["exceptionDetails"]["exception"]["description"].as_str() {
            Some(why) => Err(failed(why.lines().next().unwrap_or_default().to_owned())),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    async fn point(&self, target: &PageTarget) -> Result<(f64, f64), Error> {
        let (width, height) = (f64::from(self.size.0), f64::from(self.size.1));
        let selector = match target {
            PageTarget::Selector(selector) => selector,
            PageTarget::Point { x, y, within } => {
                let (wide, high) = within.unwrap_or((width, height));
                let (x, y) = (x * width / wide.max(1.0), y * height / high.max(1.0));
                return match (0.0..width).contains(&x) && (0.0..height).contains(&y) {
                    true => Ok((x, y)),
                    false => Err(failed(format!(
                        "{x},{y} is outside of the window, which is {width}x{height}"
                    ))),
                };
            }
        };
        let script = format!(
            "(() => {{ const e = document.querySelector({}); if (!e) return 0; \
             e.scrollIntoView({{block: 'center', inline: 'center', behavior: 'instant'}}); \
             const r = e.getBoundingClientRect(); return r.width * r.height ? [r.x + r.width / 2, r.y + r.height / 2] : 1; }})()",
            Value::from(selector.as_str())
        );
        let found = self.evaluate(&script).await?;
        match (found[0].as_f64(), found[1].as_f64()) {
            (Some(x), Some(y)) => Ok((x, y)),
            _ if found == 1 => Err(failed(format!("`{selector}` exists but is not visible"))),
            _ => Err(failed(format!("nothing on the page matches `{selector}`"))),
        }
    }

    /// Waits until the page is stable, up to a limit.
    async fn wait_until_stable(&self, most: usize) -> Result<(), Error> {
        let mut last = String::new();
        let mut same = 0;
        for _ in 0..most {
            tokio::time::sleep(POLL_INTERVAL).await;
            // Evaluation fails while the page is being replaced.
            let state = match self.evaluate(STATE).await {
                Ok(state) => state.as_str().unwrap_or_default().to_owned(),
                Err(error) if error.to_string().contains("has ended") => return Err(error),
                Err(_) => String::new(),
            };
            same = if state == last { same + 1 } else { 0 };
            if same >= STABLE_POLLS && state.starts_with("complete") {
                return Ok(());
            }
            last = state;
        }
        Ok(())
    }
}
