//! Variables in definitions, such as `${env:NAME}` and `${workspaceFolder}`.

use crate::DefinitionError;
use std::path::Path;

/// Values of variables.
#[derive(Clone, Copy)]
pub struct ConfigVariables<'a> {
    /// The project directory.
    pub workspace: &'a Path,
    /// The user's home directory.
    pub home: Option<&'a Path>,
    /// The environment.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
}

/// Replaces all variables in a text.
pub fn expand_variables(text: &str, variables: &ConfigVariables<'_>) -> Result<String, DefinitionError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let Some(end) = from.find('}') else {
            out.push_str(from);
            return Ok(out);
        };
        let name = &from[2..end];
        match value(name, variables)? {
            Some(value) => out.push_str(&value),
            None => out.push_str(&from[..=end]),
        }
        rest = &from[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// The value of a variable; `None` if it is not a known variable.
fn value(name: &str, variables: &ConfigVariables<'_>) -> Result<Option<String>, DefinitionError> {
    let missing = |name: &str| DefinitionError::MissingVariable(name.to_owned());
    let shown = |path: &Path| path.display().to_string();
    let base = || variables.workspace.file_name().unwrap_or_default().to_string_lossy();
    match name {
        "workspaceFolder" | "workspaceRoot" => return Ok(Some(shown(variables.workspace))),
        "workspaceFolderBasename" => return Ok(Some(base().into_owned())),
        "userHome" => return Ok(variables.home.map(shown)),
        "pathSeparator" | "/" => return Ok(Some("/".into())),
        _ => {}
    }
    if let Some(name) = name.strip_prefix("env:") {
        return (variables.environment)(name).map(Some).ok_or_else(|| missing(name));
    }
    if let Some(input) = name.strip_prefix("input:") {
        return Err(DefinitionError::UnsupportedInput(input.to_owned()));
    }
    let (name, otherwise) = match name.split_once(":-") {
        Some((name, otherwise)) => (name, Some(otherwise)),
        None => (name, None),
    };
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    match (is_name, (variables.environment)(name), otherwise) {
        (false, ..) => Ok(None),
        (true, Some(value), _) => Ok(Some(value)),
        (true, None, Some(otherwise)) => Ok(Some(otherwise.to_owned())),
        (true, None, None) => Err(missing(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_and_missing_ones_are_named() {
        let environment = |name: &str| (name == "TOKEN").then(|| "t0".to_owned());
        let variables = ConfigVariables {
            workspace: Path::new("/w/proj"),
            home: Some(Path::new("/h")),
            environment: &environment,
        };
        for (text, expected) in [
            ("plain", Ok("plain")),
            ("Bearer ${env:TOKEN}", Ok("Bearer t0")),
            ("${workspaceFolder}/x", Ok("/w/proj/x")),
            ("${workspaceFolderBasename}:${userHome}", Ok("proj:/h")),
            ("${TOKEN}${OTHER:-d}", Ok("t0d")),
            ("${env:GONE}", Err("the environment variable GONE is not set")),
            ("${GONE}", Err("the environment variable GONE is not set")),
            ("${input:key}", Err("the input variable `key` is not supported")),
            ("${a b} ${", Ok("${a b} ${")),
        ] {
            assert_eq!(
                expand_variables(text, &variables).map_err(|error| error.to_string()),
                expected.map(str::to_owned).map_err(str::to_owned),
                "{text}"
            );
        }
    }
}
