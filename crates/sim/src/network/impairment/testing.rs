//! Impairments for tests.

use super::{Impairment, ImpairmentAccount, Outcome, Place};
use crate::network::ack_packets::AckPackets;
use crate::network::sim_packet::SimPacket;
use crate::scenario::{ChanceParams, Impairments, RandomLossParams, Span};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{Probability, Time};

pub(super) const PACKETS: u32 = 200_000;
pub(super) const DELAY: Time = Time::from_millis(20);

pub(super) fn impairment(config: &Impairments) -> Impairment {
    let mut impairment = Impairment::new(Place::Link(0), config, vec![DELAY], 1, Rng::stream(1, 0, "test", 0));
    impairment.set_damaged(1);
    impairment
}

pub(super) fn enter(impairment: &mut Impairment, mut packet: SimPacket, now: Time) -> Outcome {
    impairment.enter(&mut packet, now, &mut AckPackets::new(u16::MAX))
}

pub(super) fn random(probability: f64) -> RandomLossParams {
    RandomLossParams { probability: Probability(probability), span: Span::default() }
}

/// A span in milliseconds.
pub(super) fn span(from: u64, until: u64) -> Span {
    Span { from: Some(Time::from_millis(from)), until: Some(Time::from_millis(until)) }
}

pub(super) fn chance(probability: f64, correlation: f64) -> ChanceParams {
    let [probability, correlation] = [probability, correlation].map(Probability);
    ChanceParams { probability, correlation, span: Span::default() }
}

/// Sends numbered packets at `times`. Returns number and arrival time of each packet that arrives, in order.
pub(super) fn arrivals(
    config: &Impairments,
    times: impl Iterator<Item = Time>,
) -> (Vec<(u32, Time)>, ImpairmentAccount) {
    let mut impairment = impairment(config);
    let mut arrived = Vec::new();
    let drain = |impairment: &mut Impairment, arrived: &mut Vec<_>, until: Time| {
        while impairment.next() < until {
            let time = impairment.next();
            arrived.push((impairment.take().seq, time));
        }
    };
    for (seq, now) in (0..).zip(times) {
        drain(&mut impairment, &mut arrived, now);
        if enter(&mut impairment, SimPacket { seq, wire_bytes: 1500, ..SimPacket::BLANK }, now) == Outcome::Passes {
            arrived.push((seq, now));
        }
    }
    drain(&mut impairment, &mut arrived, Time::NEVER);
    let account = impairment.account();
    assert_eq!(account.entered + account.copied, account.passed + account.lost);
    assert_eq!(account.passed, arrived.len() as u64);
    (arrived, account)
}

pub(super) fn every_ms(count: u64) -> impl Iterator<Item = Time> {
    (0..count).map(Time::from_millis)
}
