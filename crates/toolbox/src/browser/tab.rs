//! The one page that is shown.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tool::Error;
use url::Url;

use super::devtools::{DevTools, Wish};
use super::gate::Gate;
use super::keys::Key;
use super::known::Known;
use super::launch::{Launch, Running, launch};
use crate::web::{Net, failed};

/// The window, unless another is wanted.
const SIZE: (u32, u32) = (900, 600);
const SMALLEST: u32 = 100;
const LARGEST: u32 = 2_000;
/// How often a page is looked at until it no longer changes, and after which pause.
const MOST_LOOKS: usize = 50;
const MOST_LOOKS_LOADING: usize = 300;
const LOOK: Duration = Duration::from_millis(100);
/// A page that looks the same this often has settled.
const SAME_LOOKS: usize = 3;

/// A link that would open another window opens in this one.
const ONE_WINDOW: &str = "addEventListener('click', e => { const a = e.target.closest && e.target.closest('a[target], area[target]'); \
    if (a) a.target = '_self'; }, true); window.open = url => { if (url) location.href = url; return null; };";
const STATE: &str =
    "document.readyState + ' ' + (document.documentElement ? document.documentElement.innerHTML.length : 0)";

/// A page in a browser of its own. The browser ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Tab {
    devtools: DevTools,
    gate: Gate,
    size: (u32, u32),
    _running: Running,
}

/// What a page looks like.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) url: String,
    pub(crate) title: String,
    /// What it printed, and what it was refused.
    pub(crate) lines: Vec<String>,
    pub(crate) size: (u32, u32),
}

/// Where something is done on a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Spot {
    /// The first element that a CSS selector finds.
    Selector(String),
    /// A point, and the size of the picture that it was read from.
    Point { x: f64, y: f64, within: Option<(f64, f64)> },
}

impl Tab {
    pub(crate) async fn launch(what: Launch<'_>, net: Net) -> Result<Self, Error> {
        let known = Known::default();
        let gate = Gate::open(net, known.clone()).await;
        let gate = gate.map_err(|error| failed(format!("the browser has no way to the web: {error}")))?;
        let running = launch(what, gate.port).await?;
        let devtools = DevTools::connect(&running.address, known).await?;
        let tab = Self {
            devtools,
            gate,
            size: SIZE,
            _running: running,
        };
        tab.prepare().await?;
        Ok(tab)
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
        // The frame of a page has the page's own name.
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

    /// The questions about new hosts that come up while something is done.
    pub(crate) fn asks(&self) -> mpsc::Receiver<Wish> {
        self.devtools.asks()
    }

    /// Answers a question about a new host.
    pub(crate) async fn answer(&self, wish: Wish, approved: bool) {
        self.devtools.answer(wish, approved).await;
    }

    pub(crate) async fn navigate(&self, url: &Url) -> Result<(), Error> {
        self.devtools.approve(url);
        let answer = self
            .devtools
            .send("Page.navigate", json!({"url": url.as_str()}))
            .await?;
        if let Some(why) = answer["errorText"].as_str().filter(|why| !why.is_empty()) {
            let mut told = format!("{url} could not be loaded: {why}");
            for refusal in self.gate.refusals() {
                told.push_str(&format!("; {refusal}"));
            }
            return Err(failed(told));
        }
        self.settle(MOST_LOOKS_LOADING).await
    }

    pub(crate) async fn click(&self, spot: &Spot) -> Result<(), Error> {
        let (x, y) = self.point(spot).await?;
        self.mouse("mouseMoved", x, y, "none").await?;
        self.mouse("mousePressed", x, y, "left").await?;
        self.mouse("mouseReleased", x, y, "left").await?;
        self.settle(MOST_LOOKS).await
    }

    pub(crate) async fn hover(&self, spot: &Spot) -> Result<(), Error> {
        let (x, y) = self.point(spot).await?;
        self.mouse("mouseMoved", x, y, "none").await?;
        self.settle(MOST_LOOKS).await
    }

    /// Types where the cursor is, or at a spot.
    pub(crate) async fn type_text(&self, text: &str, spot: Option<&Spot>) -> Result<(), Error> {
        if let Some(spot) = spot {
            self.click(spot).await?;
        }
        self.devtools.send("Input.insertText", json!({"text": text})).await?;
        self.settle(MOST_LOOKS).await
    }

    pub(crate) async fn press(&self, key: &str) -> Result<(), Error> {
        let unknown = || {
            failed(format!(
                "`{key}` is not the name of a key; use Enter, Tab, ArrowDown, a, Control+a …"
            ))
        };
        let key = Key::parse(key).ok_or_else(unknown)?;
        self.devtools
            .send("Input.dispatchKeyEvent", key.event("keyDown"))
            .await?;
        self.devtools.send("Input.dispatchKeyEvent", key.event("keyUp")).await?;
        self.settle(MOST_LOOKS).await
    }

    /// Scrolls by so many windows.
    pub(crate) async fn scroll(&self, windows: i32) -> Result<(), Error> {
        let down = i64::from(windows) * i64::from(self.size.1);
        let script = format!("scrollBy({{top: {down}, behavior: 'instant'}})");
        self.evaluate(&script).await?;
        self.settle(MOST_LOOKS).await
    }

    pub(crate) async fn resize(&mut self, size: (u32, u32)) -> Result<(), Error> {
        self.size = (size.0.clamp(SMALLEST, LARGEST), size.1.clamp(SMALLEST, LARGEST));
        self.set_size().await?;
        self.settle(MOST_LOOKS).await
    }

    /// The window as a WebP image.
    pub(crate) async fn screenshot(&self) -> Result<Vec<u8>, Error> {
        let shot = json!({"format": "webp", "quality": 75});
        let shot = self.devtools.send("Page.captureScreenshot", shot).await?;
        let data = shot["data"].as_str().unwrap_or_default();
        STANDARD
            .decode(data)
            .map_err(|error| failed(format!("the screenshot cannot be read: {error}")))
    }

    /// The text that can be read in the window and below, at most so long.
    pub(crate) async fn text(&self, most: usize) -> Result<String, Error> {
        let script = format!("(document.body ? document.body.innerText : '').slice(0, {most})");
        let text = self.evaluate(&script).await?;
        Ok(text.as_str().unwrap_or_default().trim().to_owned())
    }

    pub(crate) async fn view(&self) -> Result<View, Error> {
        let about = self.evaluate("[location.href, document.title]").await?;
        let text = |index: usize| about[index].as_str().unwrap_or_default().to_owned();
        let refused = self.gate.refusals().into_iter().map(|why| format!("[refused] {why}"));
        Ok(View {
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

    async fn point(&self, spot: &Spot) -> Result<(f64, f64), Error> {
        let (width, height) = (f64::from(self.size.0), f64::from(self.size.1));
        let selector = match spot {
            Spot::Selector(selector) => selector,
            Spot::Point { x, y, within } => {
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
            _ if found == 1 => Err(failed(format!("`{selector}` is there but not visible"))),
            _ => Err(failed(format!("nothing on the page matches `{selector}`"))),
        }
    }

    /// Waits until the page no longer changes, but not for ever: some never come to rest.
    async fn settle(&self, most: usize) -> Result<(), Error> {
        let mut last = String::new();
        let mut same = 0;
        for _ in 0..most {
            tokio::time::sleep(LOOK).await;
            // While a page is exchanged for the next there is nothing to look at.
            let state = match self.evaluate(STATE).await {
                Ok(state) => state.as_str().unwrap_or_default().to_owned(),
                Err(error) if error.to_string().contains("has ended") => return Err(error),
                Err(_) => String::new(),
            };
            same = if state == last { same + 1 } else { 0 };
            if same >= SAME_LOOKS && state.starts_with("complete") {
                return Ok(());
            }
            last = state;
        }
        Ok(())
    }
}
