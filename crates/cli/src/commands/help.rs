//! `hew schema`, `hew completions` and `hew man`: texts generated from definitions.

use crate::args::{self, SchemaKind};
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::{config, output};
use clap_complete::Shell;
use std::path::Path;

pub(super) fn schema(of: SchemaKind) -> Result<ExitStatus> {
    let schema = match of {
        SchemaKind::Events => output::events::json_schema(),
        SchemaKind::Config => config::json_schema(),
        SchemaKind::Changes => headless::output::changes_json::json_schema(),
    };
    output::print_checked(&output::pretty(&schema)?)?;
    Ok(ExitStatus::Done)
}

pub(super) fn completions(shell: Shell) -> Result<ExitStatus> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::definition(), "hew", &mut script);
    output::print_checked(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Done)
}

pub(super) fn man(folder: Option<&Path>) -> Result<ExitStatus> {
    let Some(folder) = folder else {
        output::print_checked(&page(&args::definition())?)?;
        return Ok(ExitStatus::Done);
    };
    let refuse = |path: &Path, error: &std::io::Error| Failure::file("write", path, error);
    std::fs::create_dir_all(folder).map_err(|error| refuse(folder, &error))?;
    clap_mangen::generate_to(args::definition(), folder).map_err(|error| refuse(folder, &error))?;
    for entry in std::fs::read_dir(folder)
        .map_err(|error| refuse(folder, &error))?
        .flatten()
    {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if name.starts_with("hew") && name.ends_with(".1") {
            let text = std::fs::read_to_string(&path).map_err(|error| refuse(&path, &error))?;
            std::fs::write(&path, with_exit_status(&text)).map_err(|error| refuse(&path, &error))?;
        }
    }
    Ok(ExitStatus::Done)
}

fn page(command: &clap::Command) -> Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Failure::failed(format!("cannot make the man page: {error}")))?;
    Ok(with_exit_status(&String::from_utf8_lossy(&page)))
}

/// The page with its exit codes under the heading that man pages have for them.
fn with_exit_status(page: &str) -> String {
    // The generator has no such section; the exit codes follow the options, and their lines must not be joined.
    match page.split_once(".SH EXTRA\nExit codes:\n") {
        Some((before, after)) => {
            let (codes, rest) = after
                .split_once("\n.SH ")
                .map_or((after, None), |(codes, rest)| (codes, Some(rest)));
            let rest = rest.map(|rest| format!("\n.SH {rest}")).unwrap_or_default();
            format!("{before}.SH \"EXIT STATUS\"\n.nf\n{}\n.fi{rest}", codes.trim_end())
        }
        None => page.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_have_their_section_in_the_man_page() {
        let page = page(&args::definition()).unwrap();
        let (_, codes) = page.split_once("\n.SH \"EXIT STATUS\"\n.nf\n").unwrap();
        let (codes, rest) = codes.split_once("\n.fi").unwrap();
        assert!(
            codes.lines().count() > 7 && codes.contains("the task is done"),
            "{codes}"
        );
        assert!(rest.contains("\n.SH VERSION\n"), "{rest}");
        assert!(!page.contains("SH EXTRA"));
    }
}
