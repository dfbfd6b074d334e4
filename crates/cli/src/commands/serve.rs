//! `hew serve`: sessions for browsers and programs over HTTP.

use crate::args::{GlobalArgs, ServeArgs, ServeCommand, TurnArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output::format::{ago, now};
use crate::output::table::{self, ColumnAlign};
use crate::{output, paths, project};
use backends::{DeviceFiles, EndpointOptions, ServerFile, WebBackend, WebEndpoint};
use headless::signals::StopSignals;
use server::http::{DeviceRegistry, HttpServer, openapi_document, qr_rows};
use session::Time;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// How long sessions may take to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);
pub(super) fn serve(args: ServeArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let folder = paths::data_dir(env)?.join("serve");
    let stored = DeviceRegistry::load(Box::new(DeviceFiles::new(folder.join("devices.json"))));
    let devices = stored.map_err(|error| Failure::failed(format!("cannot read the devices: {error}")))?;
    match &args.command {
        None => run(args, global, env, Arc::new(devices), &folder),
        Some(ServeCommand::Link) => link(&devices, &folder),
        Some(ServeCommand::Token { name }) => token(&devices, name),
        Some(ServeCommand::Devices { json }) => list(&devices, *json),
        Some(ServeCommand::Revoke { id }) => revoke(&devices, id),
        Some(ServeCommand::Openapi) => {
            output::print_checked(&output::pretty(&openapi_document())?)?;
            Ok(ExitStatus::Done)
        }
    }
}

fn run(
    args: ServeArgs,
    global: &GlobalArgs,
    env: &ProcessEnv,
    devices: Arc<DeviceRegistry>,
    folder: &Path,
) -> Result<ExitStatus> {
    let root = project::root(global.cwd.as_deref(), env)?;
    let options = EndpointOptions {
        listen: &args.listen,
        hosts: &args.host,
        tls_cert: args.tls_cert.as_deref(),
        tls_key: args.tls_key.as_deref(),
        tls: args.tls,
        proxy: args.proxy.as_deref(),
        share_links: args.share,
    };
    let WebEndpoint { settings, fingerprint } = WebEndpoint::bind(&options, folder)?;
    let about = ServerFile {
        url: settings.base_url.clone(),
        pid: std::process::id(),
        fingerprint,
    };
    let (sessions, network) = (runtime()?, runtime()?);
    let flags = super::session_flags(&TurnArgs::default(), global)?;
    let backend = WebBackend::new(root, flags, env.clone(), sessions.handle().clone())?;
    let server = HttpServer::new(settings, Arc::new(backend), Arc::clone(&devices));
    let _published = about.publish(folder)?;
    announce(&about, &devices)?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    // Connections are served on their own thread: a tool may block the thread of sessions.
    let thread = std::thread::Builder::new().name("http".into()).spawn(move || {
        let served = network.block_on(server.run(async move { drop(stopped.await) }));
        drop(end);
        network.shutdown_background();
        served
    });
    let thread = thread.map_err(|error| start_failure(&error))?;
    let exit = sessions.block_on(async {
        let mut signals = StopSignals::listen();
        let mut ended = ended;
        tokio::select! {
            // The server failed.
            _ = &mut ended => return ExitStatus::Failed,
            _ = signals.next() => {}
        }
        output::print_stderr("closing the sessions; press Ctrl-C again to exit immediately\n");
        drop(stop);
        tokio::select! {
            _ = &mut ended => {}
            _ = signals.next() => return ExitStatus::Interrupted,
            () = tokio::time::sleep(CLOSE_TIMEOUT) => {}
        }
        ExitStatus::Done
    });
    sessions.shutdown_background();
    if exit == ExitStatus::Failed
        && let Ok(Err(error)) = thread.join()
    {
        return Err(start_failure(&error));
    }
    Ok(exit)
}

fn runtime() -> Result<Runtime> {
    let built = Builder::new_current_thread().enable_all().event_interval(1).build();
    built.map_err(|error| start_failure(&error))
}

fn start_failure(error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot start the server: {error}"))
}

/// Prints how to reach the server and how to pair a device.
fn announce(server: &ServerFile, devices: &DeviceRegistry) -> Result<()> {
    let mut text = format!("hew serves sessions at {}\n", server.url);
    if let Some(fingerprint) = &server.fingerprint {
        text.push_str(&format!("SHA-256 fingerprint of the certificate: {fingerprint}\n"));
    }
    text.push_str(&new_link(server, devices)?);
    output::print(&text);
    Ok(())
}

/// A new pairing link as text, with a QR code on a terminal.
fn new_link(server: &ServerFile, devices: &DeviceRegistry) -> Result<String> {
    let created = devices.create_code();
    let (code, _) = created.map_err(|error| Failure::failed(format!("cannot store a pairing code: {error}")))?;
    let url = format!("{}/pair?code={code}", server.url);
    let mut text = format!("Pair a device (valid once, for 10 minutes): {url}\n");
    if let Some(fingerprint) = &server.fingerprint {
        text.push_str(&format!("Or a terminal: hew --attach '{url}#sha256={fingerprint}'\n"));
    }
    if std::io::stdout().is_terminal() {
        text.push_str(&qr_text(&qr_rows(&url)));
    }
    Ok(text)
}

/// A QR code with half blocks, light on dark, with a quiet zone.
fn qr_text(rows: &[String]) -> String {
    let size = rows.len() as isize;
    let is_dark = |x: isize, y: isize| {
        let row = usize::try_from(y).ok().and_then(|y| rows.get(y));
        let module = usize::try_from(x).ok().and_then(|x| row?.as_bytes().get(x).copied());
        module == Some(b'1')
    };
    let mut text = String::new();
    for y in (-2..size + 2).step_by(2) {
        for x in -2..size + 2 {
            text.push(match (is_dark(x, y), is_dark(x, y + 1)) {
                (true, true) => ' ',
                (true, false) => '▄',
                (false, true) => '▀',
                (false, false) => '█',
            });
        }
        text.push('\n');
    }
    text
}

fn link(devices: &DeviceRegistry, folder: &Path) -> Result<ExitStatus> {
    let server = ServerFile::read(folder)?;
    output::print(&new_link(&server, devices)?);
    Ok(ExitStatus::Done)
}

fn token(devices: &DeviceRegistry, name: &str) -> Result<ExitStatus> {
    let created = devices.create_token(name);
    let device = created.map_err(|error| Failure::failed(format!("cannot store the token: {error}")))?;
    output::print_checked(&format!("{}\n", device.token))?;
    output::print_stderr(&format!(
        "The token is not shown again; `hew serve revoke {}` revokes it.\n",
        device.id
    ));
    Ok(ExitStatus::Done)
}

fn list(devices: &DeviceRegistry, json: bool) -> Result<ExitStatus> {
    let devices = devices.list();
    if json {
        output::print_checked(&output::pretty(&devices)?)?;
        return Ok(ExitStatus::Done);
    }
    if devices.is_empty() {
        output::print("no device is paired\n");
        return Ok(ExitStatus::Done);
    }
    let columns = [
        ("ID", ColumnAlign::Left),
        ("NAME", ColumnAlign::Left),
        ("KIND", ColumnAlign::Left),
        ("USED", ColumnAlign::Left),
        ("SESSION", ColumnAlign::Left),
    ];
    let rows: Vec<Vec<String>> = devices
        .into_iter()
        .map(|device| {
            vec![
                device.id,
                device.name,
                device.kind,
                ago(Time(device.used_ms), now()),
                device.session.unwrap_or_default(),
            ]
        })
        .collect();
    output::print_checked(&table::render(&columns, &rows))?;
    Ok(ExitStatus::Done)
}

fn revoke(devices: &DeviceRegistry, id: &str) -> Result<ExitStatus> {
    let revoked = devices.revoke(id);
    match revoked.map_err(|error| Failure::failed(format!("cannot store the devices: {error}")))? {
        true => {
            output::print_stderr(&format!("revoked {id}\n"));
            Ok(ExitStatus::Done)
        }
        false => Err(Failure::usage(format!("there is no device `{id}`")).hint("`hew serve devices` lists them")),
    }
}
