//! A server with TLS: nothing is answered without it, and clients accept only the announced certificate.

use super::client::Served;
use backends::{RemoteServer, pair};
use std::os::unix::fs::PermissionsExt as _;
use testkit::Script;

fn fingerprint(served: &Served) -> String {
    let out = served.hew.stdout();
    let found = out
        .split("fingerprint of the certificate: ")
        .nth(1)
        .expect("a fingerprint");
    found.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_tls_answers_nothing_in_plain_text_and_shows_its_own_certificate() {
    let mut served = Served::start(Script::new(), &[], "").await;
    served.hew.kill().unwrap();
    let (hew, address) = Served::spawn(&served.base, "127.0.0.2:0", &["--tls"]).await;
    (served.hew, served.address) = (hew, address);
    let auth = format!("Host: {address}\r\nAuthorization: Bearer {}\r\n", served.token);
    let code = served.pairing_code();
    let body = format!("{{\"code\": \"{code}\", \"credential\": \"bearer\"}}");
    let attempts = [
        format!("GET / HTTP/1.1\r\n{auth}\r\n"),
        format!("GET /api/v1/sessions HTTP/1.0\r\n{auth}\r\n"),
        format!(
            "POST /api/v1/pair HTTP/1.1\r\n{auth}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\u{0}\u{5}hello".to_owned(),
        "\n".repeat(1000),
    ];
    for attempt in &attempts {
        let response = served.exchange(attempt.as_bytes()).await;
        let text = String::from_utf8_lossy(&response.body);
        assert!(
            !format!("{}{text}", response.head).contains("HTTP/"),
            "{attempt:?}: {text}"
        );
    }
    let own = fingerprint(&served);
    let server = |fingerprint: Option<&str>| RemoteServer {
        url: format!("https://{address}"),
        token: String::new(),
        fingerprint: fingerprint.map(str::to_owned),
    };
    let other = own.replace(&own[..2], if own.starts_with("00") { "11" } else { "00" });
    for wrong in [None, Some(other.as_str()), Some("")] {
        assert!(pair(&server(wrong), &code, "thief").await.is_err(), "{wrong:?}");
    }
    println!("attack: tried {}", attempts.len() + 3);
    // None of the attempts used the code.
    let token = pair(&server(Some(&own)), &code, "device").await.unwrap();
    assert!(token.starts_with("hew_"));
    let folder = served.base.home().join(".local/share/hew/serve");
    let names = std::fs::read_to_string(folder.join("names.txt")).unwrap();
    assert!(names.lines().any(|name| name == "127.0.0.2"), "{names}");
    let mode = std::fs::metadata(folder.join("key.pem")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "others cannot read the key");
    // The certificate is kept, so that a device accepts it once.
    served.hew.kill().unwrap();
    let (hew, _) = Served::spawn(&served.base, &address.to_string(), &["--tls"]).await;
    served.hew = hew;
    assert_eq!(fingerprint(&served), own);
}
