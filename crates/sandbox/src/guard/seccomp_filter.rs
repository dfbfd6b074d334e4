//! seccomp: the system calls denied to a confined process.

use std::collections::BTreeMap;
use std::io;
use std::thread;

use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen as Width, SeccompCmpOp as Is, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use crate::{LayerStatus, NetworkAccess};

/// Denied with any arguments.
const DENIED: &[libc::c_long] = &[
    // Other processes' memory and files.
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    // The view of the file system, and ways around it.
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_setns,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    // Keys of the user.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // The machine.
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    // Large parts of the kernel that ordinary programs do not need.
    libc::SYS_bpf,
    libc::SYS_fanotify_init,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
];

/// Reported as missing, so that programs fall back to calls that can be filtered: the flags of `clone3` and the
/// operations of a ring are in memory, which a filter cannot inspect.
const ABSENT: &[libc::c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    // Its flags are in memory, too.
    libc::SYS_openat2,
];

/// All kinds of namespaces that `clone` creates.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];
/// The only kind that only `unshare` creates.
const CLONE_NEWTIME: libc::c_int = 0x80;

/// The bits of a socket's type without flags.
const SOCKET_TYPE: u64 = 0xF;

/// Compiled filter programs for the kernel.
pub(super) struct SyscallFilter {
    programs: Vec<BpfProgram>,
}

impl SyscallFilter {
    /// Fails if the filter compiler does not support the processor.
    pub(super) fn new(network: NetworkAccess, processes: &LayerStatus) -> io::Result<Self> {
        let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
        let absent = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
        let programs = [
            (denied_calls(network, processes), libc::EPERM),
            (Ok(absent), libc::ENOSYS),
        ]
        .map(|(rules, errno)| {
            let errno = SeccompAction::Errno(errno.unsigned_abs());
            let filter = SeccompFilter::new(rules?, SeccompAction::Allow, errno, arch)?;
            BpfProgram::try_from(filter)
        });
        let programs: Result<Vec<BpfProgram>, _> = programs.into_iter().collect();
        let mut programs = programs.map_err(io::Error::other)?;
        programs.extend(foreign_abi_filter());
        Ok(Self { programs })
    }

    /// Whether the kernel accepts it, tried in a thread of its own.
    pub(super) fn check(&self) -> io::Result<()> {
        let tried = thread::scope(|scope| {
            let attempt = || {
                rustix::thread::set_no_new_privs(true)
                    .map_err(Into::into)
                    .and_then(|()| self.apply())
            };
            scope.spawn(attempt).join()
        });
        tried.unwrap_or_else(|_| Err(io::Error::other("the filtering thread panicked")))
    }

    /// Applies it to this thread and its children.
    pub(super) fn apply(&self) -> io::Result<()> {
        let applied = self.programs.iter().try_for_each(|program| apply_filter(program));
        applied.map_err(|error| match error {
            Error::Seccomp(source) | Error::Prctl(source) => source,
            error => io::Error::other(error),
        })
    }
}

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

fn denied_calls(network: NetworkAccess, processes: &LayerStatus) -> Result<SeccompRules, seccompiler::BackendError> {
    let mut rules: SeccompRules = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let namespaces = |flags: &mut dyn Iterator<Item = libc::c_int>| {
        let rules = flags.map(|flag| {
            let flag = u64::from(flag.unsigned_abs());
            rule([(0, Is::MaskedEq(flag), flag)])
        });
        rules.collect::<Result<Vec<_>, _>>()
    };
    rules.insert(libc::SYS_clone, namespaces(&mut NAMESPACES.iter().copied())?);
    rules.insert(
        libc::SYS_unshare,
        namespaces(&mut NAMESPACES.iter().copied().chain([CLONE_NEWTIME]))?,
    );
    // All processes; and other processes' limits.
    rules.insert(libc::SYS_kill, vec![rule([(0, Is::Eq, u64::from(u32::MAX))])?]);
    rules.insert(libc::SYS_prlimit64, vec![rule([(0, Is::Ne, 0)])?]);
    // Priorities of other processes: anything but the calling thread.
    let others = |who: u8| rule([(who, Is::Ne, 0)]);
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        // The first argument is the kind: one process (0 and 1), a group, or a user.
        let one = if call == libc::SYS_setpriority { 0 } else { 1 };
        rules.insert(call, vec![rule([(0, Is::Ne, one)])?, others(1)?]);
    }
    if !processes.is_active() {
        for call in [
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_setattr,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setscheduler,
        ] {
            rules.insert(call, vec![others(0)?]);
        }
    }
    // The guard inspects processes that create files.
    let hidden = number(libc::PR_SET_DUMPABLE);
    rules.insert(libc::SYS_prctl, vec![rule([(0, Is::Eq, hidden), (1, Is::Ne, 1)])?]);
    // Injecting terminal input.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| rule([(1, Is::Eq, request)]));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_socket, sockets(network)?);
    // Only stream and seqpacket pairs: the kernel treats the other types as datagrams, which can still be sent to other
    // addresses.
    let allowed = [number(libc::SOCK_STREAM), number(libc::SOCK_SEQPACKET)];
    let types = (0..=SOCKET_TYPE).filter(|kind| !allowed.contains(kind));
    let pairs = types.map(|kind| rule([(1, Is::MaskedEq(SOCKET_TYPE), kind)]));
    let pairs = pairs.chain([rule([(0, Is::Ne, number(libc::AF_UNIX))])]);
    rules.insert(libc::SYS_socketpair, pairs.collect::<Result<_, _>>()?);
    rules.extend(set_user_id()?);
    Ok(rules)
}

/// Making a program that runs as this user for everybody: each call with the argument that holds the mode.
fn set_user_id() -> Result<SeccompRules, seccompiler::BackendError> {
    let set = |mode: u8| (mode, Is::MaskedEq(u64::from(libc::S_ISUID)), u64::from(libc::S_ISUID));
    // Without these flags, a call that opens a file has no mode.
    let creating = |flags: u8, mode: u8| {
        [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY].map(|flag| {
            let flag = number(flag);
            rule([(flags, Is::MaskedEq(flag), flag), set(mode)])
        })
    };
    let mut rules = SeccompRules::new();
    for (call, mode) in [
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (libc::SYS_fchmodat2, 2),
        (libc::SYS_mknodat, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, 1),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_creat, 1),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, 1),
    ] {
        rules.insert(call, vec![rule([set(mode)])?]);
    }
    for (call, flags) in [
        (libc::SYS_openat, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, 1),
    ] {
        rules.insert(call, creating(flags, flags + 1).into_iter().collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

/// The denied sockets.
fn sockets(network: NetworkAccess) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let (v4, v6, netlink) = (number(libc::AF_INET), number(libc::AF_INET6), number(libc::AF_NETLINK));
    let raw = |family| {
        rule([
            (0, Is::Eq, family),
            (1, Is::MaskedEq(SOCKET_TYPE), number(libc::SOCK_RAW)),
        ])
    };
    match network {
        // An empty list denies all arguments.
        NetworkAccess::Denied => Ok(Vec::new()),
        // The network of the guard contains nothing but the proxy.
        NetworkAccess::Hosts | NetworkAccess::Granted => [
            // Unix sockets, which can control containers and services, stay denied.
            rule([(0, Is::Ne, v4), (0, Is::Ne, v6), (0, Is::Ne, netlink)]),
            raw(v4),
            raw(v6),
            // Name resolution queries the kernel for the machine's addresses.
            rule([(0, Is::Eq, netlink), (2, Is::Ne, number(libc::NETLINK_ROUTE))]),
        ]
        .into_iter()
        .collect(),
    }
}

fn number(constant: libc::c_int) -> u64 {
    u64::from(constant.unsigned_abs())
}

/// Matches if all of its conditions on arguments match.
fn rule<const N: usize>(conditions: [(u8, Is, u64); N]) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions.map(|(argument, is, value)| SeccompCondition::new(argument, Width::Dword, is, value));
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

/// The alternative system call numbers that some kernels accept on this processor.
#[cfg(target_arch = "x86_64")]
fn foreign_abi_filter() -> Option<BpfProgram> {
    use seccompiler::sock_filter;
    const FIRST: u32 = 0x4000_0000;
    // Instructions of the classic packet filter: load a word, jump if greater or equal, return.
    let command = |code: u32, jt, jf, k| sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf,
        k,
    };
    Some(vec![
        command(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        command(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, FIRST),
        command(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs(),
        ),
        command(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
fn foreign_abi_filter() -> Option<BpfProgram> {
    None
}
