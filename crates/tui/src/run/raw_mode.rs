//! Raw mode of the terminal, restored however the program ends.

use crate::terminal::restore_blindly;
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Raw mode, with panic messages suppressed until this is dropped.
pub(super) struct RawMode {
    /// The last panic message. Most panics do not end the program: a tool's panic fails only its call.
    message: Arc<Mutex<String>>,
}

impl RawMode {
    pub(super) fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        let message = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&message);
        std::panic::set_hook(Box::new(move |info| {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = format!("{info}\n");
        }));
        Ok(RawMode { message })
    }

    /// Restores the terminal; returns the last panic message.
    pub(super) fn restore(self) -> String {
        std::mem::take(&mut self.message.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        if std::thread::panicking() {
            restore_blindly();
        } else {
            drop(std::panic::take_hook());
        }
        // Nothing can be done about a closed terminal.
        drop(disable_raw_mode());
    }
}
