//! Rules of the specification in one case each: what is created, what is deleted, or which error.
//! Records are written `type name data`, as in `A www 192.0.2.1`.

#![expect(clippy::needless_pass_by_value, reason = "cases are written as literals")]

use serde_json::{Value, json};

fn input(zone: &[&str], template: Value) -> Value {
    let zone: Vec<Value> = zone.iter().map(|line| record(line)).collect();
    json!({"domain": "Foo.com.", "host": "", "params": {"var": "x"}, "zone_records": zone, "template_records": template})
}

fn record(line: &str) -> Value {
    let mut words = line.splitn(3, ' ');
    let mut next = || words.next().unwrap_or_default();
    json!({"type": next(), "name": next(), "data": next(), "ttl": 300})
}

fn with(mut input: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    input
}

fn owned(mut record: Value, id: &str, service: &str, essential: &str) -> Value {
    record["_dc"] = json!({"id": id, "providerId": "p.example", "serviceId": service, "host": "@", "essential": essential});
    record
}

/// `(created, deleted)` or the kind of error.
fn run(input: &Value) -> Result<(Vec<String>, Vec<String>), String> {
    let none = |_: &str, _: &str| Ok(None);
    let output = connect::case::output(&connect::case::plan(input, &none, &|| "new".into()));
    if let Some(kind) = output["error"]["kind"].as_str() {
        return Err(kind.into());
    }
    let lines = |list: &str| {
        let shown =
            |r: &Value| ["type", "name", "data"].map(|f| r[f].as_str().unwrap().to_string()).join(" ");
        output[list].as_array().unwrap().iter().map(shown).collect()
    };
    Ok((lines("new"), lines("delete")))
}

fn check(zone: &[&str], template: Value, created: &[&str], deleted: &[&str]) {
    let (new, gone) = run(&input(zone, template.clone())).unwrap_or_else(|e| panic!("{template}: {e}"));
    assert_eq!(
        (new, gone),
        (
            created.iter().map(ToString::to_string).collect(),
            deleted.iter().map(ToString::to_string).collect()
        ),
        "{template}"
    );
}

fn refused(template: Value, kind: &str) {
    assert_eq!(run(&input(&[], template.clone())), Err(kind.into()), "{template}");
}

#[test]
fn records_of_one_template_must_fit_together() {
    let cname = |host: &str| json!({"type": "CNAME", "host": host, "pointsTo": "t.example", "ttl": 60});
    let a = |host: &str| json!({"type": "A", "host": host, "pointsTo": "192.0.2.1", "ttl": 60});
    let ns = |host: &str, to: &str| json!({"type": "NS", "host": host, "pointsTo": to, "ttl": 60});
    let ds = json!({"type": "DS", "host": "sub", "data": "1 13 2 AB", "ttl": 60});
    let spfm = json!({"type": "SPFM", "host": "w", "spfRules": "mx"});
    let apex = json!({"type": "APEXCNAME", "pointsTo": "t.example", "ttl": 60});
    for template in [
        json!([cname("w"), cname("w")]),
        json!([a("w"), cname("W")]),
        json!([spfm, cname("w")]),
        json!([ns("sub", "n1"), ns("a.sub", "n2")]),
        json!([ns("sub", "n1"), a("sub")]),
        json!([apex, a("@")]),
        json!([apex, apex]),
    ] {
        refused(template, "InvalidData");
    }
    check(
        &[],
        json!([ns("sub", "n1"), ns("sub", "n2"), ds]),
        &["NS sub n1", "NS sub n2", "DS sub 1 13 2 AB"],
        &[],
    );
    check(&[], json!([a("w"), a("w")]), &["A w 192.0.2.1"], &[]);
}

#[test]
fn the_zone_itself_is_never_removed() {
    let cname = json!([{"type": "CNAME", "host": "w", "pointsTo": "t", "ttl": 60}]);
    check(
        &["NS @ n1", "SOA @ x", "RRSIG w x", "NS w n", "TXT w t"],
        cname,
        &["CNAME w t"],
        &["NS w n", "TXT w t"],
    );
    let ds = json!([{"type": "DS", "host": "sub", "data": "1 13 2 AB", "ttl": 60}]);
    check(&["NS sub n1", "NS @ n1"], ds, &["DS sub 1 13 2 AB"], &[]);
    let deep = json!([{"type": "CAA", "host": "a.b.sub", "data": "0 issue \";\"", "ttl": 60}]);
    check(&["NS sub n1", "NS xsub n1"], deep, &["CAA a.b.sub 0 issue \";\""], &["NS sub n1"]);
}

#[test]
fn text_is_replaced_as_its_mode_says() {
    let txt = |mode: &str| json!([{"type": "TXT", "host": "@", "data": "k=2", "ttl": 60, "txtConflictMatchingMode": mode, "txtConflictMatchingPrefix": "k="}]);
    let zone = ["TXT @ \"k=1\"", "TXT @ other", "TXT @ v=spf1 -all", "A @ 192.0.2.1"];
    check(&zone, txt("none"), &["TXT @ k=2"], &[]);
    check(&zone, txt("PREFIX"), &["TXT @ k=2"], &["TXT @ \"k=1\""]);
    check(&zone, txt("All"), &["TXT @ k=2"], &["TXT @ \"k=1\"", "TXT @ other", "TXT @ v=spf1 -all"]);
    check(&["TXT @ \"k=\" \"2\""], txt("None"), &[], &[]);
    refused(txt("Exact"), "InvalidTemplate");
    refused(
        json!([{"type": "TXT", "host": "@", "data": "x", "ttl": 1, "txtConflictMatchingMode": "Prefix"}]),
        "InvalidTemplate",
    );
}

#[test]
fn spf_rules_survive_what_removes_their_record() {
    let both = json!([{"type": "TXT", "host": "@", "data": "new", "ttl": 60, "txtConflictMatchingMode": "All"},
        {"type": "SPFM", "host": "@", "spfRules": "mx"}]);
    check(&["TXT @ v=spf1 mx -all"], both, &["TXT @ new", "TXT @ v=spf1 mx -all"], &["TXT @ v=spf1 mx -all"]);
    let twice = json!([{"type": "SPFM", "host": "@", "spfRules": "a"}, {"type": "SPFM", "host": "", "spfRules": "mx"}]);
    check(
        &["TXT @ \"v=spf1 ip4:192.0.2.1 ?all\""],
        twice,
        &["TXT @ \"v=spf1 mx a ip4:192.0.2.1 ?all\""],
        &["TXT @ \"v=spf1 ip4:192.0.2.1 ?all\""],
    );
    let one = json!([{"type": "SPFM", "host": "w", "spfRules": "v=spf1 a -all"}]);
    check(&["CNAME w t"], one, &["TXT w v=spf1 a ~all"], &["CNAME w t"]);
    for rules in ["", "  ", "~all", "a\"b", "ü"] {
        refused(json!([{"type": "SPFM", "host": "@", "spfRules": rules}]), "InvalidData");
    }
}

#[test]
fn services_of_one_name_are_told_apart_by_their_labels() {
    let srv = json!([{"type": "SRV", "name": "@", "target": "@", "protocol": "_TLS", "service": "_sip", "priority": 1, "weight": 1, "port": 1, "ttl": 60}]);
    let mut input = input(&["SRV @ a", "SRV @ b"], srv);
    for (index, service) in ["_sip", "_xmpp"].iter().enumerate() {
        input["zone_records"][index]["service"] = json!(service);
        input["zone_records"][index]["protocol"] = json!("tls");
    }
    assert_eq!(run(&input).unwrap(), (vec!["SRV @ foo.com".to_string()], vec!["SRV @ a".to_string()]));
}

#[test]
fn redirects_and_addresses_replace_each_other() {
    let redirect = json!([{"type": "REDIR302", "host": "w", "target": "https://t.example/%var%?a=b"}]);
    let zone = ["REDIR301 w http://old", "A w 192.0.2.1", "MX w m", "APEXCNAME @ t"];
    let created = ["REDIR302 w https://t.example/x?a=b", "A w 127.0.0.1", "AAAA w ::1"];
    check(&zone, redirect, &created, &["REDIR301 w http://old", "A w 192.0.2.1"]);
    check(
        &zone,
        json!([{"type": "A", "host": "@", "pointsTo": "192.0.2.9", "ttl": 60}]),
        &["A @ 192.0.2.9"],
        &["APEXCNAME @ t"],
    );
    for target in [
        "t.example",
        "ftp://t.example",
        "http://",
        "http:///x",
        "http://a b",
        "https://u@t.example",
        "javascript:x",
    ] {
        refused(json!([{"type": "REDIR301", "host": "w", "target": target}]), "InvalidData");
    }
}

#[test]
fn wrong_data_has_its_kind_of_error() {
    for (template, kind) in [
        (json!([{"type": "NS", "host": "@", "pointsTo": "n", "ttl": 1}]), "InvalidData"),
        (json!([{"type": "NS", "host": "s", "pointsTo": "@", "ttl": 1}]), "InvalidData"),
        (json!([{"type": "CNAME", "host": "%domain%.", "pointsTo": "t", "ttl": 1}]), "InvalidData"),
        (json!([{"type": "CNAME", "host": "w", "pointsTo": "a..b", "ttl": 1}]), "InvalidData"),
        (json!([{"type": "MX", "host": "@", "pointsTo": "m", "ttl": 1, "priority": 65536}]), "InvalidData"),
        (json!([{"type": "MX", "host": "@", "pointsTo": "m", "ttl": -1, "priority": 1}]), "InvalidData"),
        (json!([{"type": "MX", "host": "@", "pointsTo": "m", "ttl": 1}]), "InvalidTemplate"),
        (json!([{"type": "A", "host": "@", "pointsTo": 1, "ttl": 1}]), "InvalidTemplate"),
        (json!([{"type": "A", "pointsTo": "192.0.2.1", "ttl": 1}]), "InvalidTemplate"),
        (json!([{"type": "A", "host": "%nope%", "pointsTo": "192.0.2.1", "ttl": 1}]), "MissingParameter"),
        (json!([{"type": "TYPE65536", "host": "@", "data": "x", "ttl": 1}]), "TypeError"),
        (json!([{"type": "SOA", "host": "@", "data": "x", "ttl": 1}]), "TypeError"),
        (json!([{"host": "@"}]), "TypeError"),
        (json!(["A"]), "InvalidTemplate"),
        (json!({}), "InvalidTemplate"),
        (
            json!([{"type": "A", "host": "@", "pointsTo": "192.0.2.1", "ttl": 1, "vnd.x": 1, "crit": ["vnd.x"]}]),
            "InvalidTemplate",
        ),
        (
            json!([{"type": "SRV", "name": "*", "target": "t", "protocol": "tcp", "service": "_x", "priority": 1, "weight": 1, "port": 1, "ttl": 1}]),
            "InvalidData",
        ),
    ] {
        refused(template, kind);
    }
    for (more, kind) in [
        (json!({"domain": null}), "TypeError"),
        (json!({"domain": ""}), "InvalidData"),
        (json!({"domain": "a b"}), "InvalidData"),
        (json!({"host": "a b"}), "InvalidData"),
        (json!({"params": []}), "TypeError"),
        (json!({"zone_records": {}}), "TypeError"),
        (json!({"template_records": null, "provider_id": "p", "service_id": "s"}), "InvalidTemplate"),
        (json!({"template_records": null}), "InvalidTemplate"),
        (json!({"host_required": true, "host": "@"}), "HostRequired"),
    ] {
        assert_eq!(run(&with(input(&[], json!([])), more.clone())), Err(kind.into()), "{more}");
    }
}

#[test]
fn only_records_of_the_groups_count() {
    let template = json!([{"type": "A", "host": "@", "pointsTo": "192.0.2.1", "ttl": 1, "groupId": "a"},
        {"type": "A", "host": "%missing%", "pointsTo": "not one", "ttl": "x", "groupId": "b"},
        {"type": "TXT", "host": "@", "data": "always", "ttl": 1}]);
    for groups in [json!(["a"]), json!("a"), json!("a, c")] {
        let (created, _) = run(&with(input(&[], template.clone()), json!({"group_ids": groups}))).unwrap();
        assert_eq!(created, ["A @ 192.0.2.1", "TXT @ always"]);
    }
    assert_eq!(run(&with(input(&[], template), json!({"group_ids": ["A"]}))).unwrap().0, ["TXT @ always"]);
}

#[test]
fn a_conflict_takes_the_rest_of_an_essential_template() {
    let template = json!([{"type": "A", "host": "@", "pointsTo": "192.0.2.1", "ttl": 60}]);
    let zone = |essential: &str| {
        json!([
            owned(record("A @ 192.0.2.9"), "1", "other", essential),
            owned(record("TXT x other"), "1", "other", "Always"),
            owned(record("TXT @ v=spf1 mx -all"), "1", "other", "Always"),
            owned(record("TXT x third"), "2", "third", "Always")
        ])
    };
    let aware =
        json!({"multi_aware": true, "provider_id": "P.example", "service_id": "own", "unique_id": "9"});
    let gone = |essential: &str, more: &Value| {
        run(&with(with(input(&[], template.clone()), json!({"zone_records": zone(essential)})), more.clone()))
            .unwrap()
            .1
    };
    assert_eq!(gone("Always", &aware), ["A @ 192.0.2.9", "TXT x other"]);
    assert_eq!(gone("OnApply", &aware), ["A @ 192.0.2.9"]);
    assert_eq!(gone("Always", &json!({})), ["A @ 192.0.2.9"]);
}

#[test]
fn applying_again_replaces_the_instance_unless_it_may_be_many() {
    let template = json!([{"type": "TXT", "host": "@", "data": "new", "ttl": 60, "groupId": "g"}]);
    let zone = json!([
        owned(record("TXT @ old"), "1", "own", "Always"),
        owned(record("MX m old"), "1", "own", "Always"),
        owned(record("TXT @ else"), "2", "else", "Always")
    ]);
    let aware = json!({"multi_aware": true, "provider_id": "p.example", "service_id": "OWN", "unique_id": "9", "zone_records": zone});
    let gone = |more: Value| run(&with(with(input(&[], template.clone()), aware.clone()), more)).unwrap().1;
    assert_eq!(gone(json!({})), ["TXT @ old", "MX m old"]);
    assert_eq!(gone(json!({"group_ids": ["g"]})), ["TXT @ old"]);
    assert_eq!(gone(json!({"multi_instance": true})), [""; 0]);
    assert_eq!(gone(json!({"host": "sub"})), [""; 0]);
}
