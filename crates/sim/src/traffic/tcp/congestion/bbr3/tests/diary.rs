//! Runs scenario files with BBRv3, and gives tests access to its internal state.

use super::super::super::State as AnyState;
use super::super::super::control::Output;
use super::super::Bbr3;
use super::super::state::State;
use crate::engine;
use crate::measure::run_record::RunRecord;
use crate::network::tcp_flow::TcpFlow;
use crate::scenario::Scenario;
use crate::traffic::tcp::TcpParams;
use crate::watch::observer::Observer;
use fairlane_schemes::base::units::Time;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// A scenario file of `examples/bbr3`, as JSON.
pub fn document(name: &str) -> Json {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../examples/bbr3", name].iter().collect();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut document: Json = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    // Removes the expectations, which only `fairlane check` knows, and the time series, which only they use.
    let keys = document.as_object_mut().expect("a table");
    keys.retain(|key, _| key != "expect" && key != "probes");
    document
}

/// Snapshot of the first flow after its sender has handled an ACK or a timer.
#[derive(Clone, Debug)]
pub struct Page {
    pub now: Time,
    pub bbr: Bbr3,
    pub output: Output,
    pub in_flight: u64,
    /// Segments sent so far.
    pub sent: u64,
}

/// Observer of the first flow of a run.
pub struct Diary<F> {
    each: F,
    last: Option<Page>,
    turns: Vec<Turn>,
}

/// A change of state.
#[derive(Clone, Debug)]
pub struct Turn {
    pub before: Page,
    pub after: Page,
}

impl Turn {
    pub fn is(&self, from: State, to: State) -> bool {
        (self.before.bbr.state, self.after.bbr.state) == (from, to)
    }
}

impl<F: FnMut(Option<&Page>, &Page)> Observer for Diary<F> {
    fn sender_acted(&mut self, index: u32, flow: &TcpFlow, params: &TcpParams, now: Time) {
        let Some((congestion, output)) = flow.sender.control() else { return };
        let (0, Some(AnyState::Bbr3(bbr))) = (index, congestion.0.as_deref()) else { return };
        if output.pacing.is_none() {
            return; // still in the handshake
        }
        let page = Page {
            now,
            bbr: bbr.clone(),
            output,
            in_flight: flow.sender.in_flight(params),
            sent: flow.sender.stats().segments_sent,
        };
        (self.each)(self.last.as_ref(), &page);
        if let Some(before) = self.last.replace(page.clone())
            && before.bbr.state != page.bbr.state
        {
            self.turns.push(Turn { before, after: page });
        }
    }
}

/// Runs the scenario and calls `each` with the last and the new snapshot whenever the first flow's sender acts. Returns
/// the record of the run, and the changes of BBR's state.
pub fn run(document: &Json, each: impl FnMut(Option<&Page>, &Page)) -> (RunRecord, Vec<Turn>) {
    let scenario = Scenario::read(document).unwrap_or_else(|error| panic!("{error}"));
    let mut diary = Diary { each, last: None, turns: Vec::new() };
    let record = engine::observe(&scenario, 0, &AtomicBool::new(false), &mut diary).expect("nobody cancels");
    (record, diary.turns)
}
