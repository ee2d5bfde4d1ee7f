//! ABC: activity-based congestion management. The edge writes the user's activity into each packet; the core preferably
//! drops packets of more active users.
//!
//! Source: Menth and Zeitler, "Fair Resource Sharing for Stateless-Core Packet-Switched Networks With Prioritization",
//! IEEE Access 2018 (abc2018), section III. The meter TDRM-UTEMA and the mean UTEMA are those of Menth and Hauser, "On
//! Moving Averages, Histograms and Time-Dependent Rates for Online Measurement", ICPE 2017. The first design, of 2016,
//! is a separate scheme, `abc2016`.
//!
//! | number | equation, for a packet of length L and class PHB at time t | code |
//! |---|---|---|
//! | (1) | `S = S*exp(-(t - t_last)/M_AM) + a_PHB*L` | `RateState::update`, [`AbcMarker`] |
//! | (2) | `T = M_AM*(1 - exp(-(t - t_0)/M_AM))` | `RateState::update` |
//! | (3), (4) | `R_m = S/T`, `t_last = t` | `RateState::update` |
//! | (5) | `A = log2(R_m/R_r)` | [`AbcMarker`] |
//! | (6) | `S = S*exp(-(t - t_last)/M_AA) + A`, accepted packets only | `WeightedMean::update`, [`AbcAqm`] |
//! | (7) | `N = N*exp(-(t - t_last)/M_AA) + 1` | `WeightedMean::update` |
//! | (8), (9) | `A_avg = S/N`, `t_last = t` | `WeightedMean::update` |
//! | (10) | `T_drop = max(Q_min, Q_base - gamma*(A - A_avg))`; drop if `Q >= T_drop` | [`AbcAqm`], `admit` |
//!
//! | symbol | meaning |
//! |---|---|
//! | M_AM, M_AA | memories of meter and averager |
//! | t_0 | start of the measurement |
//! | R_r | reference rate of the user: its activity is 0 when it sends at this rate |
//! | a_PHB | accounting factor of the packet's class, `a_BE` or `a_EF` |
//! | Q | waiting packets of all classes, without the packet in transmission |
//!
//! Only differences of activities matter. Multiplying all reference rates by one factor changes nothing (IV-E1, eq.
//! (11)-(13)); multiplying the reference rate of one user changes that user's share (IV-E2). The label is a real number
//! here; the fixed-point form has 22 bits.
//!
//! Cost: per packet, the edge computes one exponential, one logarithm and at most two divisions. The port computes one
//! exponential per accepted packet. State: 32 bytes per user at the edge (3 numbers and a reference rate), 3 numbers
//! per port, none per flow.
//!
//! Deviations:
//! 1. A packet is dropped if `Q >= T_drop`: III-C2 says "not smaller than". The P4 paper drops only if `Q > T_drop`.
//! 2. The packet in transmission does not count in Q. The paper does not specify this; it corresponds to the queue of a
//!    point-to-point device in ns-3.
//! 3. A_avg includes packets that passed threshold and limit. A decision uses the A_avg of earlier packets. III-C1
//!    averages packets "received and accepted"; this order, and the exclusion of tail drops, are our interpretation.
//! 4. A_avg is 0 before the first accepted packet (IV-G5: "initially zero"), and `Q_min = 0` is rejected. With `Q_min >
//!    0` the first packet finds a queue below `Q_min` and is accepted, regardless of the average.
//! 5. Meters start with the network (t_0 = 0), not with the user's first packet: t_0 is the start of the measurement in
//!    Menth and Hauser. A user that starts late begins with a low activity, the initial advantage of IV-G.
//! 6. At t = t_0, where (2) gives T = 0, R_m is L/M_AM. This is also the value after a first packet long after t_0.
//! 7. L is the length on the wire, including headers. The paper does not specify this; a common factor cancels out.
//! 8. `be_offset` is 2: III-D2 and IV-A3 have 2, Table 1 has 1.5. In our Fig. 3(c) BE waits at most 55.7 ms with 2 and
//!    49.1 ms with 1.5; IV-B2 says "like 50 ms". EF waits 4.1 ms with 2 and 7.7 ms with 1.5; IV-B2 says that EF "does
//!    not exceed 5 ms".
//! 9. Both classes share one limit; Q = Q_BE + Q_EF implies this.
//! 10. If deadlines are equal MEDF serves EF. The paper does not specify this.
//! 11. Thresholds may be packets, bytes or times; besides packets, the paper suggests only times, for links whose rate
//!     varies.
//! 12. The offset of BE in MEDF depends on the link's initial rate only; the paper has no classes on links whose rate
//!     changes.
//! 13. An activity is at least -32, the minimum of the wire format. Without this minimum, a first packet of length 0
//!     would have no activity.
//! 14. With `average_over = "bytes"` (6) and (7) become `S = ... + L*A` and `N = ... + L`. The paper's traffic has one
//!     direction. If acknowledgements share a port, they are about a third of its packets, and their users send little
//!     in this direction. A mean over packets is then far below the activity of all users who send data, so all these
//!     users have the threshold `Q_min`. The default is over packets, as in the paper.
//! 15. With `ecn` a packet whose transport understands marks (RFC 3168 section 5) is marked instead of dropped while
//!     the queue is below `Q_base + gamma`. The paper only drops, as does the scheme without `ecn`.

mod aqm;
mod marker;

use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;

pub use aqm::{AbcAqm, AbcParams, AbcRule, AverageOver, check_opens};
pub use marker::{AbcMarker, AbcMarkerParams, AbcMeter, AbcMeterKind, split_reference_rate};

/// Registry entry of ABC.
#[derive(Clone, Copy, Debug)]
pub struct AbcScheme;

impl SchemeSpec for AbcScheme {
    const ABOUT: About = About {
        title: "Activity-based congestion management",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "The edge labels packets with the logarithm of their user's relative rate; a port drops a packet if \
                  the queue has reached a threshold that falls with the packet's activity.",
        source: "Menth, Zeitler: Fair Resource Sharing for Stateless-Core Packet-Switched Networks With \
                 Prioritization, IEEE Access 2018",
        state: "port: 3 numbers; user, at the edge: 3 numbers; flow: none",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    const MARKER: MarkerScheme = AbcMarker::SCHEME;
    type Params = AbcParams;
    type Discipline<P: Packet> = ManagedQueue<P, AbcAqm>;

    fn check(params: &AbcParams, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        aqm::check_thresholds(params, buffer.limit, table)
    }

    fn build<P: Packet>(params: &AbcParams, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, AbcAqm::new(params))
    }
}

/// Discipline of a port that marks: [`AbcScheme`] with `ecn = true`.
pub type MarkingAbc<P> = ManagedQueue<P, AbcAqm<true>>;

impl AbcScheme {
    /// Creates the discipline of an idle port that marks.
    pub fn build_marking<P: Packet>(params: &AbcParams, port: &Port<'_>) -> MarkingAbc<P> {
        ManagedQueue::new(port.buffer, port.rate, AbcAqm::new(params))
    }
}
