//! Joining: a request that is repeated finds the member, a key has to be possessed, and a token is for the identity that it
//! was made for.

use crate::agents::{Agent, bytes, ids, poll_of, send, stamp, token};
use crate::site::{Site, site};
use fleet::{Join, JoinToken, KeyPair};
use model::ids::Caller;
use serde_json::Value;
use service::FleetBackend;

fn request(made: &JoinToken, key: &str, id: &str) -> Vec<u8> {
    bytes(&Join {
        protocol: fleet::PROTOCOL,
        token: made.secret.clone(),
        id: id.into(),
        region: "eu-central".into(),
        version: "0.1.0".into(),
        key: key.into(),
    })
}

fn nobody(made: &JoinToken) -> Agent {
    Agent { id: String::new(), key: KeyPair::generate().unwrap(), server_key: made.server_key.clone() }
}

async fn ask(site: &Site, agent: &Agent, body: &[u8]) -> (u16, Value) {
    let (status, said, is_signed) = send(site, agent, "/agent/v1/join", stamp(), body).await;
    assert_eq!(is_signed, status == 200, "{said}");
    (status.as_u16(), said)
}

#[tokio::test]
async fn a_join_whose_response_was_lost_can_be_repeated() {
    let site = site(false).await;
    let made = token(&site).await;
    let agent = nobody(&made);
    let public = agent.key.public();
    // Without a name the server makes one: the same one again.
    let (status, first) = ask(&site, &agent, &request(&made, &public, "")).await;
    let (again, second) = ask(&site, &agent, &request(&made, &public, "")).await;
    assert_eq!((status, again, &first), (200, 200, &second));
    let id = first["id"].as_str().unwrap().to_string();
    assert_eq!(ask(&site, &agent, &request(&made, &public, &id)).await.0, 200);
    assert_eq!(ask(&site, &agent, &request(&made, &public, "other-1")).await.0, 403, "used, for another id");
    // Another key does not get in with the used token, nor with an unused one.
    let thief = nobody(&made);
    assert_eq!(ask(&site, &thief, &request(&made, &thief.key.public(), "")).await.0, 403);
    let two = token(&site).await;
    assert_eq!(ask(&site, &thief, &request(&two, &thief.key.public(), &id)).await.0, 409);
    // The member itself does, and leaves the token unused.
    assert_eq!(ask(&site, &agent, &request(&two, &public, &id)).await.0, 200);
    assert_eq!(ids(&site).await, [id.as_str()]);
    assert_eq!(ask(&site, &thief, &request(&two, &thief.key.public(), "gru-1")).await.0, 200);
    let member = Agent { id: id.clone(), ..agent };
    assert_eq!(poll_of(&site, &member).await.0, 200);
    // Revoked: repeating does not bring it back.
    assert_eq!(site.api("DELETE", &format!("/api/v1/fleet/{id}"), Value::Null).await.0, 200);
    let revoked = Agent { id: String::new(), ..member };
    assert_eq!(ask(&site, &revoked, &request(&made, &public, "")).await.0, 403);
    assert_eq!(ids(&site).await, ["gru-1"]);
}

#[tokio::test]
async fn who_joins_possesses_the_key() {
    let site = site(false).await;
    let made = token(&site).await;
    let (agent, other) = (nobody(&made), nobody(&made));
    let (status, said) = ask(&site, &agent, &request(&made, &other.key.public(), "fra-1")).await;
    assert!(status == 403 && said["detail"].to_string().contains("not signed with the key"), "{said}");
    assert!(ids(&site).await.is_empty());
    assert_eq!(ask(&site, &other, &request(&made, &other.key.public(), "fra-1")).await.0, 200, "unused");
}

#[tokio::test]
async fn a_token_is_for_the_identity_that_it_was_made_for() {
    let site = site(false).await;
    let named = async |id: &str| {
        let made = site.services.invite_agent(&Caller::system(), id).await.unwrap();
        JoinToken::read(&made.token).unwrap()
    };
    let made = named("fra-1").await;
    let agent = nobody(&made);
    let public = agent.key.public();
    let (status, said) = ask(&site, &agent, &request(&made, &public, "gru-1")).await;
    assert!(status == 409 && said["detail"].to_string().contains("made for the id fra-1"), "{said}");
    // An agent that names none gets this one.
    let (status, said) = ask(&site, &agent, &request(&made, &public, "")).await;
    assert_eq!((status, said["id"].as_str()), (200, Some("fra-1")), "{said}");
    let (status, said) = ask(&site, &agent, &request(&made, &public, "")).await;
    assert_eq!((status, said["id"].as_str()), (200, Some("fra-1")), "{said}");
    assert_eq!(ids(&site).await, ["fra-1"]);
}
