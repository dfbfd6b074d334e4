//! A panic restores the terminal: the test binary runs itself in a real terminal and panics there.

use super::{Options, run};
use crate::backend::SessionTarget;
use crate::keys::KeyMap;
use crate::screen::{ColorDepth, ImageProtocol, Reflow};
use crate::test_support::FakeBackend;
use std::sync::Arc;
use testkit::{Hew, Tmux};

/// The panicking program, started by the test below in a terminal.
#[tokio::test]
#[ignore = "panics on purpose, in a terminal that another test opens"]
async fn panics() {
    let backend = FakeBackend {
        panics: true,
        ..FakeBackend::default()
    };
    let options = Options {
        session: SessionTarget::New,
        prompt: None,
        continue_turn: false,
        theme: None,
        keys: KeyMap::default(),
        vim: false,
        depth: ColorDepth::True,
        reflow: Reflow::Wraps,
        pictures: ImageProtocol::None,
    };
    run(Arc::new(backend), options).await.unwrap();
}

#[tokio::test]
async fn a_panic_restores_the_terminal_and_is_reported() {
    if !Tmux::is_installed() {
        return;
    }
    let own = std::env::current_exe().unwrap();
    let program = Hew::new(own)
        .unwrap()
        .args(["--ignored", "--exact", "run::tests::panics", "--nocapture"]);
    let tmux = Tmux::start(&program, 100, 30).unwrap();
    let all = tmux
        .wait_until(|all| all.contains("ended with 101") && all.contains("icanon"))
        .await
        .unwrap();
    assert!(all.contains("panic on purpose"), "{all}");
    assert!(!all.contains("-icanon") && !all.contains("-echo "), "{all}");
    assert!(
        !all.contains("Describe a task"),
        "the live region was not erased: {all}"
    );
    assert_eq!(
        tmux.display_message("#{cursor_flag} #{alternate_on}").unwrap().trim(),
        "1 0"
    );
}
