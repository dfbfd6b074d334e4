//! The cost of the built binary without its model: time, processor, memory and written bytes, with the scripted server.
//!
//! `cargo bench -p cli --bench process`. Medians over some runs. Machines are noisy: compare figures of one run only.

#![allow(clippy::unwrap_used)]

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::{Hew, Pace, Project, Script, Server, Turn};

const RUNS: usize = 7;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!(
        "{:28} {:>9} {:>9} {:>11}",
        "median of 7", "wall ms", "cpu ms", "written KB"
    );
    version().await;
    task("one prompt, one answer", Script::new().turn(Turn::text("Hello."))).await;
    task("20 steps", steps(20)).await;
    task("200 KB of tiny deltas", stream()).await;
    task("200 steps of 4 KB", steps(200)).await;
    growth().await;
    servers().await;
}

/// How long it takes until the first request arrives, without MCP servers and with five, of which two are dead: once when
/// nothing is known of them, and once when it is.
async fn servers() {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/all/peers/misbehaving.py");
    let entry = |how: &str| {
        format!(
            "[mcp.{how}]\ncommand = 'python3'\nargs = ['{}', '{how}']\n",
            script.display()
        )
    };
    let five: String = ["plain", "many", "reading", "dead", "silent"].map(entry).concat();
    let (mut none, mut new, mut known) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        none.push(first_request(&[""]).await[0]);
        let both = first_request(&[&five, &five]).await;
        new.push(both[0]);
        known.push(both[1]);
    }
    let (none, new, known) = (median(&none), median(&new), median(&known));
    let ratio = |time: Duration| time.as_secs_f64() / none.as_secs_f64();
    println!(
        "first request: {none:.2?}; with five MCP servers {new:.2?} (ratio {:.2}), known ones {known:.2?} (ratio {:.2})",
        ratio(new),
        ratio(known)
    );
}

/// The time until the first request arrives, in runs with one home and these configurations. Between them the servers are
/// seen, as far as they can be.
async fn first_request(configurations: &[&str]) -> Vec<Duration> {
    let project = project();
    let mut home: Option<Hew> = None;
    let mut times = Vec::new();
    for text in configurations {
        let server = Server::start(Script::new().turn(Turn::text("Hello."))).await.unwrap();
        let hew = home
            .take()
            .unwrap_or_else(|| Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap());
        let folder = hew.home().join(".config/hew");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), text).unwrap();
        let hew = hew.current_dir(project.root());
        let go =
            hew.clone()
                .with_server(&server)
                .args(["run", "--no-title", "-m", "anthropic/claude-sonnet-4-6", "work"]);
        let begun = Instant::now();
        assert!(go.run().await.unwrap().is_success());
        times.push(server.main_requests()[0].at - begun);
        for name in ["plain", "many", "reading"].iter().filter(|_| !text.is_empty()) {
            assert!(
                hew.clone()
                    .args(["mcp", "test", name])
                    .run()
                    .await
                    .unwrap()
                    .is_success()
            );
        }
        home = Some(hew);
    }
    times
}

/// A task of so many commands, each of which prints a file of 4 KB.
fn steps(count: usize) -> Script {
    let turns = (0..count).map(|n| Turn::calls("terminal", json!({"command": format!("cat big.txt && true {n}")})));
    Script::new().turns(turns).turn(Turn::text("Done."))
}

fn stream() -> Script {
    Script::new()
        .turn(Turn::text("a few words. ".repeat(200 * 1024 / 13)))
        .pace(Pace::with_delta_bytes(12))
}

async fn version() {
    let mut figures = Figures::default();
    for _ in 0..RUNS {
        let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap().arg("--version");
        figures.measure(hew).await;
    }
    figures.print("--version");
}

async fn task(name: &str, script: Script) {
    let server = Server::start(script).await.unwrap();
    let mut figures = Figures::default();
    for _ in 0..RUNS {
        figures.measure(run(&server, &project())).await;
    }
    figures.print(name);
}

/// Whether a step costs the same at the beginning and at the end of a long task.
async fn growth() {
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let server = Server::start(steps(200)).await.unwrap();
        run(&server, &project()).run().await.unwrap();
        let at: Vec<Instant> = server.main_requests().iter().map(|request| request.at).collect();
        let gaps: Vec<Duration> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        early.push(median(&gaps[10..30]));
        late.push(median(&gaps[180..200]));
    }
    let (early, late) = (median(&early), median(&late));
    println!(
        "step 20: {early:.2?}, step 200: {late:.2?}, ratio {:.2}",
        late.as_secs_f64() / early.as_secs_f64()
    );
}

fn project() -> Project {
    Project::new(&[("big.txt", &"some line of text in a file\n".repeat(146))]).unwrap()
}

fn run(server: &Server, project: &Project) -> Hew {
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew"))
        .unwrap()
        .with_server(server)
        .current_dir(project.root());
    hew.args(["run", "--model", "anthropic/claude-sonnet-4-6", "work"])
}

#[derive(Default)]
struct Figures {
    wall: Vec<Duration>,
    cpu: Vec<Duration>,
    written: Vec<u64>,
}

impl Figures {
    async fn measure(&mut self, hew: Hew) {
        let (cpu, written) = children();
        let begun = Instant::now();
        let output = hew.run().await.unwrap();
        self.wall.push(begun.elapsed());
        assert!(output.is_success(), "{output:?}");
        let (cpu_after, written_after) = children();
        self.cpu.push(cpu_after - cpu);
        self.written.push(written_after - written);
    }

    fn print(mut self, name: &str) {
        self.written.sort_unstable();
        println!(
            "{name:28} {:>9.1} {:>9.1} {:>11}",
            median(&self.wall).as_secs_f64() * 1e3,
            median(&self.cpu).as_secs_f64() * 1e3,
            self.written[self.written.len() / 2] / 1024,
        );
    }
}

/// Processor time and bytes written to disk by all children that have ended.
fn children() -> (Duration, u64) {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let time =
        |value: nix::sys::time::TimeVal| Duration::from_micros((value.tv_sec() * 1_000_000 + value.tv_usec()) as u64);
    (
        time(usage.user_time()) + time(usage.system_time()),
        usage.block_writes() as u64 * 512,
    )
}

fn median(values: &[Duration]) -> Duration {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}
