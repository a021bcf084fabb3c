//! One TLS handshake with one address, the host as server name. The handshake succeeds with any certificate, so that a
//! bad one can be shown; nothing is sent over the connection. The chain is verified beside it, with the reason kept.

use crate::x509;
use jiff::Timestamp;
use model::certificate::{TlsObservation, Trust};
use net::Dialer;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_rustls::TlsConnector;

/// Longest handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Most certificates of a chain that are read.
const CHAIN: usize = 10;

/// What the server presented.
#[derive(Debug, Default, Clone)]
struct Presented {
    chain: Vec<CertificateDer<'static>>,
    has_ocsp: bool,
}

/// Keeps what the server presents and accepts it.
#[derive(Debug)]
struct Recorder {
    provider: Arc<CryptoProvider>,
    presented: Mutex<Presented>,
}

impl ServerCertVerifier for Recorder {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        ocsp: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain = std::iter::once(end_entity).chain(intermediates).take(CHAIN);
        *self.presented.lock().unwrap_or_else(PoisonError::into_inner) =
            Presented { chain: chain.map(|c| c.clone().into_owned()).collect(), has_ocsp: !ocsp.is_empty() };
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Connects to one address of the host and observes TLS there.
pub(crate) async fn observe(
    dialer: &Dialer,
    address: IpAddr,
    port: u16,
    host: &str,
    now: Timestamp,
) -> TlsObservation {
    let mut seen = TlsObservation {
        address,
        error: None,
        version: None,
        alpn: None,
        chain: Vec::new(),
        covers_host: false,
        trust: None,
        trust_detail: String::new(),
        ocsp_stapled: false,
    };
    let provider = Arc::new(ring::default_provider());
    let recorder = Arc::new(Recorder { provider: provider.clone(), presented: Mutex::default() });
    let spoken = tokio::time::timeout(
        HANDSHAKE,
        handshake(dialer, address, port, host, provider.clone(), recorder.clone()),
    );
    match spoken.await {
        Ok(Ok((version, alpn))) => (seen.version, seen.alpn) = (version, alpn),
        Ok(Err(why)) => seen.error = Some(why),
        Err(_) => seen.error = Some(format!("no handshake within {} s", HANDSHAKE.as_secs())),
    }
    let presented = recorder.presented.lock().unwrap_or_else(PoisonError::into_inner).clone();
    seen.ocsp_stapled = presented.has_ocsp;
    seen.chain = presented.chain.iter().map_while(|der| x509::read(der)).collect();
    if let Some(leaf) = seen.chain.first() {
        seen.covers_host = leaf.covers(host);
    } else if !presented.chain.is_empty() && seen.error.is_none() {
        seen.error = Some("the certificate is not readable".into());
    }
    if !presented.chain.is_empty() {
        let (trust, detail) = trust(dialer.roots(), &presented.chain, &provider, now);
        let alone = seen.chain.len() == 1;
        seen.trust = Some(match seen.chain.first() {
            Some(leaf) if trust == Trust::UnknownIssuer && leaf.is_self_issued() => Trust::SelfSigned,
            Some(_) if trust == Trust::UnknownIssuer && alone => Trust::Incomplete,
            _ => trust,
        });
        seen.trust_detail = detail;
    }
    seen
}

async fn handshake(
    dialer: &Dialer,
    address: IpAddr,
    port: u16,
    host: &str,
    provider: Arc<CryptoProvider>,
    recorder: Arc<Recorder>,
) -> Result<(Option<String>, Option<String>), String> {
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(recorder)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_string();
    let name = ServerName::try_from(bare).map_err(|e| e.to_string())?;
    let stream = dialer.tcp(&address.to_string(), port).await.map_err(|e| e.to_string())?;
    let stream =
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|e| e.to_string())?;
    let session = stream.get_ref().1;
    let version = session.protocol_version().and_then(|v| v.as_str()).map(|v| v.replace("TLSv1_", "TLSv1."));
    let alpn = session.alpn_protocol().map(|p| String::from_utf8_lossy(p).into_owned());
    Ok((version, alpn))
}

/// Whether the chain leads to one of the roots at `now`, and the verifier's words where not. The name is not judged here.
fn trust(
    roots: &RootCertStore,
    chain: &[CertificateDer<'_>],
    provider: &CryptoProvider,
    now: Timestamp,
) -> (Trust, String) {
    let Some((leaf, intermediates)) = chain.split_first() else {
        return (Trust::Invalid, "no certificate".into());
    };
    let now = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0)));
    let verified = ParsedCertificate::try_from(leaf).and_then(|parsed| {
        let algorithms = provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, roots, intermediates, now, algorithms)
    });
    let Err(error) = verified else { return (Trust::Trusted, String::new()) };
    let trust = match &error {
        Error::InvalidCertificate(why) => match why {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Trust::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Trust::NotYetValid,
            CertificateError::UnknownIssuer => Trust::UnknownIssuer,
            _ => Trust::Invalid,
        },
        _ => Trust::Invalid,
    };
    (trust, error.to_string())
}
