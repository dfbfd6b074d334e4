//! Drives a browser, one step per call.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use model::{Block, Media};
use policy::Action as Deed;
use sandbox::{Confinement, ProcessEnvironment};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Mutex;
use tool::{
    Availability, CallContext, DynTool, Error, ModelClass, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind,
    erase,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::browser::{BrowserLaunch, BrowserTab, PageTarget};
use crate::support::web::{self, Chromium, WebClient, failed, permit, shorten};

/// Maximum text of a page for models without image support.
const MAX_TEXT: usize = 6_000;

pub(crate) struct BrowserActionTool {
    pub(crate) chromium: Chromium,
    pub(crate) cwd: PathBuf,
    pub(crate) environment: ProcessEnvironment,
    /// The parent of the browser's home directory.
    pub(crate) home: Option<PathBuf>,
    /// Ends all processes of the browser.
    pub(crate) guard: Option<Confinement>,
    pub(crate) net: WebClient,
    pub(crate) tab: Mutex<Option<BrowserTab>>,
}

/// Drives a browser, one step per call, and shows the page and its console after each. Launch it with a url first.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    action: BrowserStep,
    /// For launch and navigate.
    url: Option<String>,
    /// CSS selector of the element to click, hover or type into.
    selector: Option<String>,
    /// `x,y` in the screenshot, instead of a selector.
    #[serde(alias = "coordinates")]
    coordinate: Option<String>,
    /// Text to type, or key to press, such as `Enter`.
    #[serde(alias = "key")]
    text: Option<String>,
    /// `WIDTHxHEIGHT` for resize.
    size: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum BrowserStep {
    Launch,
    #[serde(alias = "goto", alias = "open")]
    Navigate,
    Click,
    Hover,
    Type,
    Press,
    ScrollDown,
    ScrollUp,
    Resize,
    Screenshot,
    Close,
}

impl BuiltIn for BrowserActionTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        let (web, net) = parts.web()?;
        let data = parts.options.data.as_deref();
        Some(erase(BrowserActionTool {
            chromium: web.browser.clone()?,
            cwd: parts.project.workspace.root().to_owned(),
            environment: parts.environment.clone(),
            home: data.map(|data| data.join("browser")),
            guard: parts.options.commands.confinement.clone(),
            net,
            tab: Mutex::default(),
        }))
    }
}

impl Tool for BrowserActionTool {
    const NAME: &'static str = "browser_action";
    const ALIASES: &'static [&'static str] = &["browser"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Fetch,
        exceptions: &[(ModelClass::Small, Availability::Hidden)],
        peers: &[(PeerAgent::RooCode, &["browser_action"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let step = format!("{:?}", input.action).to_lowercase();
        let what = [&input.url, &input.selector, &input.coordinate, &input.text, &input.size];
        let what = what
            .into_iter()
            .flatten()
            .map(|word| format!(" {}", shorten(word, 100)));
        format!("{step}{}", what.collect::<String>())
    }

    fn actions(&self, input: &Input) -> Vec<Deed> {
        match (input.action, &input.url) {
            (BrowserStep::Launch | BrowserStep::Navigate, Some(url)) => {
                // An invalid URL is rejected when the call runs.
                let url = web::parse(url).ok();
                url.map(|url| Deed::Fetch { url: url.into() }).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let mut tab = self.tab.lock().await;
        if input.action == BrowserStep::Close {
            return Ok(Output::text(match tab.take() {
                Some(_) => "[the browser is closed]",
                None => "[no browser was open]",
            }));
        }
        if matches!(input.action, BrowserStep::Launch | BrowserStep::Navigate) && tab.is_none() {
            // Check the URL before starting a browser.
            address(&input)?;
            let launch = BrowserLaunch {
                program: &self.chromium.program,
                cwd: &self.cwd,
                environment: &self.environment,
                home: self.home.as_deref(),
                guard: self.guard.as_ref(),
            };
            *tab = Some(BrowserTab::launch(launch, self.net.clone()).await?);
        }
        let Some(open) = tab.as_mut() else {
            return Err(failed(
                "no browser is open; use action `launch` with a url first".into(),
            ));
        };
        let done = step(open, &input, &context).await;
        if done
            .as_ref()
            .is_err_and(|error| error.to_string().contains("the browser has ended"))
        {
            *tab = None;
        }
        done
    }
}

/// Executes the step. Navigation to new hosts needs approval.
async fn step(tab: &mut BrowserTab, input: &Input, context: &CallContext) -> Result<Output, Error> {
    let mut approval_requests = tab.approval_requests();
    if input.action == BrowserStep::Resize {
        let size = input.size.as_deref().and_then(pair);
        let size = size.ok_or_else(|| failed("resize needs a size, such as 1280x800".into()))?;
        tab.resize((size.0 as u32, size.1 as u32)).await?;
    }
    let tab = &*tab;
    let mut refusals = Vec::new();
    let work = execute(tab, input);
    tokio::pin!(work);
    let done = loop {
        tokio::select! {
            biased;
            Some(navigation) = approval_requests.recv() => {
                let answer = permit(context, &navigation.url).await;
                if let Err(error) = &answer {
                    refusals.push(format!("[refused] {}: {error}", navigation.url));
                }
                tab.answer(navigation, answer.is_ok()).await;
            }
            done = &mut work => break done,
        }
    };
    if let (Err(error), [refusal, ..]) = (&done, refusals.as_slice()) {
        return Err(failed(format!("{error}\n{refusal}")));
    }
    done?;
    show(tab, refusals, context).await
}

async fn execute(tab: &BrowserTab, input: &Input) -> Result<(), Error> {
    let text = || {
        let missing = || failed(format!("{:?} needs a text", input.action).to_lowercase());
        input.text.as_deref().ok_or_else(missing)
    };
    match input.action {
        BrowserStep::Launch | BrowserStep::Navigate => tab.navigate(&address(input)?).await,
        BrowserStep::Click => tab.click(&target(input)?).await,
        BrowserStep::Hover => tab.hover(&target(input)?).await,
        BrowserStep::Type => {
            let target = match (&input.selector, &input.coordinate) {
                (None, None) => None,
                (Some(_), _) | (_, Some(_)) => Some(target(input)?),
            };
            tab.type_text(text()?, target.as_ref()).await
        }
        BrowserStep::Press => tab.press(text()?).await,
        BrowserStep::ScrollDown => tab.scroll(1).await,
        BrowserStep::ScrollUp => tab.scroll(-1).await,
        BrowserStep::Resize | BrowserStep::Screenshot | BrowserStep::Close => Ok(()),
    }
}

/// The page as an image, or as text for models without image support.
async fn show(tab: &BrowserTab, refusals: Vec<String>, context: &CallContext) -> Result<Output, Error> {
    let view = tab.view().await?;
    let (width, height) = view.size;
    let mut text = format!("{}\n{}\n", shorten(&view.url, 500), shorten(&view.title, 200));
    for line in view.lines.iter().chain(&refusals) {
        text.push_str(&format!("{line}\n"));
    }
    let image = match context.features.images {
        true => Some(tab.screenshot().await?),
        false => {
            let body = tab.text(MAX_TEXT).await?;
            let cut = if body.len() >= MAX_TEXT { "; cut here" } else { "" };
            text.push_str(&format!("\n{body}\n[text of the page{cut}]\n"));
            None
        }
    };
    text.push_str(&format!("[window {width}x{height}]"));
    let mut output = Output::text(text).with_summary(shorten(&view.url, 100));
    output.content.extend(image.map(|bytes| {
        Block::Media(Media {
            mime: "image/webp".into(),
            name: None,
            data: Bytes::from(bytes),
        })
    }));
    Ok(output)
}

fn address(input: &Input) -> Result<url::Url, Error> {
    match &input.url {
        Some(url) => web::parse(url),
        None => Err(failed("missing url".into())),
    }
}

/// The target: a selector, `x,y`, or `x,y@WIDTHxHEIGHT` for a point in a scaled screenshot.
fn target(input: &Input) -> Result<PageTarget, Error> {
    if let Some(selector) = &input.selector {
        return Ok(PageTarget::Selector(selector.clone()));
    }
    let Some(text_input) = &input.coordinate else {
        return Err(failed("missing target: give a selector or a coordinate".into()));
    };
    let (point, within) = match text_input.split_once('@') {
        Some((point, within)) => (point, Some(pair(within))),
        None => (text_input.as_str(), None),
    };
    match (pair(point), within) {
        (Some((x, y)), None) => Ok(PageTarget::Point { x, y, within: None }),
        (Some((x, y)), Some(Some(size))) => Ok(PageTarget::Point {
            x,
            y,
            within: Some(size),
        }),
        _ => Err(failed(format!(
            "`{text_input}` is not a coordinate; write it like 450,300"
        ))),
    }
}

/// Parses two numbers, as `900x600` or `900,600`.
fn pair(text_input: &str) -> Option<(f64, f64)> {
    let text_input = text_input.trim().trim_matches(['(', ')', '[', ']']);
    let (first, second) = text_input.split_once([',', 'x', 'X'])?;
    let number = |text: &str| {
        text.trim()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite() && *number >= 0.0)
    };
    Some((number(first)?, number(second)?))
}
