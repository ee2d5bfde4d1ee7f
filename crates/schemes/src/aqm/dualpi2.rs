//! DualPI2: one queue (L) for scalable and one (C) for classic congestion control. Queue C drops with the square of a
//! base probability, which also determines the marks of queue L.
//!
//! Source: RFC 9332 (De Schepper, Briscoe and White, 2023), section 2 and appendix A.
//!
//! | number | equation | code |
//! |---|---|---|
//! | (1) | `p' += alpha*(d-target) + beta*(d-d_old)` every interval; d is the longer waiting time of the two head packets | `DualPi2::update` |
//! | (2) | `p_C = p'^2`: classic packets are dropped, or marked if ECN-capable and `p_C < min(1, 1/k^2)` | `DualPi2::release_classic` |
//! | (3) | `p_CL = min(1, k*p')`, `p_L = max(ramp, p_CL)`: L packets are marked | `DualPi2::release_low` |
//! | (4) | ramp of the L packet's waiting time: 0 up to `step_start`, 1 from `step_end`; 0 for the only L packet | `DualPi2::ramp` |
//! | (5) | overload (`p_CL = 1`): L packets are dropped with probability p_C, otherwise marked | `DualPi2::release_low` |
//! | (6) | recur: `sum += p`; if `sum > 1`: hit, `sum -= 1`; each queue has a separate sum | `Lottery::hits` |
//!
//! Packets with ECT(1) or CE go to the L queue, all others to the C queue. While packets wait in both queues, the C
//! queue gets `classic_share` of the bytes sent. The buffer's scheduler must be `fifo`: the ECN field decides the
//! queue, not the class.
//!
//! Cost: a few additions per packet, and eq. (1) every 15 ms, computed at the next arrival or departure. State: p', the
//! previous delay, the two sums of eq. (6) and the scheduler's credit; no state per flow.
//!
//! Deviations:
//! 1. The scheduler weights the queues by a credit in bytes, as in Linux; RFC 9332 leaves this open.
//! 2. No packet is marked or dropped while less than two full packets wait, including the packet itself, as in Linux.
//!    RFC 9332 section 2.5.1 requires the marks of the coupling even then.
//! 3. Arrivals are dropped only at a full buffer, which the queues share. A short packet may be stored where RFC 9332
//!    A.1 requires space for a full packet. Only flows that mix ECT(1) or CE with other codepoints may be reordered, as
//!    defined by RFC 9332.
//!
//! Not implemented: time-shifted FIFO scheduling, classification other than by the ECN field.

use crate::contract::prelude::*;
use crate::measure::ticker::Ticker;
use std::collections::VecDeque;
use std::fmt::Debug;

choices! {
    /// Method to convert a probability into decisions.
    pub enum Decision {
        /// Evenly spaced: a drop or mark each time the sum of probabilities exceeds 1.
        Recur = "recur",
        /// Random: independent decisions.
        Random = "random",
    }
}

params! {
    /// Controller of the classic queue's probability, and its coupling to the L queue.
    pub struct ControlParams {
        //= RFC 9332 A.1-6: Target 15 ms, Tupdate 15 ms, alpha 0.15 Hz, beta 3 Hz, ramp from 0.8 to 1.2 ms.
        //= RFC 9332 2.5.2.1-1: No parameter needs to be set for use on the Internet.
        /// Target delay of the classic queue.
        target: Time = "15 ms", in "10 us"..="10 s", symbol "target", source "RFC 9332 A.1";
        /// Time between updates of the probability.
        update_interval: Time = "15 ms", in "10 us"..="10 s", symbol "Tupdate", source "RFC 9332 A.1; 16 ms in Linux";
        /// Gain on the distance from the target, per second: `0.1*Tupdate/RTT_max^2` with RTT_max 100 ms.
        alpha: f64 = 0.15, in 0.0..=1000.0, symbol "alpha", source "RFC 9332 A.1; 0.16 in Linux";
        /// Gain on the change of the delay, per second: `0.3/RTT_max`.
        beta: f64 = 3.0, in 0.0..=1000.0, symbol "beta", source "RFC 9332 A.1; 3.2 in Linux";
        //= RFC 9332 2.5.1-7: The coupling factor is 2.
        //= RFC 9332 2.5.1-8: Another coupling factor may be chosen.
        /// Coupling factor: ratio of the L queue's marking probability to p'. At k = 2, all flows get equal rates.
        coupling: f64 = 2.0, in 0.1..=1000.0, symbol "k", source "RFC 9332 2.5.1";
    }
}

params! {
    /// Marking by the L queue itself.
    pub struct RampParams {
        /// Waiting time above which L packets are marked by their own queue.
        step_start: Time = "800 us", in "0 s"..="10 s", symbol "minTh", source "RFC 9332 A.1; 1 ms in Linux";
        /// Waiting time above which all L packets are marked.
        step_end: Time = "1200 us", in "0 s"..="10 s", symbol "maxTh", source "RFC 9332 A.1; 1 ms in Linux";
    }
}

params! {
    /// Scheduler of the two queues, and conversion of probabilities into decisions.
    pub struct SharingParams {
        //= RFC 9332 A.2-5: The classic queue has a small share of the link, such as 1/16.
        //= RFC 9332 2.5.2.1-2: The bound to the priority is stated as a relation of the two queues.
        /// Minimum share of the link for the classic queue.
        classic_share: f64 = 0.0625, in 0.0..=1.0, source "RFC 9332 A.1 (1/16); 0.1 in Linux";
        /// Conversion of a probability into decisions.
        decision: Decision = "recur", source "RFC 9332 A.1; random in Linux";
        /// Length of a maximum-size packet. No packet is marked or dropped while less than two such packets wait.
        full_packet: Bytes = "1500 B", in "0 B"..="65535 B", symbol "MTU", source "Linux sch_dualpi2";
    }
}

params! {
    /// DualPI2.
    pub struct DualPi2Params {
        with control: ControlParams;
        with ramp: RampParams;
        with sharing: SharingParams;
    }
}

/// Parameters of the two queues, independent of the guard of the L queue.
#[derive(Clone, Debug)]
struct CoupledParams {
    control: ControlParams,
    sharing: SharingParams,
}

/// Registry entry of DualPI2.
#[derive(Clone, Copy, Debug)]
pub struct DualPi2Scheme;

impl SchemeSpec for DualPi2Scheme {
    const ABOUT: About = About {
        title: "Dual-queue coupled AQM, DualPI2",
        kind: "two queues by ECN codepoint with a weighted scheduler; drops or marks at dequeue, tail drop",
        summary: "Marks scalable traffic in a short queue and drops or marks classic traffic in a longer one, coupled \
                  so that flows of both kinds get equal rates.",
        source: "De Schepper, Briscoe, White: Dual-Queue Coupled AQM, RFC 9332, 2023",
        state: "port: probability, previous delay, two sums of probabilities, credit; flow: none",
        flow_state: FlowState::None,
        order: Order::Queues,
    };
    const ORDERS_PACKETS: bool = true;
    const REORDERS_FLOWS: bool = true;
    type Params = DualPi2Params;
    type Discipline<P: Packet> = DualPi2<P>;

    fn check(params: &DualPi2Params, _: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        if params.ramp.step_end < params.ramp.step_start {
            let problem = format!(
                "\"{}\" is out of range, it must be from step_start, \"{}\", to 10 s",
                params.ramp.step_end, params.ramp.step_start
            );
            return Err(ConfigError::new(table.key("step_end"), problem));
        }
        Ok(())
    }

    fn marks(_: &Self::Params) -> bool {
        true
    }

    fn build<P: Packet>(params: &DualPi2Params, port: &Port<'_>) -> Self::Discipline<P> {
        DualPi2::new(params, port.buffer)
    }
}

/// Converts probabilities into decisions: eq. (6).
#[derive(Clone, Copy, Debug, Default)]
struct Lottery {
    sum: f64,
}

impl Lottery {
    #[inline]
    fn hits(&mut self, probability: f64, decision: Decision, rng: &mut Rng) -> bool {
        match decision {
            Decision::Random => probability > 0.0 && rng.open01() < probability,
            Decision::Recur => {
                //= RFC 9332 A.1-2: A sum of probabilities that passes 1 is a hit.
                self.sum += probability;
                let hit = self.sum > 1.0;
                if hit {
                    self.sum -= 1.0;
                }
                hit
            }
        }
    }
}

/// Fate of a packet at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Pass,
    Mark,
    Drop,
}

/// Waiting times between which the L queue's own probability rises from 0 to 1, eq. (4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// minTh.
    pub start: Time,
    /// maxTh.
    pub end: Time,
}

impl Ramp {
    /// Returns the probability after a wait of `waited`.
    #[must_use]
    #[inline]
    pub fn probability(self, waited: Time) -> f64 {
        if waited <= self.start {
            0.0
        } else if waited >= self.end {
            1.0
        } else {
            //= RFC 9332 A.1-3: The L queue's own probability rises from 0 to 1 between two waiting times.
            (waited - self.start).as_secs_f64() / (self.end - self.start).as_secs_f64()
        }
    }
}

/// Guard of the L queue, which may redirect packets to the classic queue.
pub trait LowGuard: Clone + Debug {
    /// Returns true if `packet` must go to the classic queue; `waiting_bytes` wait in the L queue.
    fn ejects<P: Packet>(&mut self, packet: &P, waiting_bytes: u64, now: Time, rng: &mut Rng) -> bool;
    /// Sets the rate of the link to `rate`. Returns the new ramp of the L queue.
    fn set_link_rate(&mut self, rate: BitRate) -> Ramp;
    /// Number of records and their bytes on the heap.
    fn state_size(&self) -> StateSize;
    /// See [`QueueDiscipline::report`].
    fn report(&self, report: Report<'_>);
}

/// No guard: every L packet enters the L queue.
#[derive(Clone, Debug)]
pub struct Unguarded {
    ramp: Ramp,
}

impl LowGuard for Unguarded {
    #[inline]
    fn ejects<P: Packet>(&mut self, _: &P, _: u64, _: Time, _: &mut Rng) -> bool {
        false
    }
    fn set_link_rate(&mut self, _: BitRate) -> Ramp {
        self.ramp
    }
    fn state_size(&self) -> StateSize {
        StateSize::default()
    }
    fn report(&self, _: Report<'_>) {}
}

/// The two queues of a port and their controller.
#[derive(Clone, Debug)]
pub struct DualPi2<P, G = Unguarded> {
    //= RFC 9332 2.5.1-2: There are two queues, and each has an AQM.
    low: VecDeque<P>,
    classic: VecDeque<P>,
    backlog: Backlog,
    low_bytes: u64,
    guard: G,
    ramp: Ramp,
    limit: QueueLimit,
    /// p', the base probability.
    base_probability: f64,
    delay_before_s: f64,
    ticker: Ticker,
    /// Bytes owed to the classic queue while both queues wait.
    classic_credit: f64,
    low_lottery: Lottery,
    classic_lottery: Lottery,
    params: Box<CoupledParams>,
}

impl<P: Packet> DualPi2<P> {
    /// Creates empty queues with the limit of `buffer`.
    #[must_use]
    pub fn new(params: &DualPi2Params, buffer: &BufferParams) -> Self {
        let ramp = Ramp { start: params.ramp.step_start, end: params.ramp.step_end };
        Self::guarded((&params.control, &params.sharing), buffer, Unguarded { ramp }, ramp)
    }
}

impl<P: Packet, G: LowGuard> DualPi2<P, G> {
    /// Creates empty queues with `guard` before the L queue. The ramp of the L queue is `ramp` until the link rate
    /// changes.
    #[must_use]
    pub fn guarded(
        (control, sharing): (&ControlParams, &SharingParams),
        buffer: &BufferParams,
        guard: G,
        ramp: Ramp,
    ) -> Self {
        Self {
            low: VecDeque::new(),
            classic: VecDeque::new(),
            backlog: Backlog::default(),
            low_bytes: 0,
            guard,
            ramp,
            limit: buffer.limit,
            base_probability: 0.0,
            delay_before_s: 0.0,
            ticker: Ticker::new(control.update_interval),
            classic_credit: 0.0,
            low_lottery: Lottery::default(),
            classic_lottery: Lottery::default(),
            params: Box::new(CoupledParams { control: control.clone(), sharing: sharing.clone() }),
        }
    }

    /// Runs the updates that were due up to `now`.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        while let Some(tick) = self.ticker.due(now) {
            let before = self.base_probability;
            self.update(tick);
            let delay_s = self.delay_before_s;
            // If the port is empty and p' does not change any more, further updates have no effect. If no packet
            // leaves, the delay grows with each tick. p' then does not change if alpha and beta are 0, or if p' is 1
            // and the delay is above the target.
            let is_at_rest = if self.backlog.packets == 0 {
                self.base_probability == 0.0 && delay_s == 0.0
            } else {
                let ControlParams { alpha, beta, target, .. } = self.params.control;
                self.base_probability == 1.0 && before == 1.0 && delay_s >= target.as_secs_f64()
                    || alpha == 0.0 && beta == 0.0
            };
            if is_at_rest {
                self.ticker.skip_to_last(now);
            }
        }
    }

    /// Applies eq. (1); RFC 9332 appendix A.2.
    fn update(&mut self, now: Time) {
        let waited_s = |queue: &VecDeque<P>| {
            queue.front().map_or(0.0, |head| now.saturating_sub(head.enqueued_at()).as_secs_f64())
        };
        //= RFC 9332 A.2-1: The longer of the two queues' delays drives p'.
        let delay_s = f64::max(waited_s(&self.classic), waited_s(&self.low));
        //= RFC 9332 A.1-4: p' moves with the distance from the target and with the change of the delay.
        let step = self.params.control.alpha * (delay_s - self.params.control.target.as_secs_f64())
            + self.params.control.beta * (delay_s - self.delay_before_s);
        //= RFC 9332 A.1-5: p' stays between 0 and 1.
        self.base_probability = (self.base_probability + step).clamp(0.0, 1.0);
        self.delay_before_s = delay_s;
    }

    /// Returns p_C = p'^2.
    fn classic_probability(&self) -> f64 {
        //= RFC 9332 2.4-1: Classic packets are dropped or marked with p_C = p'^2.
        self.base_probability * self.base_probability
    }

    /// Returns p_CL = min(1, k*p').
    fn coupled_probability(&self) -> f64 {
        //= RFC 9332 2.4-2: The coupled probability of the L queue is p_CL = k p'.
        f64::min(self.params.control.coupling * self.base_probability, 1.0)
    }

    /// Returns true if the L queue is served next.
    fn serves_low(&self) -> bool {
        match (self.low.is_empty(), self.classic.is_empty()) {
            //= RFC 9332 2.5.1-4: The L queue has priority, and a bound to it keeps the classic queue from starving.
            (false, false) => self.classic_credit <= 0.0,
            //= RFC 9332 2.5.1-5: The link is never idle while a packet waits.
            (low_empty, _) => !low_empty,
        }
    }

    /// Takes the next packet of one of the queues and updates the credit. The flag is true for a packet of the L queue.
    fn take(&mut self) -> Option<(P, bool)> {
        let contended = !self.low.is_empty() && !self.classic.is_empty();
        let from_low = self.serves_low();
        let packet = if from_low { self.low.pop_front() } else { self.classic.pop_front() }?;
        let share = self.params.sharing.classic_share;
        let earned = if from_low { share } else { share - 1.0 };
        self.classic_credit =
            if contended { self.classic_credit + earned * f64::from(packet.wire_bytes()) } else { 0.0 };
        self.backlog.remove(packet.wire_bytes());
        self.low_bytes -= if from_low { u64::from(packet.wire_bytes()) } else { 0 };
        Some((packet, from_low))
    }

    /// Computes eq. (4).
    fn ramp(&self, waited: Time) -> f64 {
        //= RFC 9332 A.2-2: A packet alone in the L queue is not marked for its own delay.
        if self.low.is_empty() { 0.0 } else { self.ramp.probability(waited) }
    }

    /// Applies eq. (3) and (5).
    fn release_low(&mut self, packet: &P, now: Time, rng: &mut Rng) -> Fate {
        let (coupled, decision) = (self.coupled_probability(), self.params.sharing.decision);
        if coupled < 1.0 {
            //= RFC 9332 2.4-3: L packets are marked with the greater of p_CL and their own queue's probability.
            //= RFC 9332 2.5.1-6: L packets are marked at least as often as the coupling with p_C asks.
            //= RFC 9332 2.5.1-3: The AQM of the L queue can mark.
            let probability = f64::max(self.ramp(now.saturating_sub(packet.enqueued_at())), coupled);
            return if self.low_lottery.hits(probability, decision, rng) { Fate::Mark } else { Fate::Pass };
        }
        //= RFC 9332 A.2-3: Once p_CL is 1, L packets are dropped with p_C and the rest marked.
        //= RFC 9332 2.5.1.1-4: In overload, ECN-capable packets of both queues are dropped, too.
        if self.low_lottery.hits(self.classic_probability(), decision, rng) { Fate::Drop } else { Fate::Mark }
    }

    /// Applies eq. (2).
    fn release_classic(&mut self, packet: &P, rng: &mut Rng) -> Fate {
        let probability = self.classic_probability();
        if !self.classic_lottery.hits(probability, self.params.sharing.decision, rng) {
            return Fate::Pass;
        }
        let k = self.params.control.coupling;
        //= RFC 9332 A.2-4: From p_C = min(1/k^2, 1) on, classic packets are dropped, never marked.
        //= RFC 9332 2.5.1.1-4: In overload, ECN-capable packets of both queues are dropped, too.
        if packet.ecn().is_capable() && probability < f64::min(1.0, 1.0 / (k * k)) { Fate::Mark } else { Fate::Drop }
    }
}

impl<P: Packet, G: LowGuard> QueueDiscipline<P> for DualPi2<P, G> {
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) {
        self.catch_up(now);
        //= RFC 9332 A.1-1, deviation: An arrival is dropped unless the shared buffer has room for a full packet.
        if !self.backlog.has_room_for(packet.wire_bytes(), self.limit) {
            drops.dropped(&packet, DropReason::Overlimit, self.backlog);
            return;
        }
        packet.set_enqueued_at(now);
        self.backlog.add(packet.wire_bytes());
        //= RFC 9332 2.3-1: ECT(1) and CE tell which packets go to the L queue.
        let is_low = matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce);
        if is_low && !self.guard.ejects(&packet, self.low_bytes, now, rng) {
            self.low_bytes += u64::from(packet.wire_bytes());
            self.low.push_back(packet);
        } else {
            self.classic.push_back(packet);
        }
    }

    fn dequeue(&mut self, now: Time, rng: &mut Rng, drops: &mut impl DropSink<P>) -> Option<P> {
        self.catch_up(now);
        loop {
            //= RFC 9332 2.5.1-6, deviation: L packets are marked at least as often as the coupling with p_C asks.
            let few = self.backlog.bytes < 2 * self.params.sharing.full_packet.0;
            let (mut packet, from_low) = self.take()?;
            let fate = match (few, from_low) {
                (true, _) => Fate::Pass,
                (false, true) => self.release_low(&packet, now, rng),
                (false, false) => self.release_classic(&packet, rng),
            };
            match fate {
                Fate::Drop => {
                    drops.dropped(&packet, DropReason::Aqm, self.backlog);
                    continue;
                }
                Fate::Mark => {
                    packet.set_ecn(Ecn::Ce);
                    drops.marked(&packet);
                }
                Fate::Pass => {}
            }
            return Some(packet);
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn set_link_rate(&mut self, rate: BitRate) {
        self.ramp = self.guard.set_link_rate(rate);
    }

    fn drop_probability(&self) -> Option<f64> {
        Some(self.classic_probability())
    }

    fn state_size(&self) -> StateSize {
        let StateSize { records, bytes } = self.guard.state_size();
        StateSize { records, bytes: size_of_val(self) + size_of_val(&*self.params) + bytes }
    }

    fn report(&self, report: Report<'_>) {
        report("base_probability", self.base_probability);
        report("coupled_probability", self.coupled_probability());
        report("low_queue_packets", self.low.len() as f64);
        self.guard.report(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket, readings, refusal};
    use serde_json::json;

    fn sharing(sharing: SharingParams) -> DualPi2Params {
        DualPi2Params { sharing, ..Default::default() }
    }

    fn port(params: &DualPi2Params) -> DualPi2<TestPacket> {
        let buffer = BufferParams { limit: QueueLimit::Packets(10_000), ..Default::default() };
        DualPi2::new(params, &buffer)
    }

    fn rng() -> Rng {
        Rng::stream(1, 0, "test", 0)
    }

    fn offer(port: &mut DualPi2<TestPacket>, ecn: Ecn, count: u32, now: Time) {
        for flow in 0..count {
            port.enqueue(TestPacket { flow, ecn, ..Default::default() }, now, &mut rng(), &mut Drops::default());
        }
    }

    /// Serves `count` packets of codepoint `ecn` from a long queue, while p' is constant. Returns (dropped, marked).
    fn serve(params: &DualPi2Params, base_probability: f64, ecn: Ecn, count: u32) -> (usize, usize) {
        let mut port = port(params);
        offer(&mut port, ecn, 9_000, Time::ZERO);
        port.base_probability = base_probability;
        let (mut rng, mut drops, mut offered) = (rng(), Drops::default(), 0);
        while offered < count {
            port.dequeue(Time::ZERO, &mut rng, &mut drops);
            offered = 9_000 - port.backlog.packets;
        }
        (drops.0.len(), drops.1.len())
    }

    #[test]
    fn equation_1_follows_the_longer_wait() {
        let mut port = port(&DualPi2Params::default());
        offer(&mut port, Ecn::NotEct, 1, Time::from_millis(5));
        offer(&mut port, Ecn::Ect1, 1, Time::from_millis(10));
        port.catch_up(Time::from_millis(30));
        // At 15 ms, d = 10 ms, and p' is 0.15*(-5 ms) + 3*10 ms = 0.02925. At 30 ms, d = 25 ms adds 0.0015 + 0.045.
        assert!((port.base_probability - 0.07575).abs() < 1e-12);
        while port.dequeue(Time::from_millis(30), &mut rng(), &mut Drops::default()).is_some() {}
        // The port is empty. At 45 ms, d = 0, and -0.00225 - 0.075 reduces p' to 0.
        port.catch_up(Time::from_secs(1_000_000));
        assert_eq!((port.base_probability, port.delay_before_s), (0.0, 0.0));
    }

    #[test]
    fn updates_made_up_in_one_call_are_those_of_a_timer() {
        for (low, classic) in [(0, 3), (3, 0), (2, 2)] {
            let [mut often, mut seldom] = [(); 2].map(|()| port(&DualPi2Params::default()));
            for port in [&mut often, &mut seldom] {
                offer(port, Ecn::NotEct, classic, Time::ZERO);
                offer(port, Ecn::Ect1, low, Time::from_millis(7));
            }
            // The delay grows by 1 s per second, so beta alone adds 3 per second to p'. p' reaches 1 before 1 s and
            // stays 1.
            for ms in [100, 2_000, 4_000, 100_000, 100_001, 100_020] {
                while let Some(tick) = often.ticker.due(Time::from_millis(ms)) {
                    often.update(tick);
                }
                seldom.catch_up(Time::from_millis(ms));
                let state =
                    |port: &DualPi2<TestPacket>| (port.base_probability.to_bits(), port.delay_before_s.to_bits());
                assert_eq!(state(&often), state(&seldom), "{low} {classic} {ms}");
            }
            assert_eq!(seldom.base_probability, 1.0);
        }
    }

    #[test]
    fn equation_2_classic_packets_see_the_square() {
        let params = DualPi2Params::default();
        // p' = 0.2 gives 4 % of 1000 packets, evenly spaced. The sum exceeds 1 for the first time at the 26th packet.
        for (ecn, expected) in [(Ecn::NotEct, (39..=40, 0..=0)), (Ecn::Ect0, (0..=0, 39..=40))] {
            let (dropped, marked) = serve(&params, 0.2, ecn, 1000);
            assert!(expected.0.contains(&dropped) && expected.1.contains(&marked), "{dropped} {marked}");
        }
        // From p_C = 25 % on, marks turn into drops.
        let (dropped, marked) = serve(&params, 0.5, Ecn::Ect0, 1000);
        assert!((249..=250).contains(&dropped) && marked == 0);
        // With a coupling below 1, marks turn into drops at p_C = 1, not 1/k^2. The sum reaches 1 at the first of 9000
        // packets and exceeds 1 at each later one. The last packet is alone and passes.
        let counts = serve(
            &DualPi2Params { control: ControlParams { coupling: 0.5, ..Default::default() }, ..Default::default() },
            1.0,
            Ecn::Ect0,
            2,
        );
        assert_eq!(counts, (8_998, 0));
        // Random decisions have a standard deviation of sqrt(1000*0.04*0.96) = 6.2; the test allows five times that.
        let (dropped, _) =
            serve(&sharing(SharingParams { decision: Decision::Random, ..Default::default() }), 0.2, Ecn::NotEct, 1000);
        assert!(dropped.abs_diff(40) < 31, "{dropped}");
    }

    #[test]
    fn equation_3_and_5_low_packets_see_k_times_p_and_drops_only_in_overload() {
        let params = DualPi2Params::default();
        let (dropped, marked) = serve(&params, 0.2, Ecn::Ect1, 1000); // 40 %
        assert!(dropped == 0 && (399..=400).contains(&marked), "{marked}");
        // p' = 0.6 gives p_CL = 1 and p_C = 36 %.
        let (dropped, marked) = serve(&params, 0.6, Ecn::Ce, 1000);
        // The last call may take two packets.
        assert!((359..=361).contains(&dropped) && (1000..=1001).contains(&(dropped + marked)), "{dropped} {marked}");
    }

    #[test]
    fn overload_drops_of_low_packets_leave_the_lottery_of_the_classic_queue_alone() {
        // p' = 0.6 gives p_C = 0.36. Of ten classic packets among ten L packets, the sum exceeds 1 at the 3rd, 6th and
        // 9th (1.08, 1.16 and 1.24). If L packets used the same sum, some of these hits would affect L packets.
        let mut dual = port(&DualPi2Params::default());
        dual.base_probability = 0.6;
        let mut fates = [vec![], vec![]];
        let (classic, low) = (TestPacket::default(), TestPacket { ecn: Ecn::Ect1, ..Default::default() });
        for _ in 0..10 {
            fates[0].push(dual.release_classic(&classic, &mut rng()));
            fates[1].push(dual.release_low(&low, Time::ZERO, &mut rng()));
        }
        let hits = |fates: &[Fate]| (1..=10).filter(|i| fates[i - 1] == Fate::Drop).collect::<Vec<_>>();
        assert_eq!(fates.map(|fates| hits(&fates)), [vec![3, 6, 9], vec![3, 6, 9]]);
    }

    #[test]
    fn equation_4_ramp_of_the_low_queue() {
        let mut dual = port(&DualPi2Params::default());
        offer(&mut dual, Ecn::Ect1, 2, Time::ZERO);
        let ramp = |us| dual.ramp(Time::from_micros(us));
        assert_eq!([800, 1000, 1200, 5000].map(ramp), [0.0, 0.5, 1.0, 1.0]);
        let step = DualPi2Params {
            ramp: RampParams { step_start: Time::from_millis(1), step_end: Time::from_millis(1) },
            ..Default::default()
        };
        let mut linux = port(&step);
        assert_eq!(linux.ramp(Time::from_millis(9)), 0.0); // nothing behind
        offer(&mut linux, Ecn::Ect1, 1, Time::ZERO);
        assert_eq!([1000, 1001].map(|us| linux.ramp(Time::from_micros(us))), [0.0, 1.0]);
    }

    #[test]
    fn two_packets_pass_whatever_the_probability() {
        let mut dual = port(&DualPi2Params::default());
        offer(&mut dual, Ecn::NotEct, 1, Time::ZERO);
        dual.base_probability = 1.0;
        dual.classic_lottery.sum = 1.0;
        let mut drops = Drops::default();
        assert!(dual.dequeue(Time::ZERO, &mut rng(), &mut drops).is_some());
        offer(&mut dual, Ecn::NotEct, 2, Time::ZERO);
        dual.base_probability = 1.0;
        assert!(dual.dequeue(Time::ZERO, &mut rng(), &mut drops).is_some()); // 3000 B waited: dropped; next passes
        assert_eq!(drops.0.len(), 1);
    }

    #[test]
    fn classic_queue_gets_its_share_of_bytes_while_both_wait() {
        let mut dual = port(&sharing(SharingParams { classic_share: 0.1, ..Default::default() }));
        offer(&mut dual, Ecn::NotEct, 4_000, Time::ZERO);
        offer(&mut dual, Ecn::Ect1, 4_000, Time::ZERO);
        let mut drops = Drops::default();
        let classic =
            (0..2_000).filter(|_| dual.dequeue(Time::ZERO, &mut rng(), &mut drops).unwrap().ecn == Ecn::NotEct).count();
        assert!((199..=201).contains(&classic), "{classic}");
    }

    #[test]
    fn queues_share_one_limit() {
        let buffer = BufferParams { limit: QueueLimit::Packets(3), ..Default::default() };
        let mut dual = DualPi2::new(&DualPi2Params::default(), &buffer);
        let mut drops = Drops::default();
        for ecn in [Ecn::Ect1, Ecn::NotEct, Ecn::Ce, Ecn::Ect0] {
            dual.enqueue(TestPacket { ecn, ..Default::default() }, Time::ZERO, &mut rng(), &mut drops);
        }
        assert_eq!((dual.low.len(), dual.classic.len(), drops.0.len()), (2, 1, 1));
        assert_eq!(drops.0[0].1, DropReason::Overlimit);
        assert_eq!((dual.backlog().packets, dual.drop_probability()), (3, Some(0.0)));
        assert_eq!(readings(|report| dual.report(report))[2], ("low_queue_packets", 2.0));
        assert_eq!(dual.state_size().bytes, size_of::<DualPi2<TestPacket>>() + size_of::<CoupledParams>());
        dual.set_link_rate(BitRate(1));
    }

    #[test]
    fn a_ramp_that_falls_is_refused() {
        assert_eq!(
            refusal(json!({"scheme": "dualpi2", "step_end": "700 us"})),
            "queue.step_end: \"700 us\" is out of range, it must be from step_start, \"800 us\", to 10 s"
        );
        assert_eq!(
            refusal(json!({"scheme": "dualpi2", "scheduler": "strict"})),
            "queue.scheduler: \"strict\" is out of range, it must be fifo: dualpi2 orders packets itself"
        );
    }
}
