//! Drives a browser, one step per call.

use std::path::PathBuf;

use bytes::Bytes;
use model::{Block, Media};
use policy::Action as Deed;
use sandbox::Environment;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Mutex;
use tool::{Context, Effect, Error, Output, Tool};

use crate::browser::{Launch, Spot, Tab};
use crate::web::{self, Chromium, Net, failed, permit, shorten};

/// Of a page that a model cannot look at, so much is told.
const MOST_TEXT: usize = 6_000;

pub(crate) struct BrowserAction {
    pub(crate) chromium: Chromium,
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Environment,
    /// The folder in which the browser gets a home.
    pub(crate) home: Option<PathBuf>,
    pub(crate) net: Net,
    pub(crate) tab: Mutex<Option<Tab>>,
}

/// Drives a browser, one step per call, and shows the page and its console after each. Launch it with a url first.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    action: Step,
    /// For launch and navigate.
    url: Option<String>,
    /// CSS selector to click, hover or type at.
    selector: Option<String>,
    /// `x,y` in the screenshot, instead of a selector.
    #[serde(alias = "coordinates")]
    coordinate: Option<String>,
    /// To type, or the key to press, such as `Enter`.
    #[serde(alias = "key")]
    text: Option<String>,
    /// `WIDTHxHEIGHT` for resize.
    size: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Step {
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

impl Tool for BrowserAction {
    const NAME: &'static str = "browser_action";
    const ALIASES: &'static [&'static str] = &["browser"];
    const EFFECT: Effect = Effect::Changes;
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
            (Step::Launch | Step::Navigate, Some(url)) => {
                // What is no address is refused when it is run.
                let url = web::parse(url).ok();
                url.map(|url| Deed::Fetch { url: url.into() }).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let mut tab = self.tab.lock().await;
        if input.action == Step::Close {
            return Ok(Output::text(match tab.take() {
                Some(_) => "[the browser is closed]",
                None => "[no browser was open]",
            }));
        }
        if matches!(input.action, Step::Launch | Step::Navigate) && tab.is_none() {
            // An address that cannot be read shall not start a browser.
            address(&input)?;
            let launch = Launch {
                program: &self.chromium.program,
                cwd: &self.cwd,
                environment: &self.environment,
                home: self.home.as_deref(),
            };
            *tab = Some(Tab::launch(launch, self.net.clone()).await?);
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

/// Takes the step. New hosts that the page goes to on the way are put before the policy.
async fn step(tab: &mut Tab, input: &Input, context: &Context) -> Result<Output, Error> {
    let mut asks = tab.asks();
    if input.action == Step::Resize {
        let size = input.size.as_deref().and_then(pair);
        let size = size.ok_or_else(|| failed("resize needs a size, such as 1280x800".into()))?;
        tab.resize((size.0 as u32, size.1 as u32)).await?;
    }
    let tab = &*tab;
    let mut refusals = Vec::new();
    let work = take(tab, input);
    tokio::pin!(work);
    let done = loop {
        tokio::select! {
            biased;
            Some(wish) = asks.recv() => {
                let answer = permit(context, &wish.url).await;
                if let Err(error) = &answer {
                    refusals.push(format!("[refused] {}: {error}", wish.url));
                }
                tab.answer(wish, answer.is_ok()).await;
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

async fn take(tab: &Tab, input: &Input) -> Result<(), Error> {
    let text = || {
        let missing = || failed(format!("{:?} needs a text", input.action).to_lowercase());
        input.text.as_deref().ok_or_else(missing)
    };
    match input.action {
        Step::Launch | Step::Navigate => tab.navigate(&address(input)?).await,
        Step::Click => tab.click(&spot(input)?).await,
        Step::Hover => tab.hover(&spot(input)?).await,
        Step::Type => {
            let spot = match (&input.selector, &input.coordinate) {
                (None, None) => None,
                (Some(_), _) | (_, Some(_)) => Some(spot(input)?),
            };
            tab.type_text(text()?, spot.as_ref()).await
        }
        Step::Press => tab.press(text()?).await,
        Step::ScrollDown => tab.scroll(1).await,
        Step::ScrollUp => tab.scroll(-1).await,
        Step::Resize | Step::Screenshot | Step::Close => Ok(()),
    }
}

/// The page as the model can take it: as an image, or else as text.
async fn show(tab: &Tab, refusals: Vec<String>, context: &Context) -> Result<Output, Error> {
    let view = tab.view().await?;
    let (width, height) = view.size;
    let mut text = format!("{}\n{}\n", shorten(&view.url, 500), shorten(&view.title, 200));
    for line in view.lines.iter().chain(&refusals) {
        text.push_str(&format!("{line}\n"));
    }
    let image = match context.features.images {
        true => Some(tab.screenshot().await?),
        false => {
            let body = tab.text(MOST_TEXT).await?;
            let cut = if body.len() >= MOST_TEXT { "; cut here" } else { "" };
            text.push_str(&format!("\n{body}\n[text of the page{cut}]\n"));
            None
        }
    };
    text.push_str(&format!("[window {width}x{height}]"));
    let mut output = Output::text(text).summary(shorten(&view.url, 100));
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
        None => Err(failed("which page? give a url".into())),
    }
}

/// Where to click: a selector, `x,y`, or `x,y@WIDTHxHEIGHT` for a point in a picture of another size.
fn spot(input: &Input) -> Result<Spot, Error> {
    if let Some(selector) = &input.selector {
        return Ok(Spot::Selector(selector.clone()));
    }
    let Some(said) = &input.coordinate else {
        return Err(failed("where? give a selector or a coordinate".into()));
    };
    let (point, within) = match said.split_once('@') {
        Some((point, within)) => (point, Some(pair(within))),
        None => (said.as_str(), None),
    };
    match (pair(point), within) {
        (Some((x, y)), None) => Ok(Spot::Point { x, y, within: None }),
        (Some((x, y)), Some(Some(size))) => Ok(Spot::Point {
            x,
            y,
            within: Some(size),
        }),
        _ => Err(failed(format!("`{said}` is not a coordinate; write it like 450,300"))),
    }
}

/// Two numbers, as `900x600` or `900,600`.
fn pair(said: &str) -> Option<(f64, f64)> {
    let said = said.trim().trim_matches(['(', ')', '[', ']']);
    let (first, second) = said.split_once([',', 'x', 'X'])?;
    let number = |text: &str| {
        text.trim()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite() && *number >= 0.0)
    };
    Some((number(first)?, number(second)?))
}
