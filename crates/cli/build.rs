//! Asks the linker for a small binary, where it is known to be able to make one.

#![allow(
    clippy::disallowed_methods,
    reason = "a build script asks cargo and the machine it runs on"
)]

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let told = |name: &str| env::var(name).unwrap_or_default();
    if told("PROFILE") != "release" || told("TARGET") != "x86_64-unknown-linux-gnu" {
        return;
    }
    // On this target the toolchain brings its own linker, unless another is configured.
    let flags = told("CARGO_ENCODED_RUSTFLAGS");
    if told("RUSTC_LINKER").is_empty() && !flags.contains("linker") && !flags.contains("fuse-ld") {
        // Functions that are the same are kept once; what hardly ever runs stands apart from what does.
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
        println!("cargo:rustc-link-arg-bins=-Wl,-z,keep-text-section-prefix");
    }
    // A hundred thousand addresses to put right at the start take 2.3 MB as a list and 50 KB as a map.
    if told("HOST") == told("TARGET") && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the C library of this machine, which has to read the map.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, rest) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}
