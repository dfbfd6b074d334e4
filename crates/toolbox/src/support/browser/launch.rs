//! Starts Chromium.

use std::ffi::OsString;
use std::path::Path;

use sandbox::{Confinement, PipedProcess, ProcessAccess, ProcessEnvironment, Program};
use tokio::net::unix::pipe::{Receiver, Sender};
use tool::Error;

use crate::support::web::failed;

/// The maximum length of its output in messages.
const MAX_OUTPUT: usize = 2_000;

/// Gives the browser its own home directory, removed when it ends, or by the next start if it was killed. Root cannot
/// use Chromium's sandbox. The first argument is the parent directory, which sandboxed commands cannot write to. The
/// debugging protocol uses two descriptors, because any program of the machine could connect to a port.
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
"$0" --user-data-dir="$home/profile" "$@" 3<&0 4>&1 </dev/null >&2
"#;

const FLAGS: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
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
pub(super) struct BrowserProcess(PipedProcess);

impl BrowserProcess {
    /// The end of what it has printed.
    pub(super) fn output(&self) -> String {
        let printed = self.0.stderr();
        let text = format!("{}{}", printed.head, printed.tail);
        let start = text.floor_char_boundary(text.len().saturating_sub(MAX_OUTPUT));
        text[start..].trim().to_owned()
    }
}

/// Parameters for starting a browser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BrowserLaunch<'a> {
    pub(crate) program: &'a Path,
    pub(crate) cwd: &'a Path,
    pub(crate) environment: &'a ProcessEnvironment,
    /// The parent of its home directory; default: the system's temporary directory.
    pub(crate) home: Option<&'a Path>,
    /// Ends all its processes, also if hew is killed. Chromium has its own sandbox.
    pub(crate) guard: Option<&'a Confinement>,
}

/// Starts a browser that uses the proxy at this port. Returns the streams of the debugging protocol.
pub(super) fn launch(what: BrowserLaunch<'_>, port: u16) -> Result<(BrowserProcess, Sender, Receiver), Error> {
    let home = what.home.map_or_else(OsString::new, OsString::from);
    let mut args: Vec<OsString> = vec!["-c".into(), SCRIPT.into(), what.program.into(), home];
    args.extend(FLAGS.iter().map(OsString::from));
    args.push(format!("--proxy-server=http://127.0.0.1:{port}").into());
    // Use the proxy for loopback addresses as well.
    args.push("--proxy-bypass-list=<-loopback>".into());
    args.push("about:blank".into());
    let program = Program::Exec {
        program: "/bin/sh".into(),
        args,
    };
    let guard = what.guard.map(|confinement| {
        confinement.with_access(&ProcessAccess {
            unconfined: true,
            ..ProcessAccess::default()
        })
    });
    let started = PipedProcess::start(&program, what.cwd, what.environment, guard.as_ref());
    let (process, input, output) = started.map_err(|error| failed(format!("the browser did not start: {error}")))?;
    Ok((BrowserProcess(process), input, output))
}
