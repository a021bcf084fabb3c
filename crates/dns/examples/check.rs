//! Runs the checks of a zone as `domainscope check` will: for scoring against scenario zones.

use dns::checks::CheckOptions;
use model::registration::Ds;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let mut settings = dns::Settings::default();
    let mut options = CheckOptions::new(jiff::Timestamp::now());
    let (mut zone, mut methods) = (None, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} wants a value"));
        match arg.as_str() {
            "--json" => {}
            "--methods-json" => methods = true,
            "--allow-private" => settings.allow_private = true,
            "--root-hints" => {
                settings.root_hints = dns::RootHints::parse(&std::fs::read_to_string(value()?)?)?;
            }
            "--test-case" => options.test_cases.get_or_insert_default().push(value()?),
            "--asn-zone" => options.asn_zone = value()?,
            "--ns" => {
                let text = value()?;
                let (name, ip) = text.split_once('/').map_or((text.as_str(), None), |(n, ip)| (n, Some(ip)));
                options.undelegated_ns.push((name.to_string(), ip.map(str::parse).transpose()?));
            }
            "--ds" => options.undelegated_ds.push(ds(&value()?)?),
            other if other.starts_with('-') && other != "-" => {
                return Err(format!("{other} is unknown").into());
            }
            other => zone = Some(other.to_string()),
        }
    }
    let zone = zone.ok_or("which zone?")?;
    let engine = dns::Engine::new(settings);
    if methods {
        let sets = engine.methods_v2(&zone, &options).await?;
        println!("{}", serde_json::json!({ "zone": zone, "methodsv2": sets }));
    } else {
        println!("{}", serde_json::to_string(&engine.check(&zone, &options).await?)?);
    }
    Ok(())
}

fn ds(text: &str) -> Result<Ds, Box<dyn Error>> {
    let fields: Vec<&str> = text.split(',').collect();
    let [tag, algorithm, digest_type, digest] = fields[..] else {
        return Err("KEYTAG,ALG,TYPE,DIGEST".into());
    };
    Ok(Ds {
        key_tag: tag.parse()?,
        algorithm: algorithm.parse()?,
        digest_type: digest_type.parse()?,
        digest: digest.to_uppercase(),
    })
}
