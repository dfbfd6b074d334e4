//! Starts Chromium.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use sandbox::{CaptureCap, ProcessEnvironment, ProcessRequest, Program};
use tokio::sync::oneshot;
use tool::Error;

use super::AbortOnDrop;
use crate::support::web::failed;

const TIMEOUT: Duration = Duration::from_secs(30);
/// Chromium writes its profile on exit.
const GRACE: Duration = Duration::from_secs(5);
const LISTENING: &str = "DevTools listening on ";
const OUTPUT: CaptureCap = CaptureCap { head: 500, tail: 1_500 };
const MAX_LINE_BYTES: usize = 4_000;

/// Gives the browser its own home directory, removed when it ends, or by the next start if it was killed. Root cannot
/// use Chromium's sandbox. The first argument is the parent directory, which sandboxed commands cannot write to.
const SCRIPT: &str = r#"
tmp=${1:-${TMPDIR:-/tmp}}
shift
mkdir -p -m 700 "$tmp" || exit 1
for old in "$tmp"/hew-browser-*-*; do
    pid=${old##*/hew-browser-}
    pid=${pid%%-*}
    case $pid in '' | *[!0-9]*) continue ;; esac
    [ -O "$old" ] && ! kill -0 "$pid" 2>/dev/null && rm -rf "$old"
done
home=$(mktemp -d "$tmp/hew-browser-$$-XXXXXX") || exit 1
trap 'rm -rf "$home"' EXIT
trap 'exit 143' TERM INT HUP
[ "$(id -u)" = 0 ] && set -- --no-sandbox "$@"
export HOME="$home" XDG_CONFIG_HOME="$home" XDG_CACHE_HOME="$home"
"$0" --user-data-dir="$home/profile" "$@"
"#;

const FLAGS: &[&str] = &[
    "--headless",
    "--remote-debugging-port=0",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    // Frames of other sites share the page's process, so that their requests are attributed to the page.
    "--disable-features=IsolateOrigins,site-per-process,OptimizationHints,MediaRouter,Translate,DialMediaRouteProvider,\
     AutofillServerCommunication",
    "--disable-site-isolation-trials",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--block-new-web-contents",
    "--hide-scrollbars",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--password-store=basic",
    "--use-mock-keychain",
];

/// A running browser. It is stopped when this is dropped.
#[derive(Debug)]
pub(super) struct BrowserProcess {
    /// The DevTools address.
    pub(super) address: String,
    _reading: AbortOnDrop,
}

/// Parameters for starting a browser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BrowserLaunch<'a> {
    pub(crate) program: &'a Path,
    pub(crate) cwd: &'a Path,
    pub(crate) environment: &'a ProcessEnvironment,
    /// The parent of its home directory; default: the system's temporary directory.
    pub(crate) home: Option<&'a Path>,
}

/// Starts a browser that uses the proxy at this port.
pub(super) async fn launch(what: BrowserLaunch<'_>, port: u16) -> Result<BrowserProcess, Error> {
    let home = what.home.map_or_else(OsString::new, OsString::from);
    let mut args: Vec<OsString> = vec!["-c".into(), SCRIPT.into(), what.program.into(), home];
    args.extend(FLAGS.iter().map(OsString::from));
    args.push(format!("--proxy-server=http://127.0.0.1:{port}").into());
    // Use the proxy for loopback addresses as well.
    args.push("--proxy-bypass-list=<-loopback>".into());
    args.push("about:blank".into());
    let request = ProcessRequest {
        program: Program::Exec {
            program: "/bin/sh".into(),
            args,
        },
        cwd: what.cwd.to_owned(),
        environment: what.environment.clone(),
        timeout: None,
        grace: GRACE,
        output: OUTPUT,
        terminal: None,
    };
    let mut process =
        sandbox::spawn(&request).map_err(|error| failed(format!("the browser did not start: {error}")))?;
    let (sender, receiver) = oneshot::channel();
    // Keep reading: a full output pipe would block the browser.
    let reading = AbortOnDrop(tokio::spawn(async move {
        let mut sender = Some(sender);
        let mut line = String::new();
        while let Some(text) = process.next().await {
            if sender.is_none() {
                continue;
            }
            line.push_str(&text);
            if let Some(address) = address(&line)
                && let Some(sender) = sender.take()
            {
                // A closed channel means that this task is about to be aborted.
                drop(sender.send(Ok(address)));
            }
            let start = line.floor_char_boundary(line.len().saturating_sub(MAX_LINE_BYTES));
            line.drain(..start);
        }
        let exit = process.exit().await;
        if let Some(sender) = sender.take() {
            drop(sender.send(Err(format!("{}{}", exit.output.head, exit.output.tail))));
        }
    }));
    match tokio::time::timeout(TIMEOUT, receiver).await {
        Ok(Ok(Ok(address))) => Ok(BrowserProcess {
            address,
            _reading: reading,
        }),
        Ok(Ok(Err(output_text))) => Err(failed(format!(
            "the browser exited immediately:\n{}",
            output_text.trim()
        ))),
        Ok(Err(_)) => Err(failed("the browser exited immediately".into())),
        Err(_) => Err(failed(format!(
            "the browser did not start within {} s",
            TIMEOUT.as_secs()
        ))),
    }
}

/// Parses the DevTools address once its line is complete.
fn address(printed: &str) -> Option<String> {
    let (_, rest) = printed.split_once(LISTENING)?;
    let (address, _) = rest.split_once('\n')?;
    Some(address.trim().to_owned())
}
