//! Reads a profile from AWS's shared files.

use super::{AwsAuth, AwsKeys, shared_file};
use crate::environment::ProviderEnvironment;
use crate::error::Error;
use crate::settings::Secret;
use std::collections::HashMap;

/// All settings of a profile in the shared files; the credentials file takes precedence.
pub(super) fn read(environment: &ProviderEnvironment<'_>, name: &str) -> HashMap<String, String> {
    let file =
        |var: &str, file: &str| shared_file(environment, var, file).and_then(|path| environment.read_file(&path));
    let mut profile = HashMap::new();
    if let Some(text) = file("AWS_CONFIG_FILE", "config") {
        collect(&text, &[name, &format!("profile {name}")], &mut profile);
    }
    if let Some(text) = file("AWS_SHARED_CREDENTIALS_FILE", "credentials") {
        collect(&text, &[name], &mut profile);
    }
    profile
}

/// The keys of a profile, or an error if it has none.
pub(super) fn keys(profile: &HashMap<String, String>, name: &str) -> Result<AwsAuth, Error> {
    let provider = "bedrock".to_string();
    if let (Some(id), Some(secret)) = (profile.get("aws_access_key_id"), profile.get("aws_secret_access_key")) {
        return Ok(AwsAuth::Keys(AwsKeys {
            id: id.clone(),
            secret: Secret::new(secret),
            session: profile.get("aws_session_token").map(Secret::new),
        }));
    }
    let kind = [
        ("sso_session", "uses single sign-on"),
        ("sso_start_url", "uses single sign-on"),
        ("role_arn", "assumes a role"),
        ("credential_process", "runs a program"),
        ("web_identity_token_file", "uses a web identity"),
    ]
    .iter()
    .find(|(key, _)| profile.contains_key(*key));
    Err(match kind {
        Some((_, how)) => Error::BadCredentials {
            provider,
            detail: format!(
                "the AWS profile {name:?} {how}, which hew does not do itself; \
                 `aws configure export-credentials --format env` makes keys that it can use"
            ),
        },
        None => Error::NoCredentials {
            provider,
            detail: format!("no key in the configuration or the environment, and no AWS profile {name:?} with keys"),
        },
    })
}

/// Adds the settings of the sections with these names. Indented lines are nested settings and are skipped.
fn collect(text: &str, sections: &[&str], into: &mut HashMap<String, String>) {
    let mut inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(section) = trimmed.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let words: Vec<&str> = section.0.split_whitespace().collect();
            inside = sections.contains(&words.join(" ").as_str());
        } else if inside
            && !line.starts_with([' ', '\t'])
            && let Some((key, value)) = trimmed.split_once('=')
            && !value.trim().is_empty()
        {
            into.insert(key.trim().to_string(), value.trim().to_string());
        }
    }
}
