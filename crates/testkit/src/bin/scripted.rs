//! Serves a script from a JSON file for manual tests: `scripted SCRIPT.json [PORT]`.

use std::process::ExitCode;

use testkit::{Error, Script, Server};

const USAGE: &str = "usage: scripted SCRIPT.json [PORT]

Serves the script on 127.0.0.1 (port 8399 unless given; 0 takes a free one), speaking Anthropic Messages, OpenAI Chat
Completions and Responses, Gemini, and Anthropic on Bedrock and Vertex. A script is
  {\"turns\": [
    {\"text\": \"Looking.\", \"calls\": [{\"name\": \"read_file\", \"input\": {\"path\": \"a.txt\"}}]},
    {\"text\": \"Done.\", \"faults\": [{\"fault\": \"overloaded\", \"times\": 2}, {\"fault\": {\"cut\": {}}}]}
  ]}
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, port) = match arguments.as_slice() {
        [path] => (path, Ok(8399)),
        [path, port] => (path, port.parse()),
        _ => return fail(USAGE),
    };
    let Ok(port) = port else { return fail(USAGE) };
    match serve(path, port).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&chain(&error)),
    }
}

async fn serve(path: &str, port: u16) -> Result<(), Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::File {
        path: path.into(),
        source,
    })?;
    let server = Server::start_on(port, Script::from_json(&text)?).await?;
    println!("listening on {}", server.url());
    let mut printed = 0;
    loop {
        server
            .wait_until(|requests| {
                requests.len() > printed && requests.iter().skip(printed).all(|r| r.finish.is_some())
            })
            .await;
        for request in &server.requests()[printed..] {
            println!(
                "{:4} {} {} -> {:?}",
                request.number, request.method, request.path, request.outcome
            );
            printed = request.number;
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}
