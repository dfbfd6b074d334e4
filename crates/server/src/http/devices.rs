//! Paired devices: their tokens, stored as hashes, one-time pairing codes, and share links.

use super::types::{CredentialKind, DeviceInfo};
use super::{now_ms, random_hex};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::{digest, hmac};
use serde::{Deserialize, Serialize};
use session::SessionId;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lifetime of a pairing code.
const PAIRING_LIFETIME_MS: u64 = 10 * 60_000;
/// A cookie is replaced after this time.
const ROTATION_MS: u64 = 15 * 60_000;
/// A replaced cookie stays valid this long after the first use of the new one: requests run in parallel.
const ROTATION_GRACE_MS: u64 = 120_000;
/// A device that was not used this long has to be paired again.
const UNUSED_LIFETIME_MS: u64 = 90 * 24 * 3_600_000;
/// The use of a device is stored at most this often.
const USE_INTERVAL_MS: u64 = 60_000;
/// The longest name of a device.
const MAX_NAME: usize = 100;
/// The maximum number of browsers with a share link to one session.
const MAX_READERS: usize = 50;

/// Where devices are stored. Another process may change the file.
pub trait DeviceStorage: Send + Sync {
    /// The stored text; `None` if there is none.
    fn load(&self) -> io::Result<Option<String>>;

    /// Replaces the stored text, readable by its owner only.
    fn save(&self, text: &str) -> io::Result<()>;

    /// A value that differs if the file was changed.
    fn version(&self) -> u128;
}

/// The paired devices.
pub struct DeviceRegistry {
    storage: Box<dyn DeviceStorage>,
    state: Mutex<DeviceState>,
}

struct DeviceState {
    file: DeviceFile,
    version: u128,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct DeviceFile {
    version: u32,
    csrf_key: String,
    devices: Vec<Device>,
    codes: Vec<PairingCode>,
}

impl Default for DeviceFile {
    fn default() -> Self {
        DeviceFile {
            version: 1,
            csrf_key: random_hex(32),
            devices: Vec::new(),
            codes: Vec::new(),
        }
    }
}

/// A paired device.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Device {
    id: String,
    name: String,
    credential: CredentialKind,
    hash: String,
    /// The hash before the last rotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    /// Until when the previous one is valid; unlimited until the new one is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous_until: Option<u64>,
    created: u64,
    rotated: u64,
    used: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
    /// The only session that it may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

/// A code that pairs a device once, or a share link.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PairingCode {
    hash: String,
    #[serde(default)]
    created: u64,
    expires: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

/// What a client may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Access {
    /// Everything.
    Full,
    /// Read one session.
    Share(SessionId),
}

/// A device that identified itself.
#[derive(Debug, Clone)]
pub(super) struct KnownDevice {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) access: Access,
    /// The new cookie, if it was replaced.
    pub(super) renewed: Option<String>,
}

/// A paired device with its token.
#[derive(Debug, Clone)]
pub struct PairedDevice {
    /// Its id.
    pub id: String,
    /// The token, which is not stored.
    pub token: String,
    pub(super) session: Option<String>,
    pub(super) expires: Option<u64>,
}

impl DeviceRegistry {
    /// Loads the devices.
    pub fn load(storage: Box<dyn DeviceStorage>) -> io::Result<Self> {
        let (file, version) = read(storage.as_ref())?;
        Ok(DeviceRegistry {
            storage,
            state: Mutex::new(DeviceState { file, version }),
        })
    }

    /// All devices and share links that can still be used, the newest first.
    pub fn list(&self) -> Vec<DeviceInfo> {
        let now = now_ms();
        let state = self.current();
        let devices = state.file.devices.iter().rev().filter(|device| !device.is_expired(now));
        let codes = state.file.codes.iter().rev().filter(|code| code.expires > now);
        devices
            .map(Device::info)
            .chain(codes.filter_map(PairingCode::info))
            .collect()
    }

    /// Whether a device can still be used.
    pub(super) fn is_known(&self, id: &str) -> bool {
        let now = now_ms();
        let state = self.current();
        state
            .file
            .devices
            .iter()
            .any(|device| device.id == id && !device.is_expired(now))
    }

    /// Revokes a device or a share link; returns whether there was one. The links and the readers of a shared session are
    /// revoked together: a reader could open the link again.
    pub fn revoke(&self, id: &str) -> io::Result<bool> {
        self.change(|file| {
            let devices = file.devices.iter().filter(|device| device.id == id);
            let devices: Vec<Option<String>> = devices.map(|device| device.session.clone()).collect();
            let codes = file
                .codes
                .iter()
                .filter(|code| code.session.is_some() && code.id() == id);
            let codes: Vec<Option<String>> = codes.map(|code| code.session.clone()).collect();
            let shared: Vec<&String> = devices.iter().chain(&codes).flatten().collect();
            let is_shared =
                |session: &Option<String>| session.as_ref().is_some_and(|session| shared.contains(&session));
            file.devices
                .retain(|device| device.id != id && !is_shared(&device.session));
            file.codes.retain(|code| !is_shared(&code.session));
            !devices.is_empty() || !codes.is_empty()
        })
    }

    /// Whether a token is valid.
    pub fn is_token(&self, token: &str) -> bool {
        self.identify(token, CredentialKind::Bearer).is_some()
    }

    /// Creates a device with a token for `Authorization: Bearer`.
    pub fn create_token(&self, name: &str) -> io::Result<PairedDevice> {
        self.change(|file| add_device(file, name, CredentialKind::Bearer, None, None))
    }

    /// Creates a code that pairs one device; returns it and its expiry.
    pub fn create_code(&self) -> io::Result<(String, u64)> {
        self.add_code(PAIRING_LIFETIME_MS, None)
    }

    /// Creates the code of a share link.
    pub(super) fn create_share(&self, session: SessionId, lifetime_ms: u64) -> io::Result<(String, u64)> {
        self.add_code(lifetime_ms, Some(session.to_string()))
    }

    fn add_code(&self, lifetime_ms: u64, session: Option<String>) -> io::Result<(String, u64)> {
        let code = random_secret(16);
        let (created, hash) = (now_ms(), hash(&code));
        let expires = created + lifetime_ms;
        let stored = PairingCode {
            hash,
            created,
            expires,
            session,
        };
        self.change(|file| file.codes.push(stored))?;
        Ok((code, expires))
    }

    /// The session of a valid share link.
    pub(super) fn shared_session(&self, code: &str) -> Option<String> {
        let (hash, now) = (hash(code), now_ms());
        let state = self.current();
        let code = state
            .file
            .codes
            .iter()
            .find(|code| code.hash == hash && code.expires > now)?;
        code.session.clone()
    }

    /// Pairs a device with a code; `None` if the code is wrong, used or expired.
    pub(super) fn pair(&self, code: &str, name: &str, credential: CredentialKind) -> io::Result<Option<PairedDevice>> {
        let (hash, now) = (hash(code), now_ms());
        let is_valid = |code: &PairingCode| code.hash == hash && code.expires > now;
        if !self.current().file.codes.iter().any(is_valid) {
            return Ok(None);
        }
        self.change(|file| {
            let at = file.codes.iter().position(is_valid)?;
            let code = file.codes.get(at)?.clone();
            let expires = code.session.as_ref().map(|_| code.expires);
            match &code.session {
                None => drop(file.codes.remove(at)),
                Some(session) => remove_oldest_reader(file, session),
            }
            Some(add_device(file, name, credential, code.session, expires))
        })
    }

    /// Identifies a device by its token; a cookie is replaced from time to time.
    pub(super) fn identify(&self, token: &str, credential: CredentialKind) -> Option<KnownDevice> {
        let (id, _) = token.strip_prefix("hew_")?.split_once('_')?;
        let (hash, now) = (hash(token), now_ms());
        let device = {
            let state = self.current();
            let device = state.file.devices.iter().find(|device| device.id == id)?;
            device.clone()
        };
        if device.credential != credential || device.is_expired(now) {
            return None;
        }
        let is_newest = device.hash == hash;
        let is_previous = device.previous.as_ref() == Some(&hash);
        let is_valid = is_newest || (is_previous && device.previous_until.is_none_or(|until| until > now));
        if !is_valid {
            return None;
        }
        let access = match &device.session {
            None => Access::Full,
            Some(session) => Access::Share(session.parse().ok()?),
        };
        let renewed = self.note_use(&device, is_newest, now);
        Some(KnownDevice {
            id: device.id,
            name: device.name,
            access,
            renewed,
        })
    }

    /// Stores the use of a device, and replaces an old cookie. If that cannot be stored, the device keeps its cookie.
    fn note_use(&self, device: &Device, is_newest: bool, now: u64) -> Option<String> {
        let is_confirmed = is_newest && device.previous.is_some() && device.previous_until.is_none();
        // Without a confirmed new cookie the client may not have received it.
        let is_lost = !is_newest && device.previous_until.is_none() && now > device.rotated + ROTATION_GRACE_MS;
        let is_due = is_newest && now > device.rotated + ROTATION_MS;
        let rotates = device.credential == CredentialKind::Cookie && (is_due || is_lost);
        if !rotates && !is_confirmed && now < device.used + USE_INTERVAL_MS {
            return None;
        }
        let changed = self.change(|file| {
            let stored = file.devices.iter_mut().find(|stored| stored.id == device.id)?;
            stored.used = now;
            if is_confirmed {
                stored.previous_until = Some(now + ROTATION_GRACE_MS);
            }
            if !rotates {
                return None;
            }
            let token = new_token(&stored.id);
            if is_newest {
                stored.previous = Some(stored.hash.clone());
            }
            stored.previous_until = None;
            stored.hash = hash(&token);
            stored.rotated = now;
            Some(token)
        });
        changed.unwrap_or_else(|error| {
            tracing::warn!(%error, "the devices cannot be stored");
            None
        })
    }

    /// The value that a device must send with changes, if it uses a cookie.
    pub(super) fn csrf_value(&self, device: &str) -> String {
        let key = self.current().file.csrf_key.clone();
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
        URL_SAFE_NO_PAD.encode(hmac::sign(&key, device.as_bytes()).as_ref())
    }

    /// Changes and stores the file; a change of another process in the meantime is kept.
    fn change<T>(&self, change: impl FnOnce(&mut DeviceFile) -> T) -> io::Result<T> {
        let mut state = self.current();
        let now = now_ms();
        let mut file = state.file.clone();
        let result = change(&mut file);
        file.codes.retain(|code| code.expires > now);
        file.devices.retain(|device| !device.is_expired(now));
        let text = serde_json::to_string_pretty(&file).map_err(io::Error::other)?;
        self.storage.save(&text)?;
        state.file = file;
        state.version = self.storage.version();
        Ok(result)
    }

    /// The state, after another process's changes.
    fn current(&self) -> MutexGuard<'_, DeviceState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.storage.version() != state.version
            && let Ok((file, version)) = read(self.storage.as_ref())
        {
            *state = DeviceState { file, version };
        }
        state
    }
}

impl PairingCode {
    /// Names the link without revealing the code.
    fn id(&self) -> String {
        let start: String = self.hash.chars().filter(char::is_ascii_alphanumeric).take(10).collect();
        format!("link{start}")
    }

    /// A share link; other codes are valid for minutes only.
    fn info(&self) -> Option<DeviceInfo> {
        Some(DeviceInfo {
            id: self.id(),
            name: "share link".into(),
            kind: "link".into(),
            created_ms: self.created,
            used_ms: self.created,
            expires_ms: Some(self.expires),
            session: Some(self.session.clone()?),
        })
    }
}

impl Device {
    fn is_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= now) || self.used + UNUSED_LIFETIME_MS < now
    }

    fn info(&self) -> DeviceInfo {
        let kind = match (&self.session, self.credential) {
            (Some(_), _) => "share",
            (None, CredentialKind::Cookie) => "cookie",
            (None, CredentialKind::Bearer) => "bearer",
        };
        DeviceInfo {
            id: self.id.clone(),
            name: self.name.clone(),
            kind: kind.into(),
            created_ms: self.created,
            used_ms: self.used,
            expires_ms: self.expires,
            session: self.session.clone(),
        }
    }
}

fn read(storage: &dyn DeviceStorage) -> io::Result<(DeviceFile, u128)> {
    let version = storage.version();
    let file = match storage.load()? {
        Some(text) => serde_json::from_str(&text).map_err(io::Error::other)?,
        None => DeviceFile::default(),
    };
    Ok((file, version))
}

fn add_device(
    file: &mut DeviceFile,
    name: &str,
    credential: CredentialKind,
    session: Option<String>,
    expires: Option<u64>,
) -> PairedDevice {
    let (id, now) = (random_hex(6), now_ms());
    let token = new_token(&id);
    let name: String = name.trim().chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
    file.devices.push(Device {
        id: id.clone(),
        name: if name.is_empty() { "unnamed".into() } else { name },
        credential,
        hash: hash(&token),
        previous: None,
        previous_until: None,
        created: now,
        rotated: now,
        used: now,
        expires,
        session: session.clone(),
    });
    PairedDevice {
        id,
        token,
        session,
        expires,
    }
}

/// Makes room for another browser with a share link to a session: who has the link can pair any number of them.
fn remove_oldest_reader(file: &mut DeviceFile, session: &str) {
    let is_reader = |device: &Device| device.session.as_deref() == Some(session);
    if file.devices.iter().filter(|device| is_reader(device)).count() >= MAX_READERS
        && let Some(oldest) = file.devices.iter().position(is_reader)
    {
        file.devices.remove(oldest);
    }
}

fn new_token(id: &str) -> String {
    format!("hew_{id}_{}", random_secret(32))
}

fn random_secret(bytes: usize) -> String {
    URL_SAFE_NO_PAD.encode(super::random_bytes(bytes))
}

/// Tokens are random, so that a plain hash is sufficient.
fn hash(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<(Option<String>, u128)>>);

    impl DeviceStorage for Memory {
        fn load(&self) -> io::Result<Option<String>> {
            Ok(self.0.lock().unwrap().0.clone())
        }

        fn save(&self, text: &str) -> io::Result<()> {
            let mut file = self.0.lock().unwrap();
            *file = (Some(text.into()), file.1 + 1);
            Ok(())
        }

        fn version(&self) -> u128 {
            self.0.lock().unwrap().1
        }
    }

    fn registry() -> (DeviceRegistry, Memory) {
        let memory = Memory::default();
        (DeviceRegistry::load(Box::new(memory.clone())).unwrap(), memory)
    }

    #[test]
    fn a_pairing_code_is_valid_once_and_only_hashes_are_stored() {
        let (devices, memory) = registry();
        let (code, _) = devices.create_code().unwrap();
        let paired = devices.pair(&code, "phone", CredentialKind::Cookie).unwrap().unwrap();
        assert!(devices.pair(&code, "thief", CredentialKind::Cookie).unwrap().is_none());
        let known = devices.identify(&paired.token, CredentialKind::Cookie).unwrap();
        assert_eq!((known.name.as_str(), known.access), ("phone", Access::Full));
        assert!(devices.identify(&paired.token, CredentialKind::Bearer).is_none());
        let stored = memory.load().unwrap().unwrap();
        assert!(!stored.contains(&paired.token) && !stored.contains(&code), "{stored}");
        assert!(devices.revoke(&paired.id).unwrap());
        assert!(devices.identify(&paired.token, CredentialKind::Cookie).is_none());
    }

    #[test]
    fn a_revocation_by_another_process_takes_effect() {
        let (devices, memory) = registry();
        let token = devices.create_token("ci").unwrap();
        let other = DeviceRegistry::load(Box::new(memory)).unwrap();
        assert!(other.revoke(&token.id).unwrap());
        assert!(devices.identify(&token.token, CredentialKind::Bearer).is_none());
    }

    #[test]
    fn an_old_cookie_is_replaced_and_expires_after_the_use_of_the_new_one() {
        let (devices, _) = registry();
        let (code, _) = devices.create_code().unwrap();
        let first = devices.pair(&code, "", CredentialKind::Cookie).unwrap().unwrap().token;
        let age = |ms: u64| {
            devices
                .change(|file| {
                    for device in &mut file.devices {
                        device.rotated -= ms;
                        device.previous_until = device.previous_until.map(|until| until - ms);
                    }
                })
                .unwrap()
        };
        age(ROTATION_MS + 1);
        let second = devices
            .identify(&first, CredentialKind::Cookie)
            .unwrap()
            .renewed
            .unwrap();
        // The response may be lost: the first one stays valid.
        assert!(devices.identify(&first, CredentialKind::Cookie).is_some());
        assert!(devices.identify(&second, CredentialKind::Cookie).is_some());
        assert!(devices.identify(&first, CredentialKind::Cookie).is_some());
        age(ROTATION_GRACE_MS + 1);
        assert!(devices.identify(&first, CredentialKind::Cookie).is_none());
        assert!(devices.identify(&second, CredentialKind::Cookie).is_some());
    }

    #[test]
    fn a_share_link_gives_read_access_to_one_session_until_it_expires() {
        let (devices, _) = registry();
        let session = SessionId::new();
        let (code, _) = devices.create_share(session, 60_000).unwrap();
        for _ in 0..2 {
            let shared = devices.pair(&code, "", CredentialKind::Cookie).unwrap().unwrap();
            let known = devices.identify(&shared.token, CredentialKind::Cookie).unwrap();
            assert_eq!(known.access, Access::Share(session));
        }
        assert_eq!(devices.shared_session(&code), Some(session.to_string()));
        for _ in 0..2 * MAX_READERS {
            devices.pair(&code, "", CredentialKind::Bearer).unwrap().unwrap();
        }
        let listed = devices.list();
        assert_eq!(listed.len(), MAX_READERS + 1, "a link does not fill the file");
        let (link, reader) = (listed.last().unwrap(), listed.first().unwrap());
        assert_eq!((link.kind.as_str(), reader.kind.as_str()), ("link", "share"));
        for id in [&link.id, &reader.id] {
            let (code, _) = devices.create_share(session, 60_000).unwrap();
            let shared = devices.pair(&code, "", CredentialKind::Cookie).unwrap().unwrap();
            let id = match id == &link.id {
                true => id.clone(),
                false => shared.id.clone(),
            };
            assert!(devices.revoke(&id).unwrap());
            assert!(devices.identify(&shared.token, CredentialKind::Cookie).is_none());
            assert!(devices.pair(&code, "", CredentialKind::Cookie).unwrap().is_none());
            assert_eq!(devices.list().len(), 0);
        }
        let (code, _) = devices.create_share(session, 0).unwrap();
        assert_eq!(devices.shared_session(&code), None);
        assert!(devices.pair(&code, "", CredentialKind::Cookie).unwrap().is_none());
    }
}
