//! Saves something from the web as a file of the project.

use std::time::Duration;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};
use url::Url;
use workspace::Expect;

use crate::project::{Project, aside, explain};
use crate::web::{self, Ask, End, Net, Packing, failed};
use crate::write_file::change;

const DEFAULT_SECONDS: u64 = 300;
const MAX_SECONDS: u64 = 600;

pub(crate) struct Download {
    pub(crate) project: Project,
    pub(crate) net: Net,
    pub(crate) most: usize,
}

/// Saves what is at a web address as a file.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    url: String,
    /// File, or folder to keep its name.
    #[serde(alias = "file_path", alias = "filePath", alias = "output_path")]
    path: String,
    /// Whether an existing file may be replaced.
    overwrite: Option<bool>,
    #[schemars(skip)]
    #[serde(alias = "timeout_seconds")]
    timeout: Option<u64>,
}

impl Download {
    /// The path of the file: a folder gets the last part of the address as a name in it.
    fn path(&self, input: &Input) -> Result<String, Error> {
        let is_folder = input.path.ends_with('/') || self.project.locate(&input.path)?.is_dir();
        if !is_folder {
            return Ok(input.path.clone());
        }
        let url = web::parse(&input.url)?;
        match name(&url) {
            Some(name) => Ok(format!("{}/{name}", input.path.trim_end_matches('/'))),
            None => Err(failed(format!(
                "{url} names no file; give the path of the file, not of a folder"
            ))),
        }
    }
}

impl Tool for Download {
    const NAME: &'static str = "download";
    const ALIASES: &'static [&'static str] = &["download_file"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        format!("{} to {}", input.url, input.path)
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        // An address that cannot be read is refused when it is run; a path that leads nowhere may lead somewhere then.
        let Ok(url) = web::parse(&input.url) else {
            return Vec::new();
        };
        let path = self.path(input).unwrap_or_else(|_| input.path.clone());
        let mut actions = self.project.writing(&path);
        actions.push(Action::Fetch { url: url.into() });
        actions
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let url = web::parse(&input.url)?;
        let file = self.project.locate(&self.path(&input)?)?;
        let expect = match (file.exists(), input.overwrite) {
            (false, _) => Expect::Absent,
            (true, Some(true)) => Expect::Content(file.snapshot().map_err(explain)?),
            (true, Some(false) | None) => {
                let why = format!(
                    "{} exists; nothing was loaded; set overwrite to replace it",
                    file.shown()
                );
                return Err(failed(why));
            }
        };
        let seconds = input.timeout.unwrap_or(DEFAULT_SECONDS).clamp(1, MAX_SECONDS);
        let ask = Ask {
            packing: Packing::None,
            ..Ask::get(url, Duration::from_secs(seconds))
        };
        let mut reply = self.net.send(ask, &context).await?.success().await?;
        let too_large = |size: String| {
            let most = self.most;
            failed(format!(
                "{size}, and a download may have {most} (web.max_download); nothing was written"
            ))
        };
        if let Some(length) = reply.length().filter(|length| *length > self.most as u64) {
            return Err(too_large(format!("{} has {length} bytes", reply.url)));
        }
        let taken = reply.take(self.most).await;
        let got = taken.bytes.len();
        match taken.end {
            End::Whole => {}
            End::TooLong => return Err(too_large(format!("{} has more than {got} bytes", reply.url))),
            End::TooSlow => {
                return Err(incomplete(
                    &reply.url,
                    got,
                    &format!("was still coming after {seconds} s"),
                ));
            }
            End::Broken => return Err(incomplete(&reply.url, got, "broke off")),
        }
        let bytes = taken.bytes;
        let (written, bytes, file) = aside(move || {
            let written = file.write(&bytes, expect).map_err(explain)?;
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
            .map(|packing| format!(", still packed as {packing}"))
            .unwrap_or_default();
        let what = format!("{} bytes, {kind}{packed}", bytes.len());
        Ok(
            Output::text(format!("{verb} {} ({what}) from {}", file.shown(), reply.url))
                .summary(format!("{verb}, {} bytes", bytes.len()))
                .changed(change(&file, written.before, bytes)),
        )
    }
}

fn incomplete(url: &Url, got: usize, how: &str) -> Error {
    failed(format!("{url} {how} after {got} bytes; nothing was written"))
}

/// The last part of an address, where it can be the name of a file.
fn name(url: &Url) -> Option<String> {
    let last = url.path_segments()?.next_back()?;
    let fine = !last.is_empty() && last != "." && last != ".." && last.len() < 200;
    fine.then(|| last.replace("%20", " "))
}
