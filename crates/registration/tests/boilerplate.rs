//! Terms of use, wrapped anyhow and put anywhere, never change what an answer comes to. The sentences are invented after
//! those that registries print; they speak of limits, availability, reserved rights, blocked access and missing records.

use model::registration::Outcome;
use proptest::prelude::*;

const TERMS: &[&str] = &[
    "The data in this WHOIS database is provided for information purposes only and is not guaranteed to be accurate.",
    "By submitting a query you agree that you will use this data only for lawful purposes and that under no \
     circumstances will you use this data to enable high volume, automated, electronic processes.",
    "Access to the WHOIS service is rate limited and excessive querying leads to your access being blocked or denied.",
    "We reserve the right to restrict or terminate your access if a limit is exceeded or too many queries are sent.",
    "The registrar of record is the party to contact when a domain is not found or no longer available.",
    "You are not authorized to access or query our database through the use of electronic processes.",
    "This service is intended only for query-based access, and any reuse not registered with us is forbidden.",
    "If a name is shown as free or available this does not mean that it can be registered by everyone.",
    "Certain names are reserved by the registry and can not be registered at all.",
    "For a list of reserved and blocked names, please see the website of the registry.",
    "The information is made available by the registry in the public interest, without any warranty.",
    "When the quota has been exceeded please try again later, or come back in 24 hours.",
    "The compilation, repackaging, dissemination or other use of this data is expressly prohibited.",
    "No record of the identity of the person who asked is kept, and no match of several sources is made.",
    "All rights reserved.",
    "The maximum number of queries from one address is 100 per day; further requests are refused until midnight.",
    "NOTICE: Access to the information service is provided to assist persons in determining whether a domain name is \
     available for registration. The data in this record is provided without guarantee.",
    "TERMS OF USE: You may not use this information to allow, enable or otherwise support unsolicited advertising. \
     Requests that exceed the limits are throttled, and your IP address may be blocked for a period of time.",
    "Domain names that are not found in this database may nevertheless be restricted or withheld from registration.",
    "Please note: if the query returned no match, the name may still be reserved.",
    "Contact data that is not available or has been redacted can be requested from the registrar.",
    "Users whose queries are too frequent have been blocked because of abuse.",
    "For more information please visit the website. Please wait before you query again if your access was limited.",
    "Please note that too many automated queries from one address lead to a temporary block of that address.",
    "Only 1 query per second is permitted; those who ask more often are blacklisted for some hours.",
    "Access from hosts that abuse the service is denied, and a quota that is used up is renewed at midnight.",
    "Names that cannot be registered, because they are reserved, blocked or forbidden by law, are not shown here.",
    "Queries from addresses that send excessive numbers of them are refused; the query limit has not been published.",
    "No guarantee is given that a name that is shown as free, available or not registered can be registered.",
    "You have agreed that you will not use this data to exceed limits, nor to send too many requests to others.",
    "The service is not available for mass requests; connections are denied to those who try.",
];

const BANNERS: &[&str] = &[
    "Welcome to the whois server of the registry",
    "This is the whois server, version 3.1",
    "Rights restricted by copyright",
    "Please use this service with care and do not exceed the query limits.",
    "Queries are limited to 30 per minute and address.",
];

fn wrap(text: &str, width: usize, lead: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        if column > 0 && column + 1 + word.len() > width {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out.push_str(lead);
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    out.push('\n');
    out
}

fn terms() -> impl Strategy<Value = String> {
    let lead = prop::sample::select(vec!["", "% ", "%% ", "# ", "; ", "    "]);
    let sentences = prop::collection::vec(prop::sample::select(TERMS), 1..8);
    (sentences, 44usize..110, lead, any::<bool>()).prop_map(|(all, width, lead, together)| {
        if together {
            wrap(&all.join(" "), width, lead)
        } else {
            all.iter().map(|s| wrap(s, width, lead) + "\n").collect()
        }
    })
}

fn record() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "Domain Name: example.org\nRegistrar: Sample Registrar\nCreation Date: 2001-02-03\nName Server: ns1.example.net\n",
        "domain:       example.org\nnserver:      ns1.example.net\ncreated:      2001-02-03\nstatus:       ok\n",
        "[Domain Name]    EXAMPLE.ORG\n[Name Server]    ns1.example.net\n[Created on]     2001/02/03\n",
        "Domain example.org\n\nRecord created on 2001-02-03.\nRecord expires on 2031-02-03.\n",
        "domain.......: example.org\ncreated......: 2001-02-03\nnserver......: ns1.example.net\n",
        "Domain: example.org\nStatus: free for all purposes\nExpires: 2031-02-03\nName servers:\n    ns1.example.net\n",
    ])
}

fn outcome(text: &str) -> Outcome {
    registration::parse_whois("example.org", None, None, text.as_bytes()).outcome
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn terms_alone_say_nothing(terms in terms(), banner in prop::sample::select(BANNERS)) {
        let text = format!("% {banner}\n\n{terms}");
        prop_assert_eq!(outcome(&text), Outcome::Unknown, "{}", text);
    }

    #[test]
    fn a_record_among_terms_is_a_record(before in terms(), record in record(), after in terms(), note in prop::sample::select(vec!["", "% No match for other criteria\n", "# NOT FOUND\n"])) {
        let text = format!("{before}\n{record}\n{note}\n{after}");
        prop_assert_eq!(outcome(&text), Outcome::Registered, "{}", text);
    }

    #[test]
    fn a_free_name_among_terms_is_free(before in terms(), after in terms(), said in prop::sample::select(vec!["No match for \"EXAMPLE.ORG\".", "NOT FOUND", "% No entries found.", "Domain example.org is available", "Domain Status: No Object Found"])) {
        let text = format!("{before}\n{said}\n\n{after}");
        prop_assert_eq!(outcome(&text), Outcome::Available, "{}", text);
    }

    #[test]
    fn a_throttled_question_among_terms_is_throttled(before in terms(), after in terms(), said in prop::sample::select(vec!["Query rate limit exceeded.", "Too many requests", "% Quota exceeded", "You have exceeded your query limit."])) {
        let text = format!("{before}\n{said}\n\n{after}");
        prop_assert_eq!(outcome(&text), Outcome::Throttled, "{}", text);
    }
}
