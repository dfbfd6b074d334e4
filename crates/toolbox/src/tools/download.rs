//! Downloads a file from the web.

use std::sync::Arc;
use std::time::{Duration, Instant};

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, erase};
use url::Url;
use workspace::ExpectedContent;

use crate::registry::{BuiltIn, ToolParts};
use crate::support::project::changes::change;
use crate::support::project::{Project, run_blocking, tool_error};
use crate::support::web::{self, BodyCompression, BodyEnd, WebClient, WebRequest, failed};

const DEFAULT_SECONDS: u64 = 300;
const MAX_SECONDS: u64 = 600;

pub(crate) struct DownloadTool {
    pub(crate) project: Project,
    pub(crate) net: WebClient,
    pub(crate) most: usize,
}

/// Downloads a URL to a file.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    url: String,
    /// File, or directory to keep its name.
    #[serde(alias = "file_path", alias = "filePath", alias = "output_path")]
    path: String,
    /// Replace an existing file.
    overwrite: Option<bool>,
    #[schemars(skip)]
    #[serde(alias = "timeout_seconds")]
    timeout: Option<u64>,
}

impl DownloadTool {
    /// The path of the file. In a directory, the last part of the URL is the name.
    fn path(&self, input: &Input) -> Result<String, Error> {
        let is_folder = input.path.ends_with('/') || {
            let place = self.project.workspace.locate(&input.path).map_err(tool_error)?;
            place.is_dir()
        };
        if !is_folder {
            return Ok(input.path.clone());
        }
        let url = web::parse(&input.url)?;
        match name(&url) {
            Some(name) => Ok(format!("{}/{name}", input.path.trim_end_matches('/'))),
            None => Err(failed(format!("{url} has no file name; give the path of a file"))),
        }
    }
}

impl BuiltIn for DownloadTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        let (web, net) = parts.web()?;
        Some(erase(DownloadTool {
            project: parts.project.clone(),
            net,
            most: web.max_download,
        }))
    }
}

impl Tool for DownloadTool {
    const NAME: &'static str = "download";
    const ALIASES: &'static [&'static str] = &["download_file"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Fetch,
        peers: &[(PeerAgent::Crush, &["download"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("{} to {}", input.url, input.path)
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        // An invalid URL is rejected when the call runs; an unresolvable path may resolve then.
        let Ok(url) = web::parse(&input.url) else {
            return Vec::new();
        };
        let path = self.path(input).unwrap_or_else(|_| input.path.clone());
        let mut actions = self.project.write_actions(&path);
        actions.push(Action::Fetch { url: url.into() });
        actions
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let url = web::parse(&input.url)?;
        let file = self.project.locate(&self.path(&input)?)?;
        let expect = match (file.exists(), input.overwrite) {
            (false, _) => ExpectedContent::Absent,
            (true, Some(true)) => ExpectedContent::Content(file.fingerprint().map_err(tool_error)?),
            (true, Some(false) | None) => {
                let why = format!(
                    "{} exists; nothing was loaded; set overwrite to replace it",
                    file.shown()
                );
                return Err(failed(why));
            }
        };
        let seconds = input.timeout.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS);
        let ask = WebRequest {
            packing: BodyCompression::None,
            ..WebRequest::get(url, Duration::from_secs(seconds))
        };
        let (started, stall) = (Instant::now(), ask.stall);
        let mut reply = self.net.send(ask, &context).await?.success().await?;
        let too_large = |size: String| {
            let most = self.most;
            failed(format!(
                "{size}; the limit is {most} (web.max_download); nothing was written"
            ))
        };
        if let Some(length) = reply.length().filter(|length| *length > self.most as u64) {
            return Err(too_large(format!("{} has {length} bytes", reply.url)));
        }
        let taken = reply.take(self.most).await;
        let got = taken.bytes.len();
        match taken.end {
            BodyEnd::Whole => {}
            BodyEnd::TooLong => return Err(too_large(format!("{} has more than {got} bytes", reply.url))),
            BodyEnd::TooSlow => {
                let how = match started.elapsed().as_secs() < seconds {
                    true => format!("sent nothing for {} s,", stall.as_secs()),
                    false => format!("timed out after {seconds} s,"),
                };
                return Err(incomplete(&reply.url, got, &how));
            }
            BodyEnd::Broken => return Err(incomplete(&reply.url, got, "lost the connection")),
        }
        let bytes = taken.bytes;
        let (written, bytes, file) = run_blocking(move || {
            let written = file.write(&bytes, expect).map_err(tool_error)?;
            Ok((written, bytes, file))
        })
        .await?;
        let verb = match written.before {
            Some(_) => "replaced",
            None => "created",
        };
        let kind = match reply.kind() {
            kind if kind.is_empty() => "of unknown type".to_owned(),
            kind => kind,
        };
        let packed = reply
            .packed()
            .map(|packing| format!(", compressed with {packing}"))
            .unwrap_or_default();
        let what = format!("{} bytes, {kind}{packed}", bytes.len());
        Ok(
            Output::text(format!("{verb} {} ({what}) from {}", file.shown(), reply.url))
                .with_summary(format!("{verb}, {} bytes", bytes.len()))
                .with_change(change(&file, written.before, bytes)),
        )
    }
}

fn incomplete(url: &Url, got: usize, how: &str) -> Error {
    failed(format!("{url} {how} after {got} bytes; nothing was written"))
}

/// The last part of a URL, if it is a valid file name.
fn name(url: &Url) -> Option<String> {
    let last = url.path_segments()?.next_back()?;
    let fine = !last.is_empty() && last != "." && last != ".." && last.len() < 200;
    fine.then(|| last.replace("%20", " "))
}
