//! `hew demo`: fixes a small broken project with a scripted model.
//!
//! The loop, the tools, the store and the HTTP stream are those of every run; only the model's replies are scripted.
//! Nothing outside a temporary folder is changed.

mod story;

use crate::args::DemoArgs as Args;
use crate::config::{Config, EffortName, LoadedConfig, ModelConfig, ProviderConfig, WireName};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::color::ColorMode;
use crate::trust::ProjectTrust;
use agent::{Approvals, Previews};
use headless::driver::{self, RunReporting};
use host::{ClientServices, ModelOrigin, SessionProject, SessionRef, SessionRequest};
use model::Message;
use sandbox::{CaptureCap, ProcessRequest, ProcessStatus, Program};
use session::{Command, Delivery, SessionId};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::SqliteStore;
use testkit::Server;

pub(super) async fn demo(args: &Args, env: &ProcessEnv) -> Result<ExitStatus> {
    let folder = make_folder(args.at.as_deref(), env)?;
    let project = folder.join("project");
    make_project(&project)?;
    let paint = ColorMode::of(&std::io::stderr(), env);
    output::print_stderr(&format!(
        "{}\n{}\n\nThe project: {}\n\n",
        paint.bold("hew demo"),
        paint.dim(story::INTRODUCTION),
        project.display()
    ));
    output::print_stderr(&format!(
        "{} sh test.sh\n{}\n",
        paint.cyan("$"),
        tests(&project, env).await?.0
    ));
    output::print_stderr(&format!("{} hew run \"{}\"\n\n", paint.cyan("$"), story::TASK));
    let server = Server::start(story::script(args.fast))
        .await
        .map_err(|error| Failure::failed(error.to_string()))?;
    let (exit, id) = work(&project, &folder, &server, env).await?;
    let (text, passed) = tests(&project, env).await?;
    output::print_stderr(&format!("\n{} sh test.sh\n{text}\n", paint.cyan("$")));
    let data = folder.join("data");
    output::print_stderr(&format!(
        "The project is in {}\nThe session is {id} (the model was scripted, so it cost nothing). To read it:\n  \
         HEW_DATA_DIR={} hew sessions show {}\n\n{}\n",
        project.display(),
        data.display(),
        host::sessions::short_id(id),
        paint.dim("With a key of your own: ANTHROPIC_API_KEY=… hew run \"…\"   (`hew doctor` checks the set-up)")
    ));
    match (exit, passed) {
        (ExitStatus::Done, false) => Err(Failure::failed("the tests of the demo project still fail")),
        (exit, _) => Ok(exit),
    }
}

fn make_folder(asked: Option<&Path>, env: &ProcessEnv) -> Result<PathBuf> {
    let folder = match (asked, &env.cwd) {
        (Some(path), Some(cwd)) => cwd.join(path),
        (Some(path), None) => path.into(),
        (None, _) => std::env::temp_dir().join(format!("hew-demo-{}", host::sessions::short_id(SessionId::new()))),
    };
    std::fs::create_dir_all(folder.parent().unwrap_or(Path::new("/")))
        .and_then(|()| std::fs::create_dir(&folder))
        .and_then(|()| folder.canonicalize())
        .map_err(|error| {
            Failure::file("make the demo's folder", &folder, &error)
                .hint("`--at DIR` takes a folder that does not exist yet")
        })
}

fn make_project(project: &Path) -> Result<()> {
    let refuse = |path: &Path, error: &std::io::Error| Failure::file("write", path, error);
    std::fs::create_dir(project).map_err(|error| refuse(project, &error))?;
    for (name, text) in story::FILES {
        let path = project.join(name);
        std::fs::write(&path, text).map_err(|error| refuse(&path, &error))?;
    }
    Ok(())
}

async fn work(project: &Path, folder: &Path, server: &Server, env: &ProcessEnv) -> Result<(ExitStatus, SessionId)> {
    // The user's own files and folders are not used.
    let env = &env
        .clone()
        .with("HEW_DATA_DIR", &folder.join("data"))
        .with("XDG_CACHE_HOME", &folder.join("cache"));
    let store = Arc::new(SqliteStore::open(&folder.join("data"))?);
    let session = host::open(SessionRequest {
        project: SessionProject {
            session: SessionRef::New,
            root: project.into(),
            loaded: LoadedConfig {
                config: config(server),
                layers: Vec::new(),
                warnings: Vec::new(),
                trust: ProjectTrust::Unknown,
            },
        },
        env,
        store,
        approvals: Approvals::Deny,
        previews: Previews::Skip,
        output_schema: None,
        files: &[],
        model_origin: ModelOrigin::Configured,
        client: ClientServices::default(),
        prompt_change: Default::default(),
    })
    .await?;
    let id = session.resources.id;
    let command = Command::Prompt {
        message: Message::user(story::TASK),
        delivery: Delivery::Queue,
    };
    let reporting = RunReporting {
        json: false,
        quiet: false,
        resumed: false,
        root: project,
        prefix: &format!("HEW_DATA_DIR={} ", folder.join("data").display()),
    };
    Ok((driver::drive(session, command, None, &reporting, env).await?, id))
}

fn config(server: &Server) -> Config {
    let provider = ProviderConfig {
        wire: Some(WireName::AnthropicMessages),
        base_url: Some(server.url()),
        ..ProviderConfig::default()
    };
    let model = ModelConfig {
        window: Some(200_000),
        output: Some(16_000),
        caching: Some(true),
        reasoning: Some(true),
        ..ModelConfig::default()
    };
    Config {
        model: Some("demo/scripted".into()),
        effort: Some(EffortName::Low),
        title: false,
        providers: [("demo".to_string(), provider)].into(),
        models: [("demo/scripted".to_string(), model)].into(),
        ..Config::default()
    }
}

/// The output of the project's tests, and whether they pass.
async fn tests(project: &Path, env: &ProcessEnv) -> Result<(String, bool)> {
    let variables = env
        .all()
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let request = ProcessRequest {
        program: Program::Shell("sh test.sh".into()),
        cwd: project.into(),
        environment: sandbox::ProcessEnvironment::scrubbed(variables, &[] as &[&str], &[] as &[&str]),
        timeout: Some(Duration::from_secs(20)),
        grace: ProcessRequest::GRACE,
        output: CaptureCap {
            head: 16 * 1024,
            tail: 0,
        },
        terminal: None,
    };
    let mut process = sandbox::spawn(&request).map_err(|error| Failure::failed(error.to_string()))?;
    let exit = process.exit().await;
    Ok((exit.output.head, exit.status == ProcessStatus::Exited(0)))
}
