//! Attempts to escape, as data: a name, the layer that must stop it, and a command that succeeds if it escapes.

/// The layer that stops an attempt. Any one of several suffices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Landlock or mounts: writing to a file.
    Files,
    /// Mounts unconfined.
    Mounts,
    /// Mounts, or restoring as a fallback: changes within the workspace.
    Undoing,
    /// Mounts, or Landlock's rules around hidden paths.
    Hiding,
    /// Landlock with at least this version.
    Landlock(u32),
    /// seccomp, capabilities, or the environment: always active.
    Always,
}

/// Whether the command escapes without a sandbox, which proves that the attempt is real.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unconfined {
    /// It escapes.
    Escapes,
    /// It escapes as root.
    AsRoot,
    /// Not attempted, because it would change the machine or depends on its configuration.
    Untried,
}

pub(crate) type Attempt = (&'static str, Stop, Unconfined, &'static str);

use Stop::{Always, Files, Hiding, Landlock, Mounts, Undoing};
use Unconfined::{AsRoot, Escapes, Untried};

pub(crate) const ATTEMPTS: &[Attempt] = &[
    // Files outside of the workspace.
    ("write a new file", Files, Escapes, "echo x > $OUTSIDE/new"),
    ("overwrite a file", Files, Escapes, "echo x > $OUTSIDE/file"),
    ("append to a file", Files, Escapes, "echo x >> $OUTSIDE/file"),
    ("append to a shell's profile", Files, Escapes, "echo x >> ~/.profile"),
    ("truncate by opening", Files, Escapes, ": > $OUTSIDE/file"),
    ("truncate by path", Files, Escapes, "$ATTEMPT truncate $OUTSIDE/file"),
    ("remove a file", Files, Escapes, "rm -f $OUTSIDE/file"),
    ("remove a folder", Files, Escapes, "rmdir $OUTSIDE/folder"),
    ("make a folder", Files, Escapes, "mkdir $OUTSIDE/new"),
    ("make a link", Files, Escapes, "ln -s x $OUTSIDE/new"),
    ("make a named pipe", Files, Escapes, "mkfifo $OUTSIDE/new"),
    (
        "take a file away",
        Files,
        Escapes,
        "$ATTEMPT rename $OUTSIDE/file $WORK/stolen",
    ),
    (
        "rename over a file",
        Files,
        Escapes,
        "$ATTEMPT rename $WORK/file $OUTSIDE/file",
    ),
    ("rename the workspace", Files, Escapes, "cd / && mv $WORK $WORK-gone"),
    ("copy with a program", Files, Escapes, "cp $WORK/file $OUTSIDE/copy"),
    (
        "write by the dynamic loader",
        Files,
        Untried,
        "/lib64/ld-linux-x86-64.so.2 /bin/sh -c 'echo x > $OUTSIDE/new'",
    ),
    (
        "write by a program in memory",
        Files,
        Escapes,
        "$ATTEMPT memfd /bin/sh 'echo x > $OUTSIDE/new'",
    ),
    (
        "write by a background process",
        Files,
        Escapes,
        "(echo x > $OUTSIDE/new) & wait $!",
    ),
    (
        "write to the kernel's settings",
        Files,
        AsRoot,
        "cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness",
    ),
    (
        "write to a device",
        Files,
        AsRoot,
        "dd if=/dev/null of=$(ls /dev/kmsg /dev/mem 2>/dev/null | head -n 1) count=0 conv=notrunc,nocreat 2>&1",
    ),
    // Through links.
    ("write through a link", Files, Escapes, "echo x > link"),
    (
        "write through a new link to a folder",
        Files,
        Escapes,
        "ln -s $OUTSIDE way && echo x > way/new",
    ),
    (
        "write through a hard link",
        Files,
        Escapes,
        "$ATTEMPT link $OUTSIDE/file hard && echo x > hard",
    ),
    (
        "make a hard link elsewhere",
        Files,
        Escapes,
        "$ATTEMPT link file $OUTSIDE/hard",
    ),
    (
        "write through /proc/self/root",
        Files,
        Escapes,
        "echo x > /proc/self/root$OUTSIDE/new",
    ),
    (
        "write through /proc/self/cwd",
        Files,
        Escapes,
        "echo x > /proc/self/cwd/../outside/new",
    ),
    (
        "write through an open file",
        Files,
        Escapes,
        "exec 3< $OUTSIDE/file; echo x > /proc/self/fd/3",
    ),
    (
        "write through another process's root",
        Landlock(1),
        Escapes,
        "echo x > /proc/$HEW/root$OUTSIDE/new",
    ),
    (
        "write through another process's folder",
        Landlock(1),
        AsRoot,
        "echo x > /proc/$HEW/cwd/escaped && rm /proc/$HEW/cwd/escaped",
    ),
    // Metadata.
    ("change a mode", Mounts, Escapes, "chmod 777 $OUTSIDE/file"),
    ("change a mode through a link", Mounts, Escapes, "chmod 777 link"),
    ("change an owner", Mounts, AsRoot, "chown 12345 $OUTSIDE/file"),
    ("change a time", Mounts, Escapes, "touch -d 2001-01-01 $OUTSIDE/file"),
    ("add an attribute", Mounts, Untried, "$ATTEMPT attribute $OUTSIDE/file"),
    ("make a device", Files, AsRoot, "$ATTEMPT device $WORK/memory"),
    (
        "change a program's mode to set-user-id",
        Always,
        Escapes,
        "chmod u+s file",
    ),
    (
        "create a set-user-id program",
        Always,
        Escapes,
        "$ATTEMPT set-user-id $WORK/new",
    ),
    // Protected paths in the workspace.
    ("add a hook", Undoing, Escapes, "echo evil > .git/hooks/pre-commit"),
    ("change a hook", Undoing, Escapes, "echo evil >> .git/hooks/pre-push"),
    (
        "make a hook executable",
        Undoing,
        Escapes,
        "chmod +x .git/hooks/pre-push",
    ),
    (
        "move the hooks away",
        Undoing,
        Escapes,
        "mv .git/hooks .git/old && mkdir .git/hooks",
    ),
    (
        "move the repository away",
        Undoing,
        Escapes,
        "mv .git old && mkdir -p .git/hooks && echo evil > .git/config",
    ),
    ("configure git", Undoing, Untried, "git config core.fsmonitor evil"),
    (
        "write git's configuration",
        Undoing,
        Escapes,
        "echo evil >> .git/config",
    ),
    (
        "replace git's configuration",
        Undoing,
        Escapes,
        "echo evil > new && mv -f new .git/config",
    ),
    ("remove git's configuration", Undoing, Escapes, "rm -f .git/config"),
    (
        "link over git's configuration",
        Undoing,
        Escapes,
        "ln -sf ../file .git/config",
    ),
    (
        "change a protected file",
        Undoing,
        Escapes,
        "echo x >> .hew/config.toml",
    ),
    (
        "replace a protected folder",
        Undoing,
        Escapes,
        "mv .hew old && mkdir .hew",
    ),
    // Protected names that do not exist. Without the kernel's help, they are removed afterwards.
    ("create a protected file", Undoing, Escapes, "echo x > .mcp.json"),
    ("create a protected directory", Undoing, Escapes, "mkdir .vscode"),
    ("create a protected link", Undoing, Escapes, "ln -s file .mcp.json"),
    (
        "move a file to a protected name",
        Undoing,
        Escapes,
        "echo x > n && mv n .mcp.json",
    ),
    (
        "move a directory to a protected name",
        Undoing,
        Escapes,
        "mkdir n && touch n/tasks.json && mv n .vscode",
    ),
    ("link a file to a protected name", Undoing, Escapes, "ln file .mcp.json"),
    (
        "create a protected file through a link",
        Undoing,
        Escapes,
        "ln -s . here && echo x > here/.mcp.json",
    ),
    (
        "create a protected file from elsewhere",
        Undoing,
        Escapes,
        "cd src && echo x > ../.mcp.json",
    ),
    ("redirect git's directory", Undoing, Escapes, "echo x > .git/commondir"),
    (
        "move the directory of a protected file",
        Undoing,
        Escapes,
        "mv deep other && mkdir -p deep/down && echo evil > deep/down/protected",
    ),
    (
        "move the directory of a hidden file",
        Hiding,
        Escapes,
        "mv deep other && cat other/down/key",
    ),
    // Hidden paths.
    ("read a hidden file", Hiding, Escapes, "cat .env"),
    ("read in a hidden folder", Hiding, Escapes, "cat secrets/key"),
    (
        "read a hidden file through a link",
        Hiding,
        Escapes,
        "ln -s .env seen && cat seen",
    ),
    (
        "read a hidden file through a hard link",
        Hiding,
        Escapes,
        "$ATTEMPT link .env seen && cat seen",
    ),
    (
        "read a hidden file after moving it",
        Hiding,
        Escapes,
        "mv .env seen && cat seen",
    ),
    (
        "move a hidden folder",
        Hiding,
        Escapes,
        "mv secrets seen && cat seen/key",
    ),
    (
        "read a hidden file through /proc",
        Hiding,
        Escapes,
        "cat /proc/self/cwd/.env",
    ),
    (
        "read a hidden file through another root",
        Landlock(1),
        Escapes,
        "cat /proc/$HEW/root$WORK/.env",
    ),
    (
        "uncover a hidden file",
        Always,
        Untried,
        "umount $WORK/.env && cat .env",
    ),
    (
        "read the disk itself",
        Landlock(1),
        Untried,
        "for d in /dev/vda /dev/sda /dev/nvme0n1; do test -b $d && head -c 1 $d | wc -c | grep -q 1 && exit 0; done; false",
    ),
    (
        "open a file by its handle",
        Always,
        AsRoot,
        "$ATTEMPT handle $OUTSIDE/file",
    ),
    // The network.
    ("connect by IPv4", Always, Escapes, "$ATTEMPT tcp 127.0.0.1:$PORT4"),
    ("connect by IPv6", Always, Untried, "$ATTEMPT tcp [::1]:$PORT6"),
    (
        "connect with bash",
        Always,
        Untried,
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$PORT4'",
    ),
    ("listen", Always, Escapes, "$ATTEMPT listen 127.0.0.1:0"),
    (
        "ask a name server",
        Always,
        Escapes,
        "$ATTEMPT udp 127.0.0.1:0 127.0.0.1:$UDP",
    ),
    ("connect to a local socket", Always, Escapes, "$ATTEMPT unix $SOCKET"),
    ("send to a local socket", Always, Escapes, "$ATTEMPT datagram $DATAGRAM"),
    (
        "send to a local socket from a pair",
        Always,
        Escapes,
        "$ATTEMPT datagram-pair $DATAGRAM",
    ),
    (
        "connect to an abstract socket",
        Always,
        Escapes,
        "$ATTEMPT abstract $ABSTRACT",
    ),
    ("offer a local socket", Always, Escapes, "$ATTEMPT bind $OUTSIDE/offer"),
    ("open a raw socket", Always, AsRoot, "$ATTEMPT socket 2 3 1"),
    ("open a raw IPv6 socket", Always, AsRoot, "$ATTEMPT socket 10 3 58"),
    ("open a packet socket", Always, AsRoot, "$ATTEMPT socket 17 3 768"),
    ("open a netlink socket", Always, Escapes, "$ATTEMPT socket 16 3 0"),
    (
        "open a socket to the machine's host",
        Always,
        Untried,
        "$ATTEMPT socket 40 1 0",
    ),
    (
        "open a socket to the kernel's ciphers",
        Always,
        Untried,
        "$ATTEMPT socket 38 5 0",
    ),
    // Other processes.
    (
        "see a key in the environment",
        Always,
        Untried,
        "test -n \"$PROVIDER_API_KEY\"",
    ),
    (
        "read another's environment",
        Landlock(1),
        Escapes,
        "$ATTEMPT environment $HEW",
    ),
    (
        "read the environment of all parents",
        Landlock(1),
        Untried,
        "for p in /proc/[0-9]*; do cat $p/environ 2>/dev/null; done | grep -aq CARGO_MANIFEST_DIR",
    ),
    (
        "open another's memory",
        Landlock(1),
        Escapes,
        "$ATTEMPT open /proc/$HEW/mem",
    ),
    (
        "read another's memory",
        Always,
        Escapes,
        "$ATTEMPT memory $HEW $ADDRESS",
    ),
    ("see another's open files", Landlock(1), Escapes, "ls /proc/$HEW/fd/0"),
    ("trace another", Always, Escapes, "$ATTEMPT ptrace $HEW"),
    ("signal another", Landlock(6), Escapes, "$ATTEMPT kill $HEW"),
    ("signal the guard", Landlock(6), Escapes, "$ATTEMPT kill $PPID"),
    ("signal every process", Always, Escapes, "$ATTEMPT kill -1"),
    (
        "open a raw pair of local sockets",
        Always,
        Escapes,
        "python3 -c 'import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)'",
    ),
    ("lower the priority of another", Always, Escapes, "renice -n 5 -p $HEW"),
    ("lower the priority of all", Always, Untried, "renice -n 5 -u $(id -u)"),
    ("change the processors of another", Always, Escapes, "taskset -p 1 $HEW"),
    (
        "have a capability",
        Always,
        AsRoot,
        "! grep -q 'CapEff:.0000000000000000' /proc/self/status",
    ),
    (
        "gain a capability",
        Always,
        AsRoot,
        // Only root can empty the set; others gain nothing without new privileges.
        "! grep -q 'CapBnd:.0000000000000000' /proc/self/status && { [ $(id -u) = 0 ] || ! grep -q 'NoNewPrivs:.1' /proc/self/status; }",
    ),
    ("limit another", Always, Escapes, "$ATTEMPT limits $HEW"),
    (
        "make another a victim of low memory",
        Files,
        Escapes,
        "cat /proc/$HEW/oom_score_adj > /proc/$HEW/oom_score_adj",
    ),
    ("write to the user's terminal", Files, Escapes, "echo x > $TERMINAL"),
    (
        "read from the user's terminal",
        Landlock(1),
        Escapes,
        "$ATTEMPT open $TERMINAL",
    ),
    ("attach shared memory", Mounts, Escapes, "$ATTEMPT shared $SHARED"),
    (
        "use an inherited file",
        Always,
        Untried,
        "test -e /dev/fd/3 && echo x >&3",
    ),
    // Privileges.
    (
        "gain privileges by a program",
        Always,
        Escapes,
        "grep -q 'NoNewPrivs:.0' /proc/self/status",
    ),
    ("become another user", Always, AsRoot, "$ATTEMPT setuid 12345"),
    ("make a user namespace", Always, Untried, "$ATTEMPT unshare 268435456"),
    ("make a mount namespace", Always, AsRoot, "$ATTEMPT unshare 131072"),
    (
        "make a network namespace",
        Always,
        AsRoot,
        "$ATTEMPT unshare 1073741824",
    ),
    (
        "make a process in a user namespace",
        Always,
        Untried,
        "$ATTEMPT clone 268435456",
    ),
    (
        "make a process in a user namespace, by the newer call",
        Always,
        Untried,
        "$ATTEMPT clone3 268435456",
    ),
    (
        "enter another's mounts",
        Always,
        AsRoot,
        "$ATTEMPT setns /proc/$HEW/ns/ipc",
    ),
    ("mount over the workspace", Always, Untried, "$ATTEMPT mount $WORK"),
    ("mount the disk writable", Always, Untried, "mount -o remount,rw /"),
    ("change the root", Always, AsRoot, "$ATTEMPT chroot $WORK"),
    ("submit calls through a ring", Always, Untried, "$ATTEMPT uring"),
    ("join a keyring", Always, Escapes, "$ATTEMPT keys"),
    ("count the machine's events", Always, AsRoot, "$ATTEMPT perf"),
    ("load a program into the kernel", Always, AsRoot, "$ATTEMPT bpf"),
    ("handle page faults", Always, AsRoot, "$ATTEMPT userfaultfd"),
    (
        "use the numbers of 32-bit calls",
        Files,
        Untried,
        "$ATTEMPT foreign $OUTSIDE/new",
    ),
    ("leave a core file", Always, Untried, "test \"$(ulimit -c)\" != 0"),
];
