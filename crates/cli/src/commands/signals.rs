//! Ctrl-C, SIGTERM, and the terminal that goes away.

use crate::exit::Exit;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask hew to stop.
pub(super) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl Signals {
    /// Takes over the signals. Where that is not possible they end hew at once, as they always do.
    pub(super) fn listen() -> Self {
        Signals {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            hangup: signal(SignalKind::hangup()).ok(),
        }
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Exit {
        tokio::select! {
            () = received(&mut self.interrupt) => Exit::Interrupted,
            () = received(&mut self.terminate) => Exit::Terminated,
            // Without this, commands that a tool had started would outlive the terminal.
            () = received(&mut self.hangup) => Exit::Terminated,
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}
