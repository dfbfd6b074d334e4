//! TLS: certificates from files, or a self-signed one.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, ServerConfig, SignatureScheme};
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
        Some(fingerprint(&der))
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, certificate);
    let pairs: Vec<String> = hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    pairs.join(":")
}

/// The configuration of a client that accepts exactly the certificate with this SHA-256 fingerprint.
pub fn pinned_tls(fingerprint: &str) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = PinnedCertificate {
        fingerprint: fingerprint.to_ascii_uppercase(),
        provider: Arc::clone(&provider),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Invalid(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}

/// Accepts one certificate, whatever its names: its holder has proved to have the key.
#[derive(Debug)]
struct PinnedCertificate {
    fingerprint: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match fingerprint(certificate) == self.fingerprint {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
