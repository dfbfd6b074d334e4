//! Limits of patterns that others write: libraries parse nested groups recursively, so that a deep one would overflow
//! the stack.

/// The maximum depth of groups.
const MAX_NESTING: usize = 20;
/// The maximum length.
const MAX_BYTES: usize = 8 * 1024;

/// The maximum depth of lists and tables in one line of YAML, which is parsed in quadratic time.
const MAX_YAML_NESTING: usize = 200;

/// Whether a glob or a regular expression is short and flat enough to be parsed.
pub fn is_bounded_pattern(pattern: &str) -> bool {
    pattern.len() <= MAX_BYTES && nesting(pattern.bytes(), [b'{', b'('], [b'}', b')']) <= MAX_NESTING
}

/// Whether a YAML text is flat enough to be parsed.
pub fn is_bounded_yaml(text: &str) -> bool {
    nesting(text.bytes(), [b'{', b'['], [b'}', b']']) <= MAX_YAML_NESTING
}

fn nesting(bytes: impl Iterator<Item = u8>, open: [u8; 2], close: [u8; 2]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in bytes {
        depth = match byte {
            byte if open.contains(&byte) => depth + 1,
            byte if close.contains(&byte) => depth.saturating_sub(1),
            _ => depth,
        };
        deepest = deepest.max(depth);
    }
    deepest
}
