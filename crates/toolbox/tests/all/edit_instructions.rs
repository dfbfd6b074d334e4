//! Tests of edit_file with instructions, which another model carries out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, StreamExt};
use model::{
    Chunk, Cost, Features, Info, Model, ModelPrices, PriceTier, Request, Stop, Stream, TokenLimits, Usage, Wire,
};
use serde_json::json;
use tokio::sync::mpsc;
use tool::{CallContext, Output, ProgressSender, UsageReport, UsageReporter};
use toolbox::{EditFormatStats, EditModel, Options};

use crate::project::{TestProject, context};

const FILE: &str = "fn a() {\n    go(1);\n}\n\nfn b() {\n    go(2);\n}\n";
const CHANGED: &str = "fn a() {\n    go(1);\n}\n\nfn b() {\n    go(3);\n}\n";

/// A scripted model that streams its replies in small chunks and records requests.
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
        let tier = PriceTier {
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
            limits: TokenLimits {
                window: 100_000,
                output: 0,
            },
            parameters: 0,
            features: Features {
                tools: true,
                parallel_tools: true,
                images: false,
                pdf: false,
                reasoning: false,
                caching: false,
            },
            prices: Some(ModelPrices { base: tier, long: None }),
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

/// A reply in chunks of five characters, with usage.
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

struct Fixture {
    project: TestProject,
    model: Arc<Scripted>,
    learned: EditFormatStats,
}

fn fixture(model: Scripted, learned: EditFormatStats) -> Fixture {
    let model = Arc::new(model);
    let editor = EditModel {
        model: Arc::clone(&model) as Arc<dyn Model>,
        format_stats: learned.clone(),
    };
    let project = TestProject::with_options(
        &[("a.rs", FILE)],
        Options {
            model: None,
            edit_model: Some(editor),
            ..Default::default()
        },
    );
    Fixture {
        project,
        model,
        learned,
    }
}

/// A context that collects usage reports.
fn billed() -> (CallContext, Ledger) {
    let usage = UsageReporter::new();
    let ledger = Ledger(usage.clone());
    (CallContext { usage, ..context() }, ledger)
}

struct Ledger(UsageReporter);

impl Ledger {
    fn spent(&mut self) -> Vec<UsageReport> {
        self.0.take()
    }

    fn outcomes(&mut self) -> Vec<String> {
        self.spent()
            .into_iter()
            .map(|spent| spent.outcome.detail().unwrap_or(spent.outcome.name()).to_owned())
            .collect()
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
async fn each_model_family_uses_its_own_edit_format_and_every_format_applies() {
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
        let fixture = fixture(Scripted::new(id, [reply]), EditFormatStats::from_json(learned).unwrap());
        let output = fixture.project.output("edit_file", described()).await;
        assert_eq!(fixture.project.get("a.rs"), CHANGED, "{id}");
        assert!(text(&output).starts_with("edited a.rs at line "), "{}", text(&output));
        assert!(text(&output).contains("-    go(2);\n+    go(3);"), "{}", text(&output));
        assert_eq!(output.changes.len(), 1);
        assert_eq!(
            output.changes[0].after.as_ref().unwrap().bytes(),
            Some(CHANGED.as_bytes())
        );
        let [request] = fixture.model.asked().try_into().unwrap();
        assert!(request.system[0].contains(mark), "{id}");
        assert!(request.messages[0].text().ends_with("b shall go 3 steps"));
        assert!(
            fixture.learned.to_json().contains("\"successes\":1"),
            "{}",
            fixture.learned.to_json()
        );
    }
}

#[test]
fn sending_a_file_to_the_edit_model_needs_read_approval() {
    let fixture = fixture(Scripted::new("claude-x", []), EditFormatStats::default());
    let (path, place) = (fixture.project.root.join("a.rs"), policy::PathArea::Inside);
    let actions = [
        policy::Action::Read {
            path: path.clone(),
            place,
        },
        policy::Action::Write { path, place },
    ];
    assert_eq!(fixture.project.actions("edit_file", described()), actions);
    let quoted = json!({"path": "a.rs", "old_text": "a", "new_text": "b", "instructions": "rename"});
    assert_eq!(fixture.project.actions("edit_file", quoted), actions[1..]);
}

#[tokio::test]
async fn an_empty_file_is_written_as_a_whole() {
    let fixture = fixture(Scripted::new("claude-x", ["````\nx\n````"]), EditFormatStats::default());
    fixture.project.put("void", "");
    fixture
        .project
        .output("edit_file", json!({"path": "void", "instructions": "put an x"}))
        .await;
    assert_eq!(fixture.project.get("void"), "x\n");
    assert_eq!(fixture.learned.to_json(), "{}");
}

#[tokio::test]
async fn the_usage_of_the_request_is_reported() {
    let fixture = fixture(Scripted::new("claude-x", [XML]), EditFormatStats::default());
    let (context, mut ledger) = billed();
    fixture.project.call("edit_file", described(), context).await.unwrap();
    let [spent] = ledger.spent().try_into().unwrap();
    assert_eq!((spent.purpose, spent.model.as_str()), ("edit", "test/claude-x"));
    assert_eq!((spent.usage.input, spent.usage.output), (100, 10));
    assert_eq!(spent.cost, Some(Cost::from_usd(0.000_2)));
    assert_eq!(spent.outcome, session::RequestEnd::Applied);
}

#[tokio::test]
async fn a_new_file_is_written_as_a_whole() {
    let fixture = fixture(
        Scripted::new(
            "gpt-5.5",
            ["Here it is:\n````rust\n/// ```\n/// x();\n/// ```\nfn x() {}\n````\n"],
        ),
        EditFormatStats::default(),
    );
    let input =
        json!({"path": "new/x.rs", "instructions": "a function x with an example", "old_text": "", "new_text": ""});
    let output = fixture.project.output("edit_file", input).await;
    assert_eq!(text(&output), "created new/x.rs (4 lines)");
    assert_eq!(
        fixture.project.get("new/x.rs"),
        "/// ```\n/// x();\n/// ```\nfn x() {}\n"
    );
    // The calling model has not read it.
    let result = fixture
        .project
        .run(
            "edit_file",
            json!({"path": "new/x.rs", "old_text": "fn x", "new_text": "fn y"}),
        )
        .await;
    assert!(result.contains("has not been read yet"), "{result}");
    // A new file allows only one format, so it is not counted.
    assert_eq!(fixture.learned.to_json(), "{}");
}

#[tokio::test]
async fn the_edit_model_gets_the_refusal_and_can_retry() {
    let fixture = fixture(Scripted::new("claude-x", [WRONG, XML]), EditFormatStats::default());
    let (context, mut ledger) = billed();
    fixture.project.call("edit_file", described(), context).await.unwrap();
    assert_eq!(fixture.project.get("a.rs"), CHANGED);
    assert_eq!(ledger.outcomes(), ["rejected", "applied"]);
    let requests = fixture.model.asked();
    assert!(Arc::ptr_eq(&requests[0].messages[0], &requests[1].messages[0]));
    assert_eq!(requests[1].messages[1].text(), WRONG);
    let refusal = requests[1].messages[2].text();
    assert!(refusal.contains("the old text is not in the file."), "{refusal}");
    assert!(refusal.contains("| "), "the nearest lines are shown: {refusal}");
    assert_eq!(
        fixture.learned.to_json(),
        r#"{"test/claude-x":{"xml":{"tries":1,"successes":0}}}"#
    );
}

#[tokio::test]
async fn two_refusals_are_an_error_and_their_usage_is_reported() {
    let fixture = fixture(Scripted::new("claude-x", [WRONG, WRONG]), EditFormatStats::default());
    let (context, mut ledger) = billed();
    let error = fixture
        .project
        .call("edit_file", described(), context)
        .await
        .unwrap_err();
    let result = error.to_string();
    assert!(
        result.starts_with("test/claude-x failed twice to write this change;"),
        "{result}"
    );
    assert!(result.contains("the old text is not in the file."), "{result}");
    assert_eq!(fixture.project.get("a.rs"), FILE);
    assert_eq!(ledger.outcomes(), ["rejected", "rejected"]);
}

#[tokio::test]
async fn a_format_that_keeps_failing_is_replaced() {
    let learned = EditFormatStats::from_json(r#"{"test/claude-x":{"xml":{"tries":7,"successes":0}}}"#).unwrap();
    let block = "<<<<<<< SEARCH\n    go(2);\n=======\n    go(3);\n>>>>>>> REPLACE\n";
    let fixture = fixture(Scripted::new("claude-x", [WRONG, WRONG, block]), learned);
    fixture.project.run("edit_file", described()).await;
    fixture.project.output("edit_file", described()).await;
    let requests = fixture.model.asked();
    assert!(requests[0].system[0].contains("<old_text"));
    assert!(requests[2].system[0].contains("<<<<<<< SEARCH"));
    assert_eq!(fixture.project.get("a.rs"), CHANGED);
}

#[tokio::test]
async fn only_the_given_file_is_changed() {
    let other =
        "*** Begin Patch\n*** Update File: a.rs\n@@\n-    go(2);\n+    go(3);\n*** Add File: b.rs\n+x\n*** End Patch\n";
    let deletion = "*** Begin Patch\n*** Delete File: a.rs\n*** End Patch\n";
    let fixture = fixture(Scripted::new("gpt-5.5", [other, deletion]), EditFormatStats::default());
    let result = fixture.project.run("edit_file", described()).await;
    assert!(
        result.ends_with("Only a.rs may be changed, and it must not be moved or deleted."),
        "{result}"
    );
    assert_eq!(fixture.project.get("a.rs"), FILE);
    assert!(!fixture.project.root.join("b.rs").exists());
}

#[tokio::test]
async fn prose_is_not_written_as_file_content() {
    let fixture = fixture(
        Scripted::new("claude-x", ["I cannot write that.", "```\nfn x() {\n"]),
        EditFormatStats::default(),
    );
    let result = fixture
        .project
        .run("edit_file", json!({"path": "x.rs", "instructions": "write x"}))
        .await;
    assert!(result.contains("is not closed"), "{result}");
    assert!(fixture.model.asked()[1].messages[2].text().contains("four backticks"));
    assert!(!fixture.project.root.join("x.rs").exists());
}

#[tokio::test]
async fn a_failed_or_truncated_reply_changes_nothing() {
    let broken = model::Error::Connection {
        provider: "test".into(),
        detail: "reset".into(),
    };
    let replies = (0..3).map(|_| vec![Ok(Chunk::Text(XML.into())), Err(broken.clone())]);
    let fixture_with_failures = fixture(Scripted::streaming("claude-x", replies), EditFormatStats::default());
    let error = fixture_with_failures.project.run("edit_file", described()).await;
    assert!(error.contains("could not reach test: reset"), "{error}");
    assert_eq!(
        fixture_with_failures.model.asked().len(),
        3,
        "temporary failures are retried twice"
    );
    assert_eq!(fixture_with_failures.project.get("a.rs"), FILE);
    for (reply, why) in [
        (answer(XML, Stop::MaxTokens), "the reply reached the output limit"),
        (answer(XML, Stop::Refusal { detail: None }), "the model refused"),
        (vec![Ok(Chunk::Text(XML.into()))], "the reply ended early"),
        (
            (0..1_000).map(|_| Ok(Chunk::Text("x".repeat(1_000)))).collect(),
            "the reply is too long",
        ),
    ] {
        let fixture = fixture(Scripted::streaming("claude-x", [reply]), EditFormatStats::default());
        let (context, mut ledger) = billed();
        let error = fixture
            .project
            .call("edit_file", described(), context)
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the request to test/claude-x failed: {why}; use old_text and new_text instead")
        );
        assert_eq!(fixture.project.get("a.rs"), FILE);
        assert_eq!(
            fixture.learned.to_json(),
            "{}",
            "a broken stream was counted for the format"
        );
        assert_eq!(ledger.outcomes(), [why]);
    }
}

#[tokio::test]
async fn a_concurrently_changed_or_too_large_file_is_not_written() {
    let fixture = fixture(Scripted::new("claude-x", [XML]), EditFormatStats::default());
    fixture.project.put("big", "x\n".repeat(200_000));
    let result = fixture
        .project
        .run("edit_file", json!({"path": "big", "instructions": "y"}))
        .await;
    assert_eq!(
        result,
        "error: big is too large (400000 bytes) to be changed by instructions; use old_text and new_text"
    );
    let path = fixture.project.root.join("a.rs");
    struct Meddling(Scripted, std::path::PathBuf);
    impl Model for Meddling {
        fn info(&self) -> &Info {
            self.0.info()
        }
        fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, model::Error>> {
            std::fs::write(&self.1, "changed by another program\n").unwrap();
            self.0.stream(request)
        }
    }
    let editor = EditModel {
        model: Arc::new(Meddling(Scripted::new("claude-x", [XML]), path)),
        format_stats: EditFormatStats::default(),
    };
    let options = Options {
        model: None,
        edit_model: Some(editor),
        ..Default::default()
    };
    let environment = sandbox::ProcessEnvironment::scrubbed([], &[""; 0], &[""; 0]);
    let tools = toolbox::build_registry(
        workspace::Workspace::open(&fixture.project.root).unwrap(),
        environment,
        options,
    );
    let error = Arc::clone(tools.get("edit_file").unwrap())
        .run(described().into(), context())
        .await
        .unwrap_err();
    assert!(error.to_string().starts_with("a.rs has changed on disk"), "{error}");
    assert_eq!(fixture.project.get("a.rs"), "changed by another program\n");
}

#[tokio::test]
async fn a_model_that_has_read_the_file_knows_the_edited_version() {
    let second = XML
        .replace("go(2)", "go(3)")
        .replace("    go(3);\n</new", "    go(4);\n</new");
    let fixture = fixture(Scripted::new("claude-x", [XML, &second]), EditFormatStats::default());
    let more = json!({"path": "a.rs", "old_text": "go(1)", "new_text": "go(7)"});
    // An unread file is sent to the edit model only.
    fixture.project.output("edit_file", described()).await;
    let result = fixture.project.run("edit_file", more.clone()).await;
    assert!(result.contains("has not been read yet"), "{result}");
    fixture.project.read("a.rs").await;
    fixture.project.output("edit_file", described()).await;
    assert_eq!(fixture.project.run("edit_file", more).await, "edited a.rs at line 2");
    assert_eq!(
        fixture.project.get("a.rs"),
        "fn a() {\n    go(7);\n}\n\nfn b() {\n    go(4);\n}\n"
    );
}

#[tokio::test]
async fn edits_are_shown_while_they_are_written() {
    let fixture = fixture(Scripted::new("claude-x", [XML]), EditFormatStats::default());
    let (sender, mut receiver) = mpsc::channel(100);
    let context = CallContext {
        progress: ProgressSender::new(sender),
        ..context()
    };
    fixture.project.call("edit_file", described(), context).await.unwrap();
    let mut shown = String::new();
    while let Ok((call, text)) = receiver.try_recv() {
        assert_eq!(call.as_str(), "call");
        shown.push_str(&text);
    }
    assert!(shown.starts_with("@@ line 6 @@\n"), "{shown}");
    assert!(shown.contains('3'), "{shown}");
}

/// Sends some text and then nothing.
struct Hanging(Scripted);

impl Model for Hanging {
    fn info(&self) -> &Info {
        self.0.info()
    }

    fn stream(&self, request: Request) -> BoxFuture<'static, Result<Stream, model::Error>> {
        let result = self.0.stream(request);
        async move { Ok(result.await?.chain(stream::pending()).boxed()) }.boxed()
    }
}

#[tokio::test]
async fn a_cancelled_edit_changes_nothing_and_its_usage_is_reported() {
    let half = XML.split_inclusive("go(3);\n").next().unwrap().to_owned() + "    more";
    let unfinished = vec![Ok(Chunk::Text(half))];
    let model = Hanging(Scripted::streaming("claude-x", [unfinished]));
    let editor = EditModel {
        model: Arc::new(model),
        format_stats: EditFormatStats::default(),
    };
    let options = Options {
        model: None,
        edit_model: Some(editor),
        ..Default::default()
    };
    let project = TestProject::with_options(&[("a.rs", FILE)], options);
    let (sender, mut receiver) = mpsc::channel(100);
    let (context, mut ledger) = billed();
    let context = CallContext {
        progress: ProgressSender::new(sender),
        ..context
    };
    tokio::select! {
        done = project.call("edit_file", described(), context) => panic!("{done:?}"),
        shown = receiver.recv() => assert!(shown.is_some()),
    }
    assert_eq!(project.get("a.rs"), FILE);
    let [spent] = ledger.spent().try_into().unwrap();
    assert_eq!(spent.outcome, session::RequestEnd::Interrupted);
    assert!(spent.usage.estimated && spent.usage.output > 0, "{spent:?}");
}

#[tokio::test]
async fn instructions_are_rejected_without_an_edit_model() {
    let project = TestProject::with(&[("a.rs", FILE)]);
    assert_eq!(
        project.run("edit_file", described()).await,
        "error: no model is configured that carries out instructions; call `edit_file` with `old_text` and `new_text`, or \
         write the whole file with `write_file`"
    );
}

fn change() -> serde_json::Value {
    json!({"path": "a.rs", "instructions": "Call go(3) in b."})
}

#[tokio::test]
async fn a_reply_in_another_format_is_applied() {
    let replies = [
        "<<<<<<< SEARCH\n    go(2);\n=======\n    go(3);\n>>>>>>> REPLACE\n",
        "*** Begin Patch\n*** Update File: a.rs\n@@\n fn b() {\n-    go(2);\n+    go(3);\n*** End Patch\n",
        "--- a/a.rs\n+++ b/a.rs\n@@ -5,3 +5,3 @@\n fn b() {\n-    go(2);\n+    go(3);\n }\n",
        "{\"edits\": [{\"old_text\": \"go(2)\", \"new_text\": \"go(3)\"}]}",
        &format!("````rust\n{CHANGED}````\n"),
        XML,
    ];
    for (model, reply) in ["claude-x", "gpt-5.5", "qwen3"]
        .into_iter()
        .flat_map(|model| replies.map(|reply| (model, reply)))
    {
        let fixture = fixture(Scripted::new(model, [reply]), EditFormatStats::default());
        let output = fixture.project.run("edit_file", change()).await;
        assert_eq!(fixture.project.get("a.rs"), CHANGED, "{model}: {reply}\n{output}");
    }
}

#[tokio::test]
async fn a_temporary_failure_is_retried() {
    let failure = || {
        vec![Err(model::Error::Server {
            provider: "test".into(),
            status: 500,
            detail: "internal".into(),
            retry_after: Some(std::time::Duration::ZERO),
        })]
    };
    let replies = [failure(), answer(XML, Stop::End)];
    let fixture = fixture(Scripted::streaming("m", replies), EditFormatStats::default());
    fixture.project.run("edit_file", change()).await;
    assert_eq!(fixture.project.get("a.rs"), CHANGED);
}

#[tokio::test]
async fn the_edit_model_sees_the_conversation_as_a_common_prefix() {
    let fixture = fixture(Scripted::new("m", [XML]), EditFormatStats::default());
    let conversation = Request {
        system: vec!["the system prompt".into()],
        messages: vec![Arc::new(model::Message::user("Use go(3) everywhere."))].into(),
        ..Request::default()
    };
    let context = CallContext {
        request: Some(Arc::new(conversation.clone())),
        ..context()
    };
    fixture.project.call("edit_file", change(), context).await.unwrap();
    let asked = fixture.model.asked();
    assert_eq!(asked[0].system, conversation.system);
    assert!(Arc::ptr_eq(&asked[0].messages[0], &conversation.messages[0]));
    assert_eq!(asked[0].messages.len(), 2);
    assert_eq!(fixture.project.get("a.rs"), CHANGED);
}
