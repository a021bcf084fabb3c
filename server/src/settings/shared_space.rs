//! The setting `--shared-space`: where the address spaces of organisations may overlap.

use super::Wrong;
use product::OverlapPolicy;
use service::numbers::prefix::parse;

/// Most prefixes of the list: each is compared with every claim.
const PREFIXES_MAX: usize = 100;

/// The policy of a list of prefixes.
///
/// # Errors
/// [`Wrong`], with the prefix and the rule it breaks.
pub(crate) fn shared_space(prefixes: &[String]) -> Result<OverlapPolicy, Wrong> {
    if prefixes.len() > PREFIXES_MAX {
        let words = format!("has {} prefixes, at most {PREFIXES_MAX} are allowed", prefixes.len());
        return Err(Wrong(format!("shared_space: {words}")));
    }
    let read = |text: &String| parse(text).map_err(|e| Wrong(format!("shared_space: {e}")));
    Ok(OverlapPolicy { shared: prefixes.iter().map(read).collect::<Result<_, _>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::EngineArgs;

    #[test]
    fn a_list_of_prefixes_is_read_and_refused_with_the_rule() {
        let list = ["10.0.0.0/8".to_string(), " fd00::/8".to_string()];
        let texts: Vec<_> = shared_space(&list).unwrap().shared.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["10.0.0.0/8", "fd00::/8"]);
        assert!(shared_space(&[]).unwrap().shared.is_empty());
        for (bad, rule) in [
            ("10.0.0.1/8", "host bits set: the prefix is 10.0.0.0/8"),
            ("10.0.0.0", "write an address, a slash and a length"),
            ("10.0.0.0/33", "write an address, a slash and a length"),
            ("", "write an address, a slash and a length"),
        ] {
            let e = shared_space(&[bad.to_string()]).unwrap_err().to_string();
            assert!(e.starts_with("shared_space: ") && e.contains(&format!("“{bad}”")), "{bad}: {e}");
            assert!(e.contains(rule), "{bad}: {e}");
        }
        let many = vec!["10.0.0.0/8".to_string(); PREFIXES_MAX + 1];
        assert!(shared_space(&many).unwrap_err().to_string().contains("at most 100"));
    }

    #[test]
    fn the_settings_file_has_the_list_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.toml");
        std::fs::write(&path, "shared_space = [\"10.0.0.0/8\"]\n").unwrap();
        let args = EngineArgs { config: Some(path), ..EngineArgs::default() };
        assert_eq!(args.resolved().unwrap().shared_space, ["10.0.0.0/8"]);
    }
}
