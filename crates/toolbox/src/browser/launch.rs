//! Starting a Chromium.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use sandbox::{Cap, Environment, Program, Request};
use tokio::sync::oneshot;
use tool::Error;

use super::Owned;
use crate::web::failed;

const PATIENCE: Duration = Duration::from_secs(30);
/// Chromium writes its profile as it goes.
const GRACE: Duration = Duration::from_secs(5);
const LISTENING: &str = "DevTools listening on ";
const OUTPUT: Cap = Cap { head: 500, tail: 1_500 };
const LONGEST_LINE: usize = 4_000;

/// Gives the browser a home of its own, which goes when it ends, or when the next one starts if it was ended by force. As root
/// it cannot use its own sandbox. The first argument is the folder for its home, which no command in our sandbox can write to.
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
    // Frames of other sites share the page's process, so that what they load is seen with the page.
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

/// A browser that runs. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Running {
    /// Where it is driven.
    pub(super) address: String,
    _reading: Owned,
}

/// What a browser is started with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a Path,
    pub(crate) cwd: &'a Path,
    pub(crate) environment: &'a Environment,
    /// The folder in which it gets a home; without it, the system's for what is temporary.
    pub(crate) home: Option<&'a Path>,
}

/// Starts a browser that reaches the web through this port only.
pub(super) async fn launch(what: Launch<'_>, port: u16) -> Result<Running, Error> {
    let home = what.home.map_or_else(OsString::new, OsString::from);
    let mut args: Vec<OsString> = vec!["-c".into(), SCRIPT.into(), what.program.into(), home];
    args.extend(FLAGS.iter().map(OsString::from));
    args.push(format!("--proxy-server=http://127.0.0.1:{port}").into());
    // Without it, addresses of this machine would not go through the gate.
    args.push("--proxy-bypass-list=<-loopback>".into());
    args.push("about:blank".into());
    let request = Request {
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
    // It goes on reading, because a browser whose output nobody reads stops one day.
    let reading = Owned(tokio::spawn(async move {
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
                // Nobody waits any more; then the task is about to be ended.
                drop(sender.send(Ok(address)));
            }
            let start = line.floor_char_boundary(line.len().saturating_sub(LONGEST_LINE));
            line.drain(..start);
        }
        let exit = process.exit().await;
        if let Some(sender) = sender.take() {
            drop(sender.send(Err(format!("{}{}", exit.output.head, exit.output.tail))));
        }
    }));
    match tokio::time::timeout(PATIENCE, receiver).await {
        Ok(Ok(Ok(address))) => Ok(Running {
            address,
            _reading: reading,
        }),
        Ok(Ok(Err(said))) => Err(failed(format!("the browser ended at once:\n{}", said.trim()))),
        Ok(Err(_)) => Err(failed("the browser ended at once".into())),
        Err(_) => Err(failed(format!(
            "the browser did not start within {} s",
            PATIENCE.as_secs()
        ))),
    }
}

/// The address in what a browser prints, once its line is complete.
fn address(printed: &str) -> Option<String> {
    let (_, rest) = printed.split_once(LISTENING)?;
    let (address, _) = rest.split_once('\n')?;
    Some(address.trim().to_owned())
}
