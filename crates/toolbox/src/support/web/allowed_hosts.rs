//! Public addresses, and private ones allowed by the configuration.

use sandbox::{HostError, HostResolver};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;

/// A private host or network that may be accessed.
///
/// Format: a name (`localhost`), all subdomains of a name (`*.corp.example`), an address (`127.0.0.1`, `::1`) or a
/// network (`10.0.0.0/8`); names and addresses may have a port (`localhost:3000`, `[::1]:3000`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    pattern: HostPattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Name(String),
    Below(String),
    Network { start: IpAddr, bits: u8 },
}

/// An invalid host or network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a host or network; examples: localhost:3000, *.corp.example, 127.0.0.1 or 10.0.0.0/8")]
pub struct InvalidHostPattern(String);

impl FromStr for AllowedHost {
    type Err = InvalidHostPattern;

    fn from_str(text: &str) -> Result<Self, InvalidHostPattern> {
        let refused = || InvalidHostPattern(text.to_owned());
        let normalized = text.trim().trim_end_matches('.').to_ascii_lowercase();
        if let Some((address, bits)) = normalized.split_once('/') {
            let start: IpAddr = address.parse().map_err(|_| refused())?;
            let most = if start.is_ipv4() { 32 } else { 128 };
            let bits = bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(refused)?;
            let pattern = HostPattern::Network { start, bits };
            return Ok(Self { pattern, port: None });
        }
        if let Ok(address) = normalized.parse() {
            return Ok(Self {
                pattern: exactly(address),
                port: None,
            });
        }
        let (host, port) = match normalized.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| refused())?)),
            None => (normalized.as_str(), None),
        };
        let pattern = match host.trim_start_matches('[').trim_end_matches(']').parse() {
            Ok(address) => exactly(address),
            Err(_) => match host.strip_prefix("*.") {
                Some(parent) if is_name(parent) => HostPattern::Below(format!(".{parent}")),
                None if is_name(host) => HostPattern::Name(host.to_owned()),
                Some(_) | None => return Err(refused()),
            },
        };
        Ok(Self { pattern, port })
    }
}

impl AllowedHost {
    /// Allows exactly this host and port.
    pub(crate) fn host(host: &url::Host<&str>, port: u16) -> Self {
        let pattern = match host {
            url::Host::Domain(name) => HostPattern::Name(plain(name)),
            url::Host::Ipv4(address) => exactly((*address).into()),
            url::Host::Ipv6(address) => exactly((*address).into()),
        };
        Self {
            pattern,
            port: Some(port),
        }
    }

    /// Whether it allows an address of a host; `name` is empty if the host is an address.
    pub(crate) fn covers(&self, name: &str, address: IpAddr, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
            && match &self.pattern {
                HostPattern::Name(_) | HostPattern::Below(_) => self.names(name),
                HostPattern::Network { start, bits } => in_network(address, *start, *bits),
            }
    }

    /// Whether it allows a name, regardless of its address.
    pub(crate) fn covers_name(&self, name: &str, port: u16) -> bool {
        self.port.is_none_or(|own| own == port) && self.names(name)
    }

    fn names(&self, name: &str) -> bool {
        let name = plain(name);
        match &self.pattern {
            HostPattern::Name(own) => *own == name,
            HostPattern::Below(parent) => name.ends_with(parent.as_str()),
            HostPattern::Network { .. } => false,
        }
    }
}

/// The hosts that commands may reach. A private address must be listed itself, so that the name of a public host never
/// leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHosts(pub Vec<AllowedHost>);

impl HostResolver for CommandHosts {
    fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, HostError> {
        let not_listed = || HostError::NotListed {
            host: host.to_owned(),
            port,
        };
        let is_listed = |address: IpAddr| self.0.iter().any(|allowed| allowed.covers("", address, port));
        if let Ok(address) = host.parse::<IpAddr>() {
            return match is_listed(address) {
                true => Ok(vec![(address, port).into()]),
                false => Err(not_listed()),
            };
        }
        if !is_name(host) || !self.0.iter().any(|allowed| allowed.covers_name(host, port)) {
            return Err(not_listed());
        }
        let found = (host, port).to_socket_addrs()?;
        let is_local = |address: IpAddr| plain(host) == "localhost" && address.is_loopback();
        let found: Vec<SocketAddr> = found
            .filter(|found| is_public(found.ip()) || is_listed(found.ip()) || is_local(found.ip()))
            .collect();
        match found.is_empty() {
            true => Err(HostError::PrivateAddress { host: host.to_owned() }),
            false => Ok(found),
        }
    }
}

fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

fn exactly(address: IpAddr) -> HostPattern {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    HostPattern::Network { start: address, bits }
}

fn is_name(text: &str) -> bool {
    let letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    !text.is_empty() && text.chars().all(letter) && !text.split('.').any(str::is_empty)
}

fn in_network(address: IpAddr, start: IpAddr, bits: u8) -> bool {
    match (address.to_canonical(), start.to_canonical()) {
        (IpAddr::V4(address), IpAddr::V4(start)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            u32::from(address) & mask == u32::from(start) & mask
        }
        (IpAddr::V6(address), IpAddr::V6(start)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            u128::from(address) & mask == u128::from(start) & mask
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

/// Whether an address is public: not local, private, link-local, reserved or a cloud metadata service, nor a
/// translation of such an address.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// IPv4 networks that are not public, from the IANA special-purpose registry.
const SPECIAL_V4: [(Ipv4Addr, u8); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    !SPECIAL_V4
        .iter()
        .any(|(start, bits)| in_network(address.into(), (*start).into(), *bits))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, third, .., high, low] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (first, second) {
        // NAT64: the IPv4 address is at the end.
        (0x64, 0xff9b) => third == 0 && is_public_v4(v4(high, low)),
        (0x2002, _) => is_public_v4(v4(second, third)),
        // Tunnels, benchmarks, documentation.
        (0x2001, 0..=0x1ff | 0xdb8) => false,
        (0x3fff, 0..=0xfff) => false,
        // All allocated global unicast addresses.
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_public() {
        for public in [
            "1.1.1.1",
            "93.184.216.34",
            "172.32.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for other in [
            "0.0.0.0",
            "0.1.2.3",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "192.0.0.192",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::7f00:1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "3fff::1",
        ] {
            assert!(!is_public(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn allowed_hosts_match_exactly() {
        let covers = |rule: &str, name: &str, address: &str, port| {
            rule.parse::<AllowedHost>()
                .unwrap()
                .covers(name, address.parse().unwrap(), port)
        };
        assert!(covers("localhost", "localhost", "127.0.0.1", 1));
        assert!(covers("LocalHost:80", "localhost.", "::1", 80));
        assert!(!covers("localhost:80", "localhost", "127.0.0.1", 81));
        assert!(!covers("localhost", "", "127.0.0.1", 1));
        assert!(covers("*.corp.example", "a.b.corp.example", "10.0.0.1", 1));
        assert!(!covers("*.corp.example", "evilcorp.example", "10.0.0.1", 1));
        assert!(covers("127.0.0.1", "any.name", "127.0.0.1", 1));
        assert!(covers("127.0.0.1", "", "::ffff:127.0.0.1", 1));
        assert!(!covers("127.0.0.1", "", "127.0.0.2", 1));
        assert!(covers("10.0.0.0/8", "", "10.255.0.1", 1) && !covers("10.0.0.0/8", "", "11.0.0.1", 1));
        assert!(covers("0.0.0.0/0", "", "10.0.0.1", 1) && covers("fd00::/8", "", "fd12::1", 1));
        assert!(covers("[::1]:3000", "", "::1", 3000) && covers("::1", "", "::1", 9));
        for wrong in [
            "",
            "http://x",
            "a b",
            "10.0.0.0/33",
            "x/8",
            "localhost:port",
            "*",
            "*.",
            "a..b",
        ] {
            assert!(wrong.parse::<AllowedHost>().is_err(), "{wrong}");
        }
    }
}
