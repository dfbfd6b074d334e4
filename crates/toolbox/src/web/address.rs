//! Which addresses are public, and which others a person has allowed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A host or network that may be reached although it is not public.
///
/// Written as a name (`localhost`), all names below one (`*.corp.example`), an address (`127.0.0.1`, `::1`) or a network
/// (`10.0.0.0/8`); names and addresses may end in a port (`localhost:3000`, `[::1]:3000`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    whom: Whom,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Whom {
    Name(String),
    Below(String),
    Network { start: IpAddr, bits: u8 },
}

/// Text that names no host and no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a host nor a network; write it like localhost:3000, *.corp.example, 127.0.0.1 or 10.0.0.0/8")]
pub struct NoHost(String);

impl FromStr for Allowed {
    type Err = NoHost;

    fn from_str(text: &str) -> Result<Self, NoHost> {
        let refused = || NoHost(text.to_owned());
        let said = text.trim().trim_end_matches('.').to_ascii_lowercase();
        if let Some((address, bits)) = said.split_once('/') {
            let start: IpAddr = address.parse().map_err(|_| refused())?;
            let most = if start.is_ipv4() { 32 } else { 128 };
            let bits = bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(refused)?;
            let whom = Whom::Network { start, bits };
            return Ok(Self { whom, port: None });
        }
        if let Ok(address) = said.parse() {
            return Ok(Self {
                whom: exactly(address),
                port: None,
            });
        }
        let (host, port) = match said.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| refused())?)),
            None => (said.as_str(), None),
        };
        let whom = match host.trim_start_matches('[').trim_end_matches(']').parse() {
            Ok(address) => exactly(address),
            Err(_) => match host.strip_prefix("*.") {
                Some(parent) if is_name(parent) => Whom::Below(format!(".{parent}")),
                None if is_name(host) => Whom::Name(host.to_owned()),
                Some(_) | None => return Err(refused()),
            },
        };
        Ok(Self { whom, port })
    }
}

impl Allowed {
    /// Exactly this host and port.
    pub(crate) fn host(host: &url::Host<&str>, port: u16) -> Self {
        let whom = match host {
            url::Host::Domain(name) => Whom::Name(plain(name)),
            url::Host::Ipv4(address) => exactly((*address).into()),
            url::Host::Ipv6(address) => exactly((*address).into()),
        };
        Self { whom, port: Some(port) }
    }

    /// Whether it covers an address that was found for a host; `name` is empty where the host is an address itself.
    pub(crate) fn covers(&self, name: &str, address: IpAddr, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
            && match &self.whom {
                Whom::Name(_) | Whom::Below(_) => self.names(name),
                Whom::Network { start, bits } => in_network(address, *start, *bits),
            }
    }

    /// Whether it covers a name, whatever its address.
    pub(crate) fn covers_name(&self, name: &str, port: u16) -> bool {
        self.port.is_none_or(|own| own == port) && self.names(name)
    }

    fn names(&self, name: &str) -> bool {
        let name = plain(name);
        match &self.whom {
            Whom::Name(own) => *own == name,
            Whom::Below(parent) => name.ends_with(parent.as_str()),
            Whom::Network { .. } => false,
        }
    }
}

fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

fn exactly(address: IpAddr) -> Whom {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    Whom::Network { start: address, bits }
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

/// Whether this is an address on the open internet: not this machine, not its network, not a cloud's metadata service, not
/// reserved, and no way round to one of those.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// The networks of IPv4 that are not the open internet, by the registry of special addresses.
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
        // Translators turn these into the IPv4 address at their end.
        (0x64, 0xff9b) => third == 0 && is_public_v4(v4(high, low)),
        (0x2002, _) => is_public_v4(v4(second, third)),
        // Tunnels, benchmarks, documentation.
        (0x2001, 0..=0x1ff | 0xdb8) => false,
        (0x3fff, 0..=0xfff) => false,
        // All that is handed out so far.
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_open_internet_are_public() {
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
    fn what_is_allowed_covers_that_and_no_more() {
        let covers = |rule: &str, name: &str, address: &str, port| {
            rule.parse::<Allowed>()
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
            assert!(wrong.parse::<Allowed>().is_err(), "{wrong}");
        }
    }
}
