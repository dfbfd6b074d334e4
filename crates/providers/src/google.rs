//! Google credentials: lookup and access tokens.

mod token;

pub(crate) use token::{TokenCache, fetch_token};

use crate::environment::ProviderEnvironment;
use crate::error::Error;
use crate::settings::Secret;
use serde::Deserialize;
use std::path::PathBuf;

/// The token endpoint in Google's credential files.
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";

/// A project and location on Vertex AI and the credentials to use them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoogleSettings {
    /// The project's id.
    pub project: String,
    /// Such as `us-east5` or `global`.
    pub location: String,
    /// How requests authenticate.
    pub auth: GoogleAuth,
}

/// How requests to Google authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoogleAuth {
    /// An access token that is refreshed externally.
    Token(Secret),
    /// A service account, which signs its own token requests.
    ServiceAccount {
        /// The account's email address.
        email: String,
        /// The id of the key.
        key_id: Option<String>,
        /// The private key as PEM text.
        key: Secret,
        /// The token endpoint.
        token_uri: String,
    },
    /// A user who signed in with Google's tools.
    User {
        /// The OAuth client id.
        client_id: String,
        /// The OAuth client secret.
        client_secret: Secret,
        /// The OAuth refresh token.
        refresh_token: Secret,
        /// The token endpoint.
        token_uri: String,
    },
}

/// Google settings from the configuration; missing values are looked up.
#[derive(Debug, Clone, Default)]
pub struct GoogleOptions {
    /// The project's id.
    pub project: Option<String>,
    /// The location.
    pub location: Option<String>,
    /// An access token.
    pub token: Option<Secret>,
    /// A credentials file.
    pub file: Option<PathBuf>,
}

impl GoogleSettings {
    /// Resolves credentials in the order of Google's own tools: configuration, environment, default file.
    pub fn resolve(given: GoogleOptions, environment: &ProviderEnvironment<'_>) -> Result<GoogleSettings, Error> {
        let file = given.file.clone().or_else(|| credentials_path(environment));
        let text = file.as_ref().and_then(|path| environment.read_file(path));
        let found = match (&text, &file) {
            (Some(text), Some(path)) => Some(serde_json::from_str::<GoogleCredentialsFile>(text).map_err(|error| {
                invalid_credentials(format!("{} is not a credentials file: {error}", path.display()))
            })?),
            (None, Some(path)) if given.file.is_some() => {
                return Err(invalid_credentials(format!("{} cannot be read", path.display())));
            }
            _ => None,
        };
        let project = given
            .project
            .or_else(|| {
                environment.first_var(&["ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"])
            })
            .or_else(|| {
                found
                    .as_ref()
                    .and_then(|file| file.project_id.clone().or(file.quota_project_id.clone()))
            });
        let Some(project) = project else {
            return Err(missing_credentials("no project is set; GOOGLE_CLOUD_PROJECT names one"));
        };
        let location = given
            .location
            .or_else(|| environment.first_var(&["CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION"]))
            .unwrap_or_else(|| "global".to_string());
        let auth = match (given.token, found) {
            (Some(token), _) => GoogleAuth::Token(token),
            (None, Some(file)) => file.auth()?,
            (None, None) => {
                return Err(missing_credentials(
                    "`gcloud auth application-default login` has not been run, and no service account is set",
                ));
            }
        };
        Ok(GoogleSettings {
            project,
            location,
            auth,
        })
    }

    /// The Vertex AI endpoint for this location.
    pub(crate) fn base_url(&self) -> String {
        match self.location.as_str() {
            "global" => "https://aiplatform.googleapis.com".to_string(),
            place @ ("us" | "eu") => format!("https://aiplatform.{place}.rep.googleapis.com"),
            place => format!("https://{place}-aiplatform.googleapis.com"),
        }
    }
}

fn credentials_path(environment: &ProviderEnvironment<'_>) -> Option<PathBuf> {
    const NAME: &str = "application_default_credentials.json";
    if let Some(path) = environment.var("GOOGLE_APPLICATION_CREDENTIALS") {
        return Some(PathBuf::from(path));
    }
    if let Some(folder) = environment.var("CLOUDSDK_CONFIG") {
        return Some(PathBuf::from(folder).join(NAME));
    }
    match environment.var("APPDATA") {
        Some(folder) => Some(PathBuf::from(folder).join("gcloud").join(NAME)),
        None => Some(environment.home_dir()?.join(".config").join("gcloud").join(NAME)),
    }
}

/// A credentials file.
#[derive(Deserialize)]
struct GoogleCredentialsFile {
    #[serde(rename = "type")]
    kind: String,
    project_id: Option<String>,
    quota_project_id: Option<String>,
    client_email: Option<String>,
    private_key: Option<String>,
    private_key_id: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
    refresh_token: Option<String>,
    token_uri: Option<String>,
}

impl GoogleCredentialsFile {
    fn auth(self) -> Result<GoogleAuth, Error> {
        let token_uri = self.token_uri.unwrap_or_else(|| TOKEN_URI.to_string());
        match self.kind.as_str() {
            "service_account" => match (self.client_email, self.private_key) {
                (Some(email), Some(key)) => Ok(GoogleAuth::ServiceAccount {
                    email,
                    key_id: self.private_key_id,
                    key: Secret::new(key),
                    token_uri,
                }),
                _ => Err(invalid_credentials(
                    "the service account's file lacks client_email or private_key".to_string(),
                )),
            },
            "authorized_user" => match (self.client_id, self.client_secret, self.refresh_token) {
                (Some(client_id), Some(secret), Some(refresh)) => Ok(GoogleAuth::User {
                    client_id,
                    client_secret: Secret::new(secret),
                    refresh_token: Secret::new(refresh),
                    token_uri,
                }),
                _ => Err(invalid_credentials(
                    "the user's file lacks client_id, client_secret or refresh_token".to_string(),
                )),
            },
            other => Err(invalid_credentials(format!(
                "credentials of the type {other:?} are not understood; \
                 `gcloud auth print-access-token` makes a token that is"
            ))),
        }
    }
}

fn invalid_credentials(detail: String) -> Error {
    Error::BadCredentials {
        provider: "vertex".to_string(),
        detail,
    }
}

fn missing_credentials(detail: &str) -> Error {
    Error::NoCredentials {
        provider: "vertex".to_string(),
        detail: detail.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn find(given: GoogleOptions, vars: &[(&str, &str)], files: &[(&str, &str)]) -> Result<GoogleSettings, Error> {
        let var = |name: &str| {
            vars.iter()
                .find(|(own, _)| *own == name)
                .map(|(_, value)| value.to_string())
        };
        let read = |path: &Path| {
            files
                .iter()
                .find(|(own, _)| Path::new(own) == path)
                .map(|(_, text)| text.to_string())
        };
        GoogleSettings::resolve(given, &ProviderEnvironment { var: &var, read: &read })
    }

    const USER: &str =
        r#"{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r","quota_project_id":"q"}"#;

    #[test]
    fn credentials_come_from_the_default_file_or_the_one_in_the_environment() {
        let home = ("HOME", "/home/someone");
        let default = (
            "/home/someone/.config/gcloud/application_default_credentials.json",
            USER,
        );
        let found = find(GoogleOptions::default(), &[home], &[default]).unwrap();
        assert_eq!((found.project.as_str(), found.location.as_str()), ("q", "global"));
        assert!(matches!(found.auth, GoogleAuth::User { ref token_uri, .. } if token_uri == TOKEN_URI));

        let account = r#"{"type":"service_account","project_id":"p","client_email":"e","private_key":"k","private_key_id":"i","token_uri":"http://t"}"#;
        let vars = [
            ("GOOGLE_APPLICATION_CREDENTIALS", "/sa.json"),
            ("CLOUD_ML_REGION", "us-east5"),
            home,
        ];
        let found = find(GoogleOptions::default(), &vars, &[("/sa.json", account), default]).unwrap();
        assert_eq!(found.base_url(), "https://us-east5-aiplatform.googleapis.com");
        assert!(matches!(found.auth, GoogleAuth::ServiceAccount { ref email, .. } if email == "e"));

        let given = GoogleOptions {
            token: Some(Secret::new("t")),
            project: Some("mine".into()),
            ..GoogleOptions::default()
        };
        let found = find(given, &[], &[]).unwrap();
        assert_eq!(found.auth, GoogleAuth::Token(Secret::new("t")));
        assert_eq!(found.base_url(), "https://aiplatform.googleapis.com");
    }

    #[test]
    fn missing_credentials_are_reported() {
        let project = ("GOOGLE_CLOUD_PROJECT", "p");
        type Pairs<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Pairs<'_>, Pairs<'_>, &str); 4] = [
            (&[], &[], "project"),
            (&[project], &[], "gcloud auth"),
            (
                &[project, ("GOOGLE_APPLICATION_CREDENTIALS", "/f")],
                &[("/f", "{")],
                "not a credentials file",
            ),
            (
                &[project, ("GOOGLE_APPLICATION_CREDENTIALS", "/f")],
                &[("/f", r#"{"type":"external_account"}"#)],
                "external_account",
            ),
        ];
        for (vars, files, word) in cases {
            let error = find(GoogleOptions::default(), vars, files).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
