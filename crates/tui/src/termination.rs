//! Ends the program soon after SIGTERM, however busy its main thread is.

use std::process::exit;
use std::thread;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::sleep;

/// The time after SIGTERM in which the program may end by itself.
const GRACE: Duration = Duration::from_millis(700);
/// The exit code after SIGTERM.
const EXIT_CODE: i32 = 143;

/// While this exists, SIGTERM ends the program within a second.
pub struct TerminationDeadline {
    /// Tells the thread that this was dropped.
    _kept: oneshot::Sender<()>,
}

impl TerminationDeadline {
    /// Starts to wait for the signal. `restore` is called before the program is ended.
    pub fn start(restore: fn()) -> Self {
        let (kept, mut dropped) = oneshot::channel::<()>();
        let wait = move || {
            // The signal remains a request to the main thread if there is no runtime.
            let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
                return;
            };
            let is_late = runtime.block_on(async {
                let Ok(mut terminated) = signal(SignalKind::terminate()) else {
                    return false;
                };
                tokio::select! {
                    _ = &mut dropped => return false,
                    _ = terminated.recv() => {}
                }
                tokio::select! {
                    _ = &mut dropped => false,
                    () = sleep(GRACE) => true,
                }
            });
            if is_late {
                restore();
                exit(EXIT_CODE);
            }
        };
        drop(thread::Builder::new().name("termination".into()).spawn(wait));
        TerminationDeadline { _kept: kept }
    }
}
