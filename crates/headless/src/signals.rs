//! Ctrl-C, SIGTERM and SIGHUP.

use crate::exit::ExitStatus;
use std::task::{Context, Waker};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask hew to stop.
pub struct StopSignals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl StopSignals {
    /// Installs signal handlers. If that fails, signals end hew as by default.
    pub fn listen() -> Self {
        StopSignals {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            hangup: signal(SignalKind::hangup()).ok(),
        }
    }

    /// Whether SIGTERM or SIGHUP was received, also while nothing waited for it.
    pub fn is_terminated(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let mut signals = [&mut self.terminate, &mut self.hangup].into_iter().flatten();
        signals.any(|signal| signal.poll_recv(&mut context).is_ready())
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> ExitStatus {
        tokio::select! {
            () = received(&mut self.interrupt) => ExitStatus::Interrupted,
            () = received(&mut self.terminate) => ExitStatus::Terminated,
            // Without this handler, commands of tools would continue after the terminal was closed.
            () = received(&mut self.hangup) => ExitStatus::Terminated,
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
