//! `hew serve`: sessions for browsers and programs over HTTP.

use crate::args::{GlobalArgs, ServeArgs, ServeCommand, TurnArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output::format::{ago, now};
use crate::output::table::{self, ColumnAlign};
use crate::{atomic, output, paths, project};
use backends::{DeviceFiles, WebBackend};
use headless::signals::StopSignals;
use serde::{Deserialize, Serialize};
use server::http::{DeviceRegistry, HttpServer, HttpSettings, SelfSigned, openapi_document, qr_rows, self_signed};
use session::Time;
use std::io::{ErrorKind, IsTerminal as _};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// How long sessions may take to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a used port is tried again.
const PORT_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval of these attempts.
const PORT_RETRY: Duration = Duration::from_millis(50);

/// The address of the running server, for other processes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ServerFile {
    pub(super) url: String,
    pid: u32,
    /// The fingerprint of its certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fingerprint: Option<String>,
}

impl ServerFile {
    /// The running server of this computer.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let stored = std::fs::read_to_string(folder.join("server.json")).ok();
        let server = stored.and_then(|text| serde_json::from_str(&text).ok());
        server.ok_or_else(|| Failure::failed("no server is running").hint("start one with `hew serve`"))
    }
}

/// Removes the file about the server.
struct RemoveFile(PathBuf);

impl Drop for RemoveFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

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
    let listener = listen(&args.listen)?;
    let address = listener.local_addr().map_err(|error| start_failure(&error))?;
    let tls = certificate(&args, address, folder)?;
    let base_url = base_url(&args, address, tls.is_some())?;
    let settings = HttpSettings {
        hosts: hosts(&args, address, &base_url),
        tls: match &tls {
            Some(tls) => Some(tls.server_config().map_err(|error| Failure::usage(error.to_string()))?),
            None => None,
        },
        share_links: args.share,
        is_behind_proxy: args.proxy.is_some(),
        base_url: base_url.clone(),
        listener,
    };
    let (sessions, network) = (runtime()?, runtime()?);
    let flags = super::session_flags(&TurnArgs::default(), global)?;
    let backend = WebBackend::new(root, flags, env.clone(), sessions.handle().clone())?;
    let server = HttpServer::new(settings, Arc::new(backend), Arc::clone(&devices));
    let file = folder.join("server.json");
    let about = ServerFile {
        url: base_url.clone(),
        pid: std::process::id(),
        fingerprint: tls.as_ref().and_then(SelfSigned::fingerprint),
    };
    atomic::write(&file, &output::pretty(&about)?).map_err(|error| Failure::file("write", &file, &error))?;
    let _remove = RemoveFile(file);
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

fn listen(address: &str) -> Result<TcpListener> {
    let address = match address.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => address.replacen("localhost", "127.0.0.1", 1),
    };
    let address: SocketAddr = address.parse().map_err(|_| {
        Failure::usage(format!("`{address}` is not an address")).hint("use ADDRESS:PORT, such as 127.0.0.1:4440")
    })?;
    // A server that was just killed may still have the port.
    let end = Instant::now() + PORT_TIMEOUT;
    loop {
        match TcpListener::bind(address) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < end => {
                std::thread::sleep(PORT_RETRY);
            }
            Err(error) => {
                return Err(Failure::failed(format!("cannot listen on {address}: {error}"))
                    .hint("choose another port with --listen 127.0.0.1:PORT; port 0 takes a free one"));
            }
        }
    }
}

/// The certificate, if TLS is required or requested.
fn certificate(args: &ServeArgs, address: SocketAddr, folder: &Path) -> Result<Option<SelfSigned>> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error));
    if let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) {
        return Ok(Some(SelfSigned {
            certificate: read(certificate)?,
            key: read(key)?,
        }));
    }
    if args.proxy.is_some() || (address.ip().is_loopback() && !args.tls) {
        return Ok(None);
    }
    let (certificate_file, key_file) = (folder.join("certificate.pem"), folder.join("key.pem"));
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".into(), "::1".into()];
    names.extend(args.host.iter().map(|host| without_port(host).to_owned()));
    names.extend(public_address(address).map(|ip| ip.to_string()));
    names.sort();
    names.dedup();
    let names_file = folder.join("names.txt");
    // A certificate for the same names is kept, so that a browser has to accept it once.
    let is_same = std::fs::read_to_string(&names_file).is_ok_and(|kept| kept == names.join("\n"));
    if is_same && certificate_file.exists() && key_file.exists() {
        return Ok(Some(SelfSigned {
            certificate: read(&certificate_file)?,
            key: read(&key_file)?,
        }));
    }
    let created = self_signed(names.clone()).map_err(|error| Failure::failed(error.to_string()))?;
    for (path, text) in [
        (&key_file, &created.key),
        (&certificate_file, &created.certificate),
        (&names_file, &names.join("\n")),
    ] {
        atomic::write(path, text).map_err(|error| Failure::file("write", path, &error))?;
    }
    Ok(Some(created))
}

/// The address in links.
fn base_url(args: &ServeArgs, address: SocketAddr, is_encrypted: bool) -> Result<String> {
    if let Some(proxy) = &args.proxy {
        let url = proxy.trim_end_matches('/');
        let host = url
            .strip_prefix("https://")
            .filter(|host| !host.is_empty() && !host.contains('/'));
        return match host {
            Some(host) => Ok(format!("https://{}", host.to_ascii_lowercase())),
            None => Err(
                Failure::usage(format!("`{proxy}` is not the address of a proxy with TLS"))
                    .hint("use https://NAME without a path; a proxy without TLS would expose the token"),
            ),
        };
    }
    let scheme = if is_encrypted { "https" } else { "http" };
    let host = match args.host.first() {
        Some(host) if host.contains(':') => return Ok(format!("{scheme}://{}", host.to_ascii_lowercase())),
        Some(host) => host.to_ascii_lowercase(),
        None => match public_address(address).unwrap_or(address.ip()) {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        },
    };
    Ok(format!("{scheme}://{host}:{}", address.port()))
}

/// The allowed values of the header `Host`.
fn hosts(args: &ServeArgs, address: SocketAddr, base_url: &str) -> Vec<String> {
    let port = address.port();
    let mut hosts: Vec<String> = base_url.split("://").nth(1).map(str::to_owned).into_iter().collect();
    let mut add = |host: &str| {
        hosts.push(format!("{host}:{port}"));
        // Browsers omit the default port of the scheme.
        if port == 80 || port == 443 {
            hosts.push(host.to_owned());
        }
    };
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        ["127.0.0.1", "localhost", "[::1]"].into_iter().for_each(&mut add);
    }
    match address.ip() {
        IpAddr::V4(ip) => add(&ip.to_string()),
        IpAddr::V6(ip) => add(&format!("[{ip}]")),
    }
    for host in &args.host {
        add(&without_port(host).to_ascii_lowercase());
    }
    hosts.extend(args.host.iter().map(|host| host.to_ascii_lowercase()));
    hosts
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() && !name.ends_with(':') => name,
        Some(_) | None => host,
    }
}

/// The address at which other devices reach a server on all interfaces. Sends nothing.
fn public_address(address: SocketAddr) -> Option<IpAddr> {
    if !address.ip().is_unspecified() {
        return None;
    }
    let socket = UdpSocket::bind((address.ip(), 0)).ok()?;
    socket.connect(("192.0.2.1", 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn args(listen: &str, host: &[&str], proxy: Option<&str>) -> ServeArgs {
        ServeArgs {
            listen: listen.into(),
            host: host.iter().map(|host| (*host).to_owned()).collect(),
            tls_cert: None,
            tls_key: None,
            tls: false,
            proxy: proxy.map(str::to_owned),
            share: false,
            command: None,
        }
    }

    #[test]
    fn the_own_names_are_allowed_and_no_others() {
        let address = "127.0.0.1:4440".parse().unwrap();
        let plain = args("", &[], None);
        let url = base_url(&plain, address, false).unwrap();
        assert_eq!(url, "http://127.0.0.1:4440");
        let allowed = hosts(&plain, address, &url);
        assert!(
            ["127.0.0.1:4440", "localhost:4440", "[::1]:4440"]
                .iter()
                .all(|host| allowed.contains(&(*host).into()))
        );
        let named = args("", &["Box.local"], None);
        let url = base_url(&named, address, true).unwrap();
        assert_eq!(url, "https://box.local:4440");
        assert!(hosts(&named, address, &url).contains(&"box.local:4440".into()));
        let proxied = args("", &[], Some("https://hew.example.org/"));
        assert_eq!(base_url(&proxied, address, false).unwrap(), "https://hew.example.org");
        for bad in ["http://hew.example.org", "hew.example.org", "https://a/b"] {
            assert!(base_url(&args("", &[], Some(bad)), address, false).is_err(), "{bad}");
        }
    }
}
