//! Nameserver02 and 10 to 14: what servers make of EDNS, of versions, options and flags they cannot know.

use crate::fake::Fault;
use crate::row::{Make, Row, asked, modern, rcode, row};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::opt::{EdnsCode, EdnsOption};

fn edns(query: &Message) -> bool {
    query.edns.is_some()
}

/// The question has an option that is not known.
fn option(query: &Message) -> bool {
    query.edns.as_ref().is_some_and(|e| e.option(EdnsCode::Unknown(137)).is_some())
}

/// The question is of a later version.
fn later(query: &Message) -> bool {
    query.edns.as_ref().is_some_and(|e| e.version() > 0)
}

fn echo(mut reply: Message) -> Message {
    if let Some(e) = reply.edns.as_mut() {
        e.options_mut().insert(EdnsOption::Unknown(137, vec![]));
    }
    reply
}

fn in_version(mut reply: Message, version: u8) -> Message {
    if let Some(e) = reply.edns.as_mut() {
        e.set_version(version);
    }
    reply
}

fn without(mut reply: Message) -> Message {
    reply.edns = None;
    reply
}

fn empty(mut reply: Message) -> Message {
    reply.answers.clear();
    reply
}

fn support() -> Vec<Row> {
    let n = |what| row("Nameserver02", what);
    let plain: Make = |_, r| Some(without(r));
    let version: Make = |q, r| Some(if edns(q) { in_version(r, 1) } else { r });
    let formerr: Make = |q, r| if edns(q) { rcode(without(r), ResponseCode::FormErr) } else { Some(r) };
    let formerr_opt: Make = |q, r| if edns(q) { rcode(r, ResponseCode::FormErr) } else { Some(r) };
    let no_soa: Make = |q, r| Some(if edns(q) { empty(r) } else { r });
    let notimp: Make = |q, r| if edns(q) { rcode(without(r), ResponseCode::NotImp) } else { Some(r) };
    vec![
        n("healthy").says(&["EDNS0_SUPPORT"]),
        n("FORMERR without OPT").make(formerr).says(&["NO_EDNS_SUPPORT"]),
        n("FORMERR with OPT").make(formerr_opt).says(&["NS_ERROR"]),
        n("NOTIMP").make(notimp).says(&["NS_ERROR"]),
        n("no OPT in the answer").make(plain).says(&["EDNS_RESPONSE_WITHOUT_EDNS"]),
        n("another version").make(version).says(&["EDNS_VERSION_ERROR"]),
        n("no SOA record").make(no_soa).says(&["NS_ERROR"]),
        n("EDNS is dropped").faults(Fault::DropEdns).says(&["BREAKS_ON_EDNS"]),
        n("everything is dropped").faults(Fault::Drop).says(&["NO_RESPONSE"]),
        n("one drops everything").fault("192.0.2.12", Fault::Drop).says(&["EDNS0_SUPPORT", "NO_RESPONSE"]),
    ]
}

fn versions() -> Vec<Row> {
    let n = |what| row("Nameserver10", what);
    let drops: Make = |q, r| (!later(q)).then_some(r);
    let answers: Make = |_, r| Some(r);
    let formerr: Make = |q, r| if later(q) { rcode(r, ResponseCode::FormErr) } else { Some(r) };
    let with_answer: Make = |q, mut r| {
        if later(q) {
            r.metadata.response_code = ResponseCode::BADVERS;
        }
        Some(r)
    };
    let version: Make = |q, r| modern(q, if later(q) { in_version(r, 1) } else { r });
    let unaware: Make = |q, r| if edns(q) { rcode(without(r), ResponseCode::FormErr) } else { Some(r) };
    vec![
        n("healthy").says(&[]),
        n("silent").make(drops).says(&["N10_NO_RESPONSE_EDNS1_QUERY"]),
        n("answered as version 0").make(answers).says(&["N10_UNEXPECTED_RCODE"]),
        n("FORMERR").make(formerr).says(&["N10_UNEXPECTED_RCODE"]),
        n("BADVERS with an answer").make(with_answer).says(&["N10_EDNS_RESPONSE_ERROR"]),
        n("BADVERS in version 1").make(version).says(&["N10_EDNS_RESPONSE_ERROR"]),
        n("a server without EDNS is Nameserver02's").make(unaware).says(&[]),
        n("a silent server is Connectivity01's").faults(Fault::Drop).says(&[]),
    ]
}

fn options() -> Vec<Row> {
    let n = |what| row("Nameserver11", what);
    let drops: Make = |q, r| (!option(q)).then_some(r);
    let refuses: Make = |q, r| if option(q) { rcode(r, ResponseCode::Refused) } else { Some(r) };
    let plain: Make = |q, r| Some(if option(q) { without(r) } else { r });
    let no_soa: Make = |q, r| Some(if option(q) { empty(r) } else { r });
    let no_aa: Make = |q, mut r| {
        r.metadata.authoritative &= !option(q);
        Some(r)
    };
    let echoes: Make = |q, r| Some(if option(q) { echo(r) } else { r });
    let never: Make = |q, mut r| {
        r.metadata.authoritative = false;
        Some(if option(q) { echo(r) } else { r })
    };
    vec![
        n("healthy").says(&[]),
        n("silent").make(drops).says(&["N11_NO_RESPONSE"]),
        n("refused").make(refuses).says(&["N11_UNEXPECTED_RCODE"]),
        n("no OPT in the answer").make(plain).says(&["N11_NO_EDNS"]),
        n("no SOA record").make(no_soa).says(&["N11_UNEXPECTED_ANSWER_SECTION"]),
        n("no authority").make(no_aa).says(&["N11_UNSET_AA"]),
        n("the option comes back").make(echoes).says(&["N11_RETURNS_UNKNOWN_OPTION_CODE"]),
        n("a server without authority is left out").make(never).says(&[]),
    ]
}

fn flags_and_truncation() -> Vec<Row> {
    let n12 = |what| row("Nameserver12", what);
    let n13 = |what| row("Nameserver13", what);
    let z: Make = |q, mut r| {
        let flags = q.edns.as_ref().map_or(0, |e| e.flags().z);
        if let Some(e) = r.edns.as_mut() {
            e.flags_mut().z = flags;
        }
        Some(r)
    };
    let formerr: Make = |q, r| if edns(q) { rcode(without(r), ResponseCode::FormErr) } else { Some(r) };
    let plain: Make = |_, r| Some(without(r));
    let version: Make = |_, r| Some(in_version(r, 1));
    let no_soa: Make = |_, r| Some(empty(r));
    let truncated: Make = |q, mut r| {
        r.metadata.truncation = asked(q).1 == 48;
        Some(r)
    };
    let truncated_plain: Make = |q, mut r| {
        r.metadata.truncation = asked(q).1 == 48;
        Some(if asked(q).1 == 48 { without(r) } else { r })
    };
    let refuses: Make = |q, r| if asked(q).1 == 48 { rcode(r, ResponseCode::Refused) } else { Some(r) };
    vec![
        n12("healthy").says(&[]),
        n12("the flag comes back").make(z).says(&["Z_FLAGS_NOTCLEAR"]),
        n12("FORMERR").make(formerr).says(&["NO_EDNS_SUPPORT"]),
        n12("no OPT in the answer").make(plain).says(&["NS_ERROR"]),
        n12("another version").make(version).says(&["NS_ERROR"]),
        n12("no SOA record").make(no_soa).says(&["NS_ERROR"]),
        n12("refused").faults(Fault::Refused).says(&["NS_ERROR"]),
        n12("silent").faults(Fault::Drop).says(&["NO_RESPONSE"]),
        n13("healthy").says(&[]),
        n13("truncated").make(truncated).says(&[]),
        n13("truncated without OPT").make(truncated_plain).says(&["MISSING_OPT_IN_TRUNCATED"]),
        n13("FORMERR").make(formerr).says(&["NO_EDNS_SUPPORT"]),
        n13("no OPT in the answer").make(plain).says(&["NS_ERROR"]),
        n13("another version").make(version).says(&["NS_ERROR"]),
        n13("refused").make(refuses).says(&["NS_ERROR"]),
        n13("silent").faults(Fault::Drop).says(&["NO_RESPONSE"]),
    ]
}

fn both() -> Vec<Row> {
    let n = |what| row("Nameserver14", what);
    let formerr: Make = |q, r| if edns(q) { rcode(without(r), ResponseCode::FormErr) } else { Some(r) };
    let version: Make = |_, r| Some(in_version(r, 1));
    let echoes: Make = |_, r| Some(echo(r));
    let all: Make = |_, r| Some(in_version(echo(r), 1));
    let answers: Make = |_, r| Some(r);
    let badvers_echo: Make = |q, r| modern(q, if option(q) { echo(r) } else { r });
    let (ver, opt) = ("UNSUPPORTED_EDNS_VER", "UNKNOWN_OPTION_CODE");
    vec![
        n("healthy").says(&[]),
        n("silent").faults(Fault::Drop).says(&["NO_RESPONSE"]),
        n("FORMERR").make(formerr).says(&["NO_EDNS_SUPPORT"]),
        n("answered in version 1").make(version).says(&[ver]),
        n("the option comes back").make(echoes).says(&[opt]),
        n("both").make(all).says(&[ver, opt]),
        n("answered as if nothing was odd").make(answers).says(&["NS_ERROR"]),
        n("BADVERS with the option").make(badvers_echo).says(&["NS_ERROR"]),
        n("refused").faults(Fault::Refused).says(&["NS_ERROR"]),
    ]
}

pub fn rows() -> Vec<Row> {
    [support(), versions(), options(), flags_and_truncation(), both()].into_iter().flatten().collect()
}
