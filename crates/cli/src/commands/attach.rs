//! `hew --attach`: the terminal front end for a session of a running `hew serve`.

use super::open::{display_options, finish};
use crate::args::{GlobalArgs, TurnArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::{atomic, output, paths, project};
use backends::{DeviceFiles, RemoteBackend, RemoteServer, ServerFile, TuiBackend, pair};
use model::Message;
use serde::{Deserialize, Serialize};
use server::http::DeviceRegistry;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tui::{SessionTarget, UserError};

/// The variable with the token for an address.
const TOKEN_VARIABLE: &str = "HEW_TOKEN";
/// The part of a link that names the certificate of the server.
const FINGERPRINT: &str = "#sha256=";
/// The name of this computer in the list of devices.
const DEVICE: &str = "hew --attach";

/// The servers that this computer is paired with, by address. The file is readable for its owner only.
struct PairedServers {
    file: PathBuf,
    servers: BTreeMap<String, Pairing>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Pairing {
    token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
}

pub(super) async fn attach(
    target: &str,
    session: SessionTarget,
    prompt: Option<Message>,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    let folder = paths::data_dir(env)?.join("serve");
    let mut paired = PairedServers::load(&folder)?;
    let server = match target {
        "" => local_server(&folder, &mut paired)?,
        target => remote_server(target, &mut paired, env).await?,
    };
    let root = project::root(global.cwd.as_deref(), env)?;
    let flags = super::session_flags(&TurnArgs::default(), global)?;
    let config = flags.load_config(&root, env)?.config;
    let local = TuiBackend::new(root, flags, env.clone());
    let backend = RemoteBackend::new(&server, local).map_err(user_failure)?;
    let options = display_options(session, prompt, &config, env);
    let exit = tui::run(Arc::new(backend), options).await;
    finish(exit, || None, env).await
}

/// The server of this computer: the user owns its list of devices.
fn local_server(folder: &Path, paired: &mut PairedServers) -> Result<RemoteServer> {
    let server = ServerFile::read(folder)?;
    let stored = DeviceRegistry::load(Box::new(DeviceFiles::new(folder.join("devices.json"))));
    let devices = stored.map_err(|error| Failure::failed(format!("cannot read the devices: {error}")))?;
    let known = paired
        .servers
        .get(&server.url)
        .filter(|known| devices.is_token(&known.token));
    let token = match known {
        Some(known) => known.token.clone(),
        None => {
            let created = devices.create_token(DEVICE);
            let device = created.map_err(|error| Failure::failed(format!("cannot store the token: {error}")))?;
            device.token
        }
    };
    paired.add(&server.url, token, server.fingerprint)
}

/// The server at an address, or of a pairing link.
async fn remote_server(target: &str, paired: &mut PairedServers, env: &ProcessEnv) -> Result<RemoteServer> {
    let (address, fingerprint) = match target.split_once(FINGERPRINT) {
        Some((address, fingerprint)) => (address, Some(fingerprint.to_owned())),
        None => (target, None),
    };
    if !address.starts_with("http://") && !address.starts_with("https://") {
        return Err(Failure::usage(format!("`{target}` is not the address of a server"))
            .hint("use the address or the link that `hew serve` prints, such as http://127.0.0.1:4440"));
    }
    if let Some((url, code)) = address.split_once("/pair?code=") {
        let server = RemoteServer {
            url: url.to_owned(),
            token: String::new(),
            fingerprint: fingerprint.clone(),
        };
        let token = pair(&server, code, DEVICE).await.map_err(user_failure)?;
        return paired.add(url, token, fingerprint);
    }
    let url = address.trim_end_matches('/').to_owned();
    let known = paired.servers.get(&url).cloned().unwrap_or_default();
    let token = env.get(TOKEN_VARIABLE).map_or(known.token, str::to_owned);
    if token.is_empty() {
        return Err(
            Failure::usage(format!("this computer is not paired with {url}")).hint(format!(
                "run `hew serve link` on the server, then hew --attach LINK; or set {TOKEN_VARIABLE}"
            )),
        );
    }
    Ok(RemoteServer {
        url,
        token,
        fingerprint: fingerprint.or(known.fingerprint),
    })
}

impl PairedServers {
    fn load(folder: &Path) -> Result<Self> {
        let file = folder.join("attached.json");
        let servers = match std::fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|error| Failure::failed(format!("{} is damaged: {error}", file.display())))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(Failure::file("read", &file, &error)),
        };
        Ok(PairedServers { file, servers })
    }

    fn add(&mut self, url: &str, token: String, fingerprint: Option<String>) -> Result<RemoteServer> {
        let pairing = Pairing {
            token: token.clone(),
            fingerprint: fingerprint.clone(),
        };
        self.servers.insert(url.to_owned(), pairing);
        let text = output::pretty(&self.servers)?;
        atomic::write(&self.file, &text).map_err(|error| Failure::file("write", &self.file, &error))?;
        Ok(RemoteServer {
            url: url.to_owned(),
            token,
            fingerprint,
        })
    }
}

fn user_failure(error: UserError) -> Failure {
    let failure = Failure::failed(error.message);
    match error.hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
