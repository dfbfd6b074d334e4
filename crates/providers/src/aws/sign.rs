//! Signature Version 4.

use super::AwsKeys;
use crate::wire::bedrock::encode;
use jiff::Timestamp;
use ring::{digest, hmac};

/// The request to sign.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SigV4Request<'a> {
    pub(crate) method: &'a str,
    /// Host and port, as in the `Host` header.
    pub(crate) host: &'a str,
    /// The path in the request line, already percent-encoded.
    pub(crate) path: &'a str,
    pub(crate) region: &'a str,
    pub(crate) service: &'a str,
    pub(crate) at: Timestamp,
}

/// The authentication headers: lower-case names and values.
pub(crate) fn sign<'a>(
    what: &SigV4Request<'_>,
    keys: &AwsKeys,
    body: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<(&'static str, String)> {
    let time = what.at.strftime("%Y%m%dT%H%M%SZ").to_string();
    let day = &time[..8];
    let mut signed = vec![("host", what.host.to_string()), ("x-amz-date", time.clone())];
    if let Some(session) = &keys.session {
        signed.push(("x-amz-security-token", session.reveal().to_string()));
    }
    let names: Vec<&str> = signed.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let mut hash = digest::Context::new(&digest::SHA256);
    body.into_iter().for_each(|piece| hash.update(piece));

    // Services other than S3 require the path to be encoded twice.
    let path: Vec<String> = what.path.split('/').map(encode).collect();
    let headers: String = signed
        .iter()
        .map(|(name, value)| format!("{name}:{}\n", value.trim()))
        .collect();
    let canonical = format!(
        "{}\n{}\n\n{headers}\n{names}\n{}",
        what.method,
        path.join("/"),
        hex(hash.finish().as_ref())
    );
    let scope = format!("{day}/{}/{}/aws4_request", what.region, what.service);
    let digest = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}");

    let secret = format!("AWS4{}", keys.secret.reveal());
    let key = [day, what.region, what.service, "aws4_request"]
        .iter()
        .fold(secret.into_bytes(), |key, word| hmac_sha256(&key, word.as_bytes()));
    let signature = hex(&hmac_sha256(&key, text.as_bytes()));
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        keys.id
    );
    // The transport sends the host header.
    signed.remove(0);
    signed.push(("authorization", authorization));
    signed
}

fn hmac_sha256(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
        .as_ref()
        .to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Secret;

    /// The cases `get-vanilla` and `post-vanilla` of AWS's test suite for Signature Version 4.
    #[test]
    fn signatures_match_awss_own_test_suite() {
        let keys = AwsKeys {
            id: "AKIDEXAMPLE".into(),
            secret: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session: None,
        };
        let cases = [
            (
                "GET",
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            ),
            (
                "POST",
                "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
            ),
        ];
        for (method, signature) in cases {
            let what = SigV4Request {
                method,
                host: "example.amazonaws.com",
                path: "/",
                region: "us-east-1",
                service: "service",
                at: "2015-08-30T12:36:00Z".parse().unwrap(),
            };
            let headers = sign(&what, &keys, []);
            let expected = format!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                 SignedHeaders=host;x-amz-date, Signature={signature}"
            );
            assert_eq!(
                headers,
                vec![
                    ("x-amz-date", "20150830T123600Z".to_string()),
                    ("authorization", expected)
                ]
            );
        }
    }

    #[test]
    fn a_session_token_is_sent_and_signed() {
        let keys = AwsKeys {
            id: "A".into(),
            secret: Secret::new("s"),
            session: Some(Secret::new("token")),
        };
        let what = SigV4Request {
            method: "POST",
            host: "h",
            path: "/model/a%3A0/invoke",
            region: "r",
            service: "bedrock",
            at: Timestamp::UNIX_EPOCH,
        };
        let headers = sign(&what, &keys, [b"{".as_slice(), b"}"]);
        assert!(headers.contains(&("x-amz-security-token", "token".to_string())));
        let proof = headers.iter().find(|(name, _)| *name == "authorization").unwrap();
        assert!(proof.1.contains("SignedHeaders=host;x-amz-date;x-amz-security-token"));
        // Splitting the body does not change the signature.
        assert_eq!(headers, sign(&what, &keys, [b"{}".as_slice()]));
    }
}
