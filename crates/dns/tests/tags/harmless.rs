//! What servers may do without being wrong changes nothing in the verdict of a whole check.

use crate::fake::Fault;
use crate::row::{Make, Row, asked, modern, raw, row};
use hickory_proto::op::Message;
use hickory_proto::rr::Name;
use model::finding::Level;
use std::collections::BTreeSet;
use std::time::Duration;

fn healthy(what: &'static str) -> Row {
    row("Basic01", what)
}

/// The zone's NS records and their addresses beside every answer, as servers did that are not minimal.
fn generous(query: &Message, reply: Message) -> Option<Message> {
    let mut reply = modern(query, reply)?;
    if !reply.answers.is_empty() && asked(query).0.ends_with("zone.test") {
        reply.add_authority(raw("zone.test.", 2, b"\x03ns1\x04zone\x04test\x00".to_vec()));
        reply.additionals.push(raw("ns1.zone.test.", 1, vec![192, 0, 2, 11]));
    }
    Some(reply)
}

/// Owners in the letters the zone file happens to have.
fn loud(query: &Message, reply: Message) -> Option<Message> {
    let mut reply = modern(query, reply)?;
    for record in &mut reply.answers {
        record.name = Name::from_ascii(record.name.to_string().to_uppercase()).unwrap();
    }
    Some(reply)
}

/// Records in another order.
fn shuffled(query: &Message, reply: Message) -> Option<Message> {
    let mut reply = modern(query, reply)?;
    reply.answers.reverse();
    Some(reply)
}

fn differences<'a>(a: &'a BTreeSet<String>, b: &'a BTreeSet<String>) -> Vec<&'a String> {
    a.symmetric_difference(b).collect()
}

#[tokio::test]
async fn a_whole_check_is_the_same() {
    let as_it_is = healthy("without EDNS versions").faults(Fault::None).everything(Level::Info).await;
    for fault in [Fault::Truncate, Fault::WrongIdFirst, Fault::Delay(Duration::from_millis(15))] {
        let said = healthy("a harmless manner").faults(fault).everything(Level::Info).await;
        assert_eq!(differences(&said, &as_it_is), Vec::<&String>::new(), "{fault:?}");
    }
    let as_it_is = healthy("as it is").everything(Level::Info).await;
    let makes: [(&str, Make); 3] = [("generous", generous), ("loud", loud), ("shuffled", shuffled)];
    for (what, make) in makes {
        let said = healthy("a harmless manner").make(make).everything(Level::Info).await;
        assert_eq!(differences(&said, &as_it_is), Vec::<&String>::new(), "{what}");
    }
}

/// Of the many test cases that get no answer only those about reaching a server say so above DEBUG.
#[tokio::test]
async fn a_silent_server_is_told_once_for_each_transport() {
    let all = healthy("as it is").everything(Level::Notice).await;
    let silent = healthy("one is silent").fault("192.0.2.12", Fault::Drop).everything(Level::Notice).await;
    let outside = |said: BTreeSet<String>| -> BTreeSet<String> {
        said.into_iter().filter(|s| !s.starts_with("DNSSEC")).collect()
    };
    let (all, silent) = (outside(all), outside(silent));
    let new: Vec<&String> = silent.difference(&all).collect();
    assert_eq!(new.len(), 2, "{new:#?}");
    assert!(new[0].contains("CN01_NO_RESPONSE_UDP") && new[1].contains("CN02_NO_RESPONSE_TCP"), "{new:#?}");
    assert!(all.is_subset(&silent), "and what was wrong before is wrong still");
}
