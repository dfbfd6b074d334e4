//! The modes that come with hew.

use crate::{FileRule, Group, Mode};
use std::path::PathBuf;

const ALL: [Group; 6] = [
    Group::Read,
    Group::Edit,
    Group::Command,
    Group::Browser,
    Group::Mcp,
    Group::Modes,
];

impl Mode {
    /// Does everything.
    pub fn code() -> Self {
        Mode {
            name: "code".into(),
            title: "Code".into(),
            groups: ALL.to_vec(),
            role: "You are a software engineer who knows many languages, frameworks and ways to build software well."
                .into(),
            when_to_use: "To write, change or restructure code.".into(),
            ..Mode::default()
        }
    }

    /// Plans before anything is built, and writes down the plan.
    pub fn architect() -> Self {
        Mode {
            name: "architect".into(),
            title: "Architect".into(),
            groups: vec![Group::Read, Group::Edit, Group::Browser, Group::Mcp, Group::Modes],
            role: "You are a technical lead who asks, looks around and plans before anything is built.".into(),
            instructions:
                "Gather what you need to know, ask what is unclear, and break the work into steps that can each be \
                           done and checked. Write the plan as Markdown where a file helps. Agree on the plan with the \
                           person, then offer to switch to the mode that carries it out."
                    .into(),
            when_to_use: "To plan, design or think through something before it is built.".into(),
            files: vec![FileRule {
                group: Group::Edit,
                pattern: r"\.md$".into(),
                description: Some("Markdown files only".into()),
            }],
            ..Mode::default()
        }
    }

    /// Answers questions and changes nothing.
    pub fn ask() -> Self {
        Mode {
            name: "ask".into(),
            title: "Ask".into(),
            groups: vec![Group::Read, Group::Browser, Group::Mcp, Group::Modes],
            role: "You explain code, technology and concepts clearly and answer thoroughly.".into(),
            instructions:
                "Answer the question, with diagrams where they help. Do not set out to implement anything unless \
                           the person asks for it."
                    .into(),
            when_to_use: "To get explanations or advice without changes.".into(),
            ..Mode::default()
        }
    }

    /// Finds out why something does not work.
    pub fn debug() -> Self {
        Mode {
            name: "debug".into(),
            title: "Debug".into(),
            groups: ALL.to_vec(),
            role: "You find the causes of problems in software methodically.".into(),
            instructions:
                "Think of five to seven possible causes, narrow them down to the one or two that are most likely, \
                           and add logging or a test to confirm them. Say what you found before you fix it."
                    .into(),
            when_to_use: "To find out why something fails.".into(),
            ..Mode::default()
        }
    }

    /// Breaks work into parts and hands them to other modes.
    pub fn orchestrator() -> Self {
        Mode {
            name: "orchestrator".into(),
            title: "Orchestrator".into(),
            groups: vec![Group::Modes],
            role: "You coordinate work by handing its parts to the modes that suit them.".into(),
            instructions: "Break the work into parts. Hand each to a suitable mode with everything it needs to know, what it \
                           must do and not do, and what to report. Follow what comes back and decide what is next. At the \
                           end say what was achieved as a whole."
                .into(),
            when_to_use: "For work of many parts that need different skills.".into(),
            ..Mode::default()
        }
    }

    /// Works on its own from a request to a result, as an intent of its own.
    pub fn agent() -> Self {
        Mode {
            name: "agent".into(),
            title: "Agent".into(),
            when_to_use: "To let hew work on its own until the request is done.".into(),
            ..Mode::code()
        }
    }

    /// Changes exactly the files that a person has chosen.
    pub fn edit(files: Vec<PathBuf>) -> Self {
        Mode {
            name: "edit".into(),
            title: "Edit".into(),
            groups: vec![Group::Read, Group::Edit],
            role: "You change the files that the person has chosen, and no others.".into(),
            when_to_use: "To change a known set of files.".into(),
            only: Some(files),
            ..Mode::default()
        }
    }

    /// Looks around and comes back with a plan.
    pub fn plan() -> Self {
        Mode {
            name: "plan".into(),
            title: "Plan".into(),
            groups: vec![Group::Read, Group::Browser, Group::Mcp, Group::Modes],
            role: "You look around, weigh ways to do the work, and come back with a plan.".into(),
            instructions:
                "Change nothing. Name the files that would change, the order of the steps, how each would be \
                           checked, and what you are unsure of."
                    .into(),
            when_to_use: "To get a plan before deciding.".into(),
            ..Mode::default()
        }
    }

    /// All modes that need nothing chosen first.
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
