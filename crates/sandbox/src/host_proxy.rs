//! An HTTP proxy through which confined processes reach named hosts, and nothing else.
//!
//! The guard has its own network with nothing but a loopback interface. It opens the proxy's port there and sends the
//! listening socket to hew, which accepts connections on it from outside.

use std::fmt;
use std::io::{self, IoSliceMut, Read, Write as _};
use std::mem::MaybeUninit;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

/// The port in the network of a guard.
pub(crate) const PROXY_PORT: u16 = 3128;
const MAX_CONNECTIONS: usize = 64;
const MAX_HEAD: usize = 64 * 1024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// Why a confined process may not reach a host.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// It is not listed.
    #[error("{host}:{port} is not one of `sandbox.network_hosts`")]
    NotListed {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
    /// A listed name leads to a private address only.
    #[error("{host} has no public address; list the address in `sandbox.network_hosts`")]
    PrivateAddress {
        /// The host.
        host: String,
    },
    /// The name is not known.
    #[error(transparent)]
    Lookup(#[from] io::Error),
}

/// Decides about the hosts that confined processes may reach.
pub trait HostResolver: Send + Sync {
    /// The addresses of an allowed host; or why it is not allowed.
    fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, HostError>;
}

/// The hosts that confined processes may reach.
#[derive(Clone)]
pub struct NetworkHosts(pub Arc<dyn HostResolver>);

impl fmt::Debug for NetworkHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NetworkHosts")
    }
}

impl PartialEq for NetworkHosts {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for NetworkHosts {}

/// The variables that make programs use the proxy.
pub(crate) fn proxy_variables() -> impl Iterator<Item = (&'static str, String)> {
    let names = [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
    ];
    let url = format!("http://127.0.0.1:{PROXY_PORT}");
    let proxies = names.into_iter().map(move |name| (name, url.clone()));
    // Node uses them only on request.
    let others = [("NO_PROXY", ""), ("no_proxy", ""), ("NODE_USE_ENV_PROXY", "1")];
    proxies.chain(others.map(|(name, value)| (name, value.to_owned())))
}

/// A running proxy. It ends when this is dropped; established connections end with the guard.
#[derive(Debug)]
pub(crate) struct HostProxy(Arc<Mutex<ProxyState>>);

#[derive(Debug)]
enum ProxyState {
    Starting,
    Listening(Arc<TcpListener>),
    Closed,
}

impl HostProxy {
    /// Starts a proxy with the listening socket that the guard sends.
    pub(crate) fn start(guard: UnixStream, hosts: NetworkHosts) -> Self {
        let state = Arc::new(Mutex::new(ProxyState::Starting));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            let received = receive_listener(&guard);
            drop(guard);
            let Ok(Some(listener)) = received else { return };
            let listener = Arc::new(TcpListener::from(listener));
            {
                let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if matches!(*state, ProxyState::Closed) {
                    return;
                }
                *state = ProxyState::Listening(Arc::clone(&listener));
            }
            serve(&listener, &hosts);
        });
        Self(state)
    }
}

impl Drop for HostProxy {
    fn drop(&mut self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let ProxyState::Listening(listener) = &*state {
            // Ends the waiting `accept`.
            rustix::net::shutdown(listener.as_ref(), rustix::net::Shutdown::Both).ok();
        }
        *state = ProxyState::Closed;
    }
}

/// The listening socket of a guard; `None` if it has no network.
fn receive_listener(guard: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(
        guard,
        &mut [IoSliceMut::new(&mut byte)],
        &mut ancillary,
        RecvFlags::empty(),
    )?;
    let received = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    if let Some(listener) = &received {
        rustix::io::fcntl_setfd(listener, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok(received)
}

fn serve(listener: &TcpListener, hosts: &NetworkHosts) {
    let open = Arc::new(AtomicUsize::new(0));
    while let Ok((client, _)) = listener.accept() {
        if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (hosts, open) = (hosts.clone(), Arc::clone(&open));
        thread::spawn(move || {
            // A broken connection concerns only the program that opened it.
            drop(connect(client, &hosts));
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Serves one connection.
fn connect(mut client: TcpStream, hosts: &NetworkHosts) -> io::Result<()> {
    client.set_read_timeout(Some(HEAD_TIMEOUT))?;
    let Some((head, rest)) = read_head(&mut client)? else {
        return refuse(&mut client, "400 Bad Request", "the request is invalid");
    };
    let Some(request) = ProxyRequest::parse(&head) else {
        return refuse(
            &mut client,
            "400 Bad Request",
            "this is a proxy for HTTP and HTTPS only",
        );
    };
    let addresses = match hosts.0.resolve(&request.host, request.port) {
        Ok(addresses) => addresses,
        Err(error) => return refuse(&mut client, "403 Forbidden", &error.to_string()),
    };
    let connected = addresses
        .iter()
        .find_map(|address| TcpStream::connect_timeout(address, CONNECT_TIMEOUT).ok());
    let Some(mut server) = connected else {
        return refuse(&mut client, "502 Bad Gateway", "the host cannot be reached");
    };
    match &request.head {
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
        Some(head) => server.write_all(head.as_bytes())?,
    }
    server.write_all(&rest)?;
    let (from_server, to_client) = (server.try_clone()?, client.try_clone()?);
    let answers = thread::spawn(move || copy(from_server, to_client));
    copy(client, server);
    // Ends when the server closes the connection.
    answers.join().map_err(|_| io::Error::other("the connection failed"))
}

/// Copies everything in one direction, and closes it.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    from.set_read_timeout(Some(IDLE_TIMEOUT)).ok();
    to.set_write_timeout(Some(IDLE_TIMEOUT)).ok();
    io::copy(&mut from, &mut to).ok();
    to.shutdown(Shutdown::Write).ok();
}

fn refuse(client: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let body = format!("hew: {why}\n");
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\nconnection: close");
    client.write_all(format!("{head}\r\n\r\n{body}").as_bytes())
}

/// The head of a request, and the bytes after it; `None` if it is too long or incomplete.
fn read_head(client: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    while bytes.len() < MAX_HEAD {
        let count = client.read(&mut buffer)?;
        if count == 0 {
            return Ok(None);
        }
        bytes.extend(&buffer[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(String::from_utf8(bytes).ok().map(|head| (head, rest)));
        }
    }
    Ok(None)
}

/// A request to the proxy.
#[derive(Debug, PartialEq, Eq)]
struct ProxyRequest {
    host: String,
    port: u16,
    /// What the server receives; `None` for a tunnel.
    head: Option<String>,
}

impl ProxyRequest {
    fn parse(head: &str) -> Option<Self> {
        let (line, headers) = head.split_once("\r\n")?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = split_authority(target, None)?;
            return Some(Self { host, port, head: None });
        }
        let rest = target.strip_prefix("http://")?;
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (host, port) = split_authority(authority, Some(80))?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        // One request for each connection, because the next one may be for another host.
        let dropped = [
            "connection",
            "proxy-connection",
            "proxy-authorization",
            "keep-alive",
            "host",
        ];
        let kept = headers.split("\r\n").filter(|line| {
            let name = line.split(':').next().unwrap_or_default().trim();
            !line.is_empty() && !dropped.iter().any(|other| name.eq_ignore_ascii_case(other))
        });
        let kept: String = kept.map(|line| format!("{line}\r\n")).collect();
        let first = format!("{method} {slash}{path} HTTP/1.1\r\nhost: {authority}\r\n");
        let head = Some(format!("{first}{kept}connection: close\r\n\r\n"));
        Some(Self { host, port, head })
    }
}

/// Splits `host:port` and `[address]:port`.
fn split_authority(authority: &str, default: Option<u16>) -> Option<(String, u16)> {
    let is_plain = |host: &str| !host.is_empty() && !host.contains(['@', '/', '\\', '%']);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        Some(_) | None => (authority, default?),
    };
    let host = match host.strip_prefix('[') {
        Some(address) => address.strip_suffix(']')?,
        None => host,
    };
    is_plain(host).then(|| (host.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_name_a_host_and_a_port() {
        for (head, expected) in [
            ("CONNECT a.b:443 HTTP/1.1\r\n\r\n", Some(("a.b", 443))),
            ("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", Some(("::1", 443))),
            ("GET http://A.b/x HTTP/1.1\r\n\r\n", Some(("a.b", 80))),
            ("GET http://a.b:81 HTTP/1.0\r\n\r\n", Some(("a.b", 81))),
            ("GET http://[::1] HTTP/1.0\r\n\r\n", Some(("::1", 80))),
            ("CONNECT a.b HTTP/1.1\r\n\r\n", None),
            ("GET /x HTTP/1.1\r\nHost: a.b\r\n\r\n", None),
            ("GET http://good@evil/x HTTP/1.1\r\n\r\n", None),
            ("GET https://a.b/ HTTP/1.1\r\n\r\n", None),
            ("CONNECT a.b:99999 HTTP/1.1\r\n\r\n", None),
            ("CONNECT a.b:1 x HTTP/1.1\r\n\r\n", None),
            ("\r\n\r\n", None),
        ] {
            let parsed = ProxyRequest::parse(head).map(|request| (request.host, request.port));
            let expected = expected.map(|(host, port): (&str, u16)| (host.to_owned(), port));
            assert_eq!(parsed, expected, "{head}");
        }
    }

    #[test]
    fn a_server_gets_its_own_name_and_one_request() {
        let head = "GET http://a.b:8/x?y HTTP/1.1\r\nHost: evil\r\nAccept: */*\r\nProxy-Connection: keep-alive\r\n\r\n";
        let sent = ProxyRequest::parse(head).unwrap().head.unwrap();
        assert_eq!(
            sent,
            "GET /x?y HTTP/1.1\r\nhost: a.b:8\r\nAccept: */*\r\nconnection: close\r\n\r\n"
        );
    }
}
