//! AWS credentials: lookup and request signing.

mod profile;
mod sign;

pub(crate) use sign::{SigV4Request, sign};

use crate::environment::ProviderEnvironment;
use crate::error::Error;
use crate::settings::Secret;
use std::path::PathBuf;

/// The default region.
const DEFAULT_REGION: &str = "us-east-1";

/// A region and the credentials to use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsSettings {
    /// Such as `us-east-1`.
    pub region: String,
    /// How requests authenticate.
    pub auth: AwsAuth,
}

/// How requests to AWS authenticate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AwsAuth {
    /// A Bedrock API key.
    Bearer(Secret),
    /// Access keys that sign every request.
    Keys(AwsKeys),
}

/// Access keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsKeys {
    /// The access key id.
    pub id: String,
    /// The secret access key.
    pub secret: Secret,
    /// The session token of temporary credentials.
    pub session: Option<Secret>,
}

/// AWS settings from the configuration; missing values are looked up.
#[derive(Debug, Clone, Default)]
pub struct AwsOptions {
    /// The region.
    pub region: Option<String>,
    /// The profile in the shared files.
    pub profile: Option<String>,
    /// Access keys.
    pub keys: Option<AwsKeys>,
    /// A Bedrock API key.
    pub bearer: Option<Secret>,
}

impl AwsSettings {
    /// Resolves credentials in the order of AWS's own tools: configuration, environment, shared files.
    ///
    /// A profile in the configuration takes precedence over keys in the environment.
    pub fn resolve(given: AwsOptions, environment: &ProviderEnvironment<'_>) -> Result<AwsSettings, Error> {
        let name = given
            .profile
            .clone()
            .or_else(|| environment.first_var(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]));
        let profile = profile::read(environment, name.as_deref().unwrap_or("default"));
        let region = given
            .region
            .or_else(|| environment.first_var(&["AWS_REGION", "AWS_DEFAULT_REGION"]))
            .or_else(|| profile.get("region").cloned())
            .unwrap_or_else(|| DEFAULT_REGION.to_string());
        let explicit = match (given.bearer, given.keys, &given.profile) {
            (Some(bearer), _, _) => Some(AwsAuth::Bearer(bearer)),
            (None, Some(keys), _) => Some(AwsAuth::Keys(keys)),
            (None, None, Some(name)) => Some(profile::keys(&profile, name)?),
            (None, None, None) => from_environment(environment),
        };
        let auth = match (explicit, name) {
            (Some(auth), _) => auth,
            (None, name) => profile::keys(&profile, name.as_deref().unwrap_or("default"))?,
        };
        Ok(AwsSettings { region, auth })
    }
}

fn from_environment(environment: &ProviderEnvironment<'_>) -> Option<AwsAuth> {
    if let Some(token) = environment.var("AWS_BEARER_TOKEN_BEDROCK") {
        return Some(AwsAuth::Bearer(Secret::new(token)));
    }
    Some(AwsAuth::Keys(AwsKeys {
        id: environment.var("AWS_ACCESS_KEY_ID")?,
        secret: Secret::new(environment.var("AWS_SECRET_ACCESS_KEY")?),
        session: environment.var("AWS_SESSION_TOKEN").map(Secret::new),
    }))
}

fn shared_file(environment: &ProviderEnvironment<'_>, var: &str, name: &str) -> Option<PathBuf> {
    match environment.var(var) {
        Some(path) => Some(PathBuf::from(path)),
        None => Some(environment.home_dir()?.join(".aws").join(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::path::Path;

    const CREDENTIALS: &str = "\
# comment
[default]
aws_access_key_id = AKIDEFAULT
aws_secret_access_key=secret-default

[work]
aws_access_key_id=AKIWORK
aws_secret_access_key = secret/with=equals
aws_session_token = token
";
    const CONFIG: &str = "\
[default]
region = eu-west-1
s3 =
    max_concurrent_requests = 20
[profile work]
region=ap-northeast-1
[profile signs-in]
sso_session = corp
region = us-west-2
[profile role]
role_arn = arn:aws:iam::1:role/x
source_profile = work
";

    fn find(given: AwsOptions, vars: &[(&str, &str)]) -> Result<AwsSettings, Error> {
        let vars: HashMap<&str, &str> = vars.iter().copied().chain([("HOME", "/home/someone")]).collect();
        let files = [
            ("/home/someone/.aws/credentials", CREDENTIALS),
            ("/home/someone/.aws/config", CONFIG),
        ];
        AwsSettings::resolve(
            given,
            &ProviderEnvironment {
                var: &|name| vars.get(name).map(|value| value.to_string()),
                read: &|path| {
                    files
                        .iter()
                        .find(|(own, _)| Path::new(own) == path)
                        .map(|(_, text)| text.to_string())
                },
            },
        )
    }

    fn keys(id: &str, secret: &str, session: Option<&str>) -> AwsAuth {
        AwsAuth::Keys(AwsKeys {
            id: id.into(),
            secret: Secret::new(secret),
            session: session.map(Secret::new),
        })
    }

    #[test]
    fn credentials_are_resolved_in_the_order_of_awss_own_tools() {
        let profile = |name: &str| AwsOptions {
            profile: Some(name.into()),
            ..AwsOptions::default()
        };
        let work = keys("AKIWORK", "secret/with=equals", Some("token"));
        let env = [
            ("AWS_ACCESS_KEY_ID", "AKIENV"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("AWS_REGION", "us-east-2"),
        ];
        let bearer = [
            ("AWS_BEARER_TOKEN_BEDROCK", "b"),
            ("AWS_ACCESS_KEY_ID", "AKIENV"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
        ];
        let given = AwsOptions {
            region: Some("r".into()),
            bearer: Some(Secret::new("given")),
            ..AwsOptions::default()
        };
        let cases = [
            (
                AwsOptions::default(),
                vec![],
                "eu-west-1",
                keys("AKIDEFAULT", "secret-default", None),
            ),
            (
                AwsOptions::default(),
                vec![("AWS_PROFILE", "work")],
                "ap-northeast-1",
                work.clone(),
            ),
            (profile("work"), env.to_vec(), "us-east-2", work),
            (
                AwsOptions::default(),
                env.to_vec(),
                "us-east-2",
                keys("AKIENV", "s", None),
            ),
            (
                AwsOptions::default(),
                bearer.to_vec(),
                "eu-west-1",
                AwsAuth::Bearer(Secret::new("b")),
            ),
            (given, env.to_vec(), "r", AwsAuth::Bearer(Secret::new("given"))),
        ];
        for (given, vars, region, auth) in cases {
            let expected = AwsSettings {
                region: region.into(),
                auth,
            };
            assert_eq!(find(given, &vars).unwrap(), expected, "{vars:?}");
        }
    }

    #[test]
    fn an_unusable_profile_is_reported_with_the_reason() {
        let error_for = |name: &str| {
            find(AwsOptions::default(), &[("AWS_PROFILE", name)])
                .unwrap_err()
                .to_string()
        };
        assert!(
            error_for("signs-in").contains("single sign-on"),
            "{}",
            error_for("signs-in")
        );
        assert!(error_for("role").contains("role"), "{}", error_for("role"));
        assert!(error_for("nowhere").contains("nowhere"), "{}", error_for("nowhere"));
    }
}
