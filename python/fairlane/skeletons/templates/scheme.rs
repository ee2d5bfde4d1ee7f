//! $Type: what it does, in one sentence.
//!
//! Source: authors, "title", year, section; or RFC.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | an arrival is dropped with probability p | [`$Type::admit`] |
//!
//! Cost: operations per packet. State: bytes per port and per flow.
//!
//! Deviations:
//! 1. Differences from the source, with reasons.

use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;

params! {
    /// $Type.
    pub struct ${Type}Params {
        /// Meaning of the parameter.
        probability: f64 = 0.0, in 0.0..=1.0, symbol "p", source "table of the paper";
    }
}

/// $Type in the list of schemes.
#[derive(Clone, Copy, Debug)]
pub struct ${Type}Scheme;

impl SchemeSpec for ${Type}Scheme {
    const ABOUT: About = About {
        title: "$Type",
        kind: "one queue per class and scheduler; drops the arriving packet",
        summary: "What it does, in one sentence.",
        source: "Authors: title, year",
        state: "port: none; flow: none",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    const DROPS_WHEN_EMPTY: bool = true;
    type Params = ${Type}Params;
    type Discipline<P: Packet> = ManagedQueue<P, $Type>;

    fn build<P: Packet>(params: &${Type}Params, port: &Port<'_>) -> Self::Discipline<P> {
        ManagedQueue::new(port.buffer, port.rate, $Type { params: params.clone() })
    }
}

/// $Type at one port.
#[derive(Clone, Debug)]
pub struct $Type {
    params: ${Type}Params,
}

impl Aqm for $Type {
    fn admit<P: Packet>(&mut self, _: &P, _: &QueueView, _: Time, rng: &mut Rng) -> Verdict {
        // Rule (1).
        if rng.open01() < self.params.probability { Verdict::Drop } else { Verdict::Accept }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn rule_1_is_that_of_the_source() {
        panic!("$name: write rule (1) in `$Type::admit`, and here a number that is derived from its equation");
    }
}
