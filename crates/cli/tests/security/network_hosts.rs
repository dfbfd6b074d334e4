//! Commands that may reach named hosts only.

use crate::Fixture;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

/// Sends each line of a script to a port of the command's own network, and prints the answers.
const ASK: &str = r#"
ask() { (exec 3<>"/dev/tcp/$1/$2" && printf "$3 HTTP/1.1\r\n\r\n" >&3 && timeout 10 cat <&3) 2>&1; echo; }
port=$1
echo "listed: $(ask 127.0.0.1 3128 "GET http://127.0.0.1:$port/x")"
echo "tunnel: $(ask 127.0.0.1 3128 "CONNECT 127.0.0.1:$port" | head -n 1)"
echo "name: $(ask 127.0.0.1 3128 "GET http://localhost:$port/")"
echo "port: $(ask 127.0.0.1 3128 "GET http://127.0.0.1:1/")"
echo "address: $(ask 127.0.0.1 3128 "CONNECT 127.0.0.2:$port")"
echo "number: $(ask 127.0.0.1 3128 "GET http://2130706433:$port/")"
echo "metadata: $(ask 127.0.0.1 3128 "GET http://169.254.169.254/")"
echo "direct: $(ask 127.0.0.1 "$port" "GET /")"
echo "proxy: $HTTPS_PROXY"
"#;

/// A server that answers every connection.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut request = [0; 1000];
            if client.read(&mut request).is_ok_and(|count| count > 0) {
                client
                    .write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nREACHED")
                    .unwrap();
            }
        }
    });
    port
}

#[tokio::test]
async fn commands_reach_listed_hosts_and_nothing_else() {
    let port = server();
    let config = format!("[sandbox]\nnetwork_hosts = ['127.0.0.1:{port}', 'example.org']");
    let fixture = Fixture::new(&config, &[("ask.sh", ASK)]);
    let command = format!("bash ask.sh {port}");
    let (results, _) = fixture.calls(&[("terminal", json!({"command": command}))]).await;
    let answers = results.first().unwrap();
    let answer = |name: &str| {
        let start = answers
            .find(&format!("{name}: "))
            .unwrap_or_else(|| panic!("{answers}"));
        let rest = &answers[start..];
        rest.split("\n\n").next().unwrap_or(rest).to_owned()
    };
    assert!(
        answer("listed").contains("200 OK") && answers.contains("REACHED"),
        "{answers}"
    );
    assert!(answer("tunnel").contains("200 Connection established"), "{answers}");
    for refused in ["name", "port", "address", "number", "metadata"] {
        assert!(answer(refused).contains("403 Forbidden"), "{refused}: {answers}");
    }
    assert!(answer("direct").contains("refused"), "{answers}");
    assert!(answers.contains("proxy: http://127.0.0.1:3128"), "{answers}");
    assert_eq!(answers.matches("REACHED").count(), 1, "{answers}");
}
