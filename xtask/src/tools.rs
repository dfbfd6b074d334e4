//! Programs that the tasks need in addition to the Rust toolchain, installed under `.tools/` if they are missing.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The installed version of cargo-deny. Building it takes two to three minutes on two cores, once per checkout.
const CARGO_DENY: &str = "0.20.2";

/// The cargo that started this program.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// A command as one readable line.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Finds `cargo-deny`, or builds it from its published source.
pub(crate) fn cargo_deny(root: &Path) -> Result<PathBuf> {
    if let Some(found) = on_path("cargo-deny") {
        println!("using {}", found.display());
        return Ok(found);
    }
    let tools = root.join(".tools");
    let program = tools.join("bin").join("cargo-deny");
    if program.is_file() {
        return Ok(program);
    }
    println!("building cargo-deny {CARGO_DENY} into .tools/ (once, a few minutes)");
    let mut install = Command::new(cargo());
    install.current_dir(root).args([
        "install",
        "--quiet",
        "--locked",
        "cargo-deny",
        "--version",
        CARGO_DENY,
        "--root",
    ]);
    loudly(install.arg(&tools))?;
    Ok(program)
}

/// A Chromium for the browser tests, installed from the system's packages if it is missing.
pub(crate) fn chromium() -> Result<PathBuf> {
    let find = || {
        ["chromium", "chromium-browser", "google-chrome"]
            .into_iter()
            .find_map(on_path)
    };
    if let Some(found) = find() {
        println!("using {}", found.display());
        return Ok(found);
    }
    install_debian_packages(&["chromium"]).context("the tests of the browser need a Chromium")?;
    find().context("chromium is still missing after installing it")
}

/// A program on the search path, installed from its Debian package if it is missing.
pub(crate) fn program(name: &str, package: &str, for_what: &str) -> Result<PathBuf> {
    if on_path(name).is_none() {
        install_debian_packages(&[package]).with_context(|| format!("{for_what} need {name}"))?;
    }
    let found = on_path(name).with_context(|| format!("{name} is still missing after installing {package}"))?;
    println!("using {}", found.display());
    Ok(found)
}

/// A Python interpreter with the packages of `xtask/requirements.txt`, in a virtual environment of this checkout.
pub(crate) fn python(root: &Path) -> Result<PathBuf> {
    let wanted = root.join("xtask").join("requirements.txt");
    let requirements = fs::read_to_string(&wanted).with_context(|| format!("cannot read {}", wanted.display()))?;
    let home = root.join(".tools").join("python");
    let interpreter = home.join("bin").join("python");
    // Written last, so that an interrupted installation does not count.
    let stamp = home.join("installed.txt");
    let installed = fs::read_to_string(&stamp).is_ok_and(|installed| installed == requirements);
    if installed && runs(&interpreter) {
        println!("using {}", interpreter.display());
        return Ok(interpreter);
    }
    if home.exists() {
        fs::remove_dir_all(&home).with_context(|| format!("cannot remove {}", home.display()))?;
    }
    make_environment(&home)?;
    println!("installing the vendors' SDKs into .tools/python");
    let mut pip = Command::new(&interpreter);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--requirement",
    ]);
    loudly(pip.arg(&wanted))?;
    fs::write(&stamp, requirements).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(interpreter)
}

/// The folder `node_modules` with the packages of `xtask/package.json`: real peers for tests.
pub(crate) fn node_modules(root: &Path) -> Result<PathBuf> {
    let wanted = root.join("xtask").join("package.json");
    let packages = fs::read_to_string(&wanted).with_context(|| format!("cannot read {}", wanted.display()))?;
    let home = root.join(".tools").join("node");
    let modules = home.join("node_modules");
    // Written last, so that an interrupted installation does not count.
    let stamp = home.join("installed.json");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == packages) {
        println!("using {}", modules.display());
        return Ok(modules);
    }
    if on_path("npm").is_none() {
        install_debian_packages(&["nodejs", "npm"]).context("the tests against real peers need Node.js 20 with npm")?;
    }
    if home.exists() {
        fs::remove_dir_all(&home).with_context(|| format!("cannot remove {}", home.display()))?;
    }
    fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    fs::write(home.join("package.json"), &packages)?;
    println!("installing the packages of xtask/package.json into .tools/node");
    let mut npm = Command::new("npm");
    npm.current_dir(&home).args([
        "install",
        "--no-package-lock",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]);
    loudly(&mut npm)?;
    fs::write(&stamp, packages).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(modules)
}

/// Runs a command without showing its output; an error contains its last line. Kills it after the time limit.
pub(crate) fn quietly(command: &mut Command, limit: Duration) -> Result<()> {
    let line = shown(command);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start `{line}`"))?;
    let start = Instant::now();
    while child.try_wait()?.is_none() {
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("`{line}` took longer than {} seconds", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or("no message");
        bail!("{last}");
    }
    Ok(())
}

pub(crate) fn make_environment(home: &Path) -> Result<()> {
    let first = match find_python() {
        Some(python) => environment_command(&python, home),
        None => Err(anyhow::anyhow!("there is no python3 on the PATH")),
    };
    let Err(why) = first else { return Ok(()) };
    // Debian's Python lacks the files for `venv`; a separate package contains them.
    println!("no virtual environment yet: {why:#}");
    install_debian_packages(&["python3", "python3-venv"])
        .context("the tests against the vendors' SDKs need Python 3.10 or newer with its `venv` module")?;
    if home.exists() {
        fs::remove_dir_all(home)?;
    }
    let python = find_python().context("python3 is still missing after installing it")?;
    environment_command(&python, home)
}

fn environment_command(python: &Path, home: &Path) -> Result<()> {
    let mut command = Command::new(python);
    command.args(["-m", "venv"]).arg(home);
    quietly(&mut command, Duration::from_secs(300))
}

fn find_python() -> Option<PathBuf> {
    ["python3", "python"]
        .into_iter()
        .filter_map(on_path)
        .find(|python| runs(python))
}

fn install_debian_packages(packages: &[&str]) -> Result<()> {
    if on_path("apt-get").is_none() {
        bail!("please install: {}", packages.join(" "));
    }
    let id = Command::new("id").arg("-u").output().context("cannot run `id`")?;
    if id.stdout.trim_ascii() != b"0" {
        bail!("please install them (as root): apt-get install {}", packages.join(" "));
    }
    loudly(Command::new("apt-get").args(["update", "--quiet"]))?;
    let mut install = Command::new("apt-get");
    install
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["install", "--yes", "--quiet", "--no-install-recommends"]);
    loudly(install.args(packages))
}

pub(crate) fn loudly(command: &mut Command) -> Result<()> {
    let line = shown(command);
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

fn runs(program: &Path) -> bool {
    let status = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_quiet_failure_reports_the_last_line_of_output() {
        let error = quietly(
            &mut shell("echo first >&2; echo the cause >&2; exit 3"),
            Duration::from_secs(30),
        );
        assert_eq!(error.unwrap_err().to_string(), "the cause");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let error = quietly(&mut shell("exec sleep 600"), Duration::from_millis(1)).unwrap_err();
        assert!(error.to_string().contains("took longer"), "{error}");
    }

    #[test]
    fn a_quiet_success_is_a_success() {
        quietly(&mut shell("echo noise >&2"), Duration::from_secs(30)).unwrap();
    }

    #[test]
    fn a_command_is_shown_without_the_folder_of_its_program() {
        let mut command = Command::new("/usr/bin/cargo");
        assert_eq!(shown(command.args(["fmt", "--all"])), "cargo fmt --all");
    }

    #[test]
    fn programs_are_found_on_the_path_only() {
        assert!(on_path("sh").is_some());
        assert!(on_path("no-such-program-anywhere").is_none());
    }
}
