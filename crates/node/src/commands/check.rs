//! `check`: checks a configuration, and whether `attach` would work on this machine.

use super::{Outcome, counted, print_out};
use clap::Args;
use fairlane_node::config::NodeConfig;
use fairlane_node::subscribers;
use std::path::PathBuf;

/// Arguments of `check`.
#[derive(Args)]
pub struct Check {
    /// Configuration to check [default: check only the kernel's features]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    /// Checks the configuration, if there is one, and prints findings. Returns an error if a finding would make
    /// `attach` fail.
    pub fn run(self) -> Outcome {
        let (config, problems) = match self.config.as_deref().map(subscribers::load_telling).transpose()? {
            Some((config, problems)) => (Some(config), problems),
            None => (None, Vec::new()),
        };
        report(config.as_ref(), &problems, self.json)
    }
}

#[cfg(not(feature = "ebpf"))]
fn report(config: Option<&NodeConfig>, problems: &[String], json: bool) -> Outcome {
    for problem in problems {
        super::warn(problem);
    }
    let what = "kernel data plane: built without the feature ebpf";
    if json {
        let finding = serde_json::json!({"what": "kernel data plane", "state": "missing", "text": what});
        print_out(&format!("{}\n", serde_json::json!({"ok": false, "findings": [finding]})))?;
    } else if let Some(config) = config {
        print_out(&format!("{:<24} ok: {}\n", "configuration", size(config)))?;
    }
    Err(what.into())
}

/// Checks each requirement of `attach`.
#[cfg(feature = "ebpf")]
fn report(config: Option<&NodeConfig>, problems: &[String], json: bool) -> Outcome {
    use fairlane_node::kernel::{self, Finding, State};
    let known = config.map(|config| Finding::new("configuration", State::Ok, size(config)));
    let left_out = problems.iter().map(|problem| Finding::new("subscribers", State::Warning, problem));
    let findings: Vec<Finding> = known.into_iter().chain(left_out).chain(kernel::check(config)).collect();
    let missing = findings.iter().filter(|finding| finding.state == State::Missing).count();
    if json {
        print_out(&format!("{}\n", serde_json::json!({"ok": missing == 0, "findings": findings})))?;
    } else {
        print_out(&findings.iter().map(line).collect::<String>())?;
    }
    match missing {
        0 => Ok(()),
        1 => Err("one thing is missing".into()),
        _ => Err(format!("{missing} things are missing").into()),
    }
}

#[cfg(feature = "ebpf")]
fn line(finding: &fairlane_node::kernel::Finding) -> String {
    use fairlane_node::kernel::State;
    let state = match finding.state {
        State::Ok => "ok",
        State::Warning => "warning",
        State::Missing => "missing",
    };
    let text = if finding.text.is_empty() { String::new() } else { format!(": {}", finding.text) };
    format!("{:<24} {state}{text}\n", finding.what)
}

fn size(config: &NodeConfig) -> String {
    format!("{}, {}", counted(config.ports.len(), "port"), counted(config.users.len(), "user"))
}
