//! CSFQ (core-stateless fair queueing): the edge writes a flow's rate into its packets; the core drops the excess over
//! the fair rate.
//!
//! Source: Stoica, Shenker, Zhang, "Core-Stateless Fair Queueing", SIGCOMM 1998 (csfq1998) and ToN 2003 (csfq2003); the
//! papers of [`super::abc`] (abc2018, section V) and [`super::afpft`] (section 3) use CSFQ. Equations follow the
//! authors' ns-2 code, as implemented in two independent ports of this code.
//!
//! T is the time since the flow's last packet, L the packet's length in bits, K a time constant.
//!
//! | number | equation | code |
//! |---|---|---|
//! | (1) | `r = (1-e^(-T/K))*L/T + e^(-T/K)*r` | [`crate::measure::rate_estimates`] |
//! | (2) | label `= r/w` in bit/s, at the edge | `CsfqMarker` |
//! | (3) | drop with probability `max(0, 1 - alpha/label)` | `CsfqAqm::admit` |
//! | (4) | relabel accepted packets with `min(label, alpha)` | `CsfqAqm::accepted` |
//! | (5) | A >= C for a window K_c: `alpha = min(C, alpha*C/F)` | `FairRate::congested` |
//! | (6) | A < C for a window K_c: `alpha = max label` | `FairRate::uncongested` |
//! | (7) | at an overflow: `alpha = 0.99*alpha`, at most 30 times | `FairRate::overflow` |
//!
//! A is the rate of arrivals and F the rate of packets that (3) accepts, both computed as in (1), with K_alpha. If
//! alpha = 0 there is no estimate, and every packet passes. While there is no estimate and the queue is below
//! `q_threshold`, only the largest label is recorded. The first packet that finds a longer queue sets alpha to this
//! label, or to C/2 if no label is recorded. (7) and `q_threshold` are the amendments of 2003, which `variant = "1998"`
//! omits.
//!
//! CSFQ needs the link's rate; alpha follows its changes within a few windows. A packet without a label (label 0 or
//! below) is never dropped early. A packet of a flow above alpha may be dropped even if no packet waits.
//!
//! Cost: per packet, the edge computes one exponential. The port computes one exponential, two divisions, and one
//! random number if the flow exceeds alpha. State: 3 numbers per flow (or user) at the edge, none in the core; 13
//! numbers per port.
//!
//! Deviations:
//! 1. The original texts of the amendments were not available. Cuts (7) are allowed again when congestion begins, as in
//!    both ports. The limit that the amendment states, cuts of 25 % per window, needs `cut_budget = "per_window"` and
//!    `overflow_bound = "floor"`.
//! 2. As in the ports, `q_threshold` is tested while there is no estimate and at the end of an uncongested window. The
//!    test at the end of a congested window, described in abc2018 V-E1, needs `variant = "ton_fig4"`.
//! 3. A packet dropped at a full buffer counts in F, as in one of the two ports.
//! 4. Rule (4) uses the alpha of the drop decision, since an alpha that was reset in the same step would give label 0.
//! 5. Below `q_min` a packet passes, counts in F and is relabelled; abc2018 V-E1 only names the rule.
//! 6. With `variant = "1998"`, alpha = 0 at the end of a congested window counts as C. Otherwise a link that is
//!    congested from its first packet would never drop.
//! 7. Simultaneous packets are summed; A, F and alpha are updated at the next packet, as in the ports.

mod aqm;
mod fair_rate;
mod marker;

use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;
use crate::queue::queue_threshold::QueueThreshold;

pub use aqm::{CsfqAqm, CsfqParams};
pub use fair_rate::{CsfqVariant, CutBudget, OverflowBound};
pub use marker::{CsfqMarker, CsfqMarkerParams, CsfqMeter};

/// Registry entry of CSFQ.
#[derive(Clone, Copy, Debug)]
pub struct CsfqScheme;

impl SchemeSpec for CsfqScheme {
    const ABOUT: About = About {
        title: "Core-stateless fair queueing",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "The edge labels packets with their flow's rate; a port estimates the fair rate and drops each flow's \
                  excess over it.",
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
