//! Duels: runs a scenario with each controller in its first group, under each scheme, with and without the other
//! groups.

use fairlane_schemes::registry::external::no_external;
use fairlane_schemes::registry::schemes::Scheme;
use fairlane_sim::engine::batch::{Batch, Failure};
use fairlane_sim::measure::run_record::RunRecord;
use fairlane_sim::scenario::{Externals, Scenario};
use fairlane_sim::traffic::tcp::external::FindControl;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;

/// One controller under one scheme.
#[derive(Clone, Debug)]
pub struct Duel {
    /// Name of the controller.
    pub controller: String,
    /// Scheme of the bottleneck.
    pub scheme: Scheme,
    /// True if the scenario has only the first group.
    pub alone: bool,
    scenario: Arc<Scenario>,
}

/// Means over the replications of a duel.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Throughput of the first group in Mbit/s, headers included.
    pub mbps: f64,
    /// Fraction of the throughput of all groups that the first group gets.
    pub share: f64,
    /// Mean queue of the first link in packets.
    pub queue_packets: f64,
    /// Utilisation of the first link.
    pub utilisation: f64,
    /// Loss rate of the first group.
    pub lost_share: f64,
}

/// Returns the scenario of `duel.toml`: against CUBIC as in Linux, with one flow each.
#[must_use]
pub fn against_cubic() -> Json {
    toml::from_str(include_str!("../duel.toml")).expect("the file is right")
}

/// Returns the duels of `scenario`. Each controller is either found by `find` or one of Fairlane's.
///
/// # Errors
/// If the scenario or a controller is invalid; the message is one line.
pub fn duels(
    scenario: &Json,
    controllers: &[&str],
    schemes: &[Scheme],
    find: FindControl<'_>,
) -> Result<Vec<Duel>, String> {
    let mut duels = Vec::new();
    for &controller in controllers {
        for alone in [true, false] {
            let version = with_controller(scenario, controller, alone)?;
            let externals = Externals { schemes: &no_external, controls: find };
            let scenario = Scenario::read_with(&version, externals).map_err(|error| error.to_string())?;
            duels.extend(schemes.iter().map(|&scheme| Duel {
                controller: controller.into(),
                scheme,
                alone,
                scenario: Arc::new(scenario.with_queue(scheme)),
            }));
        }
    }
    Ok(duels)
}

/// Returns the scenario with `controller` in all sources of its first group; without the other groups if `alone`.
fn with_controller(scenario: &Json, controller: &str, alone: bool) -> Result<Json, String> {
    let mut version = scenario.clone();
    let groups = version.get_mut("groups").and_then(Json::as_array_mut).ok_or("groups: missing, must be tables")?;
    if alone {
        groups.truncate(1);
    }
    let sources = groups.first_mut().and_then(|group| group.get_mut("sources")).and_then(Json::as_array_mut);
    for source in sources.ok_or("groups[0].sources: missing, must be tables")? {
        let Json::Object(keys) = source else { return Err("groups[0].sources: must be tables".into()) };
        keys.insert("congestion_control".into(), controller.into());
    }
    Ok(version)
}

/// Runs all replications of the duels, and calls `progress` with the numbers of finished runs and of all runs.
///
/// # Errors
/// If a run fails; the message is one line.
pub fn run(duels: &[Duel], threads: usize, mut progress: impl FnMut(usize, usize)) -> Result<Vec<Outcome>, String> {
    let replications = |duel: &Duel| 0..duel.scenario.run.replications;
    let jobs: Vec<_> =
        duels.iter().flat_map(|duel| replications(duel).map(move |number| (duel.scenario.clone(), number))).collect();
    let batch = Batch::start(jobs.clone(), threads).map_err(|error| format!("no thread: {error}"))?;
    let mut records: Vec<Option<RunRecord>> = vec![None; jobs.len()];
    while batch.remaining() > 0 {
        if let Some((job, outcome)) = batch.next(Duration::from_secs(1)) {
            match outcome {
                Ok(record) => records[job] = Some(record),
                Err(Failure::External(problem) | Failure::Defect(problem)) => return Err(problem),
            }
        }
        progress(jobs.len() - batch.remaining(), jobs.len());
    }
    let mut records = records.into_iter().flatten();
    let of_duel = |duel: &Duel| records.by_ref().take(replications(duel).len()).collect::<Vec<_>>();
    Ok(duels.iter().map(of_duel).map(|records| outcome(&records)).collect())
}

fn outcome(records: &[RunRecord]) -> Outcome {
    let mean = |of: &dyn Fn(&RunRecord) -> f64| records.iter().map(of).sum::<f64>() / records.len() as f64;
    let rate = |record: &RunRecord, groups: usize| -> f64 {
        record.groups.iter().take(groups).map(|group| group.throughput_bps * f64::from(group.users)).sum()
    };
    Outcome {
        mbps: mean(&|record| rate(record, 1) / 1e6),
        share: mean(&|record| rate(record, 1) / rate(record, usize::MAX).max(1.0)),
        queue_packets: mean(&|record| record.links[0].queue.mean_packets),
        utilisation: mean(&|record| record.links[0].utilisation),
        lost_share: mean(&|record| record.groups[0].path.lost_share.unwrap_or(0.0)),
    }
}

const HEAD: [&str; 10] =
    ["controller", "scheme", "alone: Mbit/s", "use", "queue", "loss", "against: share", "use", "queue", "loss"];

/// Returns a table with a line for each controller and scheme.
#[must_use]
pub fn table(duels: &[Duel], outcomes: &[Outcome]) -> String {
    let mut lines = vec![HEAD.map(String::from)];
    let rows = || duels.iter().zip(outcomes);
    for (duel, alone) in rows().filter(|(duel, _)| duel.alone) {
        let same = |other: &Duel| !other.alone && other.controller == duel.controller && other.scheme == duel.scheme;
        let Some((_, against)) = rows().find(|(other, _)| same(other)) else { continue };
        let link = |of: &Outcome| {
            [percent(of.utilisation), format!("{:.1}", of.queue_packets), format!("{:.2} %", 100.0 * of.lost_share)]
        };
        let [use_alone, queue_alone, loss_alone] = link(alone);
        let [use_against, queue_against, loss_against] = link(against);
        lines.push([
            duel.controller.clone(),
            duel.scheme.name().into(),
            format!("{:.2}", alone.mbps),
            use_alone,
            queue_alone,
            loss_alone,
            percent(against.share),
            use_against,
            queue_against,
            loss_against,
        ]);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: [usize; HEAD.len()] = std::array::from_fn(width);
    let padded = |line: &[String; HEAD.len()]| {
        let cells = line.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 1 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    lines.iter().map(padded).collect()
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// Returns CSV with a line for each duel.
#[must_use]
pub fn csv(duels: &[Duel], outcomes: &[Outcome]) -> String {
    let head = "controller,scheme,alone,mbps,share,queue_packets,utilisation,lost_share\n".to_string();
    let line = |(duel, of): (&Duel, &Outcome)| {
        let (name, scheme, alone) = (&duel.controller, duel.scheme.name(), duel.alone);
        let Outcome { mbps, share, queue_packets, utilisation, lost_share } = of;
        format!("{name},{scheme},{alone},{mbps},{share},{queue_packets},{utilisation},{lost_share}\n")
    };
    head + &duels.iter().zip(outcomes).map(line).collect::<String>()
}

/// Returns a JSON array with an object for each duel.
#[must_use]
pub fn json(duels: &[Duel], outcomes: &[Outcome]) -> Json {
    let object = |(duel, of): (&Duel, &Outcome)| {
        json!({
            "controller": duel.controller, "scheme": duel.scheme.name(), "alone": duel.alone,
            "mbps": of.mbps, "share": of.share, "queue_packets": of.queue_packets,
            "utilisation": of.utilisation, "lost_share": of.lost_share,
        })
    };
    duels.iter().zip(outcomes).map(object).collect()
}
