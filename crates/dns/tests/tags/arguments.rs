//! The arguments of findings, by the tables in the specifications' "Summary" sections. In: a finding. Out: what its
//! arguments or its sentences lack.

use model::finding::Finding;

/// Tags with the arguments their specification lists.
const LISTED: &[(&[&str], &[&str])] = &[
    (
        &[
            "A01_ADDR_NOT_GLOBALLY_REACHABLE",
            "A01_DOCUMENTATION_ADDR",
            "A01_GLOBALLY_REACHABLE_ADDR",
            "A01_LOCAL_USE_ADDR",
            "B01_PARENT_UNDETERMINED",
            "CN01_IPV4_DISABLED",
            "CN01_IPV6_DISABLED",
            "CN04_IPV4_DIFFERENT_PREFIX",
            "CN04_IPV6_DIFFERENT_PREFIX",
            "N15_NO_VERSION_REVEALED",
            "N15_WRONG_CLASS",
            "Z01_MNAME_IS_MASTER",
            "Z11_DIFFERENT_SPF_POLICIES_FOUND",
            "Z11_SPF_MULTIPLE_RECORDS",
        ],
        &["ns_list"],
    ),
    (&["B01_CHILD_FOUND", "B01_INCONSISTENT_ALIAS", "B02_NO_DELEGATION", "B02_NO_WORKING_NS"], &["domain"]),
    (&["B01_CHILD_IS_ALIAS"], &["domain_child", "domain_target", "ns_list"]),
    (&["B01_INCONSISTENT_DELEGATION"], &["domain_child", "domain_parent", "ns_list"]),
    (&["B01_NO_CHILD"], &["domain_child", "domain_super"]),
    (&["B01_PARENT_FOUND", "B02_AUTH_RESPONSE_SOA", "Z11_SPF_SYNTAX_ERROR"], &["domain", "ns_list"]),
    (&["B01_SERVER_ZONE_ERROR"], &["query_name", "rrtype", "ns"]),
    (
        &[
            "B02_NS_BROKEN",
            "B02_NS_NOT_AUTH",
            "B02_NS_NO_RESPONSE",
            "CN01_MISSING_NS_RECORD_UDP",
            "CN01_MISSING_SOA_RECORD_UDP",
            "CN01_NO_RESPONSE_NS_QUERY_UDP",
            "CN01_NO_RESPONSE_SOA_QUERY_UDP",
            "CN01_NO_RESPONSE_UDP",
            "CN01_NS_RECORD_NOT_AA_UDP",
            "CN01_SOA_RECORD_NOT_AA_UDP",
            "CN02_MISSING_NS_RECORD_TCP",
            "CN02_MISSING_SOA_RECORD_TCP",
            "CN02_NO_RESPONSE_NS_QUERY_TCP",
            "CN02_NO_RESPONSE_SOA_QUERY_TCP",
            "CN02_NO_RESPONSE_TCP",
            "CN02_NS_RECORD_NOT_AA_TCP",
            "CN02_SOA_RECORD_NOT_AA_TCP",
            "Z01_MNAME_MISSING_SOA_RECORD",
            "Z01_MNAME_NO_RESPONSE",
            "Z01_MNAME_NOT_AUTHORITATIVE",
        ],
        &["ns"],
    ),
    (&["B02_NS_NO_IP_ADDR", "Z01_MNAME_NOT_IN_NS_LIST", "Z01_MNAME_NOT_RESOLVE"], &["nsname"]),
    (
        &[
            "B02_UNEXPECTED_RCODE",
            "CN01_UNEXPECTED_RCODE_NS_QUERY_UDP",
            "CN01_UNEXPECTED_RCODE_SOA_QUERY_UDP",
            "CN02_UNEXPECTED_RCODE_NS_QUERY_TCP",
            "CN02_UNEXPECTED_RCODE_SOA_QUERY_TCP",
            "Z01_MNAME_UNEXPECTED_RCODE",
        ],
        &["ns", "rcode"],
    ),
    (
        &[
            "CN01_WRONG_NS_RECORD_UDP",
            "CN01_WRONG_SOA_RECORD_UDP",
            "CN02_WRONG_NS_RECORD_TCP",
            "CN02_WRONG_SOA_RECORD_TCP",
        ],
        &["ns", "domain_found", "domain_expected"],
    ),
    (&["CN04_EMPTY_PREFIX_SET", "CN04_ERROR_PREFIX_DATABASE"], &["ns_ip"]),
    (&["CN04_IPV4_SAME_PREFIX", "CN04_IPV6_SAME_PREFIX"], &["ns_list", "ip_prefix"]),
    (
        &[
            "N10_EDNS_RESPONSE_ERROR",
            "N10_NO_RESPONSE_EDNS1_QUERY",
            "N11_NO_EDNS",
            "N11_NO_RESPONSE",
            "N11_RETURNS_UNKNOWN_OPTION_CODE",
            "N11_UNEXPECTED_ANSWER_SECTION",
            "N11_UNSET_AA",
            "Z01_MNAME_IS_DOT",
            "Z01_MNAME_IS_LOCALHOST",
            "Z09_MX_FOUND",
            "Z09_NON_AUTH_MX_RESPONSE",
            "Z09_NO_MX_FOUND",
            "Z09_NO_RESPONSE_MX_QUERY",
        ],
        &["ns_ip_list"],
    ),
    (&["N10_UNEXPECTED_RCODE", "N11_UNEXPECTED_RCODE", "Z09_UNEXPECTED_RCODE_MX"], &["ns_ip_list", "rcode"]),
    (&["N15_ERROR_ON_VERSION_QUERY"], &["ns_list", "query_name"]),
    (&["N15_SOFTWARE_VERSION"], &["ns_list", "query_name", "string"]),
    (&["Z01_MNAME_HAS_LOCALHOST_ADDR"], &["nsname", "ns_ip"]),
    (&["Z01_MNAME_NOT_MASTER"], &["ns_list", "soaserial", "soaserial_list"]),
    (&["Z09_MX_DATA"], &["ns_ip_list", "mailtarget_list"]),
    (
        &[
            "Z11_NO_SPF_FOUND",
            "Z11_NO_SPF_NON_MAIL_DOMAIN",
            "Z11_NON_NULL_SPF_NON_MAIL_DOMAIN",
            "Z11_NULL_SPF_NON_MAIL_DOMAIN",
            "Z11_SPF_SYNTAX_OK",
        ],
        &["domain"],
    ),
];

/// What is wrong with a finding's arguments and sentences.
pub fn complaints(finding: &Finding) -> Vec<String> {
    let mut out = Vec::new();
    for sentence in [&finding.message, &finding.fix] {
        if sentence.contains(['{', '}']) {
            out.push(format!("{}: “{sentence}” lacks an argument", finding.tag));
        }
    }
    // An argument with nothing in it leaves a hole in the sentence; the root's name looks like one.
    if finding.zone != "." && [" .", " ,", ": .", "()"].iter().any(|hole| finding.message.contains(hole)) {
        out.push(format!("{}: “{}” has a hole", finding.tag, finding.message));
    }
    let listed = LISTED.iter().filter(|(tags, _)| tags.contains(&finding.tag.as_str()));
    for name in listed.flat_map(|(_, names)| names.iter()) {
        let there = finding.args.get(*name).is_some_and(|v| v.is_number() || v.as_str() != Some(""));
        if !there {
            out.push(format!("{} has no {name}: {:?}", finding.tag, finding.args));
        }
    }
    // Lists of servers are `name/address`, sorted, each once, `;` between them.
    for key in ["ns_list", "ns_ip_list", "nsname_list"] {
        let Some(list) = finding.args.get(key).and_then(|v| v.as_str()) else { continue };
        let items: Vec<&str> = list.split(';').collect();
        let mut sorted = items.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted != items {
            out.push(format!("{}: {key} is not sorted: {list}", finding.tag));
        }
    }
    out
}
