//! Finds the known name that a misspelled one means.

/// The minimum length of a matching part.
const MIN_PART: usize = 3;

/// The most likely name: one with the same beginning, else one that contains it, else the nearest in spelling.
pub fn nearest_name<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    let ranked = names
        .into_iter()
        .filter_map(|name| rank(&wrong, name).map(|rank| (rank, name)));
    ranked.min().map(|(_, name)| name)
}

/// The kind of similarity, the distance, and the difference in length: letters are swapped more often than lost.
fn rank(wrong: &str, name: &str) -> Option<(u8, usize, usize)> {
    let longer = wrong.len().max(name.len());
    let is_part = wrong.len().min(name.len()) >= MIN_PART;
    let distance = strsim::damerau_levenshtein(wrong, name);
    let off = wrong.len().abs_diff(name.len());
    match () {
        () if is_part && (name.starts_with(wrong) || wrong.starts_with(name)) => Some((0, distance, off)),
        () if is_part && (name.contains(wrong) || wrong.contains(name)) => Some((1, distance, off)),
        () if distance <= (longer / 3).max(1) && longer >= MIN_PART => Some((2, distance, off)),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_preferred_to_parts_and_parts_to_spelling() {
        let commands = [
            "run",
            "resume",
            "sessions",
            "permissions",
            "prompts",
            "prompt",
            "config",
            "doctor",
        ];
        for (wrong, meant) in [
            ("session", Some("sessions")),
            ("sesions", Some("sessions")),
            ("promt", Some("prompt")),
            ("confg", Some("config")),
            ("Doctor", Some("doctor")),
            ("doc", Some("doctor")),
            ("mission", Some("permissions")),
            ("rnu", Some("run")),
            ("serve", None),
            ("exec", None),
            ("x", None),
        ] {
            assert_eq!(nearest_name(wrong, commands), meant, "{wrong}");
        }
        assert_eq!(nearest_name("modle", ["mode", "model"]), Some("model"));
    }
}
