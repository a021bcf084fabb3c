//! The dashboard of `docs/grafana`, judged by the types that Grafana publishes for dashboards (`@grafana/schema`): the
//! compiler of TypeScript takes the file as a literal, so that unknown keys, missing ones and other values are errors.
//! Grafana itself can't be installed from the packages that the other tests use.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the file has to be. Grafana publishes no type for queries of Prometheus: theirs is written out.
const TYPES: &str = r#"
import type { DataQuery, Dashboard, Panel } from "@grafana/schema";
import type { FieldConfig, Options } from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";
// JSON has the value of an enumeration, not its name.
type Json<T> = T extends string ? `${T}` : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
type Query = DataQuery & { expr: string; legendFormat: string; datasource: { type: "prometheus"; uid: "${datasource}" } };
type Fields = NonNullable<Panel["fieldConfig"]>;
type Series = Omit<Panel, "type" | "options" | "targets" | "fieldConfig"> & {
  type: "timeseries";
  options: Partial<Options>;
  targets: Query[];
  fieldConfig: { defaults: Omit<Fields["defaults"], "custom"> & { custom?: Partial<FieldConfig> }; overrides: Fields["overrides"] };
};
export const dashboard: Json<Omit<Dashboard, "panels"> & { panels: Series[] }> = "#;

/// The node packages that `cargo xtask setup` installs. They must be there in CI.
fn packages() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../e2e/node_modules");
    let has_node = Command::new("node").arg("--version").output().is_ok_and(|out| out.status.success());
    if has_node && [".bin/tsc", "@grafana/schema"].iter().all(|package| folder.join(package).exists()) {
        return Some(folder.canonicalize().unwrap());
    }
    let words = "Node.js or the types of Grafana are missing: cargo xtask setup installs them";
    assert!(std::env::var_os("CI").is_none(), "{words}");
    println!("SKIPPED: {words}");
    None
}

/// What the compiler says; empty when the dashboard is of the type.
fn judge(packages: &Path, dashboard: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(packages, folder.path().join("node_modules")).unwrap();
    std::fs::write(folder.path().join("dashboard.ts"), format!("{TYPES}{dashboard};\n")).unwrap();
    let out = Command::new(packages.join(".bin/tsc"))
        .current_dir(folder.path())
        .args(["--noEmit", "--strict", "--skipLibCheck", "--pretty", "false", "--target", "es2022"])
        .args(["--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom", "--types", ""])
        .arg("dashboard.ts")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.success(), said.is_empty(), "{said}");
    said
}

#[test]
fn published_types_of_grafana_accept_the_dashboard() {
    let Some(packages) = packages() else { return };
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/grafana/domainscope.json");
    let good = std::fs::read_to_string(file).unwrap();
    let said = judge(&packages, &good);
    assert!(said.is_empty(), "{said}");
    // The compiler does judge: an unknown key, a value of another type, one that is not listed, a panel it has no type for.
    for (from, to) in [
        (r#""editable""#, r#""editabel""#),
        (r#""h": 8"#, r#""h": "8""#),
        (r#""displayMode": "list""#, r#""displayMode": "lines""#),
        (r#""type": "textbox""#, r#""type": "text""#),
        (r#""type": "timeseries""#, r#""type": "timeserie""#),
        (r#""refId": "A""#, r#""ref": "A""#),
    ] {
        let broken = good.replacen(from, to, 1);
        assert_ne!(broken, good, "{from} is not in the dashboard");
        let said = judge(&packages, &broken);
        assert!(said.starts_with("dashboard.ts(") && said.contains("error TS2"), "{to}: {said}");
    }
}
