//! Removes shell quoting.

/// The text of a `$'…'` string without its quotes; `None` if it cannot be represented.
pub(crate) fn ansi_c(inside: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut chars = inside.chars().peekable();
    while let Some(next) = chars.next() {
        if next != '\\' {
            push(&mut bytes, next);
            continue;
        }
        match chars.next()? {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            'c' => bytes.push(chars.next()? as u8 & 0x1f),
            'x' => bytes.push(digits(&mut chars, 16, 2)? as u8),
            'u' => push(&mut bytes, char::from_u32(digits(&mut chars, 16, 4)?)?),
            'U' => push(&mut bytes, char::from_u32(digits(&mut chars, 16, 8)?)?),
            first @ '0'..='7' => {
                let mut value = first.to_digit(8)?;
                for _ in 0..2 {
                    match chars.peek().and_then(|next| next.to_digit(8)) {
                        Some(digit) => value = value * 8 + digit,
                        None => break,
                    }
                    chars.next();
                }
                bytes.push(value as u8);
            }
            other @ ('\\' | '\'' | '"' | '?') => push(&mut bytes, other),
            other => {
                bytes.push(b'\\');
                push(&mut bytes, other);
            }
        }
    }
    // The shell ends such a string at its first NUL.
    if let Some(end) = bytes.iter().position(|&byte| byte == 0) {
        bytes.truncate(end);
    }
    String::from_utf8(bytes).ok()
}

/// The text of part of a double-quoted string.
pub(crate) fn double(inside: &str) -> String {
    let mut text = String::new();
    let mut chars = inside.chars();
    while let Some(next) = chars.next() {
        if next != '\\' {
            text.push(next);
            continue;
        }
        match chars.next() {
            Some(escaped @ ('"' | '\\' | '$' | '`')) => text.push(escaped),
            Some('\n') => {}
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
    text
}

fn push(bytes: &mut Vec<u8>, char: char) {
    bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
}

fn digits(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize) -> Option<u32> {
    let mut value = None;
    for _ in 0..most {
        let Some(digit) = chars.peek().and_then(|next| next.to_digit(radix)) else {
            break;
        };
        chars.next();
        value = Some(value.unwrap_or(0) * radix + digit);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_escapes_decode_as_in_the_shell() {
        let cases = [
            ("\\x72m", Some("rm")),
            ("\\162\\155", Some("rm")),
            ("\\u0072m", Some("rm")),
            ("r\\0m", Some("r")),
            ("a\\tb\\'", Some("a\tb'")),
            ("\\q", Some("\\q")),
            ("\\xff", None),
            ("\\x", None),
        ];
        for (source, expected) in cases {
            assert_eq!(ansi_c(source).as_deref(), expected, "{source}");
        }
    }

    #[test]
    fn double_quotes_keep_most_backslashes() {
        assert_eq!(double(r#"a\"b\\c\$d\`e\nf"#), r#"a"b\c$d`e\nf"#);
    }
}
