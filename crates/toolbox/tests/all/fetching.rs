//! fetch and download.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use flate2::{Compression, write::GzEncoder};
use model::Block;
use policy::{Action, Place};
use serde_json::{Value, json};
use tool::Change;
use toolbox::{Options, Web};

use crate::desk::{Desk, context};
use crate::site::{Answer, Doorkeeper, Site, at, page, redirect, serving};

/// A desk whose tools may reach these addresses of this machine.
pub(crate) fn online(allowed: &[&str], files: &[(&str, &str)]) -> Desk {
    let web = Web {
        allow_private: allowed.iter().map(|text| text.parse().unwrap()).collect(),
        max_page: 200_000,
        max_download: 100_000,
        ..Web::default()
    };
    Desk::fitted(
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

fn gzipped(kind: &str, content: &[u8]) -> Answer {
    let body = gzip(content);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Answer::Bytes([head.as_bytes(), &body].concat())
}

/// The answers to everything that the tests ask for.
async fn site() -> Site {
    serving("127.0.0.1", |seen| match seen.line.as_str() {
        "GET /page" => page(
            "200 OK",
            "text/html; charset=utf-8",
            "<title>A page</title><h1>Head</h1><p>See <a href='/next'>more</a>.<script>no()</script>",
        ),
        "GET /plain" => page("200 OK", "text/plain", "as <it> is\n"),
        "GET /json" => page("200 OK", "application/json", "{\"a\":1}"),
        "GET /feed" => page("200 OK", "application/atom+xml", "<feed/>"),
        "GET /untyped" => Answer::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n<html>typed?".to_vec()),
        "GET /latin1" => page("200 OK", "text/plain; charset=ISO-8859-1", b"caf\xE9"),
        "GET /wrong-charset" => page("200 OK", "text/plain; charset=utf-8", b"caf\xE9!"),
        "GET /gzip" => gzipped("text/plain", b"unpacked"),
        "GET /bomb" => gzipped("text/plain", &vec![b'a'; 50_000_000]),
        "GET /brotli" => {
            Answer::Bytes(b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 1\r\n\r\nx".to_vec())
        }
        "GET /image" => page("200 OK", "image/png", b"\x89PNG"),
        "GET /liar" => page("200 OK", "text/plain", b"a\0b"),
        "GET /missing" => page("404 Not Found", "text/html", "<h1>Gone</h1><p>Try <b>elsewhere</b>"),
        "GET /broken" => page("500 Internal Server Error", "text/plain", "x".repeat(5_000)),
        "GET /empty" => page("200 OK", "text/html", ""),
        "GET /long" => page("200 OK", "text/plain", "0123456\n".repeat(11_000)),
        "GET /huge" => page("200 OK", "text/plain", "x".repeat(300_000)),
        "GET /endless" => Answer::Endless(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n".to_vec(),
            vec![b'y'; 10_000],
        ),
        "GET /slow" => Answer::Silence(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nthe start".to_vec()),
        "GET /silent" => Answer::Silence(Vec::new()),
        "GET /cut" => {
            Answer::Bytes(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 50\r\n\r\nhalf".to_vec())
        }
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
async fn a_page_comes_as_markdown_and_text_as_it_is() {
    let (desk, site) = (online(&["127.0.0.1"], &[]), site().await);
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
        ("/empty", "[there is no text in it]".into()),
        (
            "/hop",
            format!("From: http://127.0.0.1:{port}/plain\n\nas <it> is\n[11 bytes]"),
        ),
    ] {
        assert_eq!(desk.run("fetch", json!({"url": site.url(path)})).await, seen, "{path}");
    }
    let raw = desk
        .run("fetch", json!({"url": site.url("/page"), "format": "html"}))
        .await;
    assert!(raw.starts_with("<title>A page</title><h1>"), "{raw}");
}

#[tokio::test]
async fn what_is_not_a_page_is_explained() {
    let (desk, site) = (online(&["127.0.0.1"], &[]), site().await);
    let url = |path: &str| site.url(path);
    for (path, error) in [
        (
            "/image",
            format!("{} is image/png, not text; save it with download", url("/image")),
        ),
        (
            "/liar",
            format!("{} is binary, whatever it says; save it with download", url("/liar")),
        ),
        (
            "/brotli",
            format!("{} is packed as `br`, which was not asked for", url("/brotli")),
        ),
        (
            "/missing",
            format!(
                "{} answered 404 Not Found:\n# Gone\n\nTry **elsewhere**",
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
        let seen = desk.run("fetch", json!({"url": url(path)})).await;
        assert_eq!(seen, format!("error: {error}"), "{path}");
    }
    let closed = {
        let gone = serving("127.0.0.1", |_| redirect("/")).await;
        gone.url("/")
    };
    let seen = desk.run("fetch", json!({"url": closed})).await;
    assert!(
        seen.starts_with(&format!("error: {closed} could not be reached: ")),
        "{seen}"
    );
}

#[tokio::test]
async fn a_long_page_is_leafed_through_without_being_loaded_again() {
    let (desk, site) = (online(&["127.0.0.1"], &[]), site().await);
    let fetch = |offset: usize| desk.run("fetch", json!({"url": site.url("/long"), "offset": offset}));
    let first = fetch(0).await;
    assert!(
        first.ends_with("0123456\n[bytes 0-40000 of 88000; go on with offset 40000]"),
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
    assert_eq!(site.visits().len(), 1);
    fetch(0).await;
    assert_eq!(site.visits().len(), 2);
}

#[tokio::test]
async fn no_more_is_loaded_than_may_be_and_no_longer() {
    let (desk, site) = (online(&["127.0.0.1"], &[]), site().await);
    for path in ["/huge", "/bomb", "/endless"] {
        let seen = desk.run("fetch", json!({"url": site.url(path)})).await;
        let cut =
            "[bytes 0-40000 of 200000; go on with offset 40000; it is longer; only its first 200000 bytes were read]";
        assert!(seen.ends_with(cut), "{path}: {}", &seen[seen.len() - 200..]);
    }
    for (path, seen) in [
        (
            "/slow",
            "the start\n[9 bytes; it was still coming after 1 s and is cut here]".to_owned(),
        ),
        (
            "/cut",
            "half\n[4 bytes; the connection broke before its end]".to_owned(),
        ),
        (
            "/silent",
            format!("error: {} did not answer within 1 s", site.url("/silent")),
        ),
    ] {
        assert_eq!(
            desk.run("fetch", json!({"url": site.url(path), "timeout": 1})).await,
            seen,
            "{path}"
        );
    }
}

#[tokio::test]
async fn private_addresses_are_refused_also_behind_a_redirect() {
    let site = site().await;
    let desk = online(&[&format!("127.0.0.1:{}", site.port)], &[]);
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
            let seen = desk.run(tool, input).await;
            assert!(
                seen.contains("is not on the public internet, so it is not reached"),
                "{url}: {seen}"
            );
        }
    }
    for (path, why) in [
        ("/to-file", "only http and https addresses can be fetched, not file:"),
        (
            "/to-user",
            "an address with a user name or password in it is not fetched",
        ),
    ] {
        let seen = desk.run("fetch", json!({"url": site.url(path)})).await;
        assert!(seen.starts_with("error: ") && seen.ends_with(why), "{seen}");
    }
    let closed = online(&[], &[]);
    let seen = closed.run("fetch", json!({"url": site.url("/plain")})).await;
    assert!(seen.contains("127.0.0.1 is not on the public internet"), "{seen}");
}

#[tokio::test]
async fn each_new_host_on_the_way_is_asked_about() {
    let desk = online(&["127.0.0.0/8"], &[]);
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
        let door = Arc::new(Doorkeeper::default());
        desk.call(tool, input, at(&door)).await.unwrap();
        assert_eq!(
            *door.asked.lock().unwrap(),
            [middle.url("/one"), last.url("/end")],
            "{tool}"
        );
    }
    let door = Arc::new(Doorkeeper {
        refuses: Some("127.0.0.2"),
        ..Doorkeeper::default()
    });
    let before = middle.visits().len();
    let error = desk
        .call("fetch", json!({"url": first.url("/")}), at(&door))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "The person said no.");
    assert_eq!(
        middle.visits().len(),
        before,
        "a host was reached that the person refused"
    );
}

#[tokio::test]
async fn several_pages_share_the_room() {
    let (desk, site) = (online(&["127.0.0.1"], &[]), site().await);
    let urls = json!({"urls": [site.url("/plain"), site.url("/missing"), site.url("/long")]});
    let seen = desk.run("fetch_webpage", urls.clone()).await;
    assert!(
        seen.starts_with("as <it> is\n[11 bytes]\n\nhttp://127.0.0.1:"),
        "{seen}"
    );
    assert!(
        seen.contains("answered 404 Not Found") && seen.ends_with("go on with offset 13328]"),
        "{seen}"
    );
    let actions: Vec<Action> = [site.url("/plain"), site.url("/missing"), site.url("/long")]
        .map(|url| Action::Fetch { url })
        .into();
    assert_eq!(desk.actions("fetch", urls), actions);
}

#[test]
fn the_tools_are_known_by_the_names_that_models_use_and_are_not_listed() {
    let desk = online(&[], &[]);
    for name in ["fetch", "fetch_webpage", "web_fetch", "agentic_fetch"] {
        assert_eq!(desk.tools.get(name).unwrap().spec().name, "fetch");
    }
    assert_eq!(desk.tools.get("download_file").unwrap().spec().name, "download");
    let listed: Vec<String> = desk.tools.specs().iter().map(|spec| spec.name.clone()).collect();
    assert!(!listed.contains(&"fetch".to_owned()) && !listed.contains(&"download".to_owned()));
    assert!(
        desk.tools.get("web_search").is_none(),
        "nobody was configured to search"
    );
    assert!(Desk::with(&[]).tools.get("fetch").is_none());
    for (said, asked) in [
        ("host.example/a b", "https://host.example/a%20b"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("HTTPS://Host.Example", "https://host.example/"),
    ] {
        let url = asked.to_owned();
        assert_eq!(desk.actions("fetch", json!({"url": said})), [Action::Fetch { url }]);
    }
}

#[tokio::test]
async fn a_download_becomes_a_file_and_a_recorded_change() {
    let (desk, site) = (
        online(&["127.0.0.1"], &[("old.txt", "old"), ("dir/x", "")]),
        site().await,
    );
    let output = desk
        .output(
            "download",
            json!({"url": site.url("/data.bin"), "path": "new/data.bin"}),
        )
        .await;
    let told = format!(
        "created new/data.bin (3 bytes, application/octet-stream) from {}",
        site.url("/data.bin")
    );
    assert_eq!(output.content, [Block::text(told)]);
    let change = Change {
        path: "new/data.bin".into(),
        before: None,
        after: Some(vec![0, 1, 2].into()),
    };
    assert_eq!(output.changes, [change]);
    assert_eq!(std::fs::read(desk.root.join("new/data.bin")).unwrap(), [0, 1, 2]);

    let input = |overwrite: Value| json!({"url": site.url("/plain"), "path": "old.txt", "overwrite": overwrite});
    let before = site.visits().len();
    assert_eq!(
        desk.run("download", input(Value::Null)).await,
        "error: old.txt exists; nothing was loaded; set overwrite to replace it"
    );
    assert_eq!((site.visits().len(), desk.get("old.txt")), (before, "old".into()));
    let seen = desk.run("download", input(true.into())).await;
    assert_eq!(
        seen,
        format!("replaced old.txt (11 bytes, text/plain) from {}", site.url("/plain"))
    );
    assert_eq!(desk.get("old.txt"), "as <it> is\n");

    desk.run("download", json!({"url": site.url("/data.bin"), "path": "dir"}))
        .await;
    assert!(desk.root.join("dir/data.bin").is_file());
    let seen = desk
        .run("download", json!({"url": site.url("/folder/"), "path": "dir/"}))
        .await;
    assert!(
        seen.ends_with("names no file; give the path of the file, not of a folder"),
        "{seen}"
    );
    let seen = desk
        .run("download", json!({"url": site.url("/gzip"), "path": "packed"}))
        .await;
    assert!(seen.contains("bytes, text/plain, still packed as gzip)"), "{seen}");
    assert_eq!(std::fs::read(desk.root.join("packed")).unwrap(), gzip(b"unpacked"));
}

#[tokio::test]
async fn a_download_that_fails_leaves_nothing_behind() {
    let (desk, site) = (online(&["127.0.0.1"], &[("sub/keep", "")]), site().await);
    std::fs::set_permissions(desk.root.join("sub"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let url = |path: &str| site.url(path);
    for (path, error) in [
        (
            "/huge",
            format!(
                "{} has 300000 bytes, and a download may have 100000 (web.max_download); nothing was written",
                url("/huge")
            ),
        ),
        (
            "/endless",
            format!(
                "{} has more than 100000 bytes, and a download may have 100000 (web.max_download); nothing was written",
                url("/endless")
            ),
        ),
        (
            "/slow",
            format!(
                "{} was still coming after 1 s after 9 bytes; nothing was written",
                url("/slow")
            ),
        ),
        (
            "/cut",
            format!("{} broke off after 4 bytes; nothing was written", url("/cut")),
        ),
        (
            "/missing",
            format!(
                "{} answered 404 Not Found:\n# Gone\n\nTry **elsewhere**",
                url("/missing")
            ),
        ),
    ] {
        let seen = desk
            .run("download", json!({"url": url(path), "path": "out", "timeout": 1}))
            .await;
        assert_eq!(seen, format!("error: {error}"), "{path}");
        assert_eq!(std::fs::read_dir(&desk.root).unwrap().count(), 1, "{path}");
    }
    let context = context();
    let outside = json!({"url": url("/plain"), "path": "../out"});
    let asked = desk.actions("download", outside.clone());
    let path = desk.root.parent().unwrap().join("out");
    let place = Place::Outside;
    assert_eq!(
        asked,
        [Action::Write { path, place }, Action::Fetch { url: url("/plain") }]
    );
    let linked = json!({"url": url("/plain"), "path": "sub/keep/x"});
    let path = desk.root.join("sub/keep/x");
    assert_eq!(
        desk.actions("download", linked.clone()),
        [Action::Write { path, place }, Action::Fetch { url: url("/plain") }],
        "what is in the way may be gone when it runs"
    );
    let error = desk.call("download", linked, context).await.unwrap_err().to_string();
    assert!(error.contains("a part of this path is a file"), "{error}");
}
