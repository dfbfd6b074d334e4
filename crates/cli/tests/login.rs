//! Sign-in with a subscription, against a scripted OAuth server: device codes, PKCE, expiry, revocation and clock skew.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};
use testkit::{Hew, Output, SiteRequest, SiteResponse, StubSite, page};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The behaviour and state of the scripted server.
struct Provider {
    /// Polls until the user has entered the code.
    pending: u32,
    /// The answer of the user.
    denied: bool,
    /// The lifetime of new tokens in seconds.
    lifetime: u64,
    /// Number of tokens issued so far.
    issued: u32,
    /// The only valid refresh token.
    refresh: String,
    /// The API accepts only this token; any of its own if empty.
    accepted: String,
    /// Whether the account was revoked.
    revoked: bool,
    /// The difference of the provider's clock in seconds.
    skew: i64,
}

impl Provider {
    fn issue(&mut self) -> Value {
        self.issued += 1;
        self.refresh = format!("secret-refresh-{}", self.issued);
        let claims = base64url(&json!({"email": "ada@example.org", "auth": {"id": "acc-7"}}).to_string());
        json!({
            "access_token": format!("secret-access-{}", self.issued),
            "refresh_token": self.refresh,
            "expires_in": self.lifetime,
            "id_token": format!("h.{claims}.s"),
        })
    }

    fn respond(&mut self, request: &SiteRequest) -> (u16, Value) {
        let path = request
            .line
            .split(' ')
            .nth(1)
            .unwrap()
            .split('?')
            .next()
            .unwrap()
            .to_owned();
        let has = |text: &str| request.body.contains(text);
        match path.as_str() {
            "/device" | "/usercode" => (
                200,
                json!({"device_code": "secret-device", "device_auth_id": "secret-device", "user_code": "ABCD-1234",
                       "verification_uri": "https://example.org/device", "interval": 0, "expires_in": 900}),
            ),
            "/token" if has("device_code") && self.denied => (200, json!({"error": "access_denied"})),
            "/token" if has("device_code") && self.pending > 0 => {
                self.pending -= 1;
                (200, json!({"error": "authorization_pending"}))
            }
            "/poll" if self.pending > 0 => {
                self.pending -= 1;
                (403, json!({}))
            }
            "/poll" => (
                200,
                json!({"authorization_code": "the-code", "code_verifier": "the-verifier"}),
            ),
            "/token" if has("refresh_token=") => {
                let known = has(&format!("refresh_token={}", self.refresh));
                match known && !self.revoked {
                    true => (200, self.issue()),
                    false => (400, json!({"error": "invalid_grant"})),
                }
            }
            "/token" => (200, self.issue()),
            "/exchange" if self.revoked => (401, json!({"message": "Bad credentials"})),
            "/exchange" => {
                self.issued += 1;
                let now = i64::try_from(now()).unwrap() + self.skew;
                (
                    200,
                    json!({"token": format!("secret-api-{}", self.issued), "expires_at": now + self.lifetime as i64}),
                )
            }
            "/revoke" => (200, json!({})),
            _ => (404, json!({"error": path})),
        }
    }
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

fn base64url(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let word = chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for nth in 0..=chunk.len() {
            out.push(char::from(LETTERS[(word >> (18 - 6 * nth) & 63) as usize]));
        }
    }
    out
}

/// A reply of the API.
fn reply(wire: &str) -> String {
    match wire {
        "responses" => {
            let item = json!({"type": "message", "id": "m", "role": "assistant", "status": "completed",
                              "content": [{"type": "output_text", "text": "Hello."}]});
            [
                json!({"type": "response.created", "response": {"id": "r"}}),
                json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m", "role": "assistant", "content": []}}),
                json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hello."}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [item], "usage": {"input_tokens": 5, "output_tokens": 2}}}),
            ]
            .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
            .concat()
        }
        _ => {
            let text = json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hello."}}]});
            let stop = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                              "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}});
            format!("data: {text}\n\ndata: {stop}\n\ndata: [DONE]\n\n")
        }
    }
}

struct Fixture {
    site: StubSite,
    provider: Arc<Mutex<Provider>>,
    hew: Hew,
}

impl Fixture {
    async fn start() -> Fixture {
        let provider = Arc::new(Mutex::new(Provider {
            pending: 2,
            denied: false,
            lifetime: 3_600,
            issued: 0,
            refresh: String::new(),
            accepted: String::new(),
            revoked: false,
            skew: 0,
        }));
        let shared = Arc::clone(&provider);
        let site = StubSite::start("127.0.0.1", move |request: &SiteRequest| {
            let mut provider = shared.lock().unwrap();
            if request.line.contains("/api/") {
                let bearer = bearer(request);
                let accepted = match provider.accepted.as_str() {
                    "" => bearer.starts_with("secret-") && !provider.revoked,
                    only => bearer == only,
                };
                let wire = if request.line.contains("responses") { "responses" } else { "chat" };
                return match accepted {
                    true => page("200 OK", "text/event-stream", reply(wire)),
                    false => page("401 Unauthorized", "application/json", format!("{{\"error\":{{\"message\":\"bad token {bearer}\"}}}}")),
                };
            }
            let (status, body) = provider.respond(request);
            let date = jiff::Timestamp::from_second(i64::try_from(now()).unwrap() + provider.skew).unwrap();
            let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
            let body = body.to_string();
            let head = format!(
                "HTTP/1.1 {status} X\r\ndate: {date}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            SiteResponse::Bytes(format!("{head}{body}").into_bytes())
        })
        .await
        .unwrap();
        let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
        let fixture = Fixture { site, provider, hew };
        fixture.configure();
        fixture
    }

    fn configure(&self) {
        let url = |path: &str| self.site.url(path);
        let config = format!(
            "[providers.github-copilot]\nbase_url = '{api}'\n[providers.github-copilot.sign_in]\ndevice_url = '{device}'\n\
             token_url = '{token}'\nexchange_url = '{exchange}'\n\
             [providers.chatgpt]\nbase_url = '{api}'\n[providers.chatgpt.sign_in]\nauthorize_url = '{authorize}'\n\
             callback_port = 0\ndevice_url = '{usercode}'\ndevice_token_url = '{poll}'\ntoken_url = '{token}'\n\
             revoke_url = '{revoke}'\naccount_claim = ['auth', 'id']\n",
            api = url("/api"),
            device = url("/device"),
            token = url("/token"),
            exchange = url("/exchange"),
            authorize = url("/authorize"),
            usercode = url("/usercode"),
            poll = url("/poll"),
            revoke = url("/revoke"),
        );
        let folder = self.hew.home().join(".config/hew");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), config).unwrap();
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        self.hew.clone().args(arguments).run().await.unwrap()
    }

    /// Runs a task; returns the output and the token of the last API request.
    async fn task(&self, model: &str) -> (Output, String) {
        let log = self.hew.home().join("log");
        let arguments = ["run", "-m", model, "--log", log.to_str().unwrap(), "say hello"];
        let output = self.run(&arguments).await;
        let text = std::fs::read_to_string(log).unwrap();
        for text in [&text, &output.stdout, &output.stderr] {
            assert!(!text.contains("secret-"), "a token was printed: {text}");
        }
        let requests = self.site.requests();
        let last = requests.iter().rev().find(|request| request.line.contains("/api/"));
        (output, last.map(bearer).unwrap_or_default())
    }

    fn count(&self, path: &str) -> usize {
        let requests = self.site.requests();
        requests.iter().filter(|request| request.line.contains(path)).count()
    }

    /// Changes the time at which a stored token was received.
    fn change_received(&self, pointer: &str, seconds: i64) {
        let file = self.hew.home().join(".config/hew/accounts.json");
        let mut stored: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let received = stored.pointer_mut(pointer).unwrap();
        *received = json!(received.as_i64().unwrap() + seconds);
        std::fs::write(&file, stored.to_string()).unwrap();
    }

    fn set(&self, change: impl FnOnce(&mut Provider)) {
        change(&mut self.provider.lock().unwrap());
    }
}

fn bearer(request: &SiteRequest) -> String {
    let line = request
        .head
        .lines()
        .find_map(|line| line.strip_prefix("authorization: bearer "));
    line.unwrap_or_default().to_owned()
}

const COPILOT: &str = "github-copilot/gpt-4.1";
const CHATGPT: &str = "chatgpt/gpt-5.5";

#[tokio::test]
async fn a_device_code_signs_in_and_requests_carry_the_exchanged_token() {
    let fixture = Fixture::start().await;
    let (output, _) = fixture.task(COPILOT).await;
    assert_eq!(output.code(), Some(2), "{}", output.stderr);
    assert!(
        output.stderr.contains("run `hew login github-copilot`"),
        "{}",
        output.stderr
    );

    let output = fixture.run(&["login", "copilot"]).await;
    assert!(output.is_success(), "{}", output.stderr);
    for text in [
        "https://gh.io/copilot-terms",
        "https://example.org/device",
        "ABCD-1234",
        "signed in to GitHub Copilot",
    ] {
        assert!(output.stderr.contains(text), "{}", output.stderr);
    }
    let file = fixture.hew.home().join(".config/hew/accounts.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let output = fixture.run(&["accounts"]).await;
    assert!(
        output.stdout.contains("github-copilot") && output.stdout.contains("ada@example.org"),
        "{}",
        output.stdout
    );
    assert!(!output.stdout.contains("secret-"), "{}", output.stdout);

    let (output, token) = fixture.task(COPILOT).await;
    assert!(output.stdout.contains("Hello."), "{}", output.stderr);
    assert_eq!(token, "secret-api-2");
    let requests = fixture.site.requests();
    let last = requests
        .iter()
        .rev()
        .find(|request| request.line.contains("/api/"))
        .unwrap();
    assert!(last.head.contains("copilot-integration-id: "), "{}", last.head);

    let output = fixture.run(&["logout", "github-copilot"]).await;
    assert!(
        output.stderr.contains("signed out of github-copilot"),
        "{}",
        output.stderr
    );
    assert!(!std::fs::read_to_string(&file).unwrap().contains("secret-"));
    let (output, _) = fixture.task(COPILOT).await;
    assert_eq!(output.code(), Some(2), "{}", output.stderr);
}

#[tokio::test]
async fn a_denied_sign_in_and_an_unknown_provider_are_reported() {
    let fixture = Fixture::start().await;
    fixture.set(|provider| provider.denied = true);
    let output = fixture.run(&["login", "github-copilot"]).await;
    assert_eq!(output.code(), Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("the sign-in was denied"), "{}", output.stderr);
    let output = fixture.run(&["login", "nothing"]).await;
    assert_eq!(output.code(), Some(2));
    assert!(
        output
            .stderr
            .contains("providers with a sign-in: github-copilot, chatgpt"),
        "{}",
        output.stderr
    );
    let output = fixture.run(&["login", "anthropic"]).await;
    assert!(output.stderr.contains("hew keys set anthropic"), "{}", output.stderr);
    let output = fixture.run(&["login"]).await;
    assert!(output.stderr.contains("`hew login PROVIDER`"), "{}", output.stderr);
    let output = fixture.run(&["accounts", "--json"]).await;
    assert_eq!(output.stdout.trim(), "[]");
}

#[tokio::test]
async fn tokens_are_refreshed_before_they_expire_and_after_a_401() {
    let fixture = Fixture::start().await;
    // OpenAI's device flow: a pending code is HTTP 403, and the code is redeemed for tokens.
    let output = fixture.run(&["login", "chatgpt", "--device"]).await;
    assert!(output.is_success(), "{}", output.stderr);
    assert!(
        output.stderr.contains("signed in to ChatGPT as ada@example.org"),
        "{}",
        output.stderr
    );
    let (output, token) = fixture.task(CHATGPT).await;
    assert_eq!(token, "secret-access-1", "{}", output.stderr);
    let requests = fixture.site.requests();
    let api = requests
        .iter()
        .rev()
        .find(|request| request.line.contains("/api/"))
        .unwrap();
    assert!(api.head.contains("chatgpt-account-id: acc-7"), "{}", api.head);
    let redeemed = requests
        .iter()
        .find(|request| request.body.contains("code=the-code"))
        .unwrap();
    assert!(
        redeemed.body.contains("code_verifier=the-verifier"),
        "{}",
        redeemed.body
    );

    // The API rejects a token that should be valid; the next one is about to expire and is refreshed before use.
    fixture.set(|provider| provider.accepted = "secret-access-2".into());
    let (output, token) = fixture.task(CHATGPT).await;
    assert!(output.is_success(), "{}", output.stderr);
    assert_eq!(token, "secret-access-2");
    fixture.set(|provider| provider.accepted = String::new());
    fixture.change_received("/chatgpt/tokens/lifetime/received", -3_540);
    let before = fixture.count("/token");
    let (_, token) = fixture.task(CHATGPT).await;
    assert_eq!(
        (token.as_str(), fixture.count("/token") - before),
        ("secret-access-3", 1)
    );
    let (_, token) = fixture.task(CHATGPT).await;
    assert_eq!(
        (token.as_str(), fixture.count("/token") - before),
        ("secret-access-3", 1)
    );
}

#[tokio::test]
async fn processes_that_refresh_at_the_same_time_use_the_refresh_token_once() {
    let fixture = Fixture::start().await;
    assert!(fixture.run(&["login", "chatgpt", "--device"]).await.is_success());
    fixture.change_received("/chatgpt/tokens/lifetime/received", -3_540);
    let before = fixture.count("/token");
    let run = || fixture.hew.clone().args(["run", "-m", CHATGPT, "say hello"]).run();
    let (one, two) = tokio::join!(run(), run());
    for output in [one.unwrap(), two.unwrap()] {
        assert!(output.is_success(), "{}", output.stderr);
    }
    assert_eq!(fixture.count("/token") - before, 1);
}

#[tokio::test]
async fn the_error_for_a_revoked_sign_in_names_the_command_that_renews_it() {
    let fixture = Fixture::start().await;
    for (provider, model) in [("chatgpt", CHATGPT), ("github-copilot", COPILOT)] {
        fixture.set(|provider| provider.revoked = false);
        let output = fixture.run(&["login", provider, "--device"]).await;
        assert!(output.is_success(), "{}", output.stderr);
        fixture.set(|provider| provider.revoked = true);
        let (output, _) = fixture.task(model).await;
        assert!(!output.is_success(), "{}", output.stdout);
        assert!(
            output.stderr.contains("the sign-in has expired or was revoked")
                && output.stderr.contains(&format!("`hew login {provider}`")),
            "{}",
            output.stderr
        );
    }
}

#[tokio::test]
async fn wrong_clocks_neither_use_an_expired_token_nor_refresh_a_valid_one() {
    let fixture = Fixture::start().await;
    // The provider's clock is a day early or late: expiry is measured from its own time.
    for skew in [86_400, -86_400] {
        fixture.set(|provider| provider.skew = skew);
        assert!(fixture.run(&["login", "github-copilot"]).await.is_success());
        let before = fixture.count("/exchange");
        let (output, _) = fixture.task(COPILOT).await;
        assert!(output.is_success(), "{}", output.stderr);
        assert_eq!(fixture.count("/exchange"), before, "skew {skew}");
    }
    // This machine's clock was set back after the sign-in: expiry cannot be judged, so the token is replaced.
    fixture.change_received("/github-copilot/tokens/exchanged/lifetime/received", 864_000);
    let before = fixture.count("/exchange");
    let (output, _) = fixture.task(COPILOT).await;
    assert!(output.is_success(), "{}", output.stderr);
    assert_eq!(fixture.count("/exchange"), before + 1);
}

#[tokio::test]
async fn a_browser_signs_in_with_pkce_and_a_forged_callback_is_ignored() {
    let fixture = Fixture::start().await;
    let seen = fixture.hew.home().join("url");
    let program = fixture.hew.home().join("browser");
    std::fs::write(
        &program,
        format!("#!/bin/sh\necho \"$1\" > {0}.tmp; mv {0}.tmp {0}\n", seen.display()),
    )
    .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let login = fixture.hew.clone().env("BROWSER", &program).args(["login", "chatgpt"]);
    let running = login.spawn().unwrap();
    let url = loop {
        match std::fs::read_to_string(&seen) {
            Ok(url) => break url,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let field = |name: &str| {
        let pairs = url.trim().split_once('?').unwrap().1.split('&');
        let value = pairs
            .filter_map(|pair| pair.split_once('='))
            .find(|(own, _)| *own == name);
        value.unwrap_or_else(|| panic!("no {name} in {url}")).1.to_owned()
    };
    assert!(url.starts_with(&fixture.site.url("/authorize?")), "{url}");
    assert_eq!(field("code_challenge_method"), "S256");
    let port = field("redirect_uri")
        .split("%3A")
        .nth(2)
        .unwrap()
        .split("%2F")
        .next()
        .unwrap()
        .to_owned();
    let get = async |query: String| {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap();
        let request = format!("GET /auth/callback?{query} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    };
    let forged = get("code=evil&state=guess".into()).await;
    assert!(forged.contains("not the expected callback"), "{forged}");
    let page = get(format!("code=good&state={}", field("state"))).await;
    assert!(page.contains("You are signed in"), "{page}");
    let output = running.wait().await.unwrap();
    assert!(output.is_success(), "{}", output.stderr);
    let requests = fixture.site.requests();
    let redeemed = requests
        .iter()
        .find(|request| request.body.contains("code=good"))
        .unwrap();
    let verifier = redeemed
        .body
        .split("code_verifier=")
        .nth(1)
        .unwrap()
        .split('&')
        .next()
        .unwrap();
    assert!(
        verifier.len() >= 43 && verifier != field("code_challenge"),
        "{verifier}"
    );
    let (output, token) = fixture.task(CHATGPT).await;
    assert_eq!(token, "secret-access-1", "{}", output.stderr);

    let output = fixture.run(&["logout"]).await;
    assert!(output.is_success(), "{}", output.stderr);
    let requests = fixture.site.requests();
    let revoked = requests
        .iter()
        .find(|request| request.line.contains("/revoke"))
        .unwrap();
    assert!(revoked.body.contains("token=secret-refresh-1"), "{}", revoked.body);
}
