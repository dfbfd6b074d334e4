//! How much of each tool's answer reaches the model: one table for all of them.

/// How much of an answer reaches the model. What a tool has no use for is `usize::MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cap {
    /// Lines, results or entries.
    pub(crate) entries: usize,
    /// Bytes of one line.
    pub(crate) line: usize,
    /// Bytes of content of one file, page or result.
    pub(crate) bytes: usize,
    /// Bytes of the whole answer; more goes to a file.
    pub(crate) answer: usize,
}

/// For tools that have no row.
const USUAL: Cap = Cap {
    entries: usize::MAX,
    line: usize::MAX,
    bytes: 32_000,
    answer: 48_000,
};

/// The caps, by name of tool.
pub(crate) const TABLE: &[(&str, Cap)] = &[
    (
        "read_file",
        Cap {
            entries: 2_000,
            line: 2_000,
            bytes: 64 * 1024,
            answer: 160 * 1024,
        },
    ),
    (
        "list_directory",
        Cap {
            entries: 500,
            line: 300,
            ..USUAL
        },
    ),
    ("find_path", Cap { entries: 100, ..USUAL }),
    (
        "grep",
        Cap {
            entries: 100,
            line: 300,
            ..USUAL
        },
    ),
    ("code_definitions", Cap { entries: 400, ..USUAL }),
    ("definition", Cap { entries: 40, ..USUAL }),
    ("references", Cap { entries: 100, ..USUAL }),
    (
        "diagnostics",
        Cap {
            entries: 50,
            bytes: 16_000,
            ..USUAL
        },
    ),
    ("terminal", Cap { bytes: 30_000, ..USUAL }),
    (
        "find_tools",
        Cap {
            entries: 8,
            bytes: 8_000,
            answer: 12_000,
            ..USUAL
        },
    ),
];

/// The caps of a tool.
pub(crate) fn of(tool: &str) -> Cap {
    TABLE
        .iter()
        .find(|(name, _)| *name == tool)
        .map_or(USUAL, |(_, cap)| *cap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_capped_and_no_part_is_larger_than_the_answer() {
        for (name, cap) in TABLE {
            assert!(cap.bytes <= cap.answer && cap.answer <= 256 * 1024, "{name}: {cap:?}");
            assert_eq!(TABLE.iter().filter(|(other, _)| other == name).count(), 1, "{name}");
        }
        assert_eq!(of("something new"), USUAL);
    }
}
