//! AWS credentials: where they are found, and how a request is signed with them.

mod profile;
mod sign;

pub(crate) use sign::{Signing, sign};

use crate::error::Error;
use crate::settings::Secret;
use crate::surroundings::Surroundings;
use std::path::PathBuf;

/// Where Bedrock is, when nobody says.
const DEFAULT_REGION: &str = "us-east-1";

/// A region, and the right to use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aws {
    /// Such as `us-east-1`.
    pub region: String,
    /// How requests prove who sends them.
    pub auth: AwsAuth,
}

/// How requests to AWS prove who sends them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AwsAuth {
    /// A Bedrock API key.
    Bearer(Secret),
    /// Every request is signed.
    Keys(AwsKeys),
}

/// Access keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsKeys {
    /// The access key's id.
    pub id: String,
    /// The secret access key.
    pub secret: Secret,
    /// The token of temporary credentials.
    pub session: Option<Secret>,
}

/// What the configuration says about AWS; everything else is looked for.
#[derive(Debug, Clone, Default)]
pub struct AwsGiven {
    /// The region.
    pub region: Option<String>,
    /// The profile in the shared files.
    pub profile: Option<String>,
    /// Access keys.
    pub keys: Option<AwsKeys>,
    /// A Bedrock API key.
    pub bearer: Option<Secret>,
}

impl Aws {
    /// Looks for credentials where AWS's own tools do: the configuration, the environment, the shared files.
    ///
    /// A profile that is named in the configuration wins over keys in the environment.
    pub fn find(given: AwsGiven, around: &Surroundings<'_>) -> Result<Aws, Error> {
        let name = given
            .profile
            .clone()
            .or_else(|| around.first(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]));
        let profile = profile::read(around, name.as_deref().unwrap_or("default"));
        let region = given
            .region
            .or_else(|| around.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]))
            .or_else(|| profile.get("region").cloned())
            .unwrap_or_else(|| DEFAULT_REGION.to_string());
        let explicit = match (given.bearer, given.keys, &given.profile) {
            (Some(bearer), _, _) => Some(AwsAuth::Bearer(bearer)),
            (None, Some(keys), _) => Some(AwsAuth::Keys(keys)),
            (None, None, Some(name)) => Some(profile::keys(&profile, name)?),
            (None, None, None) => from_environment(around),
        };
        let auth = match (explicit, name) {
            (Some(auth), _) => auth,
            (None, name) => profile::keys(&profile, name.as_deref().unwrap_or("default"))?,
        };
        Ok(Aws { region, auth })
    }
}

fn from_environment(around: &Surroundings<'_>) -> Option<AwsAuth> {
    if let Some(token) = around.var("AWS_BEARER_TOKEN_BEDROCK") {
        return Some(AwsAuth::Bearer(Secret::new(token)));
    }
    Some(AwsAuth::Keys(AwsKeys {
        id: around.var("AWS_ACCESS_KEY_ID")?,
        secret: Secret::new(around.var("AWS_SECRET_ACCESS_KEY")?),
        session: around.var("AWS_SESSION_TOKEN").map(Secret::new),
    }))
}

fn shared_file(around: &Surroundings<'_>, var: &str, name: &str) -> Option<PathBuf> {
    match around.var(var) {
        Some(path) => Some(PathBuf::from(path)),
        None => Some(around.home()?.join(".aws").join(name)),
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

    fn find(given: AwsGiven, vars: &[(&str, &str)]) -> Result<Aws, Error> {
        let vars: HashMap<&str, &str> = vars.iter().copied().chain([("HOME", "/home/someone")]).collect();
        let files = [
            ("/home/someone/.aws/credentials", CREDENTIALS),
            ("/home/someone/.aws/config", CONFIG),
        ];
        Aws::find(
            given,
            &Surroundings {
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
    fn credentials_are_found_in_the_order_of_awss_own_tools() {
        let profile = |name: &str| AwsGiven {
            profile: Some(name.into()),
            ..AwsGiven::default()
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
        let given = AwsGiven {
            region: Some("r".into()),
            bearer: Some(Secret::new("given")),
            ..AwsGiven::default()
        };
        let cases = [
            (
                AwsGiven::default(),
                vec![],
                "eu-west-1",
                keys("AKIDEFAULT", "secret-default", None),
            ),
            (
                AwsGiven::default(),
                vec![("AWS_PROFILE", "work")],
                "ap-northeast-1",
                work.clone(),
            ),
            (profile("work"), env.to_vec(), "us-east-2", work),
            (
                AwsGiven::default(),
                env.to_vec(),
                "us-east-2",
                keys("AKIENV", "s", None),
            ),
            (
                AwsGiven::default(),
                bearer.to_vec(),
                "eu-west-1",
                AwsAuth::Bearer(Secret::new("b")),
            ),
            (given, env.to_vec(), "r", AwsAuth::Bearer(Secret::new("given"))),
        ];
        for (given, vars, region, auth) in cases {
            let expected = Aws {
                region: region.into(),
                auth,
            };
            assert_eq!(find(given, &vars).unwrap(), expected, "{vars:?}");
        }
    }

    #[test]
    fn a_profile_that_cannot_be_used_says_why() {
        let says = |name: &str| {
            find(AwsGiven::default(), &[("AWS_PROFILE", name)])
                .unwrap_err()
                .to_string()
        };
        assert!(says("signs-in").contains("single sign-on"), "{}", says("signs-in"));
        assert!(says("role").contains("role"), "{}", says("role"));
        assert!(says("nowhere").contains("nowhere"), "{}", says("nowhere"));
    }
}
