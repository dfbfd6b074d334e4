//! The prompt: arguments, stdin and attached files become one message.

use crate::failure::{Failure, Result, plain};
use model::{Media, Message, Part, PartOrigin, Role};
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// The most that is read from stdin or an attached text file.
const MAX_TEXT_BYTES: u64 = 4 << 20;
/// The maximum size of an attached image or document; vendors accept less.
const MAX_MEDIA_BYTES: u64 = 32 << 20;
/// The time after which hew prints that it is waiting for stdin.
const STDIN_NOTICE_DELAY: Duration = Duration::from_secs(1);

/// The message, or `None` if there is no input.
pub(crate) fn message(words: &[String], files: &[PathBuf]) -> Result<Option<Message>> {
    let said = words.iter().filter(|word| *word != "-").map(String::as_str);
    let said = said.collect::<Vec<_>>().join(" ");
    let piped = if words.iter().any(|word| word == "-") || has_input() {
        read_stdin()?
    } else {
        String::new()
    };
    let text = join(said.trim(), piped.trim_end_matches(['\n', '\r']));
    let mut parts: Vec<Part> = files.iter().map(|file| attach(file)).collect::<Result<_>>()?;
    if !text.is_empty() {
        parts.insert(0, Part::text(text));
    }
    Ok((!parts.is_empty()).then_some(Message {
        role: Role::User,
        parts,
    }))
}

/// The arguments and the piped input as one text.
fn join(said: &str, piped: &str) -> String {
    match (said.is_empty(), piped.trim().is_empty()) {
        (_, true) => said.into(),
        (true, false) => piped.into(),
        (false, false) => format!("{said}\n\n<stdin>\n{piped}\n</stdin>"),
    }
}

/// Whether something is piped or redirected into hew.
fn has_input() -> bool {
    use rustix::fs::FileType;
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return false;
    }
    let kind = rustix::fs::fstat(&stdin).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile | FileType::Socket))
}

fn read_stdin() -> Result<String> {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes);
        // Whoever waited may have gone.
        drop(done.send(read.map(|_| bytes)));
    });
    let read = match wait.recv_timeout(STDIN_NOTICE_DELAY) {
        Err(RecvTimeoutError::Timeout) => {
            crate::output::print_stderr("note: waiting for stdin to end; `< /dev/null` if there is nothing to add\n");
            wait.recv().ok()
        }
        other => other.ok(),
    };
    let bytes = match read {
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => return Err(Failure::usage(format!("cannot read stdin: {}", plain(&error)))),
        None => return Err(Failure::usage("cannot read stdin")),
    };
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        return Err(Failure::usage("stdin is longer than 4 MB")
            .hint("save it to a file in the project and ask hew to look at it there"));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::usage("stdin is not UTF-8 text").hint("images and PDF documents are attached with --file")
    })
}

/// A file as a part of a message: an image, a document or text.
pub(crate) fn attach(path: &Path) -> Result<Part> {
    let refuse = |error: &std::io::Error| Failure::file("attach", path, error);
    let file = std::fs::File::open(path).map_err(|error| refuse(&error))?;
    let mut bytes = Vec::new();
    file.take(MAX_MEDIA_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| refuse(&error))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    if let Some(mime) = media_type(&bytes) {
        if bytes.len() as u64 > MAX_MEDIA_BYTES {
            return Err(Failure::usage(format!("{} is larger than 32 MB", path.display())));
        }
        return Ok(Part::Media(Media {
            mime: mime.into(),
            name,
            data: bytes.into(),
        }));
    }
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        return Err(Failure::usage(format!("{} is larger than 4 MB", path.display()))
            .hint("ask hew to look at the file instead of attaching it"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => {
            let text = format!(
                "<file path=\"{}\">\n{}\n</file>",
                path.display(),
                text.trim_end_matches('\n')
            );
            Ok(Part::with_origin(text, PartOrigin::Attachment))
        }
        Err(_) => Err(
            Failure::usage(format!("{} is neither text, an image nor a PDF", path.display()))
                .hint("PNG, JPEG, GIF, WebP, PDF and UTF-8 text can be attached"),
        ),
    }
}

fn media_type(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_piped_in_stands_in_a_block_of_its_own() {
        assert_eq!(
            join("explain", "line 1\nline 2"),
            "explain\n\n<stdin>\nline 1\nline 2\n</stdin>"
        );
        assert_eq!(join("", "do it"), "do it");
        assert_eq!(join("do it", "  \n"), "do it");
    }

    #[test]
    fn attachments_are_told_apart_by_their_bytes() {
        let temp = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = temp.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let Part::Media(media) = attach(&write("wrong.txt", b"\x89PNG\r\n\x1a\nrest")).unwrap() else {
            panic!("not media")
        };
        assert_eq!(
            (media.mime.as_str(), media.name.as_deref()),
            ("image/png", Some("wrong.txt"))
        );
        let path = write("a.rs", b"fn main() {}\n");
        let text = format!("<file path=\"{}\">\nfn main() {{}}\n</file>", path.display());
        assert_eq!(attach(&path).unwrap(), Part::with_origin(text, PartOrigin::Attachment));
        assert!(attach(&write("b.bin", b"\xff\xfe\x00")).is_err());
        assert!(
            attach(&temp.path().join("gone"))
                .unwrap_err()
                .message
                .contains("gone: No such file")
        );
    }
}
