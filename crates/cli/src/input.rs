//! The prompt: arguments, stdin and attached files become one message.

use crate::failure::{Failure, Result, plain};
use host::attachments::{MAX_TEXT_BYTES, attach};
use model::{Message, Part, Role};
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// The time after which hew prints that it is waiting for stdin.
const STDIN_NOTICE_DELAY: Duration = Duration::from_secs(1);

/// The message, or `None` if there is no input.
pub(crate) fn message(words: &[String], files: &[PathBuf]) -> Result<Option<Message>> {
    let typed = words.iter().filter(|word| *word != "-").map(String::as_str);
    let typed = typed.collect::<Vec<_>>().join(" ");
    let piped = if words.iter().any(|word| word == "-") || has_input() {
        read_stdin()?
    } else {
        String::new()
    };
    let text = join(typed.trim(), piped.trim_end_matches(['\n', '\r']));
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
fn join(typed: &str, piped: &str) -> String {
    match (typed.is_empty(), piped.trim().is_empty()) {
        (_, true) => typed.into(),
        (true, false) => piped.into(),
        (false, false) => format!("{typed}\n\n<stdin>\n{piped}\n</stdin>"),
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
        // The receiver may have been dropped.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn piped_input_is_enclosed_in_a_block() {
        assert_eq!(
            join("explain", "line 1\nline 2"),
            "explain\n\n<stdin>\nline 1\nline 2\n</stdin>"
        );
        assert_eq!(join("", "do it"), "do it");
        assert_eq!(join("do it", "  \n"), "do it");
    }
}
