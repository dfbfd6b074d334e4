//! Formats times and single lines.

use session::Time;
use std::time::{SystemTime, UNIX_EPOCH};
use unicode_width::UnicodeWidthChar;

/// The current time.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Time(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

/// A time in RFC 3339 format.
pub fn rfc3339(time: Time) -> String {
    let millis = i64::try_from(time.0).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_millisecond(millis) {
        Ok(timestamp) => timestamp.to_string(),
        Err(_) => time.0.to_string(),
    }
}

/// Puts text on one line: whitespace becomes single spaces, control characters are removed, and text beyond the width
/// is replaced with `…`.
pub fn line(text: &str, width: usize) -> String {
    let mut out = String::new();
    // The used columns, and the length that leaves a column for `…`.
    let (mut used, mut cut) = (0, 0);
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() {
            gap = !out.is_empty();
            continue;
        }
        let Some(wide) = c.width().filter(|_| !c.is_control()) else {
            continue;
        };
        if std::mem::take(&mut gap) {
            out.push(' ');
            used += 1;
        }
        out.push(c);
        used += wide;
        if used > width {
            out.truncate(cut);
            out.push('…');
            return out;
        }
        if used < width {
            cut = out.len();
        }
    }
    out
}

/// A masked secret, with just enough characters to recognise it.
pub fn mask(secret: &str) -> String {
    let count = secret.chars().count();
    if count < 12 {
        return "***".into();
    }
    let head: String = secret.chars().take(4).collect();
    let tail: String = secret.chars().skip(count - 4).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_shows_the_ends_of_long_secrets_only() {
        assert_eq!(mask("sk-ant-api03-abcdef"), "sk-a…cdef");
        assert_eq!(mask("short"), "***");
    }
}
