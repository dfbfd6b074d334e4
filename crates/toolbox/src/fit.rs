//! Which models are told of which tools. The knowledge is the table; a person's own choice comes after it.
//!
//! The edit tool that a family writes best is in the table of `edit`, which also knows the forms of edits in text.

use tool::Registry;

use crate::Options;

/// What is true of some models.
struct Row {
    /// Whom it is about.
    models: Models,
    /// Tools that they are not to have at all.
    withheld: &'static [&'static str],
    /// Tools that they have to look for, although others are told of them.
    deferred: &'static [&'static str],
}

/// Some models.
enum Models {
    /// Those of these names, as `provider/id` or as `id` alone; `*` stands for anything.
    Named(&'static [&'static str]),
    /// Those with at most so many tokens for prompt and reply together.
    Window(u64),
    /// Those that think before they answer.
    Reasoning,
}

/// All rows that fit a model count.
const TABLE: &[Row] = &[
    // Thinking out loud in a tool is for models that cannot do it by themselves.
    Row {
        models: Models::Reasoning,
        withheld: &["thinking"],
        deferred: &[],
    },
    // Where every token counts, a few tools that do everything are better than many that do it well.
    Row {
        models: Models::Window(16_384),
        withheld: &["find_tools", "call_tool"],
        deferred: &["find_path", "todo"],
    },
    // Small models take a tool that only shows further tools for an answer, and call it over and over.
    Row {
        models: Models::Named(&["*-nano", "*-nano-*", "gemma*", "*:0.5b", "*:1b", "*:1.5b", "*:3b"]),
        withheld: &["find_tools", "call_tool", "new_task", "spawn_agents", "browser_action"],
        deferred: &[],
    },
];

/// The tools as this model, and this person, shall have them.
pub(crate) fn fit(mut tools: Registry, options: &Options<'_>) -> Registry {
    let wanted = |name: &str| options.enabled.iter().any(|enabled| enabled == name);
    let rows = || TABLE.iter().filter(|row| row.models.include(options));
    for name in rows().flat_map(|row| row.withheld).filter(|name| !wanted(name)) {
        tools.remove(name);
    }
    for name in rows().flat_map(|row| row.deferred).filter(|name| !wanted(name)) {
        if let Some(tool) = tools.remove(name) {
            tools.add_deferred(tool);
        }
    }
    for name in &options.enabled {
        tools.list(name);
    }
    for name in &options.disabled {
        tools.remove(name);
    }
    tools
}

impl Models {
    fn include(&self, options: &Options<'_>) -> bool {
        match self {
            Models::Named(patterns) => options.model.is_some_and(|name| {
                let name = name.to_ascii_lowercase();
                let id = name.split_once('/').map_or(name.as_str(), |(_, id)| id);
                patterns
                    .iter()
                    .any(|pattern| matches(pattern, &name) || matches(pattern, id))
            }),
            Models::Window(most) => options.window.is_some_and(|window| (1..=*most).contains(&window)),
            Models::Reasoning => options.reasoning,
        }
    }
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|skipped| rest.get(skipped..).is_some_and(|rest| matches(after, rest)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, fits) in [
            ("*-nano", "gpt-5-nano", true),
            ("*-nano", "gpt-5-nano-x", false),
            ("*-nano-*", "gpt-5-nano-x", true),
            ("gemma*", "gemma", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "ac", false),
            ("x", "x", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
