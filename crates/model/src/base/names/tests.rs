//! What people type, paste and mistype.

use super::*;
use proptest::prelude::*;

#[test]
fn both_forms_are_shown_where_there_are_two() {
    assert_eq!(both_forms("xn--mnchen-3ya.example"), "münchen.example (xn--mnchen-3ya.example)");
    for same in ["q7.io", "xn--a.example", "xn--xn--bxn-xvp.example", "."] {
        assert_eq!(both_forms(same), same);
    }
}

fn name(s: &str) -> String {
    DomainName::read(s).map_or_else(|e| format!("error: {e}"), |u| u.name.to_string())
}

#[test]
fn what_people_paste_is_understood() {
    for (typed, read) in [
        ("q7.io", "q7.io"),
        ("  Q7.IO.  ", "q7.io"),
        ("http://WWW.Example.COM/path?x=1#y", "example.com"),
        ("https://user:pw@shop.example.co.uk:8443/", "example.co.uk"),
        ("mail@example.com", "example.com"),
        ("bücherei.example", "xn--bcherei-n2a.example"),
        ("BÜCHEREI.example.", "xn--bcherei-n2a.example"),
        ("xn--bcherei-n2a.example", "xn--bcherei-n2a.example"),
        ("me.github.io", "me.github.io"),
        ("_dmarc.example.com", "example.com"),
        ("i❤.ws", "xn--i-7iq.ws"),
    ] {
        assert_eq!(name(typed), read, "{typed}");
    }
}

#[test]
fn refusals_name_the_input_and_the_rule() {
    let e = |s: &str| DomainName::read(s).unwrap_err();
    assert_eq!(e("   "), NameError::Empty);
    assert_eq!(e("exa mple.com"), NameError::Space { input: "exa mple.com".into() });
    assert_eq!(e("co.uk"), NameError::PublicSuffix { input: "co.uk".into() });
    assert_eq!(e("com"), NameError::PublicSuffix { input: "com".into() });
    assert_eq!(e("alder"), NameError::SingleLabel { input: "alder".into() });
    assert!(matches!(e(&format!("{}.com", "a".repeat(300))), NameError::TooLong { length: 304, .. }));
    assert!(matches!(e(&format!("{}.com", "a".repeat(64))), NameError::LabelTooLong { .. }));
    assert!(matches!(e("xn--0000000000.com"), NameError::Idna { .. }));
    assert!(matches!(e("xn--.com"), NameError::Idna { .. }));
    // Code for the U-label `xn--bৗxn`, and a U-label of that shape as typed.
    assert!(matches!(e("xn--xn--bxn-xvp.com"), NameError::Idna { .. }));
    assert!(matches!(e("ab--ü.com"), NameError::Idna { .. }));
    assert!(matches!(e("a..com"), NameError::EmptyLabel { .. }));
    assert!(matches!(e("-a.com"), NameError::Hyphen { .. }));
    assert!(matches!(e("a$b.com"), NameError::Character { character: '$', .. }));
    for address in ["192.0.2.1", "192.0.2.1.", "１９２.0.2.1", "http://192.0.2.1.:80/"] {
        assert!(matches!(e(address), NameError::Address { .. }), "{address}");
    }
    assert_eq!(name("例え。example。"), "xn--r8jz45g.example");
    assert!(matches!(e("[2001:db8::1]"), NameError::Address { .. }));
    for error in [e("exa mple.com"), e("co.uk"), e("alder")] {
        assert!(error.to_string().contains('“'), "{error}");
    }
}

#[test]
fn below_means_whole_labels() {
    let f = Fqdn::trusted("www.example.com.");
    assert!(f.is_at_or_below("example.com") && f.is_at_or_below("") && f.is_at_or_below("com."));
    assert!(!f.is_at_or_below("ample.com"));
}

proptest! {
    #[test]
    fn reading_never_panics_and_is_idempotent(s in "\\PC{0,80}") {
        if let Ok(u) = DomainName::read(&s) {
            let again = DomainName::read(u.name.as_str());
            prop_assert_eq!(again.map(|a| a.name), Ok(u.name));
        }
    }
}
