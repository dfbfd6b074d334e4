//! Programs that a project defines: MCP servers, hooks, language servers and other agents.
//!
//! In a trusted project each of them needs approval, so that nothing that appears or changes later is started: `hew trust`
//! approves those that are defined at that time. What is approved is the definition itself, not its name.

use crate::config::{ConfigFiles, ConfigLayer, ConfigOrigin};
use crate::environment::ProcessEnv;
use crate::failure::Result;
use crate::project;
use crate::trust::TrustList;
use mcp::PROJECT_FILES;
use std::collections::BTreeSet;
use std::path::Path;
use toml::{Table, Value};

/// The maximum size of a file.
const MAX_BYTES: u64 = 1024 * 1024;

/// A program that a project defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramDefinition {
    /// What it is, such as `MCP server`.
    pub kind: &'static str,
    /// Its name; the command of a hook.
    pub name: String,
    /// Its complete definition, with the file that contains it.
    text: String,
}

impl ProgramDefinition {
    fn new(kind: &'static str, name: &str, file: &Path, definition: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            text: format!("{}: {kind} {name}: {definition}", file.display()),
        }
    }

    /// One line for a list, without control characters.
    pub fn describe(&self) -> String {
        format!("{} {}", self.kind, self.name.replace(char::is_control, " "))
    }

    /// A warning that it is not started.
    pub(crate) fn warning(&self) -> String {
        format!(
            "the {} is not started: the project defines it differently than when you approved it, or it is new; `hew trust` \
             approves all programs of the project",
            self.describe()
        )
    }
}

/// The approved definitions of a project.
#[derive(Debug, Clone, Default)]
pub struct ApprovedPrograms(BTreeSet<String>);

impl ApprovedPrograms {
    /// Loads the approved definitions. There are none if the file cannot be read.
    pub fn load(root: &Path, env: &ProcessEnv) -> Self {
        let top = project::repository_root(root);
        let list = TrustList::load(env).unwrap_or_default();
        Self(list.approved.get(&top).cloned().unwrap_or_default())
    }

    /// Whether a definition is approved.
    pub fn contains(&self, program: &ProgramDefinition) -> bool {
        self.0.contains(&program.text)
    }

    /// Removes programs that are not approved from a layer, and returns them.
    pub fn restrict(&self, layer: &mut ConfigLayer) -> Vec<ProgramDefinition> {
        let ConfigOrigin::Project(file) = &layer.origin else {
            return Vec::new();
        };
        let mut removed = Vec::new();
        for (keys, kind) in TABLES {
            let Some(table) = table_mut(&mut layer.table, keys) else {
                continue;
            };
            table.retain(|name, value| {
                let program = ProgramDefinition::new(kind, name, file, &value.to_string());
                let is_approved = self.contains(&program);
                removed.extend((!is_approved).then_some(program));
                is_approved
            });
        }
        if let Some(Value::Array(hooks)) = layer.table.get_mut("hooks") {
            hooks.retain(|hook| {
                let program = ProgramDefinition::new(HOOK, hook_command(hook), file, &hook.to_string());
                let is_approved = self.contains(&program);
                removed.extend((!is_approved).then_some(program));
                is_approved
            });
        }
        removed
    }
}

/// The tables of a configuration that define programs.
const TABLES: [(&[&str], &str); 3] = [
    (&["mcp"], "MCP server"),
    (&["agents"], "agent"),
    (&["lsp", "servers"], "language server"),
];
const HOOK: &str = "hook";

fn table_mut<'t>(table: &'t mut Table, keys: &[&str]) -> Option<&'t mut Table> {
    keys.iter()
        .try_fold(table, |table, key| table.get_mut(*key)?.as_table_mut())
}

fn hook_command(hook: &Value) -> &str {
    hook.get("command").and_then(Value::as_str).unwrap_or_default()
}

/// The servers that a file of another program defines.
pub(crate) fn in_mcp_file(file: &Path, text: &str) -> Vec<ProgramDefinition> {
    let entries = mcp::mcp_file_entries(text).into_iter();
    let program = |(name, definition): (String, String)| ProgramDefinition::new(TABLES[0].1, &name, file, &definition);
    entries.map(program).collect()
}

/// All programs that a project defines now.
pub fn all(root: &Path, env: &ProcessEnv) -> Result<Vec<ProgramDefinition>> {
    let mut programs = Vec::new();
    let files = ConfigFiles::find(Some(root), env)?;
    if let Some(file) = files.project.filter(|file| *file != files.user)
        && let Some(mut layer) = ConfigLayer::read(&file, ConfigOrigin::Project)?
    {
        programs.extend(ApprovedPrograms::default().restrict(&mut layer));
    }
    for file in PROJECT_FILES.map(|name| root.join(name)) {
        let bytes = workspace::read_regular_file(&file, MAX_BYTES).unwrap_or_default();
        programs.extend(in_mcp_file(&file, &String::from_utf8_lossy(&bytes)));
    }
    Ok(programs)
}

/// The programs of a project that are not approved.
pub fn unapproved(root: &Path, env: &ProcessEnv) -> Result<Vec<ProgramDefinition>> {
    let approved = ApprovedPrograms::load(root, env);
    let mut programs = all(root, env)?;
    programs.retain(|program| !approved.contains(program));
    Ok(programs)
}

/// Approves the programs of a project, and saves the list.
pub fn approve(programs: &[ProgramDefinition], root: &Path, list: &mut TrustList, env: &ProcessEnv) -> Result<()> {
    let texts: BTreeSet<String> = programs.iter().map(|program| program.text.clone()).collect();
    let top = project::repository_root(root);
    match texts.is_empty() && !list.approved.contains_key(&top) {
        true => return Ok(()),
        // Those of other directories of the repository stay approved.
        false => list.approved.entry(top).or_default().extend(texts),
    }
    list.save(env)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_approved_definitions_remain_and_a_change_needs_approval_again() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("p");
        fs::create_dir_all(root.join(".hew")).unwrap();
        let data = temp.path().join("data").display().to_string();
        let home = temp.path().display().to_string();
        let env = ProcessEnv::from([("HEW_DATA_DIR", data.as_str()), ("HOME", home.as_str())]);
        let file = root.join(".hew/config.toml");
        let config = "[mcp.a]\ncommand = 'x'\n[agents.b]\ncommand = 'y'\n[lsp.servers.c]\ncommand = ['z']\n\
            [[hooks]]\nevent = 'Stop'\ncommand = 'w'\n";
        fs::write(&file, config).unwrap();
        fs::write(root.join(".mcp.json"), r#"{"mcpServers": {"d": {"command": "v"}}}"#).unwrap();
        let names = |programs: Vec<ProgramDefinition>| -> Vec<String> {
            programs.iter().map(ProgramDefinition::describe).collect()
        };
        let found = all(&root, &env).unwrap();
        let all_names = ["MCP server a", "agent b", "language server c", "hook w", "MCP server d"];
        assert_eq!(names(found.clone()), all_names);
        let mut list = TrustList::default();
        approve(&found, &root, &mut list, &env).unwrap();
        assert_eq!(names(unapproved(&root, &env).unwrap()), [""; 0]);
        fs::write(&file, config.replace("'x'", "'evil'").replace("'w'", "'w; evil'")).unwrap();
        fs::write(
            root.join(".mcp.json"),
            r#"{"mcpServers": {"d": {"command": "v", "args": ["evil"]}}}"#,
        )
        .unwrap();
        let changed = ["MCP server a", "hook w; evil", "MCP server d"];
        assert_eq!(names(unapproved(&root, &env).unwrap()), changed);
        let mut layer = ConfigLayer::read(&file, ConfigOrigin::Project).unwrap().unwrap();
        assert_eq!(ApprovedPrograms::load(&root, &env).restrict(&mut layer).len(), 2);
        assert!(
            layer.table["mcp"].as_table().unwrap().is_empty() && layer.table["hooks"].as_array().unwrap().is_empty()
        );
        assert_eq!(layer.table["agents"].as_table().unwrap().len(), 1);
    }
}
