//! Asks the person on the terminal, without keeping the turn waiting in a read.

use session::Answer;
use std::io::{BufRead, IsTerminal};
use tokio::sync::mpsc;

/// Whether there is a person who can be asked.
pub(super) fn somebody_is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Lines that the person types, as answers.
pub(super) struct Answers {
    sender: mpsc::Sender<Answer>,
    receiver: mpsc::Receiver<Answer>,
}

impl Answers {
    /// Nobody has been asked yet.
    pub(super) fn new() -> Self {
        let (sender, receiver) = mpsc::channel(1);
        Answers { sender, receiver }
    }

    /// Asks; the answer comes from [`Answers::next`].
    pub(super) fn ask(&self) {
        crate::output::complain("  allow it? [y/N, or say what to do instead] ");
        let sender = self.sender.clone();
        // A thread of its own: a read from the terminal cannot be cancelled, and must not keep the runtime from ending.
        std::thread::spawn(move || {
            let mut line = String::new();
            let answer = match std::io::stdin().lock().read_line(&mut line) {
                Ok(_) => understand(&line),
                Err(_) => Answer::Reject { reason: None },
            };
            // The turn may be over by now.
            drop(sender.blocking_send(answer));
        });
    }

    /// The next answer.
    pub(super) async fn next(&mut self) -> Answer {
        match self.receiver.recv().await {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

/// Asks a question that is answered by yes or no, before anything runs.
pub(super) fn confirm(question: &str) -> bool {
    crate::output::complain(&format!("{question} [y/N] "));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.is_ok() && understand(&line) == Answer::once()
}

fn understand(line: &str) -> Answer {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Answer::once(),
        "" | "n" | "no" => Answer::Reject { reason: None },
        _ => Answer::Reject {
            reason: Some(line.trim().into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_but_yes_is_no_and_words_are_passed_on() {
        assert_eq!(understand("Yes\n"), Answer::once());
        assert_eq!(understand("\n"), Answer::Reject { reason: None });
        let reason = Some("use the staging server".to_string());
        assert_eq!(understand("use the staging server\n"), Answer::Reject { reason });
    }
}
