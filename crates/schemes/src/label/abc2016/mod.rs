//! ABC of 2016, the first design: adapts another AQM's drop probability to the user's activity.
//!
//! Source: Menth, Zeitler, "Activity-Based Congestion Management", slides at NOMS 2016 (noms2016), and its description
//! in the ABC paper (abc2018), III-B and III-C3. Our sources give neither the formula of the token meter, nor values
//! for w_A and I, nor the base AQM.
//!
//! | number | equation | code |
//! |---|---|---|
//! | (1) | `A = log2(R_t/R_r)`, at least 0 | `definition of the slides` |
//! | (2) | token meter, between packets: `2^-A = 2^-A + ln2*d/I`, at most 1 | `drain` |
//! | (3) | token meter, at a packet: `A = A + L/(I*R_r)` | `Abc2016Marker` |
//! | (4) | the part of L within the remaining allowance B does not count; idle time refills B at R_r | `Abc2016Marker::uncovered` |
//! | (5) | rate meter: `A = max(0, log2(R_m/R_r))`, R_m by [`crate::measure::utema`] with memory I | `Abc2016Marker` |
//! | (6) | `A_avg = w_A*A_avg + (1-w_A)*A`, all packets | `Abc2016Aqm::admit` |
//! | (7) | drop with `p_A = p^(2^(-gamma*(A - A_avg)))`, p from a base AQM | `bend` |
//!
//! The label is the activity. (2) solves `dA/dt = -2^A/I`, and a constant rate R_t adds `R_t/(I*R_r)` per second, so
//! the fixed point of (2) and (3) is (1).
//!
//! Cost: per packet, the edge computes one power and one logarithm. The port computes one logarithm, two powers, and
//! one random number if p is between 0 and 1. State: 5 numbers per user at the edge; 2 numbers and the state of the
//! base AQM per port; none per flow.
//!
//! Deviations:
//! 1. abc2018 limits activities to values "of at most zero". Our lower bound is zero, which fits the slides' condition
//!    R_r <= C/u, the fair share.
//! 2. (2) to (4) are our design of a token meter whose fixed point is the slides' definition. A packet adds
//!    `L/(I*R_r)`. This is small for a reference rate of 100 kbit/s (C/100), but not for a user group's default of 10
//!    kbit/s.
//! 3. The allowance B is full at the start. The token meter refills it only while A = 0, the rate meter always.
//! 4. w_A is 0.996: a memory of 0.3 s for full packets at 10 Mbit/s, as in abc2018. A_avg starts at 0 and includes the
//!    arriving packet.
//! 5. p comes from a function linear in the present queue, RED without its count of packets since the last drop, or PIE
//!    without derandomisation. In (7), `gamma*(A - A_avg)` is limited to ±60; p_A is then 0 or 1 anyway.

mod aqm;
mod marker;

use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;

pub use aqm::{Abc2016Aqm, Abc2016Params, BaseAqm};
pub use marker::{Abc2016Marker, Abc2016MarkerParams, Abc2016Meter, Abc2016MeterKind};

/// Registry entry of the first version of ABC.
#[derive(Clone, Copy, Debug)]
pub struct Abc2016Scheme;

impl SchemeSpec for Abc2016Scheme {
    const ABOUT: About = About {
        title: "Activity-based congestion management, first design",
        kind: "one queue, or one per class; drops the arriving packet",
        summary: "The edge labels packets with their user's activity; a port changes the drop probability of another \
                  AQM by the activity's difference from the average.",
        source: "Menth, Zeitler: Activity-Based Congestion Management, slides at NOMS 2016 (details are ours)",
        state: "port: 2 numbers and those of the base AQM; user, at the edge: 5 numbers; flow: none",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    const MARKER: MarkerScheme = Abc2016Marker::SCHEME;
    type Params = Abc2016Params;
    type Discipline<P: Packet> = ManagedQueue<P, Abc2016Aqm>;

    fn check(params: &Abc2016Params, buffer: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        aqm::check(params, buffer.limit, table)
    }

    fn build<P: Packet>(params: &Abc2016Params, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, Abc2016Aqm::new(params))
    }
}
