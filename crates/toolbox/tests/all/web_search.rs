//! Tests of web_search and sourcegraph.

use policy::Action;
use providers::Secret;
use serde_json::{Value, json};
use toolbox::{Options, SearchEngine, SearchOptions, SourcegraphOptions, WebOptions};

use crate::project::TestProject;
use crate::web_server::{SiteRequest, SiteResponse, StubSite, page, serving};

fn searching(engine: SearchEngine, base_url: Option<String>, key: Option<&str>) -> TestProject {
    let key = key.map(Secret::new);
    let search = SearchOptions { engine, key, base_url };
    with_web(WebOptions {
        search: Some(search),
        ..WebOptions::default()
    })
}

fn with_web(web: WebOptions) -> TestProject {
    TestProject::with_options(
        &[],
        Options {
            web: Some(web),
            ..Options::default()
        },
    )
}

fn answer(value: Value) -> SiteResponse {
    page("200 OK", "application/json", value.to_string())
}

async fn check(engine: SearchEngine, path: &str, reply: Value, seen: impl Fn(&SiteRequest)) {
    let site = serving("127.0.0.1", move |_| answer(reply.clone())).await;
    let project = searching(engine, Some(site.url("")), Some("the-key"));
    let result = project
        .run("web_search", json!({"query": "rust & co", "count": 2}))
        .await;
    assert_eq!(
        result,
        "1. First one\nhttps://a.example/\nWhat it <says>\n\n2. https://b.example/\nhttps://b.example/\n\n[2 results]",
        "{engine:?}"
    );
    let [request] = site.requests().try_into().unwrap();
    assert!(request.line.starts_with(path), "{request:?}");
    seen(&request);
    let url = site.url(path.split_once(' ').unwrap().1.split('?').next().unwrap());
    assert_eq!(
        project.actions("web_search", json!({"query": "x"})),
        [Action::Fetch { url }]
    );
}

#[tokio::test]
async fn every_search_service_gives_uniform_results() {
    let list = |snippet: &str| {
        json!([
            {"title": "First <b>one</b>", "url": "https://a.example/", snippet: "What\n it &lt;says&gt;"},
            {"title": "no address"},
            {"title": "", "url": "https://b.example/"},
            {"title": "too many", "url": "https://c.example/"},
        ])
    };
    check(
        SearchEngine::Brave,
        "GET /res/v1/web/search?q=rust+%26+co&count=2",
        json!({"web": {"results": list("description")}}),
        |seen| assert!(seen.head.contains("x-subscription-token: the-key")),
    )
    .await;
    check(
        SearchEngine::Tavily,
        "POST /search",
        json!({"results": list("content")}),
        |seen| {
            assert!(seen.head.contains("authorization: bearer the-key"));
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            assert_eq!(body, json!({"query": "rust & co", "max_results": 2}));
        },
    )
    .await;
    let highlights = json!([
        {"title": "First one", "url": "https://a.example/", "highlights": ["What it &lt;says&gt;"]},
        {"title": null, "url": "https://b.example/"},
    ]);
    check(
        SearchEngine::Exa,
        "POST /search",
        json!({"results": highlights}),
        |seen| {
            assert!(seen.head.contains("x-api-key: the-key"));
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            assert_eq!((&body["query"], &body["numResults"]), (&json!("rust & co"), &json!(2)));
        },
    )
    .await;
    check(
        SearchEngine::Searxng,
        "GET /search?q=rust+%26+co&format=json",
        json!({"results": list("content")}),
        |_| {},
    )
    .await;
}

#[tokio::test]
async fn failed_searches_are_reported_and_results_are_limited() {
    let site = serving("127.0.0.1", |seen| match seen.line.contains("many") {
        true => {
            let result = json!({"title": "t".repeat(9_000), "url": format!("https://x/{}", "u".repeat(9_000)), "content": "s".repeat(9_000)});
            answer(json!({"results": vec![result; 50]}))
        }
        false if seen.line.contains("nothing") => answer(json!({"results": []})),
        false => page("403 Forbidden", "text/plain", "no JSON here"),
    })
    .await;
    let project = searching(SearchEngine::Searxng, Some(site.url("/sub/")), None);
    let result = project
        .run("web_search", json!({"query": "many", "max_results": 99}))
        .await;
    assert!(
        result.ends_with("[20 results]") && result.len() < 45_000,
        "{}",
        result.len()
    );
    assert_eq!(
        project.run("search_web", json!({"query": "nothing"})).await,
        "[no results]"
    );
    assert!(site.requests()[0].line.starts_with("GET /sub/search?"));
    let result = project.run("web_search", json!({"query": "x"})).await;
    assert!(
        result.contains("answered 403 Forbidden:\nno JSON here\n(SearXNG answers in JSON only if"),
        "{result}"
    );
    let result = project.run("web_search", json!({"query": " "})).await;
    assert_eq!(result, "error: the query is empty");
    let keyless = searching(SearchEngine::Brave, None, None);
    let result = keyless.run("web_search", json!({"query": "x"})).await;
    assert_eq!(
        result,
        "error: the search service has no key; see web.search in the configuration"
    );
    assert!(
        searching(SearchEngine::Searxng, None, None)
            .tools
            .get("web_search")
            .is_none()
    );
}

fn events(events: &[(&str, Value)]) -> SiteResponse {
    let text: String = events
        .iter()
        .map(|(name, data)| format!("event: {name}\ndata: {data}\n\n"))
        .collect();
    page("200 OK", "text/event-stream", text)
}

fn code(site: &StubSite, token: Option<&str>) -> TestProject {
    with_web(WebOptions {
        sourcegraph: Some(SourcegraphOptions {
            base_url: site.url(""),
            token: token.map(Secret::new),
        }),
        ..WebOptions::default()
    })
}

#[tokio::test]
async fn code_search_shows_lines() {
    let site = serving("127.0.0.1", |_| {
        events(&[
            (
                "matches",
                json!([
                    {"type": "content", "repository": "host/one", "path": "src/a.rs", "chunkMatches": [
                        {"content": "fn a() {\n    b()\n}", "contentStart": {"offset": 0, "line": 9, "column": 0}, "ranges": []},
                        {"content": "b()", "contentStart": {"line": 20}}]},
                    {"type": "symbol", "repository": "host/two", "path": "b.go", "symbols": [{"name": "Run", "kind": "FUNCTION", "line": 7}]},
                ]),
            ),
            ("progress", json!({"done": true, "matchCount": 31})),
            ("matches", json!([{"type": "path", "repository": "host/three", "path": "c"}, {"type": "new"}])),
            ("alert", json!({"title": "Timed out", "description": "narrow it"})),
            ("done", json!({})),
        ])
    })
    .await;
    let project = code(&site, Some("secret"));
    let result = project
        .run(
            "sourcegraph",
            json!({"query": "lang:rust b()", "count": 3, "context_window": 2}),
        )
        .await;
    assert_eq!(
        result,
        "host/one src/a.rs\n10:fn a() {\n11:    b()\n12:}\n--\n21:b()\n\nhost/two b.go\n7:function Run\n\nhost/three c\n\n\
         [3 results; 31 matches in all; there are more; narrow the query; Timed out: narrow it]"
    );
    let [request] = site.requests().try_into().unwrap();
    assert!(request.head.contains("authorization: token secret"));
    assert_eq!(
        request.line,
        "GET /.api/search/stream?q=lang%3Arust+b%28%29&v=V3&t=standard&display=3&cm=true&cl=2"
    );
}

#[tokio::test]
async fn code_search_is_limited_and_reports_errors() {
    let site = serving("127.0.0.1", |seen| match seen.line.contains("bad") {
        true => events(&[("error", json!({"message": "unclosed quote"}))]),
        false => {
            let chunk = json!({"content": format!("{}\n", "x".repeat(5_000)).repeat(19), "contentStart": {"line": 0}});
            let result = json!({"type": "content", "repository": "r", "path": "p", "chunkMatches": vec![chunk; 9]});
            events(&[("matches", json!([result, result]))])
        }
    })
    .await;
    let project = code(&site, None);
    let result = project.run("sourcegraph", json!({"query": "x"})).await;
    assert!(
        result.len() < 31_000 && result.contains("[1 result;") && result.ends_with("there are more; narrow the query]"),
        "{result}"
    );
    let result = project.run("sourcegraph", json!({"query": "bad"})).await;
    assert_eq!(result, "error: the search failed: unclosed quote");
}
