//! Tests of browser_action, with a real Chromium on local pages.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::{Block, Features};
use policy::Action;
use serde_json::{Value, json};
use testkit::chromium;
use tool::CallContext;
use toolbox::{Chromium, Options, WebOptions};

use crate::project::{TestProject, context, with_timeout};
use crate::web_server::{SiteResponse, StubSite, UrlApprover, at, page, redirect, serving};

/// A project with a browser that records its process id and arguments before it starts.
fn browsing(allowed: &[&str]) -> Option<TestProject> {
    let chromium = chromium()?;
    let wrapper = tempfile::NamedTempFile::new().unwrap();
    let (_, wrapper) = wrapper.keep().unwrap();
    let web = WebOptions {
        allow_private: allowed.iter().map(|text| text.parse().unwrap()).collect(),
        browser: Some(Chromium {
            program: wrapper.clone(),
        }),
        ..WebOptions::default()
    };
    let options = Options {
        web: Some(web),
        ..Options::default()
    };
    let project = TestProject::with_options(&[], options);
    let root = project.root.parent().unwrap();
    let script = format!(
        "#!/bin/sh\nrm -f {wrapper}\necho $$ > {root}/pid\necho \"$@\" > {root}/args\nexec {chromium} \"$@\"\n",
        wrapper = wrapper.display(),
        root = root.display(),
        chromium = chromium.display(),
    );
    std::fs::write(&wrapper, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&wrapper, mode).unwrap();
    Some(project)
}

async fn site() -> StubSite {
    serving("127.0.0.1", |seen| match seen.line.as_str() {
        "GET /" => page(
            "200 OK",
            "text/html; charset=utf-8",
            "<title>Start</title><body style='margin:0'><script>console.log('hello', 7, {a: 1}); null.boom</script>
             <button id=go style='position:absolute;left:100px;top:50px;width:80px;height:30px'
               onclick=\"document.title='Clicked'; console.warn('clicked')\">Go</button>
             <form action=/found style='margin-top:100px'><input name=q id=q></form>
             <div style='height:3000px'>tall</div><a id=blank target=_blank href=/other>other</a>
             <div id=hidden style='display:none'>x</div>",
        ),
        "GET /other" => page(
            "200 OK",
            "text/html; charset=utf-8",
            "<title>Other</title><p>the other page",
        ),
        "GET /asks" => page(
            "200 OK",
            "text/html; charset=utf-8",
            "<title>Asks</title><script>alert('sure?'); document.title='Answered'</script>",
        ),
        "GET /endless" => SiteResponse::Endless(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n".to_vec(),
            b"<!-- -->".to_vec(),
        ),
        line if line.starts_with("GET /found?") => page(
            "200 OK",
            "text/html; charset=utf-8",
            format!("<title>Found</title>{line}"),
        ),
        "GET /favicon.ico" => page("404 Not Found", "text/plain", ""),
        other => page("404 Not Found", "text/plain", format!("no {other}")),
    })
    .await
}

fn with_images() -> CallContext {
    let mut context = context();
    context.features = Features {
        images: true,
        ..context.features
    };
    context
}

async fn act(project: &TestProject, input: Value) -> String {
    project.run("browser_action", input).await
}

#[tokio::test]
async fn a_page_can_be_opened_clicked_typed_into_scrolled_and_closed() {
    let site = site().await;
    let Some(project) = browsing(&["127.0.0.1"]) else {
        return;
    };
    let first = act(&project, json!({"action": "launch", "url": site.url("/")})).await;
    assert!(first.starts_with(&format!("{}\nStart\n", site.url("/"))), "{first}");
    assert!(!first.contains("[refused]"), "the browser called its maker: {first}");
    for part in [
        "[log] hello 7 Object",
        "[error] TypeError: Cannot read properties of null",
        "tall",
        "[window 900x600]",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let clicked = act(&project, json!({"action": "click", "coordinate": "140,65"})).await;
    assert!(clicked.contains("\nClicked\n[warning] clicked\n"), "{clicked}");
    assert!(!clicked.contains("hello"), "the console output was repeated: {clicked}");
    let typed = act(
        &project,
        json!({"action": "type", "selector": "#q", "text": "größe & co"}),
    )
    .await;
    assert!(typed.contains("[window 900x600]"), "{typed}");
    let found = act(&project, json!({"action": "press", "text": "Enter"})).await;
    assert!(
        found.contains("\nFound\n") && found.contains("q=gr%C3%B6%C3%9Fe+%26+co"),
        "{found}"
    );

    act(&project, json!({"action": "navigate", "url": site.url("/")})).await;
    let output = project
        .call("browser_action", json!({"action": "scroll_down"}), with_images())
        .await
        .unwrap();
    let [Block::Text { text }, Block::Media(image)] = output.content.as_slice() else {
        panic!("{output:?}")
    };
    assert!(!text.contains("tall"), "a model that sees needs no text: {text}");
    assert_eq!(
        (image.mime.as_str(), &image.data[..4], &image.data[8..12]),
        ("image/webp", &b"RIFF"[..], &b"WEBP"[..])
    );
    let other = act(&project, json!({"action": "click", "selector": "#blank"})).await;
    assert!(
        other.contains("\nOther\n") && other.contains("the other page"),
        "{other}"
    );
    let resized = act(&project, json!({"action": "resize", "size": "1200x800"})).await;
    assert!(resized.ends_with("[window 1200x800]"), "{resized}");
    let asked = act(&project, json!({"action": "navigate", "url": site.url("/asks")})).await;
    assert!(asked.contains("\nAnswered\n[dialog] sure?"), "{asked}");

    assert_eq!(
        act(&project, json!({"action": "close"})).await,
        "[the browser is closed]"
    );
    let closed = act(&project, json!({"action": "screenshot"})).await;
    assert_eq!(
        closed,
        "error: no browser is open; use action `launch` with a url first"
    );
    wait_until_closed(&project).await;
}

#[tokio::test]
async fn invalid_browser_input_is_reported() {
    let site = site().await;
    let Some(project) = browsing(&["127.0.0.1"]) else {
        return;
    };
    for (input, message) in [
        (json!({"action": "launch"}), "missing url"),
        (
            json!({"action": "launch", "url": "file:///etc/passwd"}),
            "only http and https URLs are supported, not file:",
        ),
        (
            json!({"action": "click", "selector": "a"}),
            "no browser is open; use action `launch` with a url first",
        ),
    ] {
        assert_eq!(act(&project, input).await, format!("error: {message}"));
    }
    assert!(
        !project.root.parent().unwrap().join("pid").exists(),
        "a browser was started for nothing"
    );
    act(&project, json!({"action": "launch", "url": site.url("/")})).await;
    for (input, message) in [
        (
            json!({"action": "click", "selector": "#none"}),
            "nothing on the page matches `#none`",
        ),
        (
            json!({"action": "click", "selector": "#hidden"}),
            "`#hidden` exists but is not visible",
        ),
        (
            json!({"action": "click", "selector": "a["}),
            "SyntaxError: Failed to execute 'querySelector' on 'Document': 'a[' is not a valid selector.",
        ),
        (
            json!({"action": "click"}),
            "missing target: give a selector or a coordinate",
        ),
        (
            json!({"action": "click", "coordinate": "here"}),
            "`here` is not a coordinate; write it like 450,300",
        ),
        (
            json!({"action": "click", "coordinate": "450,900"}),
            "450,900 is outside of the window, which is 900x600",
        ),
        (
            json!({"action": "press", "text": "Any"}),
            "`Any` is not a key name; use Enter, Tab, ArrowDown, a, Control+a …",
        ),
        (json!({"action": "type"}), "type needs a text"),
        (json!({"action": "resize"}), "resize needs a size, such as 1280x800"),
    ] {
        assert_eq!(act(&project, input).await, format!("error: {message}"));
    }
    let scaled = act(&project, json!({"action": "click", "coordinate": "280,130@1800x1200"})).await;
    assert!(scaled.contains("\nClicked\n"), "{scaled}");
    let unknown = act(&project, json!({"action": "dance"})).await;
    assert!(
        unknown.starts_with("error: invalid input for `browser_action`: action: unknown value `dance`"),
        "{unknown}"
    );
}

#[tokio::test]
async fn the_browser_reaches_allowed_hosts_only_and_new_hosts_need_approval() {
    let secret = serving("127.0.0.9", |_| page("200 OK", "text/html; charset=utf-8", "secret")).await;
    let second = serving("127.0.0.2", |_| {
        page("200 OK", "text/html; charset=utf-8", "<title>Second</title>")
    })
    .await;
    let (inner, onward, picture) = (secret.url("/"), second.url("/"), secret.url("/p.png"));
    let first = serving("127.0.0.1", move |seen| match seen.line.as_str() {
        "GET /" => page(
            "200 OK",
            "text/html; charset=utf-8",
            format!(
                "<title>First</title><img src='{picture}'><a id=on href='{onward}'>on</a><a id=in href='{inner}'>in</a>"
            ),
        ),
        "GET /hop" => redirect(&onward),
        _ => page("404 Not Found", "text/plain", ""),
    })
    .await;
    let Some(project) = browsing(&["127.0.0.1", "127.0.0.2"]) else {
        return;
    };
    let approver = Arc::new(UrlApprover::default());
    let act = |input: Value| project.call("browser_action", input, at(&approver));
    let text = |output: tool::Output| match output.content.into_iter().next() {
        Some(Block::Text { text }) => text,
        other => panic!("{other:?}"),
    };
    let seen = text(act(json!({"action": "launch", "url": first.url("/")})).await.unwrap());
    assert!(
        seen.contains("\nFirst\n") && seen.contains("[refused] 127.0.0.9 is not on the public internet"),
        "{seen}"
    );
    assert!(
        approver.asked.lock().unwrap().is_empty(),
        "the call itself was approved already"
    );
    let seen = text(act(json!({"action": "click", "selector": "#on"})).await.unwrap());
    assert!(seen.contains("\nSecond\n"), "{seen}");
    assert_eq!(*approver.asked.lock().unwrap(), [second.url("/")]);

    act(json!({"action": "navigate", "url": first.url("/")})).await.unwrap();
    act(json!({"action": "click", "selector": "#in"})).await.unwrap();
    assert!(
        secret.requests().is_empty(),
        "a private host was reached: {:?}",
        secret.requests()
    );
    let direct = act(json!({"action": "navigate", "url": secret.url("/")})).await;
    assert!(secret.requests().is_empty(), "{direct:?}");

    let strict = Arc::new(UrlApprover {
        refuses: Some("127.0.0.2"),
        ..UrlApprover::default()
    });
    let Some(fresh) = browsing(&["127.0.0.1", "127.0.0.2"]) else {
        return;
    };
    let before = second.requests().len();
    let hop = json!({"action": "launch", "url": first.url("/hop")});
    let error = fresh
        .call("browser_action", hop, at(&strict))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("The user declined."), "{error}");
    assert_eq!(second.requests().len(), before);
    let input = json!({"action": "launch", "url": "host.example"});
    let url = "https://host.example/".to_owned();
    assert_eq!(fresh.actions("browser_action", input), [Action::Fetch { url }]);
    assert_eq!(fresh.actions("browser", json!({"action": "close"})), []);
}

#[tokio::test]
async fn the_browser_ends_with_the_session_and_removes_its_profile() {
    let site = site().await;
    let Some(mut project) = browsing(&["127.0.0.1"]) else {
        return;
    };
    act(&project, json!({"action": "launch", "url": site.url("/")})).await;
    project.tools = tool::Registry::default();
    wait_until_closed(&project).await;
}

#[test]
fn browser_action_requires_a_chromium() {
    let web = Some(WebOptions::default());
    let project = TestProject::with_options(
        &[],
        Options {
            web,
            ..Options::default()
        },
    );
    assert!(project.tools.get("browser_action").is_none());
}

/// Waits until the browser has exited and its profile is removed.
async fn wait_until_closed(project: &TestProject) {
    let root = project.root.parent().unwrap();
    let pid = std::fs::read_to_string(root.join("pid")).unwrap();
    let args = std::fs::read_to_string(root.join("args")).unwrap();
    let profile = args
        .split_whitespace()
        .find_map(|arg| arg.strip_prefix("--user-data-dir="))
        .unwrap();
    let home = Path::new(profile).parent().unwrap().to_owned();
    let process = PathBuf::from(format!("/proc/{}", pid.trim()));
    let left = || process.join("exe").exists() || home.exists();
    with_timeout(async {
        while left() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_browser_home_is_in_the_data_directory() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = tempfile::tempdir().unwrap();
    let program = data.path().join("prints");
    std::fs::write(&program, "#!/bin/sh\necho \"$@\"\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let web = WebOptions {
        browser: Some(Chromium { program }),
        ..WebOptions::default()
    };
    let options = Options {
        web: Some(web),
        data: Some(data.path().into()),
        ..Options::default()
    };
    let project = TestProject::with_options(&[], options);
    let result = act(&project, json!({"action": "launch", "url": "https://host.example"})).await;
    let home = format!("--user-data-dir={}/browser/hew-browser-", data.path().display());
    assert!(result.contains(&home), "{result}");
    let mode = std::fs::metadata(data.path().join("browser"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}
