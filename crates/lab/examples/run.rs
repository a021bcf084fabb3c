//! Starts a built-in scenario, or a file, says where it is, and runs until it is stopped: `cargo run -p domainscope-lab --example
//! run -- demo ./state`.

use lab::{Lab, Options, Scenario};

#[tokio::main]
async fn main() -> Result<(), lab::Error> {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_else(|| "demo".into());
    let dir = words.next().unwrap_or_else(|| "lab-state".into());
    let before = std::time::Instant::now();
    let now = jiff::Timestamp::from_second(
        i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |d| d.as_secs())).unwrap_or(0),
    );
    let scenario = match name.ends_with(".toml") {
        true => Scenario::load(name.as_ref())?,
        false => Scenario::named(&name)?,
    };
    let mut options = Options::new(scenario, dir, now.unwrap_or(jiff::Timestamp::UNIX_EPOCH));
    // Resolvers of others can't be told another port than 53; who may bind it can put them in front of the lab.
    options.dns_port = std::env::var("LAB_DNS_PORT").ok().and_then(|p| p.parse().ok());
    let lab = Lab::start(options).await?;
    println!("started in {} ms", before.elapsed().as_millis());
    println!("{:#?}", lab.endpoints());
    std::future::pending::<()>().await;
    Ok(())
}
