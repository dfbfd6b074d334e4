//! A directory for escape attempts: a workspace and surrounding files that must not change.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::{CaptureCap, Confinement, ConfinementLevel, ProcessEnvironment, ProcessExit, ProcessRequest, Program};
use tempfile::TempDir;

const ATTEMPT: &str = env!("CARGO_BIN_EXE_attempt");
const CONFINE: &str = env!("CARGO_BIN_EXE_confine");
/// A terminal and a shared memory segment of this process.
#[allow(unsafe_code, reason = "no safe interface makes either")]
mod shared {
    use std::fs::{File, OpenOptions};
    use std::os::fd::AsRawFd;

    pub(super) fn terminal() -> (File, String) {
        let maker = OpenOptions::new().read(true).write(true).open("/dev/ptmx").unwrap();
        let (mut number, unlocked) = (0_i32, 0_i32);
        // SAFETY: both requests take a pointer to a number that outlives the call.
        let results = unsafe {
            [
                libc::ioctl(maker.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked),
                libc::ioctl(maker.as_raw_fd(), libc::TIOCGPTN, &raw mut number),
            ]
        };
        assert_eq!(results, [0, 0]);
        (maker, format!("/dev/pts/{number}"))
    }

    /// Removed with the last attached process, which is this one.
    pub(super) fn memory() -> i32 {
        // SAFETY: new memory at an address chosen by the kernel, which is not used; then it is marked for removal.
        unsafe {
            let id = libc::shmget(libc::IPC_PRIVATE, 4096, 0o600);
            libc::shmat(id, std::ptr::null(), 0);
            libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut());
            id
        }
    }
}

/// In the memory of this process, as a target for other processes.
static MEMORY: u8 = 7;

/// `base/work` is the workspace. Everything else in `base`, and protected paths in it, must not change.
pub(crate) struct Fixture {
    base: TempDir,
    _open: Open,
    variables: Vec<(String, String)>,
}

/// The type, mode, owner, links, content and change time of a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Print {
    pub(crate) what: String,
    pub(crate) when: i64,
}

/// Open sockets, kept alive.
struct Open {
    _streams: Vec<TcpListener>,
    _datagrams: UdpSocket,
    _unix: UnixListener,
    _unix_datagrams: UnixDatagram,
    _abstract: UnixListener,
    _terminal: fs::File,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let base = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = base.path();
        for folder in [
            "outside/folder",
            "outside/home",
            "temp",
            "work/.git/hooks",
            "work/.hew",
            "work/deep/down",
            "work/secrets",
            "work/src",
        ] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        for (file, contents) in [
            ("outside/file", "precious\n"),
            ("outside/home/.profile", "profile\n"),
            ("work/file", "mine\n"),
            ("work/.env", "KEY=hidden-value\n"),
            ("work/deep/down/key", "hidden-value\n"),
            ("work/deep/down/protected", "rules\n"),
            ("work/secrets/key", "hidden-value\n"),
            ("work/.hew/config.toml", "rules\n"),
            ("work/.git/config", "[core]\n\trepositoryformatversion = 0\n"),
            ("work/.git/HEAD", "ref: refs/heads/main\n"),
            ("work/.git/hooks/pre-push", "#!/bin/sh\n"),
        ] {
            fs::write(path.join(file), contents).unwrap();
        }
        for folder in ["work/.git/objects", "work/.git/refs"] {
            fs::create_dir(path.join(folder)).unwrap();
        }
        symlink("../outside/file", path.join("work/link")).unwrap();
        let (open, mut variables) = Open::new(path);
        for (name, value) in [
            ("OUTSIDE", "outside"),
            ("WORK", "work"),
            ("HOME", "outside/home"),
            ("TMPDIR", "temp"),
        ] {
            variables.push((name.into(), path.join(value).display().to_string()));
        }
        variables.extend([
            ("ATTEMPT".into(), ATTEMPT.into()),
            ("HEW".into(), std::process::id().to_string()),
            ("ADDRESS".into(), (&raw const MEMORY).addr().to_string()),
            ("PATH".into(), std::env::var("PATH").unwrap_or_default()),
            ("PROVIDER_API_KEY".into(), "hidden-value".into()),
        ]);
        Self {
            base,
            _open: open,
            variables,
        }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.base.path().join("work")
    }

    /// The temporary directories. Not the default ones, because the checkout may be in one of them.
    fn temp(&self) -> PathBuf {
        self.base.path().join("temp")
    }

    pub(crate) fn confinement(&self) -> Confinement {
        let work = self.work();
        Confinement {
            temp: vec![self.temp(), "/dev/shm".into()],
            protected: [".hew", ".mcp.json", ".vscode", "deep/down/protected"]
                .map(|name| work.join(name))
                .into(),
            hidden: [".env", "secrets", "deep/down/key"].map(|name| work.join(name)).into(),
            launcher: CONFINE.into(),
            ..Confinement::new(ConfinementLevel::Workspace, [work])
        }
    }

    pub(crate) fn request(&self, line: &str) -> ProcessRequest {
        let variables = self.variables.iter().map(|(name, value)| (name.into(), value.into()));
        let none: [&str; 0] = [];
        // The variables of the attempts; a key is not on the list of allowed names.
        let names = self.variables.iter().map(|(name, _)| name.as_str());
        let keep: Vec<&str> = names.filter(|name| *name != "PROVIDER_API_KEY").collect();
        ProcessRequest {
            program: Program::Shell(line.into()),
            cwd: self.work(),
            environment: ProcessEnvironment::scrubbed(variables, &none, &keep),
            timeout: Some(Duration::from_secs(120)),
            grace: Duration::from_millis(500),
            output: CaptureCap {
                head: 16_000,
                tail: 16_000,
            },
            terminal: None,
        }
    }

    pub(crate) async fn run(&self, confinement: &Confinement, line: &str) -> ProcessExit {
        confinement.spawn(&self.request(line)).unwrap().exit().await
    }

    /// Everything that must not change.
    pub(crate) fn fingerprint(&self) -> BTreeMap<PathBuf, Print> {
        let mut found = BTreeMap::new();
        for kept in [
            "outside",
            "work/.hew",
            "work/.git/hooks",
            "work/.git/config",
            "work/.git/commondir",
            "work/.mcp.json",
            "work/.vscode",
            "work/deep/down/protected",
        ] {
            note(&self.base.path().join(kept), &mut found);
        }
        let names = fs::read_dir(self.base.path()).unwrap().flatten();
        found.extend(
            names
                .map(|entry| (entry.path(), found.get(&entry.path()).cloned().unwrap_or_default()))
                .collect::<Vec<_>>(),
        );
        found
    }
}

fn note(path: &Path, found: &mut BTreeMap<PathBuf, Print>) {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return;
    };
    let contents = match metadata.is_file() {
        true => fs::read_to_string(path).unwrap_or_default(),
        false => String::new(),
    };
    let (kind, mode, owner) = (metadata.file_type(), metadata.permissions().mode(), metadata.uid());
    let what = format!("{kind:?} {mode:o} {owner} {} {contents}", metadata.nlink());
    let when = metadata.mtime();
    found.insert(path.into(), Print { what, when });
    if metadata.is_dir() {
        fs::read_dir(path)
            .unwrap()
            .flatten()
            .for_each(|entry| note(&entry.path(), found));
    }
}

impl Open {
    fn new(base: &Path) -> (Self, Vec<(String, String)>) {
        let port = |listener: &io::Result<TcpListener>| {
            let address = listener.as_ref().ok().and_then(|listener| listener.local_addr().ok());
            // On a machine without this kind of address, nothing listens on port 9.
            address.map_or("9".to_owned(), |address| address.port().to_string())
        };
        let (v4, v6) = (TcpListener::bind("127.0.0.1:0"), TcpListener::bind("[::1]:0"));
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        let path = |name: &str| base.join("outside").join(name);
        // Such an address has at most a hundred characters; the directory's own name is unique enough.
        let name = format!("hew-{}", base.file_name().unwrap().to_string_lossy());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let variables = [
            ("PORT4", port(&v4)),
            ("PORT6", port(&v6)),
            ("UDP", datagrams.local_addr().unwrap().port().to_string()),
            ("SOCKET", path("socket").display().to_string()),
            ("DATAGRAM", path("datagram").display().to_string()),
            ("ABSTRACT", name),
        ];
        let (terminal, terminal_path) = shared::terminal();
        let open = Self {
            _terminal: terminal,
            _streams: [v4, v6].into_iter().flatten().collect(),
            _datagrams: datagrams,
            _unix: UnixListener::bind(path("socket")).unwrap(),
            _unix_datagrams: UnixDatagram::bind(path("datagram")).unwrap(),
            _abstract: UnixListener::bind_addr(&address).unwrap(),
        };
        let others = [("TERMINAL", terminal_path), ("SHARED", shared::memory().to_string())];
        let variables = variables.into_iter().chain(others);
        (open, variables.map(|(name, value)| (name.into(), value)).collect())
    }
}
