//! edit_file with instructions: another model writes the edits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use model::{Chunk, Cost, Features, Info, Limits, Model, Prices, Request, Stop, Stream, Tier, Usage, Wire};
use serde_json::json;
use tokio::sync::mpsc;
use tool::{Context, Output, Progress, Spending, Spent};
use toolbox::{Editor, Learned, Options};

use crate::desk::{Desk, context};

const FILE: &str = "fn a() {\n    go(1);\n}\n\nfn b() {\n    go(2);\n}\n";
const CHANGED: &str = "fn a() {\n    go(1);\n}\n\nfn b() {\n    go(3);\n}\n";

/// A model that says what it was told to say, in small pieces, and remembers what it was asked.
pub(crate) struct Scripted {
    info: Info,
    replies: Mutex<VecDeque<Vec<Result<Chunk, model::Error>>>>,
    asked: Mutex<Vec<Request>>,
}

impl Scripted {
    pub(crate) fn new<const N: usize>(id: &str, replies: [&str; N]) -> Self {
        Self::streaming(id, replies.iter().map(|reply| answer(reply, Stop::End)))
    }

    fn streaming(id: &str, replies: impl IntoIterator<Item = Vec<Result<Chunk, model::Error>>>) -> Self {
        let tier = Tier {
            input: 1.0,
            output: 10.0,
            cache_read: None,
            cache_write: None,
            cache_write_1h: None,
        };
        let info = Info {
            provider: "test".into(),
            id: id.into(),
            wire: Wire::OpenaiChat,
            limits: Limits {
                window: 100_000,
                output: 0,
            },
            features: Features {
                tools: true,
                parallel_tools: true,
                images: false,
                pdf: false,
                reasoning: false,
                caching: false,
            },
            prices: Some(Prices { base: tier, long: None }),
            deprecated_on: None,
            options: serde_json::Map::new(),
        };
        Self {
            info,
            replies: Mutex::new(replies.into_iter().collect()),
            asked: Mutex::default(),
        }
    }

    fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Model for Scripted {
    fn info(&self) -> &Info {
        &self.info
    }

    fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, model::Error>> {
        self.asked.lock().unwrap().push(request);
        let chunks = self.replies.lock().unwrap().pop_front().unwrap();
        async move { Ok(stream::iter(chunks).boxed()) }.boxed()
    }
}

/// A reply in pieces of five characters, with what it cost.
fn answer(reply: &str, stop: Stop) -> Vec<Result<Chunk, model::Error>> {
    let letters: Vec<char> = reply.chars().collect();
    let usage = Usage {
        input: 100,
        output: 10,
        ..Usage::default()
    };
    letters
        .chunks(5)
        .map(|piece| Ok(Chunk::Text(piece.iter().collect())))
        .chain([Ok(Chunk::Usage(usage)), Ok(Chunk::Stop(stop))])
        .collect()
}

struct Story {
    desk: Desk,
    model: Arc<Scripted>,
    learned: Learned,
}

fn story(model: Scripted, learned: Learned) -> Story {
    let model = Arc::new(model);
    let editor = Editor {
        model: Arc::clone(&model) as Arc<dyn Model>,
        learned: learned.clone(),
    };
    let desk = Desk::fitted(
        &[("a.rs", FILE)],
        Options {
            model: None,
            editor: Some(editor),
            ..Default::default()
        },
    );
    Story { desk, model, learned }
}

/// A context in which spending is written down.
fn billed() -> (Context, Ledger) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let spending = Spending::new(sender);
    (Context { spending, ..context() }, Ledger(receiver))
}

struct Ledger(mpsc::UnboundedReceiver<Spent>);

impl Ledger {
    fn spent(&mut self) -> Vec<Spent> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }

    fn outcomes(&mut self) -> Vec<String> {
        self.spent().into_iter().map(|spent| spent.outcome).collect()
    }
}

fn described() -> serde_json::Value {
    json!({"path": "a.rs", "instructions": "b shall go 3 steps"})
}

fn text(output: &Output) -> &str {
    match output.content.as_slice() {
        [model::Block::Text { text }] => text,
        other => panic!("{other:?}"),
    }
}

const XML: &str = "I will do that.\n<old_text line=6>\n    go(2);\n</old_text>\n<new_text>\n    go(3);\n</new_text>\n";
const WRONG: &str = "<old_text line=5>\nfn b() {\n    walk(\"far\", 22);\n}\n</old_text>\n<new_text>\nfn b() {\n    go(3);\n}\n</new_text>\n";

#[tokio::test]
async fn each_family_is_asked_in_its_own_form_and_every_form_lands() {
    let blocks = "<<<<<<< SEARCH line=6\n    go(2);\n=======\n    go(3);\n>>>>>>> REPLACE\n";
    let patch = "*** Begin Patch\n*** Update File: a.rs\n@@ fn b() {\n-    go(2);\n+    go(3);\n }\n*** End Patch\n";
    let whole = format!("````rust\n{CHANGED}````\n");
    let only_whole = r#"{"test/claude-z":{
        "xml":{"tries":8,"successes":0},"search-replace":{"tries":1,"successes":0},"apply-patch":{"tries":1,"successes":0}}}"#;
    for (id, reply, mark, learned) in [
        ("claude-x", XML, "<old_text line=", "{}"),
        ("unheard-of", XML, "<old_text line=", "{}"),
        ("gemini-x", blocks, "<<<<<<< SEARCH line=", "{}"),
        ("gpt-5.5", patch, "*** Update File: ", "{}"),
        ("claude-z", &whole, "````", only_whole),
    ] {
        let story = story(Scripted::new(id, [reply]), Learned::from_json(learned).unwrap());
        let output = story.desk.output("edit_file", described()).await;
        assert_eq!(story.desk.get("a.rs"), CHANGED, "{id}");
        assert!(text(&output).starts_with("edited a.rs at line "), "{}", text(&output));
        assert!(text(&output).contains("-    go(2);\n+    go(3);"), "{}", text(&output));
        assert_eq!(output.changes.len(), 1);
        assert_eq!(
            output.changes[0].after.as_ref().unwrap().bytes(),
            Some(CHANGED.as_bytes())
        );
        let [request] = story.model.asked().try_into().unwrap();
        assert!(request.system[0].contains(mark), "{id}");
        assert!(request.messages[0].text().ends_with("b shall go 3 steps"));
        assert!(
            story.learned.to_json().contains("\"successes\":1"),
            "{}",
            story.learned.to_json()
        );
    }
}

#[test]
fn a_file_that_another_model_is_shown_must_be_allowed_to_be_read() {
    let story = story(Scripted::new("claude-x", []), Learned::default());
    let (path, place) = (story.desk.root.join("a.rs"), policy::Place::Inside);
    let actions = [
        policy::Action::Read {
            path: path.clone(),
            place,
        },
        policy::Action::Write { path, place },
    ];
    assert_eq!(story.desk.actions("edit_file", described()), actions);
    let quoted = json!({"path": "a.rs", "old_text": "a", "new_text": "b", "instructions": "rename"});
    assert_eq!(story.desk.actions("edit_file", quoted), actions[1..]);
}

#[tokio::test]
async fn an_empty_file_is_filled_as_a_whole() {
    let story = story(Scripted::new("claude-x", ["````\nx\n````"]), Learned::default());
    story.desk.put("void", "");
    story
        .desk
        .output("edit_file", json!({"path": "void", "instructions": "put an x"}))
        .await;
    assert_eq!(story.desk.get("void"), "x\n");
    assert_eq!(story.learned.to_json(), "{}");
}

#[tokio::test]
async fn what_the_request_cost_is_reported() {
    let story = story(Scripted::new("claude-x", [XML]), Learned::default());
    let (context, mut ledger) = billed();
    story.desk.call("edit_file", described(), context).await.unwrap();
    let [spent] = ledger.spent().try_into().unwrap();
    assert_eq!((spent.purpose, spent.model.as_str()), ("edit", "test/claude-x"));
    assert_eq!((spent.usage.input, spent.usage.output), (100, 10));
    assert_eq!(spent.cost, Some(Cost::from_usd(0.000_2)));
    assert_eq!(spent.outcome, "applied");
}

#[tokio::test]
async fn a_new_file_is_created_as_a_whole() {
    let story = story(
        Scripted::new(
            "gpt-5.5",
            ["Here it is:\n````rust\n/// ```\n/// x();\n/// ```\nfn x() {}\n````\n"],
        ),
        Learned::default(),
    );
    let input =
        json!({"path": "new/x.rs", "instructions": "a function x with an example", "old_text": "", "new_text": ""});
    let output = story.desk.output("edit_file", input).await;
    assert_eq!(text(&output), "created new/x.rs (4 lines)");
    assert_eq!(story.desk.get("new/x.rs"), "/// ```\n/// x();\n/// ```\nfn x() {}\n");
    // The first model has not seen it.
    let said = story
        .desk
        .run(
            "edit_file",
            json!({"path": "new/x.rs", "old_text": "fn x", "new_text": "fn y"}),
        )
        .await;
    assert!(said.contains("has not been read yet"), "{said}");
    // A new file leaves no choice of form, so nothing is learned from it.
    assert_eq!(story.learned.to_json(), "{}");
}

#[tokio::test]
async fn a_refusal_is_told_to_the_editing_model_which_then_gets_it_right() {
    let story = story(Scripted::new("claude-x", [WRONG, XML]), Learned::default());
    let (context, mut ledger) = billed();
    story.desk.call("edit_file", described(), context).await.unwrap();
    assert_eq!(story.desk.get("a.rs"), CHANGED);
    assert_eq!(ledger.outcomes(), ["refused", "applied"]);
    let requests = story.model.asked();
    assert!(Arc::ptr_eq(&requests[0].messages[0], &requests[1].messages[0]));
    assert_eq!(requests[1].messages[1].text(), WRONG);
    let told = requests[1].messages[2].text();
    assert!(told.contains("the old text is not in the file."), "{told}");
    assert!(told.contains("| "), "the nearest lines are shown: {told}");
    assert_eq!(
        story.learned.to_json(),
        r#"{"test/claude-x":{"xml":{"tries":1,"successes":0}}}"#
    );
}

#[tokio::test]
async fn two_refusals_are_an_error_and_are_paid_for_all_the_same() {
    let story = story(Scripted::new("claude-x", [WRONG, WRONG]), Learned::default());
    let (context, mut ledger) = billed();
    let error = story.desk.call("edit_file", described(), context).await.unwrap_err();
    let said = error.to_string();
    assert!(
        said.starts_with("test/claude-x could not write this change so that it fits, twice;"),
        "{said}"
    );
    assert!(said.contains("the old text is not in the file."), "{said}");
    assert_eq!(story.desk.get("a.rs"), FILE);
    assert_eq!(ledger.outcomes(), ["refused", "refused"]);
}

#[tokio::test]
async fn a_form_that_keeps_failing_gives_way_to_another() {
    let learned = Learned::from_json(r#"{"test/claude-x":{"xml":{"tries":7,"successes":0}}}"#).unwrap();
    let block = "<<<<<<< SEARCH\n    go(2);\n=======\n    go(3);\n>>>>>>> REPLACE\n";
    let story = story(Scripted::new("claude-x", [WRONG, WRONG, block]), learned);
    story.desk.run("edit_file", described()).await;
    story.desk.output("edit_file", described()).await;
    let requests = story.model.asked();
    assert!(requests[0].system[0].contains("<old_text"));
    assert!(requests[2].system[0].contains("<<<<<<< SEARCH"));
    assert_eq!(story.desk.get("a.rs"), CHANGED);
}

#[tokio::test]
async fn only_the_file_that_was_named_is_touched() {
    let other =
        "*** Begin Patch\n*** Update File: a.rs\n@@\n-    go(2);\n+    go(3);\n*** Add File: b.rs\n+x\n*** End Patch\n";
    let gone = "*** Begin Patch\n*** Delete File: a.rs\n*** End Patch\n";
    let story = story(Scripted::new("gpt-5.5", [other, gone]), Learned::default());
    let said = story.desk.run("edit_file", described()).await;
    assert!(said.ends_with("Only a.rs may be changed, and it must stay."), "{said}");
    assert_eq!(story.desk.get("a.rs"), FILE);
    assert!(!story.desk.root.join("b.rs").exists());
}

#[tokio::test]
async fn talk_is_never_taken_for_a_file() {
    let story = story(
        Scripted::new("claude-x", ["I cannot write that.", "```\nfn x() {\n"]),
        Learned::default(),
    );
    let said = story
        .desk
        .run("edit_file", json!({"path": "x.rs", "instructions": "write x"}))
        .await;
    assert!(said.contains("is not closed"), "{said}");
    assert!(story.model.asked()[1].messages[2].text().contains("four backticks"));
    assert!(!story.desk.root.join("x.rs").exists());
}

#[tokio::test]
async fn a_reply_that_fails_or_is_cut_off_changes_nothing() {
    let broken = model::Error::Connection {
        provider: "test".into(),
        detail: "reset".into(),
    };
    for (reply, why) in [
        (
            answer(XML, Stop::MaxTokens),
            "its reply was cut off at the output limit",
        ),
        (answer(XML, Stop::Refusal { detail: None }), "it declined"),
        (vec![Ok(Chunk::Text(XML.into()))], "its reply ended early"),
        (
            vec![Ok(Chunk::Text(XML.into())), Err(broken)],
            "could not reach test: reset",
        ),
        (
            (0..1_000).map(|_| Ok(Chunk::Text("x".repeat(1_000)))).collect(),
            "its reply does not end",
        ),
    ] {
        let story = story(Scripted::streaming("claude-x", [reply]), Learned::default());
        let (context, mut ledger) = billed();
        let error = story.desk.call("edit_file", described(), context).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "test/claude-x could not be asked for the edit: {why}; make the change with old_text and new_text instead"
            )
        );
        assert_eq!(story.desk.get("a.rs"), FILE);
        assert_eq!(story.learned.to_json(), "{}", "that says nothing about the form");
        assert_eq!(ledger.outcomes(), [why]);
    }
}

#[tokio::test]
async fn a_file_that_changes_meanwhile_or_is_too_large_is_left_alone() {
    let story = story(Scripted::new("claude-x", [XML]), Learned::default());
    story.desk.put("big", "x\n".repeat(200_000));
    let said = story
        .desk
        .run("edit_file", json!({"path": "big", "instructions": "y"}))
        .await;
    assert_eq!(
        said,
        "error: big is too large (400000 bytes) to be changed by instructions; use old_text and new_text"
    );
    let path = story.desk.root.join("a.rs");
    struct Meddling(Scripted, std::path::PathBuf);
    impl Model for Meddling {
        fn info(&self) -> &Info {
            self.0.info()
        }
        fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, model::Error>> {
            std::fs::write(&self.1, "somebody was here\n").unwrap();
            self.0.stream(request)
        }
    }
    let editor = Editor {
        model: Arc::new(Meddling(Scripted::new("claude-x", [XML]), path)),
        learned: Learned::default(),
    };
    let options = Options {
        model: None,
        editor: Some(editor),
        ..Default::default()
    };
    let environment = sandbox::Environment::scrubbed([], &[""; 0], &[""; 0]);
    let tools = toolbox::fitted(
        workspace::Workspace::open(&story.desk.root).unwrap(),
        environment,
        options,
    );
    let error = Arc::clone(tools.get("edit_file").unwrap())
        .run(described(), context())
        .await
        .unwrap_err();
    assert!(error.to_string().starts_with("a.rs has changed on disk"), "{error}");
    assert_eq!(story.desk.get("a.rs"), "somebody was here\n");
}

#[tokio::test]
async fn a_model_that_knew_the_file_and_saw_the_change_may_go_on() {
    let second = XML
        .replace("go(2)", "go(3)")
        .replace("    go(3);\n</new", "    go(4);\n</new");
    let story = story(Scripted::new("claude-x", [XML, &second]), Learned::default());
    let more = json!({"path": "a.rs", "old_text": "go(1)", "new_text": "go(7)"});
    // Unread, the file is shown to the editing model only.
    story.desk.output("edit_file", described()).await;
    let said = story.desk.run("edit_file", more.clone()).await;
    assert!(said.contains("has not been read yet"), "{said}");
    story.desk.read("a.rs").await;
    story.desk.output("edit_file", described()).await;
    assert_eq!(story.desk.run("edit_file", more).await, "edited a.rs at line 2");
    assert_eq!(
        story.desk.get("a.rs"),
        "fn a() {\n    go(7);\n}\n\nfn b() {\n    go(4);\n}\n"
    );
}

#[tokio::test]
async fn the_edit_is_shown_while_it_is_written() {
    let story = story(Scripted::new("claude-x", [XML]), Learned::default());
    let (sender, mut receiver) = mpsc::channel(100);
    let context = Context {
        progress: Progress::new(sender),
        ..context()
    };
    story.desk.call("edit_file", described(), context).await.unwrap();
    let mut shown = String::new();
    while let Ok((call, text)) = receiver.try_recv() {
        assert_eq!(call.as_str(), "call");
        shown.push_str(&text);
    }
    assert!(shown.starts_with("@@ line 6 @@\n"), "{shown}");
    assert!(shown.contains('3'), "{shown}");
}

/// Says this much and then nothing more.
struct Hanging(Scripted);

impl Model for Hanging {
    fn info(&self) -> &Info {
        self.0.info()
    }

    fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, model::Error>> {
        let said = self.0.stream(request);
        async move { Ok(said.await?.chain(stream::pending()).boxed()) }.boxed()
    }
}

#[tokio::test]
async fn an_edit_that_is_stopped_changes_nothing_and_is_paid_for() {
    let half = XML.split_inclusive("go(3);\n").next().unwrap().to_owned() + "    more";
    let unfinished = vec![Ok(Chunk::Text(half))];
    let model = Hanging(Scripted::streaming("claude-x", [unfinished]));
    let editor = Editor {
        model: Arc::new(model),
        learned: Learned::default(),
    };
    let options = Options {
        model: None,
        editor: Some(editor),
        ..Default::default()
    };
    let desk = Desk::fitted(&[("a.rs", FILE)], options);
    let (sender, mut receiver) = mpsc::channel(100);
    let (context, mut ledger) = billed();
    let context = Context {
        progress: Progress::new(sender),
        ..context
    };
    tokio::select! {
        done = desk.call("edit_file", described(), context) => panic!("{done:?}"),
        shown = receiver.recv() => assert!(shown.is_some()),
    }
    assert_eq!(desk.get("a.rs"), FILE);
    let [spent] = ledger.spent().try_into().unwrap();
    assert_eq!(spent.outcome, "interrupted");
    assert!(spent.usage.estimated && spent.usage.output > 0, "{spent:?}");
}

#[tokio::test]
async fn instructions_are_not_understood_where_no_model_would_carry_them_out() {
    let desk = Desk::with(&[("a.rs", FILE)]);
    assert_eq!(
        desk.run("edit_file", described()).await,
        "error: invalid input for `edit_file`: missing field `old_text`"
    );
}
