//! CSFQ, core-stateless fair queueing: the edge writes a flow's rate, the core drops what exceeds the fair rate.
//!
//! Source: Stoica, Shenker, Zhang, "Core-Stateless Fair Queueing", SIGCOMM 1998 (csfq1998) and ToN 2003 (csfq2003);
//! abc2018 V and afpft 3 use it. Equations are those of the authors' ns-2 code as two independent ports show it.
//!
//! T is the time since the flow's last packet, L its length in bits, K a time constant.
//!
//! | number | equation | code |
//! |---|---|---|
//! | (1) | `r = (1-e^(-T/K))*L/T + e^(-T/K)*r` | [`crate::measure::rate_estimates`] |
//! | (2) | label `= r/w` in bit/s, at the edge | `CsfqMarker` |
//! | (3) | drop with probability `max(0, 1 - alpha/label)` | `CsfqAqm::admit` |
//! | (4) | relabel what passes with `min(label, alpha)` | `CsfqAqm::accepted` |
//! | (5) | A >= C for a window K_c: `alpha = min(C, alpha*C/F)` | `FairRate::congested` |
//! | (6) | A < C for a window K_c: `alpha = max label` | `FairRate::uncongested` |
//! | (7) | at an overflow: `alpha = 0.99*alpha`, 30 times at most | `FairRate::overflow` |
//!
//! A and F are the rates of arrivals and of what (3) accepts, by (1) with K_alpha. alpha = 0 means that there is no
//! estimate: everything passes. While there is none and the queue is below `q_threshold`, the largest label is only
//! noted; the first packet that finds a longer queue sets alpha to it, or to C/2 if there is none. (7) and the
//! threshold are the amendments of 2003, which `variant = "1998"` leaves out.
//!
//! Needs the link's rate: after a change of it, alpha follows within a few windows. A packet without a label
//! (label 0 or below) is never dropped early. One of a flow above alpha may be dropped though nothing waits.
//!
//! Cost: edge one exponential; port one exponential, two divisions, one draw if the flow exceeds alpha. State: port 13
//! numbers; flow (or user), at the edge, 3 numbers; in the core none per flow.
//!
//! Deviations:
//! 1. The original texts of the amendments were not available. Cuts (7) are allowed again when congestion begins, as in
//!    both ports; the wording, 25 % a window, is `cut_budget = "per_window"` and `overflow_bound = "floor"`.
//! 2. The threshold is tested without an estimate and at the end of an uncongested window, as in the ports. abc2018
//!    V-E1 describes a test at the end of a congested one: `variant = "ton_fig4"` does that as well.
//! 3. A packet that overflows counts in F, as in one of the two ports.
//! 4. (4) uses the alpha of the decision: a reset in the same step must not write label 0.
//! 5. Below `q_min` a packet passes, counts in F and is relabelled; abc2018 V-E1 names the rule only.
//! 6. With `variant = "1998"`, alpha = 0 at the end of a congested window counts as C: otherwise a link that is
//!    congested from its first packet would never drop.
//! 7. Packets of one instant are summed; A, F and alpha wait for the next, as in the ports.

mod aqm;
mod fair_rate;
mod marker;

use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;
use crate::queue::queue_threshold::QueueThreshold;

pub use aqm::{CsfqAqm, CsfqParams};
pub use fair_rate::{CsfqVariant, CutBudget, OverflowBound};
pub use marker::{CsfqMarker, CsfqMarkerParams, CsfqMeter};

/// CSFQ in the list of schemes.
#[derive(Clone, Copy, Debug)]
pub struct CsfqScheme;

impl SchemeSpec for CsfqScheme {
    const ABOUT: About = About {
        title: "Core-stateless fair queueing",
        kind: "one queue per class and scheduler; drops the arriving packet",
        summary: "The edge labels packets with their flow's rate; a port estimates the fair rate and drops the part \
                  of each flow that exceeds it.",
        source: "Stoica, Shenker, Zhang: Core-Stateless Fair Queueing, SIGCOMM 1998 and IEEE/ACM ToN 2003",
        state: "port: 13 numbers; flow or user, at the edge: 3 numbers; in the core: none per flow",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    const MARKER: MarkerScheme = CsfqMarker::SCHEME;
    const DROPS_WHEN_EMPTY: bool = true;
    type Params = CsfqParams;
    type Discipline<P: Packet> = ManagedQueue<P, CsfqAqm>;

    fn check(params: &CsfqParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        QueueThreshold::check("q_threshold", params.q_threshold, buffer.limit, table)?;
        QueueThreshold::check("q_min", params.q_min, buffer.limit, table)
    }

    fn build<P: Packet>(params: &CsfqParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, CsfqAqm::new(params))
    }
}
