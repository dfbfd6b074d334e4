//! The terminal front end, attached to a running server.

use super::client::Served;
use super::{ASK, edit};
use serde_json::json;
use testkit::{Hew, Script, Tmux, Turn, TurnOrder};

/// A computer of its own, with another home folder.
fn other_computer(served: &Served) -> Hew {
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
    hew.current_dir(served.project.root())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attached_terminal_does_a_whole_task_with_other_clients() {
    if !Tmux::is_installed() {
        return;
    }
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text("Answered on the server."))
        .turn(Turn::calls("read_file", json!({"path": "a.txt"})))
        .turn(edit("hello", "goodbye"))
        .turn(Turn::text("The file is changed."))
        .turn(Turn::text("After the restart."));
    let mut served = Served::start(script, &[("a.txt", "hello\n")], ASK).await;
    let session = served.session().await;
    let mut events = served.events(&session, None).await;
    let prompts = format!("/sessions/{session}/prompts");
    served.post(&prompts, json!({"text": "first, by HTTP"})).await;
    events.until("turn.finished").await;

    // The newest session is shown with its conversation.
    let tmux = Tmux::start(&served.base.clone().args(["--attach"]), 100, 30).unwrap();
    tmux.wait_for_text("Answered on the server.").await.unwrap();
    tmux.write("change it").unwrap();
    tmux.press(&["Enter"]).unwrap();
    // The question is shown in both, and the terminal answers it.
    let question = events.until("question").await;
    // Keys are shown when they are accepted.
    tmux.wait_for_text("enter allow once").await.unwrap();
    tmux.press(&["Enter"]).unwrap();
    assert_eq!(events.until("question.answered").await["id"], question["id"]);
    events.until("turn.finished").await;
    tmux.wait_for_text("The file is changed.").await.unwrap();
    assert_eq!(served.project.read("a.txt").unwrap(), "goodbye\n");

    // Undo happens on the server.
    tmux.write("/undo").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_until(|_| served.project.read("a.txt").unwrap() == "hello\n")
        .await
        .unwrap();

    // The sessions and the requests are those of the server.
    served.session().await;
    for (command, text) in [("/sessions", "first, by HTTP"), ("/context", "Last request")] {
        tmux.write(command).unwrap();
        tmux.press(&["Enter"]).unwrap();
        tmux.wait_for_text(text).await.unwrap();
        tmux.press(&["Escape"]).unwrap();
        tmux.wait_for_text("Describe a task").await.unwrap();
    }

    // The server is killed and started again: the terminal continues.
    served.hew.kill().unwrap();
    tmux.wait_for_text("cannot reach").await.unwrap();
    let (hew, _) = Served::spawn(&served.base, &served.address.to_string(), &[]).await;
    served.hew = hew;
    tmux.wait_for_text("connected again").await.unwrap();
    served.post(&prompts, json!({"text": "are you there?"})).await;
    let screen = tmux.wait_for_text("After the restart.").await.unwrap();
    assert_eq!(screen.matches("are you there?").count(), 1, "{screen}");
    tmux.write("/quit").unwrap();
    tmux.press(&["Enter"]).unwrap();
    // The session stays on the server.
    let state = served.get(&format!("/sessions/{session}")).await;
    assert_eq!(state["session"]["id"], session.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attached_terminal_rewinds_exports_and_finds_code() {
    if !Tmux::is_installed() {
        return;
    }
    let script = Script::new()
        .order(TurnOrder::Sequence)
        .turn(Turn::text("First answer."))
        .turn(Turn::text("Second answer."))
        .turn(Turn::text("Third answer."));
    let files = [("greeting.rs", "/// Greets politely.\nfn greeting() {}\n")];
    let served = Served::start(script, &files, "").await;
    let session = served.session().await;
    let mut events = served.events(&session, None).await;
    for text in ["the first prompt", "the second prompt"] {
        served
            .post(&format!("/sessions/{session}/prompts"), json!({"text": text}))
            .await;
        events.until("turn.finished").await;
    }
    let tmux = Tmux::start(&served.base.clone().args(["--attach"]), 100, 30).unwrap();
    tmux.wait_for_text("Second answer.").await.unwrap();
    let run = async |line: &str, expected: &str| {
        tmux.write(line).unwrap();
        tmux.press(&["Enter"]).unwrap();
        tmux.wait_for_text(expected).await.unwrap();
    };
    for (line, expected) in [("/code greeting", "Greets politely"), ("/memory", "AGENTS.md")] {
        run(line, expected).await;
        tmux.press(&["Escape"]).unwrap();
        tmux.wait_for_text("Describe a task").await.unwrap();
    }
    // The file is written where the terminal is.
    run("/export out.md", "exported this session to out.md").await;
    assert!(served.project.read("out.md").unwrap().contains("First answer."));

    // The session continues after the rewind: it is not replaced by a new one.
    run("/rewind", "the first prompt").await;
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Conversation only").await.unwrap();
    tmux.press(&["Enter"]).unwrap();
    events.until("session.rewound").await;
    tmux.wait_for_text("Rewound to before").await.unwrap();
    tmux.press(&["Enter"]).unwrap();
    events.until("turn.finished").await;
    tmux.wait_for_text("Third answer.").await.unwrap();
    let items = served.get(&format!("/sessions/{session}")).await["items"].clone();
    let prompts = super::kinds(&items).iter().filter(|kind| **kind == "prompt").count();
    assert_eq!(prompts, 2, "{items}");
    // The context of the last request is known.
    tmux.write("/status").unwrap();
    tmux.press(&["Enter"]).unwrap();
    let screen = tmux.wait_for_text("permission").await.unwrap();
    assert!(!screen.contains(" 0 of "), "{screen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_computer_attaches_by_a_pairing_link_and_over_tls() {
    if !Tmux::is_installed() {
        return;
    }
    let served = Served::start(Script::new().turn(Turn::text("Hello from the server.")), &[], "").await;
    let url = format!("http://{}", served.address);
    let other = other_computer(&served);
    let refused = other.clone().args(["--attach", &url]);
    let tmux = Tmux::start(&refused, 100, 30).unwrap();
    tmux.wait_for_text("is not paired with").await.unwrap();
    let link = format!("{url}/pair?code={}", served.pairing_code());
    let tmux = Tmux::start(&other.clone().args(["--attach", &link]), 100, 30).unwrap();
    tmux.wait_for_text("Describe a task").await.unwrap();
    tmux.write("hello").unwrap();
    tmux.press(&["Enter"]).unwrap();
    tmux.wait_for_text("Hello from the server.").await.unwrap();
    // The address is enough from now on.
    let tmux = Tmux::start(&other.clone().args(["--attach", &url]), 100, 30).unwrap();
    tmux.wait_for_text("Hello from the server.").await.unwrap();

    let (secure, address) = Served::spawn(&served.base, "127.0.0.1:0", &["--tls"]).await;
    let printed = secure.stdout();
    let link = printed.split('\'').nth(1).unwrap().to_owned();
    assert!(link.starts_with(&format!("https://{address}/pair?code=")), "{printed}");
    let (without, _) = link.split_once('#').unwrap();
    for untrusted in [without.to_owned(), format!("{without}#sha256=00")] {
        let tmux = Tmux::start(&other.clone().args(["--attach", &untrusted]), 100, 30).unwrap();
        tmux.wait_for_text("cannot reach").await.unwrap();
    }
    let tmux = Tmux::start(&other.clone().args(["--attach", &link]), 100, 30).unwrap();
    tmux.wait_for_text("Hello from the server.").await.unwrap();
}
