//! The address of the web server: its socket, certificate, links and allowed host names.

use crate::atomic;
use crate::failure::{Failure, Result};
use serde::{Deserialize, Serialize};
use server::http::{HttpSettings, SelfSigned, self_signed};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a used port is tried again.
const PORT_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval of these attempts.
const PORT_RETRY: Duration = Duration::from_millis(50);

/// The address of the running server, for other processes.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServerFile {
    /// Its address.
    pub url: String,
    /// Its process.
    pub pid: u32,
    /// The fingerprint of its certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl ServerFile {
    /// The running server of this computer.
    pub fn read(folder: &Path) -> Result<Self> {
        let stored = std::fs::read_to_string(folder.join("server.json")).ok();
        let server = stored.and_then(|text| serde_json::from_str(&text).ok());
        server.ok_or_else(|| Failure::failed("no server is running").hint("start one with `hew serve`"))
    }

    /// Publishes the server of this process.
    pub fn publish(&self, folder: &Path) -> Result<PublishedServer> {
        let file = folder.join("server.json");
        let text = serde_json::to_string_pretty(self).map_err(|error| Failure::failed(error.to_string()))?;
        atomic::write(&file, &text).map_err(|error| Failure::file("write", &file, &error))?;
        Ok(PublishedServer(file))
    }
}

/// The file about the running server; it is removed when this is dropped.
#[derive(Debug)]
pub struct PublishedServer(PathBuf);

impl Drop for PublishedServer {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

/// Where and how the server is reached.
#[derive(Debug, Clone, Copy)]
pub struct EndpointOptions<'a> {
    /// An address with a port, or a port on loopback.
    pub listen: &'a str,
    /// Further host names.
    pub hosts: &'a [String],
    /// The file with the certificate.
    pub tls_cert: Option<&'a Path>,
    /// The file with its private key.
    pub tls_key: Option<&'a Path>,
    /// Whether TLS is used on loopback, too.
    pub tls: bool,
    /// The address of a proxy with TLS in front of the server.
    pub proxy: Option<&'a str>,
    /// Whether read-only links to sessions are allowed.
    pub share_links: bool,
}

/// A bound socket with everything that the server needs to know about it.
pub struct WebEndpoint {
    /// The settings of the server.
    pub settings: HttpSettings,
    /// The fingerprint of its certificate, if it creates one.
    pub fingerprint: Option<String>,
}

impl WebEndpoint {
    /// Binds the socket. Certificates are stored in `folder`.
    pub fn bind(options: &EndpointOptions<'_>, folder: &Path) -> Result<WebEndpoint> {
        let listener = listen(options.listen)?;
        let address = listener.local_addr();
        let address = address.map_err(|error| Failure::failed(format!("cannot start the server: {error}")))?;
        let tls = certificate(options, address, folder)?;
        let base_url = base_url(options, address, tls.is_some())?;
        Ok(WebEndpoint {
            fingerprint: tls.as_ref().and_then(SelfSigned::fingerprint),
            settings: HttpSettings {
                hosts: hosts(options, address, &base_url),
                tls: match &tls {
                    Some(tls) => Some(tls.server_config().map_err(|error| Failure::usage(error.to_string()))?),
                    None => None,
                },
                share_links: options.share_links,
                is_behind_proxy: options.proxy.is_some(),
                base_url,
                listener,
            },
        })
    }
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
fn certificate(options: &EndpointOptions<'_>, address: SocketAddr, folder: &Path) -> Result<Option<SelfSigned>> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error));
    if let (Some(certificate), Some(key)) = (options.tls_cert, options.tls_key) {
        return Ok(Some(SelfSigned {
            certificate: read(certificate)?,
            key: read(key)?,
        }));
    }
    if options.proxy.is_some() || (address.ip().is_loopback() && !options.tls) {
        return Ok(None);
    }
    let (certificate_file, key_file) = (folder.join("certificate.pem"), folder.join("key.pem"));
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".into(), "::1".into()];
    names.extend(options.hosts.iter().map(|host| without_port(host).to_owned()));
    names.extend(public_address(address).map(|ip| ip.to_string()));
    names.extend((!address.ip().is_unspecified()).then(|| address.ip().to_string()));
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
fn base_url(options: &EndpointOptions<'_>, address: SocketAddr, is_encrypted: bool) -> Result<String> {
    if let Some(proxy) = options.proxy {
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
    let host = match options.hosts.first() {
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
fn hosts(options: &EndpointOptions<'_>, address: SocketAddr, base_url: &str) -> Vec<String> {
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
    for host in options.hosts {
        add(&without_port(host).to_ascii_lowercase());
    }
    hosts.extend(options.hosts.iter().map(|host| host.to_ascii_lowercase()));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn options<'a>(hosts: &'a [String], proxy: Option<&'a str>) -> EndpointOptions<'a> {
        EndpointOptions {
            listen: "",
            hosts,
            tls_cert: None,
            tls_key: None,
            tls: false,
            proxy,
            share_links: false,
        }
    }

    #[test]
    fn every_address_beyond_loopback_needs_tls() {
        let folder = std::env::temp_dir().join(format!("hew-endpoint-{}", std::process::id()));
        let is_encrypted = |address: &str, options: &EndpointOptions<'_>| {
            certificate(options, address.parse().unwrap(), &folder)
                .unwrap()
                .is_some()
        };
        let (plain, proxied) = (options(&[], None), options(&[], Some("https://hew.example")));
        let tls = EndpointOptions { tls: true, ..plain };
        for address in ["127.0.0.1:1", "127.0.0.2:1", "127.255.255.254:1", "[::1]:1"] {
            assert!(
                !is_encrypted(address, &plain) && is_encrypted(address, &tls),
                "{address}"
            );
        }
        for address in [
            "0.0.0.0:1",
            "[::]:1",
            "10.0.0.1:1",
            "192.168.1.2:1",
            "169.254.1.1:1",
            "[fe80::1]:1",
            "[::ffff:10.0.0.1]:1",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(
                is_encrypted(address, &plain) && !is_encrypted(address, &proxied),
                "{address}"
            );
            let names = std::fs::read_to_string(folder.join("names.txt")).unwrap();
            let own = address.parse::<SocketAddr>().unwrap().ip();
            assert!(
                own.is_unspecified() || names.lines().any(|name| name == own.to_string()),
                "{names}"
            );
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_own_names_are_allowed_and_no_others() {
        let address = "127.0.0.1:4440".parse().unwrap();
        let plain = options(&[], None);
        let url = base_url(&plain, address, false).unwrap();
        assert_eq!(url, "http://127.0.0.1:4440");
        let allowed = hosts(&plain, address, &url);
        assert!(
            ["127.0.0.1:4440", "localhost:4440", "[::1]:4440"]
                .iter()
                .all(|host| allowed.contains(&(*host).into()))
        );
        let names = ["Box.local".to_owned()];
        let named = options(&names, None);
        let url = base_url(&named, address, true).unwrap();
        assert_eq!(url, "https://box.local:4440");
        assert!(hosts(&named, address, &url).contains(&"box.local:4440".into()));
        let proxied = options(&[], Some("https://hew.example.org/"));
        assert_eq!(base_url(&proxied, address, false).unwrap(), "https://hew.example.org");
        for bad in ["http://hew.example.org", "hew.example.org", "https://a/b"] {
            assert!(base_url(&options(&[], Some(bad)), address, false).is_err(), "{bad}");
        }
    }
}
