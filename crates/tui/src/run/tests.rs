//! The terminal is put back when the program falls: this test binary runs itself in a real terminal and falls there.

use super::{Options, run};
use crate::house::Which;
use crate::keys::Keys;
use crate::screen::{Depth, Pictures, Reflow};
use crate::stage::Given;
use std::sync::Arc;
use testkit::{Hew, Tmux};

/// The program that falls; it is run by the test below, in a terminal.
#[tokio::test]
#[ignore = "falls on purpose, in a terminal that another test opens"]
async fn falls() {
    let house = Given {
        falls: true,
        ..Given::default()
    };
    let options = Options {
        which: Which::New,
        prompt: None,
        go_on: false,
        theme: None,
        keys: Keys::default(),
        vim: false,
        depth: Depth::True,
        reflow: Reflow::Wraps,
        pictures: Pictures::None,
    };
    run(Arc::new(house), options).await.unwrap();
}

#[tokio::test]
async fn a_fall_puts_the_terminal_back_and_says_what_happened() {
    if !Tmux::is_there() {
        return;
    }
    let own = std::env::current_exe().unwrap();
    let program = Hew::new(own)
        .unwrap()
        .args(["--ignored", "--exact", "run::tests::falls", "--nocapture"]);
    let tmux = Tmux::start(&program, 100, 30).unwrap();
    let all = tmux
        .until(|all| all.contains("ended with 101") && all.contains("icanon"))
        .await
        .unwrap();
    assert!(all.contains("this is the end"), "{all}");
    assert!(!all.contains("-icanon") && !all.contains("-echo "), "{all}");
    assert!(!all.contains("what is to be done?"), "the live region is gone: {all}");
    assert_eq!(tmux.asks("#{cursor_flag} #{alternate_on}").unwrap().trim(), "1 0");
}
