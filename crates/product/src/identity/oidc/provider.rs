//! The provider's side of a sign-in: discovery, the address people are sent to, and what a code is worth. In: settings and
//! codes; out: verified claims. Everything goes through the dial guard.

use super::roles::at;
use super::{OidcError, OidcSettings};
use net::Dialer;
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod,
    CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm, CoreProviderMetadata, CoreRevocableToken, CoreRevocationErrorResponse,
    CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AccessTokenHash, AdditionalClaims, AuthType, AuthorizationCode, ClaimsVerificationError, Client,
    ClientId, ClientSecret, CsrfToken, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet, EndpointSet,
    HttpRequest, HttpResponse, IdTokenFields, IssuerUrl, Nonce, OAuth2TokenResponse as _, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope, SignatureVerificationError, StandardClaims,
    StandardErrorResponse, StandardTokenResponse, SubjectIdentifier, TokenResponse as _, UserInfoClaims,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Longest answer of a provider, octets.
const ANSWER_MAX: usize = 512 << 10;
/// How long what was discovered is used.
const DISCOVERED: Duration = Duration::from_secs(600);
/// How long a provider that did not answer is left alone.
const RETRY: Duration = Duration::from_secs(5);
/// Keys that a token names and that are not known are looked for again, at most so often.
const KEYS: Duration = Duration::from_secs(30);

/// Claims beside the standard ones: groups and roles.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Others(Map<String, Value>);
impl AdditionalClaims for Others {}

type Tokens = StandardTokenResponse<
    IdTokenFields<
        Others,
        EmptyExtraTokenFields,
        CoreGenderClaim,
        CoreJweContentEncryptionAlgorithm,
        CoreJwsSigningAlgorithm,
    >,
    CoreTokenType,
>;
type ClaimsClient = Client<
    Others,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// What the provider says of a person, verified.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::identity) struct Claims {
    pub subject: String,
    pub email: Option<String>,
    pub email_verified: Option<bool>,
    pub name: Option<String>,
    pub others: Map<String, Value>,
}

/// A sign-in that waits for its code.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pending {
    pub state: String,
    pub nonce: String,
    pub verifier: String,
    /// Where the provider sends people back to.
    pub redirect: String,
}

/// Discovered metadata with the keys, or `None` when it could not be had, and since when.
type Discovered = Option<(Instant, Option<CoreProviderMetadata>)>;

/// A provider. What was discovered is shared by all who sign in.
pub(super) struct Provider {
    dialer: Dialer,
    discovered: Mutex<Discovered>,
}

/// A request of the library through the dial guard; redirects are not followed.
async fn fetch(dialer: Dialer, request: HttpRequest) -> Result<HttpResponse, net::Error> {
    let bad = |reason: String| net::Error::Protocol { host: "the sign-in provider".into(), reason };
    let url = url::Url::parse(&request.uri().to_string()).map_err(|e| bad(e.to_string()))?;
    let fields: Vec<(&str, &str)> =
        request.headers().iter().filter_map(|(k, v)| Some((k.as_str(), v.to_str().ok()?))).collect();
    let is_accept = |name: &str| name.eq_ignore_ascii_case("accept");
    let answer = if request.method() == openidconnect::http::Method::POST {
        dialer.http_post_with(&url, &fields, request.body().clone(), ANSWER_MAX).await?
    } else {
        let accept = fields.iter().find(|(k, _)| is_accept(k)).map_or("application/json", |(_, v)| *v);
        let fields: Vec<_> = fields.iter().copied().filter(|(k, _)| !is_accept(k)).collect();
        dialer.http_get_once_with(&url, accept, &fields, ANSWER_MAX).await?
    };
    let mut response = openidconnect::http::Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    response.body(answer.body).map_err(|e| bad(e.to_string()))
}

/// An error with its causes, for the log.
fn causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        words.push_str(&format!(": {cause}"));
        next = cause.source();
    }
    words
}

impl Provider {
    pub fn new(dialer: Dialer) -> Self {
        Provider { dialer, discovered: Mutex::default() }
    }

    /// What the provider publishes about itself, with its keys. `older`: what was discovered longer ago is fetched again.
    pub async fn metadata(
        &self,
        settings: &OidcSettings,
        older: Duration,
    ) -> Result<CoreProviderMetadata, OidcError> {
        // One discovery at a time: sign-ins that come meanwhile take its result.
        let mut discovered = self.discovered.lock().await;
        match &*discovered {
            Some((at, Some(found))) if at.elapsed() < older => return Ok(found.clone()),
            Some((at, None)) if at.elapsed() < RETRY => return Err(OidcError::Provider),
            _ => {}
        }
        let issuer = IssuerUrl::new(settings.issuer.clone()).map_err(|_| OidcError::Provider)?;
        let dialer = self.dialer.clone();
        let found = CoreProviderMetadata::discover_async(issuer, &move |r| fetch(dialer.clone(), r)).await;
        let found = found.inspect_err(|e| {
            tracing::warn!(
                issuer = settings.issuer,
                error = causes(e),
                "the sign-in provider was not discovered"
            );
        });
        *discovered = Some((Instant::now(), found.as_ref().ok().cloned()));
        found.map_err(|_| OidcError::Provider)
    }

    /// Where to send a person, and what to keep until they come back with a code.
    pub async fn begin(
        &self,
        settings: &OidcSettings,
        redirect: &str,
    ) -> Result<(url::Url, Pending), OidcError> {
        let metadata = self.metadata(settings, DISCOVERED).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let id = ClientId::new(settings.client_id.clone());
        let client =
            CoreClient::from_provider_metadata(metadata, id, None).set_redirect_uri(address(redirect)?);
        let mut request = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                CsrfToken::new_random,
                Nonce::new_random,
            )
            .set_pkce_challenge(challenge);
        // The library adds `openid` by itself.
        for scope in settings.scopes.iter().filter(|scope| *scope != "openid") {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        let (url, state, nonce) = request.url();
        let pending = Pending {
            state: state.into_secret(),
            nonce: nonce.secret().clone(),
            verifier: verifier.into_secret(),
            redirect: redirect.into(),
        };
        Ok((url, pending))
    }

    /// What a code is worth: the verified claims of a person.
    pub async fn redeem(
        &self,
        settings: &OidcSettings,
        code: &str,
        pending: Pending,
    ) -> Result<Claims, OidcError> {
        let metadata = self.metadata(settings, DISCOVERED).await?;
        let client = client(settings, metadata, &pending.redirect)?;
        let dialer = self.dialer.clone();
        let http = move |request| fetch(dialer.clone(), request);
        let tokens = client
            .exchange_code(AuthorizationCode::new(code.to_string()))
            .map_err(|_| OidcError::Provider)?
            .set_pkce_verifier(PkceCodeVerifier::new(pending.verifier))
            .request_async(&http)
            .await
            .map_err(|e| match e {
                RequestTokenError::ServerResponse(answer) => {
                    rejected(&format!("the provider refused a code: {:?}", answer.error()))
                }
                RequestTokenError::Request(e) => {
                    tracing::warn!(error = %e, "the sign-in provider could not be asked for a token");
                    OidcError::Provider
                }
                // The words could hold parts of a token.
                _ => rejected("the provider's answer to a code can't be read"),
            })?;
        let nonce = Nonce::new(pending.nonce);
        let mut person = match verified(&client, &tokens, &nonce) {
            Err(ClaimsVerificationError::SignatureVerification(
                SignatureVerificationError::NoMatchingKey,
            )) => {
                // Providers replace their keys from time to time.
                let metadata = self.metadata(settings, KEYS).await?;
                let renewed = self::client(settings, metadata, &pending.redirect)?;
                verified(&renewed, &tokens, &nonce)
            }
            other => other,
        }
        .map_err(|e| rejected(&causes(&e)))?;
        let is_missing = |claim: &String| at(&person.others, claim).is_none();
        let is_short = person.email.is_none() || settings.roles.claim.as_ref().is_some_and(is_missing);
        // Many providers put all but the subject into the user info.
        let subject = SubjectIdentifier::new(person.subject.clone());
        let request = client.user_info(tokens.access_token().clone(), Some(subject));
        if let (true, Ok(request)) = (is_short, request) {
            let info: UserInfoClaims<Others, CoreGenderClaim> =
                request.request_async(&http).await.map_err(|e| {
                    tracing::warn!(error = causes(&e), "the sign-in provider's user info could not be read");
                    OidcError::Provider
                })?;
            person.add(info.standard_claims(), &info.additional_claims().0);
        }
        Ok(person)
    }
}

fn rejected(why: &str) -> OidcError {
    tracing::warn!(error = why, "a sign-in by the provider was not accepted");
    OidcError::Rejected
}

fn address(redirect: &str) -> Result<RedirectUrl, OidcError> {
    RedirectUrl::new(redirect.into()).map_err(|_| OidcError::Provider)
}

fn client(
    settings: &OidcSettings,
    metadata: CoreProviderMetadata,
    redirect: &str,
) -> Result<ClaimsClient, OidcError> {
    let methods = metadata.token_endpoint_auth_methods_supported().cloned().unwrap_or_default();
    // Basic is the default of the specification.
    let in_body = methods.contains(&CoreClientAuthMethod::ClientSecretPost)
        && !methods.contains(&CoreClientAuthMethod::ClientSecretBasic);
    let secret = settings.client_secret.clone().map(ClientSecret::new);
    let client =
        ClaimsClient::from_provider_metadata(metadata, ClientId::new(settings.client_id.clone()), secret)
            .set_redirect_uri(address(redirect)?);
    Ok(if in_body { client.set_auth_type(AuthType::RequestBody) } else { client })
}

/// The claims of an ID token, once signature, issuer, audience, times and nonce are right, and the access token belongs to it.
fn verified(
    client: &ClaimsClient,
    tokens: &Tokens,
    nonce: &Nonce,
) -> Result<Claims, ClaimsVerificationError> {
    let other = |words: String| ClaimsVerificationError::Other(words);
    let verifier = client.id_token_verifier();
    let token = tokens.id_token().ok_or_else(|| other("the provider sent no ID token".into()))?;
    let claims = token.claims(&verifier, nonce)?;
    if let Some(expected) = claims.access_token_hash() {
        let algorithm = token.signing_alg().map_err(|e| other(e.to_string()))?;
        let key = token.signing_key(&verifier).map_err(ClaimsVerificationError::SignatureVerification)?;
        let actual = AccessTokenHash::from_token(tokens.access_token(), algorithm, key);
        if actual.map_err(|e| other(e.to_string()))? != *expected {
            return Err(other("the access token does not belong to the ID token".into()));
        }
    }
    Ok(Claims {
        subject: claims.subject().to_string(),
        email: claims.email().map(|e| e.to_string()),
        email_verified: claims.email_verified(),
        name: claims.name().and_then(|n| n.get(None)).map(|n| n.to_string()),
        others: claims.additional_claims().0.clone(),
    })
}

impl Claims {
    /// Fills gaps; address and its verification belong together.
    fn add(&mut self, standard: &StandardClaims<CoreGenderClaim>, others: &Map<String, Value>) {
        if self.email.is_none() {
            self.email = standard.email().map(|e| e.to_string());
            self.email_verified = standard.email_verified();
        }
        if self.name.is_none() {
            self.name = standard.name().and_then(|n| n.get(None)).map(|n| n.to_string());
        }
        for (claim, value) in others {
            self.others.entry(claim).or_insert_with(|| value.clone());
        }
    }
}
