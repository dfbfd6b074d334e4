//! Tests of fetch and download.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use flate2::{Compression, write::GzEncoder};
use model::Block;
use policy::{Action, PathArea};
use serde_json::{Value, json};
use tool::UnsavedChange;
use toolbox::{Options, WebOptions};

use crate::project::{TestProject, context};
use crate::web_server::{SiteResponse, StubSite, UrlApprover, at, page, redirect, serving};

/// A project with access to these local addresses.
pub(crate) fn online(allowed: &[&str], files: &[(&str, &str)]) -> TestProject {
    let web = WebOptions {
        allow_private: allowed.iter().map(|text| text.parse().unwrap()).collect(),
        max_page: 200_000,
        max_download: 100_000,
        ..WebOptions::default()
    };
    TestProject::with_options(
        files,
        Options {
            web: Some(web),
            ..Options::default()
        },
    )
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn gzipped(kind: &str, content: &[u8]) -> SiteResponse {
    let body = gzip(content);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    SiteResponse::Bytes([head.as_bytes(), &body].concat())
}

/// The responses for all tests.
async fn site() -> StubSite {
    serving("127.0.0.1", |seen| match seen.line.as_str() {
        "GET /page" => page(
            "200 OK",
            "text/html; charset=utf-8",
            "<title>A page</title><h1>Head</h1><p>See <a href='/next'>more</a>.<script>no()</script>",
        ),
        "GET /plain" => page("200 OK", "text/plain", "as <it> is\n"),
        "GET /json" => page("200 OK", "application/json", "{\"a\":1}"),
        "GET /feed" => page("200 OK", "application/atom+xml", "<feed/>"),
        "GET /untyped" => SiteResponse::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n<html>typed?".to_vec()),
        "GET /latin1" => page("200 OK", "text/plain; charset=ISO-8859-1", b"caf\xE9"),
        "GET /wrong-charset" => page("200 OK", "text/plain; charset=utf-8", b"caf\xE9!"),
        "GET /gzip" => gzipped("text/plain", b"unpacked"),
        "GET /bomb" => gzipped("text/plain", &vec![b'a'; 50_000_000]),
        "GET /brotli" => {
            SiteResponse::Bytes(b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\nx".to_vec())
        }
        "GET /image" => page("200 OK", "image/png", b"\x89PNG"),
        "GET /liar" => page("200 OK", "text/plain", b"a\0b"),
        "GET /missing" => page("404 Not Found", "text/html", "<h1>Gone</h1><p>Try <b>another page</b>"),
        "GET /broken" => page("500 Internal Server Error", "text/plain", "x".repeat(5_000)),
        "GET /empty" => page("200 OK", "text/html", ""),
        "GET /long" => page("200 OK", "text/plain", "0123456\n".repeat(11_000)),
        "GET /huge" => page("200 OK", "text/plain", "x".repeat(300_000)),
        "GET /endless" => SiteResponse::Endless(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n".to_vec(),
            vec![b'y'; 10_000],
        ),
        "GET /slow" => SiteResponse::Stall(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nthe start".to_vec()),
        "GET /silent" => SiteResponse::Stall(Vec::new()),
        "GET /cut" => SiteResponse::Bytes(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 50\r\n\r\nhalf".to_vec(),
        ),
        "GET /loop" => redirect("/loop"),
        "GET /hop" => redirect("plain"),
        "GET /to-file" => redirect("file:///etc/passwd"),
        "GET /to-user" => redirect("http://user:pass@host.example/"),
        "GET /to-metadata" => redirect("http://169.254.169.254/latest/meta-data/"),
        "GET /to-localhost" => redirect("http://localhost:1/"),
        "GET /to-mapped" => redirect("http://[::ffff:127.0.0.3]/"),
        "GET /data.bin" => page("200 OK", "application/octet-stream", b"\x00\x01\x02"),
        "GET /folder/" => page("200 OK", "text/plain", "x"),
        other => page("404 Not Found", "text/plain", format!("no {other}")),
    })
    .await
}

#[tokio::test]
async fn html_becomes_markdown_and_text_is_unchanged() {
    let (project, site) = (online(&["127.0.0.1"], &[]), site().await);
    let port = site.port;
    for (path, seen) in [
        (
            "/page",
            format!(
                "Title: A page\n\n# Head\n\nSee [more](http://127.0.0.1:{port}/next).\n[{} bytes]",
                43 + port.to_string().len()
            ),
        ),
        ("/plain", "as <it> is\n[11 bytes]".into()),
        ("/json", "{\"a\":1}\n[7 bytes]".into()),
        ("/feed", "<feed/>\n[7 bytes]".into()),
        ("/untyped", "typed?\n[6 bytes]".into()),
        ("/latin1", "café\n[5 bytes]".into()),
        ("/wrong-charset", "caf\u{fffd}!\n[7 bytes]".into()),
        ("/gzip", "unpacked\n[8 bytes]".into()),
        ("/empty", "[no text]".into()),
        (
            "/hop",
            format!("From: http://127.0.0.1:{port}/plain\n\nas <it> is\n[11 bytes]"),
        ),
    ] {
        assert_eq!(
            project.run("fetch", json!({"url": site.url(path)})).await,
            seen,
            "{path}"
        );
    }
    let raw = project
        .run("fetch", json!({"url": site.url("/page"), "format": "html"}))
        .await;
    assert!(raw.starts_with("<title>A page</title><h1>"), "{raw}");
}

#[tokio::test]
async fn unsupported_responses_are_reported() {
    let (project, site) = (online(&["127.0.0.1"], &[]), site().await);
    let url = |path: &str| site.url(path);
    for (path, error) in [
        (
            "/image",
            format!("{} is image/png, not text; save it with download", url("/image")),
        ),
        ("/liar", format!("{} is binary; save it with download", url("/liar"))),
        (
            "/brotli",
            format!("{} has the unsupported encoding `br`", url("/brotli")),
        ),
        (
            "/missing",
            format!(
                "{} answered 404 Not Found:\n# Gone\n\nTry **another page**",
                url("/missing")
            ),
        ),
        (
            "/broken",
            format!(
                "{} answered 500 Internal Server Error:\n{} [+4000 bytes]",
                url("/broken"),
                "x".repeat(1_000)
            ),
        ),
        (
            "/loop",
            format!("{0} redirects more than 10 times, the last time to {0}", url("/loop")),
        ),
    ] {
        let seen = project.run("fetch", json!({"url": url(path)})).await;
        assert_eq!(seen, format!("error: {error}"), "{path}");
    }
    let closed = {
        let closed = serving("127.0.0.1", |_| redirect("/")).await;
        closed.url("/")
    };
    let seen = project.run("fetch", json!({"url": closed})).await;
    assert!(
        seen.starts_with(&format!("error: {closed} could not be reached: ")),
        "{seen}"
    );
}

#[tokio::test]
async fn a_long_page_is_paged_from_the_cache() {
    let (project, site) = (online(&["127.0.0.1"], &[]), site().await);
    let fetch = |offset: usize| project.run("fetch", json!({"url": site.url("/long"), "offset": offset}));
    let first = fetch(0).await;
    assert!(
        first.ends_with("0123456\n[bytes 0-40000 of 88000; continue with offset 40000]"),
        "{}",
        &first[39_900..]
    );
    let last = fetch(80_000).await;
    assert_eq!(
        last,
        format!("{}[bytes 80000-88000 of 88000]", "0123456\n".repeat(1_000))
    );
    let past = fetch(90_000).await;
    assert_eq!(
        past,
        format!("[offset 90000 is past the end; {} has 88000 bytes]", site.url("/long"))
    );
    assert_eq!(site.requests().len(), 1);
    fetch(0).await;
    assert_eq!(site.requests().len(), 2);
}

#[tokio::test]
async fn size_and_time_limits_are_enforced() {
    let (project, site) = (online(&["127.0.0.1"], &[]), site().await);
    for path in ["/huge", "/bomb", "/endless"] {
        let seen = project.run("fetch", json!({"url": site.url(path)})).await;
        let cut =
            "[bytes 0-40000 of 200000; continue with offset 40000; truncated: only the first 200000 bytes were read]";
        assert!(seen.ends_with(cut), "{path}: {}", &seen[seen.len() - 200..]);
    }
    for (path, seen) in [
        ("/slow", "the start\n[9 bytes; truncated after 1 s]".to_owned()),
        ("/cut", "half\n[4 bytes; truncated: the connection was lost]".to_owned()),
        (
            "/silent",
            format!("error: {} did not answer within 1 s", site.url("/silent")),
        ),
    ] {
        assert_eq!(
            project.run("fetch", json!({"url": site.url(path), "timeout": 1})).await,
            seen,
            "{path}"
        );
    }
}

#[tokio::test]
async fn private_addresses_are_rejected_also_after_a_redirect() {
    let site = site().await;
    let project = online(&[&format!("127.0.0.1:{}", site.port)], &[]);
    for url in [
        "http://localhost/".to_owned(),
        "http://127.0.0.2/".into(),
        "http://[::1]/".into(),
        "http://169.254.169.254/".into(),
        "http://0x7f000002/".into(),
        site.url("/to-metadata"),
        site.url("/to-localhost"),
        site.url("/to-mapped"),
    ] {
        for (tool, input) in [
            ("fetch", json!({"url": url})),
            ("download", json!({"url": url, "path": "x"})),
        ] {
            let seen = project.run(tool, input).await;
            assert!(
                seen.contains("is not on the public internet; the user can allow"),
                "{url}: {seen}"
            );
        }
    }
    for (path, why) in [
        ("/to-file", "only http and https URLs are supported, not file:"),
        ("/to-user", "URLs with a user name or password are not supported"),
    ] {
        let seen = project.run("fetch", json!({"url": site.url(path)})).await;
        assert!(seen.starts_with("error: ") && seen.ends_with(why), "{seen}");
    }
    let closed = online(&[], &[]);
    let seen = closed.run("fetch", json!({"url": site.url("/plain")})).await;
    assert!(seen.contains("127.0.0.1 is not on the public internet"), "{seen}");
}

#[tokio::test]
async fn each_redirect_host_needs_approval() {
    let project = online(&["127.0.0.0/8"], &[]);
    let last = serving("127.0.0.3", |_| page("200 OK", "text/plain", "arrived")).await;
    let onward = last.url("/end");
    let middle = serving("127.0.0.2", move |seen| match seen.line.as_str() {
        "GET /one" => redirect("/two"),
        _ => redirect(&onward),
    })
    .await;
    let next = middle.url("/one");
    let first = serving("127.0.0.1", move |_| redirect(&next)).await;
    for (tool, input) in [
        ("fetch", json!({"url": first.url("/")})),
        ("download", json!({"url": first.url("/"), "path": "file"})),
    ] {
        let approver = Arc::new(UrlApprover::default());
        project.call(tool, input, at(&approver)).await.unwrap();
        assert_eq!(
            *approver.asked.lock().unwrap(),
            [middle.url("/one"), last.url("/end")],
            "{tool}"
        );
    }
    let approver = Arc::new(UrlApprover {
        refuses: Some("127.0.0.2"),
        ..UrlApprover::default()
    });
    let before = middle.requests().len();
    let error = project
        .call("fetch", json!({"url": first.url("/")}), at(&approver))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "The user declined.");
    assert_eq!(
        middle.requests().len(),
        before,
        "a host was reached that the user refused"
    );
}

#[tokio::test]
async fn several_pages_share_the_size_limit() {
    let (project, site) = (online(&["127.0.0.1"], &[]), site().await);
    let urls = json!({"urls": [site.url("/plain"), site.url("/missing"), site.url("/long")]});
    let seen = project.run("fetch_webpage", urls.clone()).await;
    assert!(
        seen.starts_with("as <it> is\n[11 bytes]\n\nhttp://127.0.0.1:"),
        "{seen}"
    );
    assert!(
        seen.contains("answered 404 Not Found") && seen.ends_with("continue with offset 13328]"),
        "{seen}"
    );
    let actions: Vec<Action> = [site.url("/plain"), site.url("/missing"), site.url("/long")]
        .map(|url| Action::Fetch { url })
        .into();
    assert_eq!(project.actions("fetch", urls), actions);
}

#[test]
fn web_tools_are_deferred_and_have_aliases() {
    let project = online(&[], &[]);
    for name in ["fetch", "fetch_webpage", "web_fetch", "agentic_fetch"] {
        assert_eq!(project.tools.get(name).unwrap().spec().name, "fetch");
    }
    assert_eq!(project.tools.get("download_file").unwrap().spec().name, "download");
    let listed: Vec<String> = project.tools.specs().iter().map(|spec| spec.name.clone()).collect();
    assert!(!listed.contains(&"fetch".to_owned()) && !listed.contains(&"download".to_owned()));
    assert!(
        project.tools.get("web_search").is_none(),
        "no search service is configured"
    );
    assert!(TestProject::with(&[]).tools.get("fetch").is_none());
    for (input, asked) in [
        ("host.example/a b", "https://host.example/a%20b"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("HTTPS://Host.Example", "https://host.example/"),
    ] {
        let url = asked.to_owned();
        assert_eq!(project.actions("fetch", json!({"url": input})), [Action::Fetch { url }]);
    }
}

#[tokio::test]
async fn a_download_creates_a_file_and_reports_the_change() {
    let (project, site) = (
        online(&["127.0.0.1"], &[("old.txt", "old"), ("dir/x", "")]),
        site().await,
    );
    let output = project
        .output(
            "download",
            json!({"url": site.url("/data.bin"), "path": "new/data.bin"}),
        )
        .await;
    let expected = format!(
        "created new/data.bin (3 bytes, application/octet-stream) from {}",
        site.url("/data.bin")
    );
    assert_eq!(output.content, [Block::text(expected)]);
    let change = UnsavedChange {
        path: "new/data.bin".into(),
        before: None,
        after: Some(vec![0, 1, 2].into()),
    };
    assert_eq!(output.changes, [change]);
    assert_eq!(std::fs::read(project.root.join("new/data.bin")).unwrap(), [0, 1, 2]);

    let input = |overwrite: Value| json!({"url": site.url("/plain"), "path": "old.txt", "overwrite": overwrite});
    let before = site.requests().len();
    assert_eq!(
        project.run("download", input(Value::Null)).await,
        "error: old.txt exists; nothing was loaded; set overwrite to replace it"
    );
    assert_eq!((site.requests().len(), project.get("old.txt")), (before, "old".into()));
    let seen = project.run("download", input(true.into())).await;
    assert_eq!(
        seen,
        format!("replaced old.txt (11 bytes, text/plain) from {}", site.url("/plain"))
    );
    assert_eq!(project.get("old.txt"), "as <it> is\n");

    project
        .run("download", json!({"url": site.url("/data.bin"), "path": "dir"}))
        .await;
    assert!(project.root.join("dir/data.bin").is_file());
    let seen = project
        .run("download", json!({"url": site.url("/folder/"), "path": "dir/"}))
        .await;
    assert!(seen.ends_with("has no file name; give the path of a file"), "{seen}");
    let seen = project
        .run("download", json!({"url": site.url("/gzip"), "path": "packed"}))
        .await;
    assert!(seen.contains("bytes, text/plain, compressed with gzip)"), "{seen}");
    assert_eq!(std::fs::read(project.root.join("packed")).unwrap(), gzip(b"unpacked"));
}

#[tokio::test]
async fn a_failed_download_writes_nothing() {
    let (project, site) = (online(&["127.0.0.1"], &[("sub/keep", "")]), site().await);
    std::fs::set_permissions(project.root.join("sub"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let url = |path: &str| site.url(path);
    for (path, error) in [
        (
            "/huge",
            format!(
                "{} has 300000 bytes; the limit is 100000 (web.max_download); nothing was written",
                url("/huge")
            ),
        ),
        (
            "/endless",
            format!(
                "{} has more than 100000 bytes; the limit is 100000 (web.max_download); nothing was written",
                url("/endless")
            ),
        ),
        (
            "/slow",
            format!(
                "{} timed out after 1 s, after 9 bytes; nothing was written",
                url("/slow")
            ),
        ),
        (
            "/cut",
            format!("{} lost the connection after 4 bytes; nothing was written", url("/cut")),
        ),
        (
            "/missing",
            format!(
                "{} answered 404 Not Found:\n# Gone\n\nTry **another page**",
                url("/missing")
            ),
        ),
    ] {
        let seen = project
            .run("download", json!({"url": url(path), "path": "out", "timeout": 1}))
            .await;
        assert_eq!(seen, format!("error: {error}"), "{path}");
        assert_eq!(std::fs::read_dir(&project.root).unwrap().count(), 1, "{path}");
    }
    let context = context();
    let outside = json!({"url": url("/plain"), "path": "../out"});
    let asked = project.actions("download", outside.clone());
    let path = project.root.parent().unwrap().join("out");
    let place = PathArea::Outside;
    assert_eq!(
        asked,
        [Action::Write { path, place }, Action::Fetch { url: url("/plain") }]
    );
    let linked = json!({"url": url("/plain"), "path": "sub/keep/x"});
    let path = project.root.join("sub/keep/x");
    assert_eq!(
        project.actions("download", linked.clone()),
        [Action::Write { path, place }, Action::Fetch { url: url("/plain") }],
        "the obstacle may be removed before the call runs"
    );
    let error = project.call("download", linked, context).await.unwrap_err().to_string();
    assert!(error.contains("a part of this path is a file"), "{error}");
}
