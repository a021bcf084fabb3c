//! The changes in the formats of other programs.

use connect::Plan;
use connect::export::{TerraformProvider, bind_plan, dnscontrol, octodns, terraform};
use model::configure::Export;

/// Every format; none when there is nothing to change.
pub(super) fn exports(plan: &Plan, domain: &str, is_empty: bool) -> Vec<Export> {
    if is_empty {
        return Vec::new();
    }
    let cloud = |provider| terraform(&plan.new, domain, provider);
    let removed = |comment: &str| {
        let gone = plan.delete.iter().map(|r| {
            let owner = connect::export::owner_name(r);
            format!(
                "{comment} remove {owner} {} {}\n",
                r.kind,
                connect::export::value(r).replace(['\n', '\r'], " ")
            )
        });
        gone.collect::<String>()
    };
    let one = |format: &str, label: &str, file: String, text: String| Export {
        format: format.into(),
        label: label.into(),
        file,
        text,
    };
    vec![
        one("bind", "BIND zone", format!("{domain}.zone"), bind_plan(plan, domain)),
        one(
            "dnscontrol",
            "dnscontrol",
            format!("{domain}.dnscontrol.js"),
            removed("//") + &dnscontrol(&plan.new, domain),
        ),
        one(
            "octodns",
            "octoDNS",
            format!("{domain}.yaml"),
            "# The records this service is about, as they are afterwards; merge them into the file of the zone.\n"
                .to_string()
                + &octodns(&plan.records),
        ),
        one(
            "terraform-cloudflare",
            "Terraform, Cloudflare",
            format!("{domain}.cloudflare.tf"),
            removed("#") + &cloud(TerraformProvider::Cloudflare),
        ),
        one(
            "terraform-route53",
            "Terraform, Route 53",
            format!("{domain}.route53.tf"),
            removed("#") + &cloud(TerraformProvider::Route53),
        ),
        one(
            "terraform-google",
            "Terraform, Google",
            format!("{domain}.google.tf"),
            removed("#") + &cloud(TerraformProvider::Google),
        ),
    ]
}
