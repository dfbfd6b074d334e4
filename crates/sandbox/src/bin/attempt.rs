//! Attempts one forbidden operation by its system call, and succeeds if the call does. For the escape tests.

#![allow(unsafe_code, reason = "what no safe interface offers is what has to be tried")]
#![allow(clippy::disallowed_methods, reason = "only tests start this program")]

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match attempt::run(&args) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{args:?}: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod attempt {
    use std::ffi::CString;
    use std::io::{self, Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::os::unix::net::{UnixDatagram, UnixStream};
    use std::ptr::null;

    use libc::{c_long, syscall};

    pub(crate) fn run(args: &[&str]) -> io::Result<()> {
        match args {
            ["tcp", address] => TcpStream::connect(address).map(drop),
            ["listen", address] => TcpListener::bind(address).map(drop),
            ["udp", from, to] => UdpSocket::bind(from)?.send_to(b"x", to).map(drop),
            ["unix", path] => UnixStream::connect(path).map(drop),
            ["datagram", path] => UnixDatagram::unbound()?.send_to(b"x", path).map(drop),
            ["datagram-pair", path] => UnixDatagram::pair()?.0.send_to(b"x", path).map(drop),
            ["abstract", name] => {
                use std::os::linux::net::SocketAddrExt;
                let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
                UnixStream::connect_addr(&address).map(drop)
            }
            ["socket", family, kind, protocol] => socket(family, kind, protocol).map(drop),
            ["ptrace", pid] => traced(number(pid)),
            ["memory", pid, address] => read_memory(number(pid), number(address)),
            ["limits", pid] => {
                let limit = libc::rlimit {
                    rlim_cur: 512,
                    rlim_max: 512,
                };
                // SAFETY: the limit outlives the call, and nothing is written to the null pointer.
                check(unsafe {
                    syscall(
                        libc::SYS_prlimit64,
                        number(pid),
                        libc::RLIMIT_MEMLOCK,
                        &raw const limit,
                        0,
                    )
                })
            }
            ["kill", pid] => plain(libc::SYS_kill, [number(pid), 0, 0]),
            ["unshare", flags] => plain(libc::SYS_unshare, [number(flags), 0, 0]),
            ["clone", flags] => cloned(libc::SYS_clone, number(flags)),
            ["clone3", flags] => cloned3(number(flags)),
            ["setns", path] => {
                let file = std::fs::File::open(path)?;
                let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
                plain(libc::SYS_setns, [c_long::from(fd), 0, 0])
            }
            ["mount", target] => mount(target),
            ["chroot", path] => std::os::unix::fs::chroot(path),
            ["uring"] => uring(),
            ["keys"] => plain(libc::SYS_keyctl, [0, -4, 1]),
            ["perf"] => perf(),
            ["bpf"] => bpf(),
            ["userfaultfd"] => plain(libc::SYS_userfaultfd, [0, 0, 0]),
            ["setuid", id] => plain(libc::SYS_setuid, [number(id), 0, 0]),
            ["device", path] => device(path),
            ["handle", path] => by_handle(path),
            ["memfd", program, shell] => in_memory(program, shell),
            ["rename", from, to] => std::fs::rename(from, to),
            ["link", from, to] => std::fs::hard_link(from, to),
            ["truncate", path] => {
                let path = CString::new(*path)?;
                // SAFETY: the path ends with a NUL and outlives the call.
                check(unsafe { syscall(libc::SYS_truncate, path.as_ptr(), 0) })
            }
            ["attribute", path] => {
                let path = CString::new(*path)?;
                // SAFETY: the strings end with a NUL and outlive the call, as does the value of one byte.
                check(unsafe {
                    c_long::from(libc::setxattr(
                        path.as_ptr(),
                        c"user.x".as_ptr(),
                        b"x".as_ptr().cast(),
                        1,
                        0,
                    ))
                })
            }
            ["shared", id] => {
                // SAFETY: the kernel chooses the address, which is not used.
                let address = unsafe { libc::shmat(number(id) as i32, null(), libc::SHM_RDONLY) };
                check(address as c_long)
            }
            ["exchange", one, other] => {
                let (one, other) = (CString::new(*one)?, CString::new(*other)?);
                let at = c_long::from(libc::AT_FDCWD);
                // SAFETY: the paths end with a NUL and outlive the call.
                check(unsafe {
                    syscall(
                        libc::SYS_renameat2,
                        at,
                        one.as_ptr(),
                        at,
                        other.as_ptr(),
                        libc::RENAME_EXCHANGE,
                    )
                })
            }
            // Creates a file, if possible as a process that others cannot inspect.
            ["create", path] => {
                // SAFETY: the call takes numbers.
                unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
                std::fs::File::create(path).map(drop)
            }
            // Creates a file that runs as its owner for everybody.
            ["set-user-id", path] => {
                use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
                let mut options = std::fs::OpenOptions::new();
                let file = options.write(true).create_new(true).mode(0o4755).open(path)?;
                match file.metadata()?.permissions().mode() & libc::S_ISUID {
                    0 => Err(io::Error::other("the bit was not set")),
                    _ => Ok(()),
                }
            }
            ["open", path] => std::fs::File::open(path).map(drop),
            ["bind", path] => std::os::unix::net::UnixListener::bind(path).map(drop),
            ["environment", pid] => {
                let mut text = Vec::new();
                std::fs::File::open(format!("/proc/{pid}/environ"))?.read_to_end(&mut text)?;
                io::stdout().write_all(&text)
            }
            ["foreign", path] => foreign(path),
            _ => Err(io::Error::other("no such attempt")),
        }
    }

    fn number(text: &str) -> c_long {
        text.parse().unwrap_or(0)
    }

    fn check(result: c_long) -> io::Result<()> {
        match result {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    fn plain(call: c_long, [a, b, c]: [c_long; 3]) -> io::Result<()> {
        // SAFETY: the calls made this way take numbers, or null pointers that they refuse.
        check(unsafe { syscall(call, a, b, c, 0, 0) })
    }

    fn socket(family: &str, kind: &str, protocol: &str) -> io::Result<OwnedFd> {
        // SAFETY: numbers only; the new descriptor has no other owner.
        unsafe {
            let fd = libc::socket(number(family) as i32, number(kind) as i32, number(protocol) as i32);
            check(c_long::from(fd)).map(|()| OwnedFd::from_raw_fd(fd))
        }
    }

    fn traced(pid: c_long) -> io::Result<()> {
        plain(libc::SYS_ptrace, [c_long::from(libc::PTRACE_SEIZE), pid, 0])?;
        plain(libc::SYS_ptrace, [c_long::from(libc::PTRACE_DETACH), pid, 0]).or(Ok(()))
    }

    fn read_memory(pid: c_long, address: c_long) -> io::Result<()> {
        let mut byte = 0_u8;
        let local = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        let remote = libc::iovec {
            iov_base: address as *mut libc::c_void,
            iov_len: 1,
        };
        // SAFETY: one byte is written to `byte`; the remote address belongs to the other process.
        check(unsafe { libc::process_vm_readv(pid as i32, &raw const local, 1, &raw const remote, 1, 0) as c_long })
    }

    fn cloned(call: c_long, flags: c_long) -> io::Result<()> {
        // SAFETY: without shared memory this is a fork; the child only exits.
        unsafe {
            match syscall(call, flags | c_long::from(libc::SIGCHLD), 0, 0, 0, 0) {
                0 => libc::_exit(0),
                pid => check(pid),
            }
        }
    }

    fn cloned3(flags: c_long) -> io::Result<()> {
        let mut args = [0_u64; 8];
        args[0] = flags as u64;
        args[4] = libc::SIGCHLD as u64;
        // SAFETY: the arguments have the given size and outlive the call; the child only exits.
        unsafe {
            match syscall(libc::SYS_clone3, args.as_ptr(), size_of_val(&args)) {
                0 => libc::_exit(0),
                pid => check(pid),
            }
        }
    }

    fn mount(target: &str) -> io::Result<()> {
        let target = CString::new(target)?;
        let kind = c"tmpfs".as_ptr();
        // SAFETY: every string ends with a NUL and outlives the call.
        check(unsafe { c_long::from(libc::mount(kind, target.as_ptr(), kind, 0, null())) })
    }

    fn uring() -> io::Result<()> {
        let mut parameters = [0_u8; 120];
        // SAFETY: the parameters have the size of `struct io_uring_params`.
        check(unsafe { syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) })
    }

    fn perf() -> io::Result<()> {
        let mut attributes = [0_u8; 128];
        attributes[0] = 1; // PERF_TYPE_SOFTWARE
        attributes[4] = 64; // size
        // SAFETY: the attributes are as long as they say.
        check(unsafe { syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0) })
    }

    fn bpf() -> io::Result<()> {
        // BPF_MAP_CREATE of an array with one value of four bytes.
        let attributes: [u32; 32] = std::array::from_fn(|index| [2, 4, 4, 1].get(index).copied().unwrap_or(0));
        // SAFETY: the attributes have the given size.
        check(unsafe { syscall(libc::SYS_bpf, 0, attributes.as_ptr(), size_of_val(&attributes)) })
    }

    fn device(path: &str) -> io::Result<()> {
        let path = CString::new(path)?;
        // SAFETY: the path ends with a NUL and outlives the call.
        check(unsafe { c_long::from(libc::mknod(path.as_ptr(), libc::S_IFCHR | 0o600, libc::makedev(1, 1))) })
    }

    fn by_handle(path: &str) -> io::Result<()> {
        #[repr(C)]
        struct FileHandle {
            bytes: u32,
            kind: i32,
            data: [u8; 128],
        }
        let mut handle = FileHandle {
            bytes: 128,
            kind: 0,
            data: [0; 128],
        };
        let (mut mount, path) = (0_i32, CString::new(path)?);
        let folder = std::fs::File::open("/")?;
        let folder = std::os::fd::AsRawFd::as_raw_fd(&folder);
        // SAFETY: the handle has room for the 128 bytes it names, and all pointers outlive the calls.
        unsafe {
            let named = (path.as_ptr(), &raw mut handle, &raw mut mount);
            check(syscall(
                libc::SYS_name_to_handle_at,
                libc::AT_FDCWD,
                named.0,
                named.1,
                named.2,
                0,
            ))?;
            check(syscall(
                libc::SYS_open_by_handle_at,
                folder,
                &raw const handle,
                libc::O_RDONLY,
            ))
        }
    }

    /// Runs a program from memory: the shell, which then runs the given line.
    fn in_memory(program: &str, line: &str) -> io::Result<()> {
        // SAFETY: the name ends with a NUL; the new descriptor has no other owner.
        let mut file = unsafe {
            let fd = libc::memfd_create(c"x".as_ptr(), 0);
            check(c_long::from(fd))?;
            std::fs::File::from_raw_fd(fd)
        };
        io::copy(&mut std::fs::File::open(program)?, &mut file)?;
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        match std::process::Command::new(path).args(["-c", line]).status()?.success() {
            true => Ok(()),
            false => Err(io::Error::other("the program in memory failed")),
        }
    }

    /// Creates a file with the system call numbers of 32-bit programs, which a 64-bit filter does not cover.
    #[cfg(target_arch = "x86_64")]
    fn foreign(path: &str) -> io::Result<()> {
        let path = CString::new(path)?;
        // SAFETY: the memory is new, below 4 GiB, large enough for the path, and never unmapped.
        let low = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT;
            let low = libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            );
            if low == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            std::ptr::copy_nonoverlapping(path.as_ptr(), low.cast(), path.as_bytes_with_nul().len());
            low as u64
        };
        let mut result: i64 = 8; // creat
        // SAFETY: the call only reads the path; the registers it may change are declared.
        unsafe {
            std::arch::asm!(
                "push rbx", "mov rbx, {path}", "int 0x80", "pop rbx",
                path = in(reg) low, inout("rax") result, in("rcx") 0o600_u64,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            );
        }
        match result as i32 {
            error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
            _ => Ok(()),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn foreign(_: &str) -> io::Result<()> {
        Err(io::Error::other("this processor has no such numbers"))
    }
}
