//! Name servers and DS records of a delegation that does not exist yet, as people type them on the command line and on
//! the page: `name[/address]` and `keytag,algorithm,type,digest`. Errors name the input and the rule.

use dns::checks::CheckOptions;
use model::names::Fqdn;
use model::registration::Ds;
use std::net::IpAddr;

/// Most name servers of an undelegated check (a root-sized set is 13 names of two families).
pub const MAX_SERVERS: usize = 64;
/// Most DS records of an undelegated check.
pub const MAX_DS: usize = 32;

/// Puts name servers and DS records into the options, as if the parent published them.
///
/// # Errors
/// The sentence says which input breaks which rule.
pub fn read(options: &mut CheckOptions, ns: &[String], ds: &[String]) -> Result<(), String> {
    if ns.len() > MAX_SERVERS || ds.len() > MAX_DS {
        return Err(format!(
            "At most {MAX_SERVERS} name servers and {MAX_DS} DS records are checked at once."
        ));
    }
    for text in ns {
        options.undelegated_ns.push(name_server(text)?);
    }
    for text in ds {
        options.undelegated_ds.push(ds_record(text)?);
    }
    Ok(())
}

/// `ns1.example.com`, `ns1.example.com/192.0.2.1`, `ns1.example.com/2001:db8::1`.
fn name_server(text: &str) -> Result<(String, Option<IpAddr>), String> {
    let (name, address) = text.split_once('/').map_or((text, None), |(n, a)| (n, Some(a.trim())));
    let name = Fqdn::read(name).map_err(|e| format!("“{text}” is not NAME or NAME/ADDRESS: {e}"))?.name;
    let address = match address {
        Some(a) => Some(a.parse().map_err(|_| format!("“{a}” in “{text}” is not an IP address"))?),
        None => None,
    };
    Ok((name.to_string(), address))
}

/// `12345,13,2,ABCD…`; spaces instead of commas are understood, and inside the digest they don't count (that is how
/// providers print it).
fn ds_record(text: &str) -> Result<Ds, String> {
    let wrong = || format!("“{text}” is not KEYTAG,ALGORITHM,TYPE,DIGEST");
    let fields: Vec<&str> = text.split([',', ' ', '\t']).filter(|f| !f.is_empty()).collect();
    let [tag, algorithm, digest_type, digest @ ..] = &fields[..] else { return Err(wrong()) };
    let digest = digest.concat();
    if digest.is_empty() || !digest.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    Ok(Ds {
        key_tag: tag.parse().map_err(|_| wrong())?,
        algorithm: algorithm.parse().map_err(|_| wrong())?,
        digest_type: digest_type.parse().map_err(|_| wrong())?,
        digest: digest.to_uppercase(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ns: &[&str], ds: &[&str]) -> Result<CheckOptions, String> {
        let mut options = CheckOptions::new(jiff::Timestamp::UNIX_EPOCH);
        let own = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        super::read(&mut options, &own(ns), &own(ds)).map(|()| options)
    }

    #[test]
    fn wrong_input_names_itself_and_the_rule() {
        for bad in ["", "1,2,3", "x,13,2,AB", "1,13,2,XY", "1,13,2,"] {
            assert!(read(&[], &[bad]).unwrap_err().contains("KEYTAG"), "{bad}");
        }
        for bad in ["ns1.example/", "ns1.example/host", "ns1.example/192.0.2.300"] {
            assert!(read(&[bad], &[]).unwrap_err().contains("is not an IP address"), "{bad}");
        }
        for bad in ["", "/192.0.2.1", "a b/192.0.2.1"] {
            assert!(read(&[bad], &[]).unwrap_err().contains("NAME/ADDRESS"), "{bad}");
        }
        assert!(read(&["a.example"; MAX_SERVERS + 1], &[]).is_err());
    }

    #[test]
    fn valid_input_is_read() {
        let o =
            read(&["NS1.example.", "ns2.example/2001:db8::1"], &["12345,13,2,abcd", "1 8 2 AB CD"]).unwrap();
        assert_eq!(o.undelegated_ns[0], ("ns1.example".to_string(), None));
        assert_eq!(o.undelegated_ns[1], ("ns2.example".to_string(), "2001:db8::1".parse().ok()));
        assert_eq!((o.undelegated_ds[0].key_tag, o.undelegated_ds[0].digest.as_str()), (12345, "ABCD"));
        assert_eq!(o.undelegated_ds[1].digest, "ABCD");
    }
}
