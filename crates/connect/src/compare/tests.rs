use super::*;

fn record(kind: &str, name: &str, data: &str) -> Record {
    Record::new(kind, name, data, Some(300))
}

fn only(wanted: &Record, live: &[Record]) -> Finding {
    compare(std::slice::from_ref(wanted), live, "example.com").remove(0)
}

#[test]
fn each_copying_fault_has_its_name_and_the_corrected_record() {
    let cname = record("CNAME", "www", "gw.example.net");
    let txt = record("TXT", "_dmarc", "v=DMARC1; p=none");
    let key = record("TXT", "k._domainkey", "v=DKIM1; p=ABCDEF");
    for (wanted, live, kind) in [
        (&cname, record("CNAME", "www", "gw.example.net.example.com."), FaultKind::MissingFinalDot),
        (&cname, record("CNAME", "www.example.com", "gw.example.net"), FaultKind::ZoneAppendedTwice),
        (&cname, record("TXT", "www", "gw.example.net."), FaultKind::WrongType),
        (&cname, record("CNAME", "www", "www.example.com.gw.example.net"), FaultKind::HostInValue),
        (&txt, record("TXT", "_dmarc", "\"\\\"v=DMARC1; p=none\\\"\""), FaultKind::QuotesInValue),
        (&txt, record("TXT", "_dmarc", "“v=DMARC1; p=none”"), FaultKind::QuotesInValue),
        (&txt, record("TXT", "_dmarc", " v=DMARC1; p=none "), FaultKind::Whitespace),
        (&key, record("TXT", "k._domainkey", "v=DKIM1; p=ABC DEF"), FaultKind::Whitespace),
        (&txt, record("TXT", "_dmarc", "v=DMARC1; p=none."), FaultKind::ExtraDot),
        (
            &txt,
            record("TXT", "_dmarc", "_dmarc.example.com. 300 IN TXT \"v=DMARC1; p=none\""),
            FaultKind::HostInValue,
        ),
        (&txt, record("TXT", "_dmarc.example.com", "v=DMARC1; p=none"), FaultKind::ZoneAppendedTwice),
    ] {
        let found = only(wanted, std::slice::from_ref(&live));
        assert_eq!(found.faults.iter().map(|f| f.kind).collect::<Vec<_>>(), [kind], "{live:?}");
        assert_eq!(
            (&found.faults[0].corrected.name, &found.faults[0].corrected.data),
            (&wanted.name, &wanted.data)
        );
        assert!(found.state != State::Present);
    }
    let apex = record("TXT", "@", "token=1");
    let found = only(&apex, &[record("TXT", "example.com", "token=1")]);
    assert_eq!((found.state, found.faults[0].kind), (State::Missing, FaultKind::ZoneAppendedTwice));
}

#[test]
fn states_tell_what_to_do() {
    let a = record("A", "www", "192.0.2.1");
    let state = |live: &[Record]| only(&a, live).state;
    assert_eq!(state(std::slice::from_ref(&a)), State::Present);
    assert_eq!(state(&[]), State::Missing);
    assert_eq!(state(&[record("A", "www", "192.0.2.9")]), State::Different);
    assert_eq!(state(&[record("CNAME", "www", "x.example")]), State::Conflicting);
    assert_eq!(state(&[a.clone(), record("AAAA", "www", "2001:db8::1")]), State::Conflicting);
    assert_eq!(state(&[record("NS", "www", "ns.example")]), State::Shadowed);
    assert_eq!(state(&[record("NS", "@", "ns.example"), a.clone()]), State::Present);
    let txt = record("TXT", "@", "token=1");
    assert_eq!(only(&txt, &[record("TXT", "@", "other")]).state, State::Missing);
    let cname = record("CNAME", "www", "gw.example.net");
    assert_eq!(only(&cname, &[record("CNAME", "www", "GW.example.net.")]).state, State::Present);
}

#[test]
fn spf_is_present_when_its_rules_are_and_two_records_are_a_fault() {
    let wanted = record("TXT", "@", "v=spf1 include:x.example ~all");
    let found = only(&wanted, &[record("TXT", "@", "v=spf1 mx include:x.example -all")]);
    assert_eq!((found.state, found.faults.len()), (State::Present, 0));
    let found = only(&wanted, &[record("TXT", "@", "v=spf1 mx -all"), record("TXT", "@", "v=spf1 a ~all")]);
    assert_eq!(found.faults[0].kind, FaultKind::TwoSpfRecords);
    assert_eq!(found.faults[0].corrected.data, "v=spf1 mx a include:x.example -all");
}

#[test]
fn a_second_address_of_the_service_is_not_in_the_way() {
    let both = [record("A", "@", "192.0.2.1"), record("AAAA", "@", "2001:db8::1")];
    let states: Vec<State> = compare(&both, &both, "example.com").iter().map(|f| f.state).collect();
    assert_eq!(states, [State::Present, State::Present]);
}
