//! Passes linker options that reduce the size of the binary, where the linker is known to support them.

#![allow(
    clippy::disallowed_methods,
    reason = "a build script reads the environment and runs getconf"
)]

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    if variable("PROFILE") != "release" || variable("TARGET") != "x86_64-unknown-linux-gnu" {
        return;
    }
    // On this target the toolchain brings its own linker, unless another is configured.
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    if variable("RUSTC_LINKER").is_empty() && !flags.contains("linker") && !flags.contains("fuse-ld") {
        // Identical functions are merged; rarely executed code is kept apart from the rest.
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
        println!("cargo:rustc-link-arg-bins=-Wl,-z,keep-text-section-prefix");
    }
    // The 100,000 relative relocations take 2.3 MB as a list and 50 KB as a bitmap.
    if variable("HOST") == variable("TARGET") && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the C library of this machine; its loader reads the bitmap.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, rest) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}
