//! TLS: certificates from files, or a self-signed one.

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

/// Why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificate or the key is invalid.
    #[error("the TLS certificate or its key is invalid: {0}")]
    Invalid(String),
    /// No certificate could be created.
    #[error("cannot create a TLS certificate: {0}")]
    Create(String),
}

/// A certificate and its key, in PEM.
#[derive(Debug, Clone)]
pub struct SelfSigned {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// Creates a certificate for host names and addresses.
pub fn self_signed(names: Vec<String>) -> Result<SelfSigned, TlsError> {
    let created = rcgen::generate_simple_self_signed(names).map_err(|error| TlsError::Create(error.to_string()))?;
    Ok(SelfSigned {
        certificate: created.cert.pem(),
        key: created.signing_key.serialize_pem(),
    })
}

impl SelfSigned {
    /// The configuration of a server with this certificate.
    pub fn server_config(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let invalid = |error: &dyn std::fmt::Display| TlsError::Invalid(error.to_string());
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(self.certificate.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| invalid(&error))?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(|error| invalid(&error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| invalid(&error))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| invalid(&error))?;
        Ok(Arc::new(config))
    }

    /// The SHA-256 fingerprint of the certificate, as browsers show it.
    pub fn fingerprint(&self) -> Option<String> {
        let der = CertificateDer::from_pem_slice(self.certificate.as_bytes()).ok()?;
        let hash = ring::digest::digest(&ring::digest::SHA256, &der);
        let pairs: Vec<String> = hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        Some(pairs.join(":"))
    }
}
