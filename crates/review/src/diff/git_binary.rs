//! Binary files in the format that `git apply` reads: both versions complete, compressed, in base 85.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{self, Write};
use workspace::blob_name;

/// The digits of git's base 85.
const DIGITS: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Bytes on a line.
const LINE_BYTES: usize = 52;
/// The object id that git uses for a missing file.
const MISSING: &str = "0000000000000000000000000000000000000000";

/// The lines after the header of a file; `None` means that the file does not exist.
pub(super) fn lines(old: Option<&[u8]>, new: Option<&[u8]>) -> io::Result<Vec<String>> {
    let name = |bytes: Option<&[u8]>| bytes.map_or_else(|| MISSING.to_owned(), blob_name);
    let mut lines = vec![
        format!("index {}..{}", name(old), name(new)),
        "GIT binary patch".to_owned(),
    ];
    // Forward, then backward, so that the patch can be reverted.
    for bytes in [new, old] {
        let bytes = bytes.unwrap_or_default();
        lines.push(format!("literal {}", bytes.len()));
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
        packed.write_all(bytes)?;
        lines.extend(packed.finish()?.chunks(LINE_BYTES).map(line));
        lines.push(String::new());
    }
    Ok(lines)
}

/// Encodes a line: the number of bytes as a letter, then five digits for every four bytes.
fn line(bytes: &[u8]) -> String {
    let count = bytes.len() as u8;
    let letter = match count {
        ..=26 => b'A' + count - 1,
        27.. => b'a' + count - 27,
    };
    let mut line = String::from(char::from(letter));
    for group in bytes.chunks(4) {
        let mut four = [0; 4];
        four[..group.len()].copy_from_slice(group);
        let mut number = u32::from_be_bytes(four);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(number % 85) as usize];
            number /= 85;
        }
        line.extend(digits.map(char::from));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_encoded_like_git_does() {
        // The output of `git diff --binary` for these bytes.
        assert_eq!(line(&[0]), "A00000");
        assert_eq!(line(&[0xff; 4]), "D|NsC0");
        assert_eq!(line(&[0; 52]).len(), 1 + 65);
        assert!(line(&[0; 52]).starts_with('z') && line(&[0; 27]).starts_with('a'));
    }
}
