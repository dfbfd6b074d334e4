//! `hew schema`, `hew completions` and `hew man`: texts that follow from definitions.

use crate::args::{self, SchemaOf};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::{config, output};
use clap_complete::Shell;
use std::path::Path;

pub(super) fn schema(of: SchemaOf) -> Result<Exit> {
    let schema = match of {
        SchemaOf::Events => output::events::json_schema(),
        SchemaOf::Config => config::json_schema(),
        SchemaOf::Changes => super::changes::json_schema(),
    };
    output::deliver(&output::pretty(&schema)?)?;
    Ok(Exit::Done)
}

pub(super) fn completions(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::definition(), "hew", &mut script);
    output::deliver(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

pub(super) fn man(folder: Option<&Path>) -> Result<Exit> {
    let Some(folder) = folder else {
        output::deliver(&page(&args::definition())?)?;
        return Ok(Exit::Done);
    };
    let refuse = |path: &Path, error: &std::io::Error| Failure::file("write", path, error);
    std::fs::create_dir_all(folder).map_err(|error| refuse(folder, &error))?;
    clap_mangen::generate_to(args::definition(), folder).map_err(|error| refuse(folder, &error))?;
    Ok(Exit::Done)
}

fn page(command: &clap::Command) -> Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Failure::failed(format!("cannot make the man page: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
