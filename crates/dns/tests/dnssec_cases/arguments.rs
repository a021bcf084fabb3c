//! The arguments of findings, by the tables in the specifications' "Summary" sections.

/// Servers by address alone, which the cases about the parent's servers give.
const PARENT: &[&str] = &["ns_ip_list"];
const SERVERS: &[&str] = &["ns_list"];
const KEY: &[&str] = &["ns_list", "keytag"];
const ALGORITHM: &[&str] = &["ns_list", "keytag", "algo_num", "algo_mnemo"];

/// What a finding with this tag has to say more than its sentence.
pub fn of(case: &str, tag: &str) -> &'static [&'static str] {
    let has = |word: &str| tag.contains(word);
    let ends = |word: &str| tag.ends_with(word);
    match case {
        "DNSSEC01" if has("_NO_UNDEL_DS") => &[],
        "DNSSEC01" if ends("_2_MISSING") => &["ns_ip_list", "keytag"],
        "DNSSEC01" if has("DS_ALGO_PRIVATE") || has("DS_ALGO_RESERVED") || has("DS_ALGO_UNASSIGNED") => {
            &["ns_ip_list", "keytag", "ds_algo_num"]
        }
        "DNSSEC01" if has("DS_ALGO_") => &["ns_ip_list", "keytag", "ds_algo_num", "ds_algo_descr"],
        "DNSSEC01" => PARENT,
        "DNSSEC02" if ends("_ANY_DS") => SERVERS,
        "DNSSEC03" | "DNSSEC11" | "DNSSEC15" if has("_INCONSISTENT_") => &[],
        "DNSSEC03" if ends("_ILLEGAL_HASH_ALGO") => &["ns_list", "algo_num"],
        "DNSSEC03" if has("_ILLEGAL_") || ends("_UNASSIGNED_FLAG_USED") => &["ns_list", "int"],
        "DNSSEC04" => &["keytag", "types"],
        "DNSSEC05" if has("ALGO_PRIVATE") || has("ALGO_RESERVED") || has("ALGO_UNASSIGNED") => {
            &["ns_list", "keytag", "algo_num"]
        }
        "DNSSEC05" if has("_ALGO_") => &["ns_list", "keytag", "algo_num", "algo_descr", "algo_mnemo"],
        "DNSSEC06" => &["server", "keys", "sigs"],
        "DNSSEC07" if ends("_ON_SERVER") || ends("_ON_PARENT_SERVER") => SERVERS,
        "DNSSEC07" if has("_UNEXP_RCODE_") => &["ns_list", "rcode"],
        "DNSSEC07" if has("_RESPONSE_DNSKEY") => SERVERS,
        "DNSSEC10" if ends("_INCONSISTENT_NSEC_NSEC3") => &["ns_list_nsec", "ns_list_nsec3"],
        "DNSSEC10" if ends("_WRONG_SOA") => &["ns_list", "domain"],
        "DNSSEC10" if has("_RRSIG_") => KEY,
        "DNSSEC11" if has("_WITH") && !ends("_SIGNED_ZONE") || has("_NS_WITH_") => PARENT,
        "DNSSEC07" | "DNSSEC11" => &[],
        "DNSSEC13" => &["ns_list", "algo_num", "algo_mnemo"],
        "DNSSEC14" if ends("KEY_SIZE_OK") => &[],
        "DNSSEC14" if has("DNSKEY_SMALLER") => {
            &["ns_list", "keytag", "algo_num", "algo_descr", "keysize", "keysizerec"]
        }
        "DNSSEC14" if has("DNSKEY_TOO_SMALL") => {
            &["ns_list", "keytag", "algo_num", "algo_descr", "keysize", "keysizemin"]
        }
        "DNSSEC14" if has("DNSKEY_TOO_LARGE") => {
            &["ns_list", "keytag", "algo_num", "algo_descr", "keysize", "keysizemax"]
        }
        "DNSSEC15" if ends("_NO_CDS_CDNSKEY") => &[],
        "DNSSEC02" | "DNSSEC08" | "DNSSEC09" | "DNSSEC10" if ends("_ALGO_NOT_SUPPORTED_BY_ZM") => ALGORITHM,
        "DNSSEC02" => KEY,
        "DNSSEC08" | "DNSSEC09" if !ends("_MISSING_RRSIG_IN_RESPONSE") => KEY,
        "DNSSEC16" | "DNSSEC17"
            if ["WITHOUT_DNSKEY", "_UNSIGNED", "_DELETE_CDS", "_DELETE_CDNSKEY"].iter().all(|w| !ends(w)) =>
        {
            KEY
        }
        _ => SERVERS,
    }
}
