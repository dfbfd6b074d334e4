//! The built-in modes.

use crate::{FileRule, Mode, ToolGroup};
use std::path::PathBuf;

const ALL: [ToolGroup; 6] = [
    ToolGroup::Read,
    ToolGroup::Edit,
    ToolGroup::Command,
    ToolGroup::Browser,
    ToolGroup::Mcp,
    ToolGroup::Modes,
];

impl Mode {
    /// Has all tools.
    pub fn code() -> Self {
        Mode {
            name: "code".into(),
            title: "Code".into(),
            groups: ALL.to_vec(),
            role: "You are a software engineer with broad knowledge of languages, frameworks and good practice.".into(),
            when_to_use: "To write, change or restructure code.".into(),
            ..Mode::default()
        }
    }

    /// Plans before implementation and writes the plan down.
    pub fn architect() -> Self {
        Mode {
            name: "architect".into(),
            title: "Architect".into(),
            groups: vec![ToolGroup::Read, ToolGroup::Edit, ToolGroup::Browser, ToolGroup::Mcp, ToolGroup::Modes],
            role: "You are a technical lead who asks questions, investigates and plans before anything is implemented.".into(),
            instructions:
                "Gather the information you need, clarify open questions, and break the work into steps that can each be \
                           completed and verified. Write the plan to a Markdown file if useful. Agree on the plan with the \
                           user, then offer to switch to the mode that implements it."
                    .into(),
            when_to_use: "To plan or design something before it is implemented; like `plan`, but writes the plan to a \
                          Markdown file."
                .into(),
            files: vec![FileRule {
                group: ToolGroup::Edit,
                pattern: r"\.md$".into(),
                description: Some("Markdown files only".into()),
            }],
            ..Mode::default()
        }
    }

    /// Answers questions without changing anything.
    pub fn ask() -> Self {
        Mode {
            name: "ask".into(),
            title: "Ask".into(),
            groups: vec![ToolGroup::Read, ToolGroup::Browser, ToolGroup::Mcp, ToolGroup::Modes],
            role: "You explain code, technology and concepts clearly and answer thoroughly.".into(),
            instructions:
                "Answer the question, with diagrams if useful. Describe changes instead of making them; if the \
                           user wants them made, offer to switch the mode."
                    .into(),
            when_to_use: "To get explanations or advice without a plan or changes.".into(),
            ..Mode::default()
        }
    }

    /// Diagnoses problems.
    pub fn debug() -> Self {
        Mode {
            name: "debug".into(),
            title: "Debug".into(),
            groups: ALL.to_vec(),
            role: "You diagnose software problems methodically.".into(),
            instructions:
                "Consider five to seven possible causes, narrow them down to the one or two most likely ones, \
                           and add logging or a test to confirm them. Report the cause before you fix it."
                    .into(),
            when_to_use: "To find out why something fails.".into(),
            ..Mode::default()
        }
    }

    /// Splits work into subtasks and delegates them to other modes.
    pub fn orchestrator() -> Self {
        Mode {
            name: "orchestrator".into(),
            title: "Orchestrator".into(),
            groups: vec![ToolGroup::Modes],
            role: "You coordinate work by delegating its parts to suitable modes.".into(),
            instructions: "Break the work into parts. Delegate each with `new_task` to a suitable mode, with all necessary \
                           information, what it must do and not do, and what to report. Review the results and decide on the next step. At the \
                           end summarize the overall result."
                .into(),
            when_to_use: "For complex work with parts that need different skills.".into(),
            ..Mode::default()
        }
    }

    /// Works independently from a request to a result.
    pub fn agent() -> Self {
        Mode {
            name: "agent".into(),
            title: "Agent".into(),
            when_to_use:
                "To work alone until the request is done; like `code`, but a turn does not end with open to-dos.".into(),
            ..Mode::code()
        }
    }

    /// Changes only the files that the user chose.
    pub fn edit(files: Vec<PathBuf>) -> Self {
        Mode {
            name: "edit".into(),
            title: "Edit".into(),
            groups: vec![ToolGroup::Read, ToolGroup::Edit],
            role: "You change only the files that the user has selected.".into(),
            when_to_use: "To change a known set of files.".into(),
            only: Some(files),
            ..Mode::default()
        }
    }

    /// Explores the project and returns a plan.
    pub fn plan() -> Self {
        Mode {
            name: "plan".into(),
            title: "Plan".into(),
            groups: vec![ToolGroup::Read, ToolGroup::Browser, ToolGroup::Mcp, ToolGroup::Modes],
            role: "You investigate, compare approaches, and return a plan.".into(),
            instructions:
                "Change nothing. List the files that would change, the order of the steps, how each would be \
                           verified, and what is uncertain."
                    .into(),
            when_to_use: "To get a plan before deciding; changes nothing, not even Markdown files.".into(),
            ..Mode::default()
        }
    }

    /// All modes that need no further choice.
    pub fn built_in() -> Vec<Mode> {
        vec![
            Mode::code(),
            Mode::architect(),
            Mode::ask(),
            Mode::debug(),
            Mode::orchestrator(),
            Mode::agent(),
            Mode::plan(),
        ]
    }
}
