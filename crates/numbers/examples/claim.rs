//! A component that claims a prefix out of a block, waits until it is allocated and checks what it got:
//! `cargo run -p domainscope-numbers --example claim -- http://127.0.0.1:8080 NAME BLOCK LENGTH`
//!
//! The types of the claim are those of this crate, the client is the `kube` crate, unchanged.

use kube::api::{ApiResource, GroupVersionKind, Object, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config};
use numbers::client::{API_VERSION, Claiming, KIND, Next, Reply};
use numbers::{AddressRequest, ClaimSpec, ClaimStatus, IpNet, Reference};

/// A claim as an object of the API.
type NetworkClaim = Object<ClaimSpec, ClaimStatus>;
/// What can go wrong: a claim that breaks a rule, a server that refuses, an answer that is not what was asked for.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn resource() -> ApiResource {
    let (group, version) = API_VERSION.split_once('/').unwrap_or_default();
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, KIND))
}

fn reply(claim: Option<NetworkClaim>) -> Reply {
    claim.map_or(Reply::Missing, |c| Reply::Object { spec: c.spec, status: c.status })
}

/// Claims what the spec asks for, or takes up the claim of this name from an earlier run; returns the prefixes once all of
/// them are allocated. Waits until then, however long: put a timeout around it.
pub async fn claim(client: Client, name: &str, spec: ClaimSpec) -> Result<Vec<IpNet>> {
    // Before the server is asked: the same rules, with the same names of fields.
    let mut claiming = Claiming::new(name, spec.clone())?;
    let claims: Api<NetworkClaim> = Api::default_namespaced_with(client, &resource());
    loop {
        let came = match claiming.next() {
            Next::Use(prefixes) => return Ok(prefixes.clone()),
            Next::Create => {
                let new = Object::new(name, &resource(), spec.clone());
                match claims.create(&PostParams::default(), &new).await {
                    Err(kube::Error::Api(status)) if status.is_already_exists() => Reply::Exists,
                    created => reply(Some(created?)),
                }
            }
            Next::Read => reply(claims.get_opt(name).await?),
            Next::Wait(_) => {
                let is_over = |claim: Option<&NetworkClaim>| {
                    let is_granted = |s: &ClaimStatus| claiming.is_granted(s);
                    claim.is_none_or(|c| c.spec != spec || c.status.as_ref().is_some_and(is_granted))
                };
                reply(await_condition(claims.clone(), name, is_over).await?)
            }
        };
        claiming.reply(came)?;
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [server, name, block, length] = &words[..] else {
        return Err("usage: claim SERVER NAME BLOCK LENGTH".into());
    };
    let request = AddressRequest {
        from: Some(block.clone()),
        prefix_length: Some(length.parse()?),
        reference: Reference { group: "example".into(), resource: name.clone() },
        ..AddressRequest::default()
    };
    let client = Client::try_from(Config::new(server.parse()?))?;
    for prefix in claim(client, name, ClaimSpec { address_space: vec![request] }).await? {
        println!("{prefix}");
    }
    Ok(())
}
