//! The core of PIE: a proportional-integral controller that derives the drop probability from the queueing delay. PIE
//! and the schemes that use its probability share it.
//!
//! Source: RFC 8033 (Pan et al., 2017), sections 4 and 5, except turning PIE off.
//!
//! | number | equation, with the section of RFC 8033 | code |
//! |---|---|---|
//! | (1) | `dp = alpha*(d - target) + beta*(d - d_old)`, every update interval (4.2) | `PieState::update` |
//! | (2) | dp divided by 2048, 512, 128, 32, 8, 2 while p is below 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1 (4.2) | `scale` |
//! | (3) | `dp <= 0.02` from p = 0.1 on (5.5) | `PieState::update` |
//! | (4) | `p *= 0.98` if `d = d_old = 0` (4.2) | `PieState::update` |
//! | (5) | `burst = max(0, burst - interval)`; full again if p = 0 and d, d_old < target/2 (4.4) | `PieState::update` |
//! | (6) | sum of p since the last drop below 0.85: no drop; from 8.5 on: drop; else drop with probability p (5.4) | `PieState::decide` |
//!
//! PIE does not drop while `burst > 0`, while `d_old < target/2` and `p < 0.2`, or while at most two full packets wait
//! (4.1). With ECN a packet is marked while `p <= ecn_limit` (5.1).
//!
//! | `delay` | d |
//! |---|---|
//! | `sojourn` | waiting time of the last packet to leave; 0 if no packet waits |
//! | `departures` | backlog over the departure rate, measured over 16 384 bytes, while at least 16 384 bytes wait (5.2) |
//! | `link_rate` | backlog over the rate of the link |
//!
//! Cost: a comparison and a few additions a packet, one draw if it may be dropped; (1) to (5) every 15 ms, run at the
//! next call (see [`crate::measure::ticker`]). Updates that would change nothing are skipped.

use crate::contract::prelude::*;
use crate::measure::ticker::Ticker;

choices! {
    /// Source of PIE's queueing delay.
    pub enum PieDelay {
        /// Waiting time of the packet that left last.
        Sojourn = "sojourn",
        /// Backlog divided by the measured departure rate (RFC 8033 section 5.2).
        Departures = "departures",
        /// Backlog divided by the rate of the link.
        LinkRate = "link_rate",
    }
}

choices! {
    /// Implementation of PIE.
    pub enum PieProfile {
        /// RFC 8033.
        Rfc8033 = "rfc8033",
        /// `sch_pie` of Linux 6.12.
        Linux = "linux",
    }
}

params! {
    /// PIE.
    pub struct PieParams {
        /// Implementation whose rules apply.
        profile: PieProfile = "rfc8033", source "RFC 8033; Linux sch_pie";
        //= RFC 8033 4.2-7: The target is 15 ms.
        /// Target delay.
        target: Time = "15 ms", in "10 us"..="10 s", symbol "QDELAY_REF", source "RFC 8033 4.2";
        //= RFC 8033 4.2-5: An update comes every 15 ms by default.
        //= RFC 8033 4.2-6: Fast links have updates more often.
        /// Time between updates of the probability.
        update_interval: Time = "15 ms", in "10 us"..="10 s", symbol "T_UPDATE", source "RFC 8033 4.2";
        /// Gain on the distance from the target, per second.
        alpha: f64 = 0.125, in 0.0..=1000.0, symbol "alpha", source "RFC 8033 4.2";
        /// Gain on the change of the delay, per second.
        beta: f64 = 1.25, in 0.0..=1000.0, symbol "beta", source "RFC 8033 4.2";
        //= RFC 8033 4.4-2: A burst is allowed for 150 ms.
        /// Duration of a burst that passes without drops.
        max_burst: Time = "150 ms", in "0 s"..="100 s", symbol "MAX_BURST", source "RFC 8033 4.4";
        /// Source of the queueing delay.
        delay: PieDelay = "sojourn", source "RFC 8033 4.3 leaves it open; ns-3";
        //= RFC 8033 5.2-2: A measurement takes 16 KiB.
        /// Bytes of one measurement of the departure rate, for `delay = "departures"`.
        departure_threshold: Bytes = "16384 B", in "1 B"..="1 GB", symbol "DQ_THRESHOLD", source "RFC 8033 5.2";
        /// Weight of a new measurement of the departure rate.
        departure_weight: f64 = 0.25, in 0.001..=1.0, source "RFC 8033 5.2 (DQ_THRESHOLD/2^16); 0.5 in ns-3";
        /// Derandomises drops, which makes the gaps between them more even.
        derandomize: bool = true, source "RFC 8033 5.4; off in ns-3";
        /// Limits the increase per update to 0.02 once the probability is 0.1 or more.
        cap_step: bool = true, source "RFC 8033 5.5";
        /// Makes the drop probability of a packet proportional to its length.
        byte_mode: bool = false, source "RFC 8033 appendix B";
        /// Mean packet length, also the reference of byte mode. No packet is dropped while at most two of this length
        /// wait.
        mean_packet: Bytes = "1500 B", in "1 B"..="1 MB", symbol "MEAN_PKTSIZE", source "our MTU; 1000 B in ns-3";
        /// Marks ECN-capable packets instead of dropping them while the probability is low.
        ecn: bool = false, source "RFC 8033 5.1";
        //= RFC 8033 5.1-3: That limit is 0.1.
        /// Largest probability at which packets are marked.
        ecn_limit: f64 = 0.1, in 0.0..=1.0, symbol "mark_ecnth", source "RFC 8033 5.1";
    }
}

// With `profile = "linux"`, PIE follows `sch_pie.c` of Linux 6.12. The differences from RFC 8033:
//
// - (L1) Updates occur at ticks of 4 ms (HZ = 250). The timer wheel adds one tick, so an interval of 15 ms becomes 20
//   ms: `PieParams::ticker`. Linux waits 0.5 s before the first update, but its queue is older than a run.
// - (L2) No packet is dropped while the current delay d is below target/2. RFC 8033 uses d of the last update:
//   `PieState::exempts`.
// - (L3) An arrival may be dropped while exactly two maximum-size packets wait. RFC 8033 exempts it:
//   `PieState::exempts`.
// - (L4) If d > 250 ms, an update adds another 0.02 to p: `PieState::update`.
// - (L5) If `d = d_old = 0` and no packet waits, an update subtracts p/64 from p.
// - (L6) The time between departures shortens the burst allowance. Rule (5) also resets the sum of p:
//   `PieState::departed`.
// - (L7) A drop or a random hit resets the sum of p. A mark because the sum has reached 8.5 does not, so every later
//   packet is marked: `PieState::decide`.

/// A tick of Linux at HZ = 250.
const JIFFY: Time = Time::from_millis(4);

impl PieParams {
    /// Clock of the updates: (L1).
    #[must_use]
    pub fn ticker(&self) -> Ticker {
        if !self.is_linux() {
            return Ticker::new(self.update_interval);
        }
        Ticker::new(Time((self.update_interval.0.div_ceil(JIFFY.0) + 1) * JIFFY.0))
    }

    fn is_linux(&self) -> bool {
        self.profile == PieProfile::Linux
    }
}

/// PIE's state for one queue. A discipline with many queues keeps one per queue, and shares one ticker and one set of
/// parameters.
#[derive(Clone, Copy, Debug)]
pub struct PieState {
    probability: f64,
    delay_s: f64,
    delay_before_s: f64,
    accumulated: f64,
    burst_allowance: Time,
    waiting_bytes: u64,
    departures: DepartureMeter,
}

/// PIE at a port with one queue: its state, the clock of its updates and its parameters.
#[derive(Clone, Debug)]
pub struct PieCore {
    state: PieState,
    ticker: Ticker,
    link_bytes_per_s: f64,
    params: Box<PieParams>,
}

impl PieState {
    /// Creates the state of a queue before its first packet.
    #[must_use]
    pub fn new(params: &PieParams) -> Self {
        Self {
            probability: 0.0,
            delay_s: 0.0,
            delay_before_s: 0.0,
            accumulated: 0.0,
            burst_allowance: params.max_burst,
            waiting_bytes: 0,
            departures: DepartureMeter::default(),
        }
    }

    /// Updates the probability (RFC 8033 sections 4.2 and 4.4). Returns true if the state changed.
    pub fn update(&mut self, params: &PieParams, link_bytes_per_s: f64) -> bool {
        let (before, burst_before) = ((self.probability, self.delay_before_s), self.burst_allowance);
        let (delay_s, target_s) = (self.current_delay_s(params, link_bytes_per_s), params.target.as_secs_f64());
        //= RFC 8033 4.2-1: p moves with the distance from the target and with the change of the delay.
        let raw = params.alpha * (delay_s - target_s) + params.beta * (delay_s - self.delay_before_s); // eq. (1)

        //= RFC 8033 4.2-2: The smaller p is, the smaller its steps, from 1/2048 to 1.
        let mut step = raw * scale(self.probability); // eq. (2)
        if params.cap_step && self.probability >= 0.1 {
            //= RFC 8033 5.5-1: From p = 0.1 on, a step up is 0.02 at most.
            step = step.min(0.02); // eq. (3)
        }
        let is_linux = params.is_linux();
        if is_linux && delay_s > 0.25 {
            step += 0.02; // (L4)
        }
        self.probability += step;
        if is_linux {
            if delay_s == 0.0 && self.delay_before_s == 0.0 && self.waiting_bytes == 0 {
                self.probability -= self.probability / 64.0; // (L5)
            }
        } else if delay_s == 0.0 && self.delay_before_s == 0.0 {
            //= RFC 8033 4.2-3: p shrinks by 2 % an update while there is no delay, now and before.
            self.probability *= 0.98; // eq. (4)
        }
        //= RFC 8033 4.2-4: p stays between 0 and 1.
        self.probability = self.probability.clamp(0.0, 1.0);
        //= RFC 8033 4.4-3: The allowance is rounded up to whole updates.
        //= RFC 8033 4.4-4: The allowance shrinks by an update interval each update, to 0 at least.
        if !is_linux {
            self.burst_allowance = self.burst_allowance.saturating_sub(params.update_interval);
        }
        if self.probability == 0.0 && delay_s < target_s / 2.0 && self.delay_before_s < target_s / 2.0 {
            //= RFC 8033 4.4-5: It is whole again once p is 0 and both delays are below half the target.
            self.burst_allowance = params.max_burst; // eq. (5)
            if is_linux {
                (self.accumulated, self.departures.running) = (0.0, None); // (L6)
            }
        }
        self.delay_before_s = delay_s;
        if is_linux {
            self.delay_s = delay_s;
        }
        before != (self.probability, self.delay_before_s) || burst_before != self.burst_allowance
    }

    /// Returns PIE's value of the queueing delay, in seconds.
    #[must_use]
    pub fn current_delay_s(&self, params: &PieParams, link_bytes_per_s: f64) -> f64 {
        //= RFC 8033 4.3-1: The delay is the backlog over the rate of departures, or measured by time stamps.
        match params.delay {
            PieDelay::Sojourn => self.delay_s,
            PieDelay::LinkRate => self.waiting_bytes as f64 / link_bytes_per_s,
            //= RFC 8033 5.2-4: Without a measurement under way, the last average stands.
            PieDelay::Departures if self.departures.bytes_per_s > 0.0 => {
                self.waiting_bytes as f64 / self.departures.bytes_per_s
            }
            PieDelay::Departures => 0.0,
        }
    }

    /// Returns true if an arrival must not be dropped at random while `backlog` waits (RFC 8033 sections 4.1 and 4.4).
    #[must_use]
    #[inline]
    pub fn exempts(&self, params: &PieParams, backlog: Backlog) -> bool {
        //= RFC 8033 4.1-2: No random drop while the delay was below half its target and p is below 0.2.
        let delay_s = if params.is_linux() { self.delay_s } else { self.delay_before_s }; // (L2)
        let calm = delay_s < params.target.as_secs_f64() / 2.0 && self.probability < 0.2;
        //= RFC 8033 4.4-1: Nothing is dropped at random while a burst is allowed.
        //= RFC 8033 4.1-3: No random drop while two packets or fewer wait.
        let spared = 2 * params.mean_packet.0 + u64::from(!params.is_linux()); // (L3)
        self.burst_allowance > Time::ZERO || calm || backlog.bytes < spared
    }

    /// Returns true if an arrival of `wire_bytes` is dropped or marked while `backlog` waits (RFC 8033 sections 4.1,
    /// 4.4 and 5.4).
    pub fn decide(&mut self, params: &PieParams, backlog: Backlog, wire_bytes: u32, rng: &mut Rng) -> bool {
        if self.exempts(params, backlog) {
            return false;
        }
        //= RFC 8033 B-1: The probability is scaled by the length of the packet.
        let relative_length = if params.byte_mode { f64::from(wire_bytes) / params.mean_packet.0 as f64 } else { 1.0 };
        let p = f64::min(self.probability * relative_length, 1.0);
        if params.derandomize {
            self.accumulated = if self.probability == 0.0 { 0.0 } else { self.accumulated + p };
            //= RFC 8033 5.4-1: The sum of p since the last drop decides: none below 0.85, one at 8.5.
            if self.accumulated < 0.85 {
                return false; // eq. (6)
            }
            if self.accumulated >= 8.5 {
                if !params.is_linux() {
                    self.accumulated = 0.0; // (L7)
                }
                return true;
            }
        }
        //= RFC 8033 4.1-1: An arrival is dropped at random, with the probability of the controller.
        let hit = rng.open01() < p;
        if hit {
            self.accumulated = 0.0;
        }
        hit
    }

    /// Records that a packet of `wire_bytes` was stored.
    #[inline]
    pub fn accepted(&mut self, wire_bytes: u32) {
        self.waiting_bytes += u64::from(wire_bytes);
    }

    /// Sets the number of bytes that wait.
    #[inline]
    pub fn holds(&mut self, bytes: u64) {
        self.waiting_bytes = bytes;
    }

    /// Records that a packet was dropped, at random or at a full queue.
    #[inline]
    pub fn overflowed(&mut self) {
        //= RFC 8033 B-2: A drop at a full buffer resets the sum of p.
        self.accumulated = 0.0;
    }

    /// Records that the transmission of a packet starts at `now`. The packet has `wire_bytes` and was stored at
    /// `enqueued_at`. `behind` is the backlog without it.
    #[inline]
    pub fn departed(&mut self, params: &PieParams, wire_bytes: u32, enqueued_at: Time, behind: Backlog, now: Time) {
        self.waiting_bytes = behind.bytes;
        if params.is_linux() && params.delay != PieDelay::Departures {
            let before = self.departures.running.replace((now, 0)).map_or(now, |(before, _)| before);
            self.burst_allowance = self.burst_allowance.saturating_sub(now.saturating_sub(before)); // (L6)
        }
        match params.delay {
            PieDelay::LinkRate => {}
            PieDelay::Sojourn if behind.packets == 0 => self.delay_s = 0.0,
            PieDelay::Sojourn => self.delay_s = now.saturating_sub(enqueued_at).as_secs_f64(),
            PieDelay::Departures => {
                let lasted = self.departures.departed(wire_bytes, behind, now, params);
                if params.is_linux() {
                    self.burst_allowance = self.burst_allowance.saturating_sub(lasted); // (L6)
                }
            }
        }
    }

    /// Returns p, the probability that the controller set last, before any scaling by length.
    #[must_use]
    #[inline]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Remaining burst allowance.
    #[must_use]
    pub fn burst_allowance(&self) -> Time {
        self.burst_allowance
    }
}

impl PieCore {
    /// Creates an idle port at rate `rate`.
    #[must_use]
    pub fn new(params: PieParams, rate: BitRate) -> Self {
        Self {
            state: PieState::new(&params),
            ticker: params.ticker(),
            link_bytes_per_s: rate.as_f64() / 8.0,
            params: Box::new(params),
        }
    }

    /// Sets the rate of the link to `rate`.
    pub fn set_link_rate(&mut self, rate: BitRate) {
        self.link_bytes_per_s = rate.as_f64() / 8.0;
    }

    /// Runs the updates that were due up to `now`. The discipline must call this at the start of each of its functions.
    #[inline]
    pub fn catch_up(&mut self, now: Time) {
        while self.ticker.due(now).is_some() {
            if !self.state.update(&self.params, self.link_bytes_per_s) {
                self.ticker.skip_to(now);
            }
        }
    }

    /// See [`PieState::current_delay_s`].
    #[must_use]
    pub fn current_delay_s(&self) -> f64 {
        self.state.current_delay_s(&self.params, self.link_bytes_per_s)
    }

    /// See [`PieState::exempts`].
    #[must_use]
    #[inline]
    pub fn exempts(&self, backlog: Backlog) -> bool {
        self.state.exempts(&self.params, backlog)
    }

    /// See [`PieState::decide`].
    #[inline]
    pub fn decide(&mut self, backlog: Backlog, wire_bytes: u32, rng: &mut Rng) -> bool {
        self.state.decide(&self.params, backlog, wire_bytes, rng)
    }

    /// See [`PieState::accepted`].
    #[inline]
    pub fn accepted(&mut self, wire_bytes: u32) {
        self.state.accepted(wire_bytes);
    }

    /// See [`PieState::overflowed`].
    #[inline]
    pub fn overflowed(&mut self) {
        self.state.overflowed();
    }

    /// See [`PieState::departed`].
    #[inline]
    pub fn departed(&mut self, wire_bytes: u32, enqueued_at: Time, behind: Backlog, now: Time) {
        self.state.departed(&self.params, wire_bytes, enqueued_at, behind, now);
    }

    /// See [`PieState::probability`].
    #[must_use]
    #[inline]
    pub fn probability(&self) -> f64 {
        self.state.probability()
    }

    /// See [`PieState::burst_allowance`].
    #[must_use]
    pub fn burst_allowance(&self) -> Time {
        self.state.burst_allowance()
    }

    /// Size of the core in bytes, including the parameters on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(self) + size_of::<PieParams>()
    }
}

/// Divisor of RFC 8033 section 4.2: the smaller p is, the smaller are its steps.
fn scale(probability: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    STEPS.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

/// Measures the departure rate while a long queue keeps the link busy; RFC 8033 section 5.2.
#[derive(Clone, Copy, Debug, Default)]
struct DepartureMeter {
    bytes_per_s: f64,
    /// Start of the current measurement, and bytes whose transmission has started since then.
    running: Option<(Time, u64)>,
}

impl DepartureMeter {
    /// Counts a departure. If a measurement ends now, returns its duration, otherwise 0.
    fn departed(&mut self, wire_bytes: u32, behind: Backlog, now: Time, params: &PieParams) -> Time {
        let threshold = params.departure_threshold.0;
        let mut lasted = Time::ZERO;
        if let Some((start, bytes)) = self.running
            && bytes >= threshold
        {
            lasted = now.saturating_sub(start);
            if lasted > Time::ZERO {
                let rate = bytes as f64 / lasted.as_secs_f64();
                let weight = if params.is_linux() { 0.125 } else { params.departure_weight };
                let weight = if self.bytes_per_s == 0.0 { 1.0 } else { weight };
                //= RFC 8033 5.2-3, deviation: The time of a measurement is averaged with weight DQ_THRESHOLD/2^16.
                self.bytes_per_s += weight * (rate - self.bytes_per_s);
            }
            self.running = None;
        }
        self.running = match self.running {
            Some((start, bytes)) => Some((start, bytes + u64::from(wire_bytes))),
            //= RFC 8033 5.2-1: Departures are measured from when enough bytes wait until as many have left.
            None if behind.bytes >= threshold => Some((now, u64::from(wire_bytes))),
            None => None,
        };
        lasted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    const RATE: BitRate = BitRate(10_000_000);
    const LONG: Backlog = Backlog { packets: 20, bytes: 30_000 };

    /// State of Linux after a wait of `delay_ms` at a probability of `probability`.
    fn linux(delay_ms: f64, probability: f64) -> (PieParams, PieState) {
        let params = PieParams { profile: PieProfile::Linux, ..Default::default() };
        let mut state = PieState::new(&params);
        (state.delay_s, state.delay_before_s, state.probability) = (delay_ms / 1e3, delay_ms / 1e3, probability);
        state.burst_allowance = Time::ZERO;
        (params, state)
    }

    #[test]
    fn linux_updates_every_20_ms_and_jumps_beyond_250() {
        let (params, _) = linux(0.0, 0.0);
        let mut ticker = params.ticker();
        let ticks: Vec<_> = std::iter::from_fn(|| ticker.due(Time::from_millis(65))).collect();
        assert_eq!(ticks, [20, 40, 60].map(Time::from_millis));
        // For delays of 250 and 260 ms, alpha*(d - target) is 0.125*0.235 and 0.125*0.245. At p = 0.2 the scale is 1.
        // The step is limited to 0.02; above 250 ms another 0.02 is added.
        let after = |delay_ms| {
            let (params, mut state) = linux(delay_ms, 0.2);
            state.update(&params, 1e6);
            state.probability()
        };
        close(after(250.0), 0.2 + 0.02);
        close(after(260.0), 0.2 + 0.04);
        // If no packet waits, p is multiplied by 63/64, after the step of -0.125*0.015.
        close(after(0.0), (0.2 - 0.125 * 0.015) * 63.0 / 64.0);
        let (params, mut state) = linux(0.0, 0.2);
        state.accepted(1500);
        state.update(&params, 1e6);
        close(state.probability(), 0.2 - 0.125 * 0.015);
    }

    #[test]
    fn linux_looks_at_the_delay_of_now_and_its_burst_shrinks_with_departures() {
        let two = Backlog { packets: 2, bytes: 3000 };
        let (params, mut state) = linux(20.0, 0.1);
        assert!(!state.exempts(&params, two) && state.exempts(&params, Backlog { packets: 2, bytes: 2999 }));
        // The current delay of 5 ms is below half the target, even before an update.
        state.departed(&params, 1500, Time::from_millis(95), two, Time::from_millis(100));
        assert!(state.exempts(&params, two));
        state.burst_allowance = Time::from_millis(150);
        state.update(&params, 1e6);
        state.departed(&params, 1500, Time::from_millis(95), two, Time::from_millis(130));
        assert_eq!(state.burst_allowance(), Time::from_millis(120));
        // A mark because the sum of p has reached 8.5 does not change the sum. A drop restarts the sum.
        let (params, mut state) = linux(20.0, 0.05);
        state.accumulated = 8.49;
        let mut rng = Rng::stream(1, 0, "test", 0);
        assert!((0..1000).all(|_| state.decide(&params, two, 1500, &mut rng)));
        state.overflowed();
        assert!(!state.decide(&params, two, 1500, &mut rng));
    }

    fn params(delay: PieDelay) -> PieParams {
        PieParams { delay, ..Default::default() }
    }

    /// Returns a core whose burst allowance is used up.
    fn core(probability: f64, delay_before_s: f64, delay_s: f64) -> PieCore {
        let mut core = PieCore::new(params(PieDelay::Sojourn), RATE);
        (core.state.probability, core.state.delay_before_s, core.state.delay_s) =
            (probability, delay_before_s, delay_s);
        core.state.burst_allowance = Time::ZERO;
        core
    }

    #[test]
    fn equations_1_to_3_step_of_the_probability() {
        let after = |probability, before_ms: f64, now_ms: f64| {
            let mut core = core(probability, before_ms / 1e3, now_ms / 1e3);
            core.catch_up(Time::from_millis(15));
            core.probability()
        };
        // Before the division by `divisor`, p grows by 0.125*(25-15 ms) + 1.25*(25-21 ms) = 0.00125 + 0.005 = 0.00625.
        for (p, divisor) in
            [(0.0, 2048.0), (2e-6, 512.0), (2e-5, 128.0), (2e-4, 32.0), (2e-3, 8.0), (0.02, 2.0), (0.2, 1.0)]
        {
            close(after(p, 21.0, 25.0), p + 0.00625 / divisor);
        }
        // The delay jumps from 0 to 100 ms, so p would grow by 0.125*0.085 + 1.25*0.1 = 0.1356. From p = 0.1 on, the
        // growth is limited to 0.02.
        close(after(0.1, 0.0, 100.0), 0.12);
        close(after(0.05, 0.0, 100.0), 0.05 + 0.135_625 / 2.0);
        close(after(0.99, 200.0, 1000.0), 1.0);
        // A falling delay lowers p without a limit: 0.125*(-0.01) + 1.25*(-0.1) = -0.12625.
        close(after(0.3, 105.0, 5.0), 0.3 - 0.12625);
        close(after(0.1, 105.0, 5.0), 0.0);
    }

    #[test]
    fn equation_4_probability_decays_on_an_idle_link() {
        let mut core = core(0.5, 0.0, 0.0);
        core.catch_up(Time::from_millis(15));
        close(core.probability(), (0.5 - 0.125 * 0.015) * 0.98);
        core.catch_up(Time::from_secs(1_000_000));
        assert_eq!(core.probability(), 0.0);
    }

    #[test]
    fn equation_5_burst_allowance_lasts_ten_intervals_and_comes_back() {
        let mut core = PieCore::new(params(PieDelay::Sojourn), RATE);
        core.catch_up(Time::from_secs(5));
        assert_eq!(core.burst_allowance(), Time::from_millis(150));
        core.state.delay_s = 0.020;
        core.catch_up(Time::from_millis(5_135)); // 9 intervals of 15 ms end at 5.010, 5.025, ... 5.130 s
        assert_eq!(core.burst_allowance(), Time::from_millis(15));
        core.catch_up(Time::from_millis(5_145));
        assert_eq!(core.burst_allowance(), Time::ZERO);
        core.state.delay_s = 0.0;
        core.catch_up(Time::from_secs(10));
        assert_eq!(core.burst_allowance(), Time::from_millis(150));
    }

    #[test]
    fn updates_made_up_in_one_call_are_those_of_a_timer() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let (mut often, mut seldom) = (core(0.0, 0.0, 0.0), core(0.0, 0.0, 0.0));
        for step in 0..500u64 {
            let now = Time::from_millis(step * 100);
            for milli in 0..100 {
                often.catch_up(now + Time::from_millis(milli));
            }
            seldom.catch_up(now + Time::from_millis(99));
            assert_eq!(often.probability().to_bits(), seldom.probability().to_bits());
            let delay_s = rng.open01() * 0.1;
            (often.state.delay_s, seldom.state.delay_s) = (delay_s, delay_s);
        }
        assert!(often.probability() > 0.0);
    }

    #[test]
    fn nothing_is_dropped_in_a_burst_in_a_calm_queue_or_behind_two_packets() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut decide = |core: &mut PieCore, backlog| core.decide(backlog, 1500, &mut rng);
        let two = Backlog { packets: 2, bytes: 3_000 };
        assert!(decide(&mut core(1.0, 0.1, 0.1), LONG));
        assert!(!decide(&mut core(1.0, 0.1, 0.1), two));
        assert!(!decide(&mut core(0.199, 0.007, 0.1), LONG));
        assert!(decide(&mut core(1.0, 0.007, 0.1), LONG)); // p is not below 0.2
        let mut bursting = core(1.0, 0.1, 0.1);
        bursting.state.burst_allowance = Time(1);
        assert!(!decide(&mut bursting, LONG));
    }

    #[test]
    fn equation_6_gaps_between_drops_are_neither_short_nor_long() {
        // At p = 0.1, no drop occurs before the 9th packet (sum 0.9 >= 0.85), and one occurs at the 85th packet at the
        // latest.
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut core = core(0.1, 0.1, 0.1);
        let mut gaps = Vec::new();
        let mut gap = 0;
        while gaps.len() < 20_000 {
            gap += 1;
            if core.decide(LONG, 1500, &mut rng) {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        assert_eq!(gaps.iter().min(), Some(&9));
        assert!(gaps.iter().all(|&gap| gap <= 86)); // rounding of the sum may cost one packet
        // 8 packets pass. Then the gap is geometric with p = 0.1: mean 18, standard deviation 9.5/sqrt(20000) = 0.067.
        let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
        assert!((mean - 18.0).abs() < 0.34, "{mean}");
        // Without derandomisation a tenth of the packets is dropped, and a hundredth if they have a tenth of the mean
        // length.
        core.params.derandomize = false;
        let hits = (0..100_000).filter(|_| core.decide(LONG, 1500, &mut rng)).count();
        assert!(hits.abs_diff(10_000) < 475); // five standard deviations of 95
        core.params.byte_mode = true;
        let hits = (0..100_000).filter(|_| core.decide(LONG, 150, &mut rng)).count();
        assert!(hits.abs_diff(1_000) < 158);
    }

    #[test]
    fn a_certain_drop_comes_at_the_sum_of_8_5() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut core = core(1e-9, 0.1, 0.1);
        core.state.accumulated = 8.5;
        assert!(core.decide(LONG, 1500, &mut rng));
        assert_eq!(core.state.accumulated, 0.0);
        core.state.accumulated = 3.0;
        core.overflowed();
        assert_eq!(core.state.accumulated, 0.0);
        core.state.accumulated = 3.0;
        core.state.probability = 0.0;
        core.state.delay_before_s = 0.1;
        assert!(!core.decide(LONG, 1500, &mut rng));
        assert_eq!(core.state.accumulated, 0.0);
    }

    #[test]
    fn each_delay_estimate_reads_its_own() {
        let mut link = PieCore::new(params(PieDelay::LinkRate), RATE);
        (0..20).for_each(|_| link.accepted(1500));
        close(link.current_delay_s(), 0.024); // 240 kbit at 10 Mbit/s
        link.set_link_rate(BitRate(5_000_000));
        close(link.current_delay_s(), 0.048);

        let mut sojourn = PieCore::new(params(PieDelay::Sojourn), RATE);
        sojourn.departed(1500, Time::from_millis(3), LONG, Time::from_millis(20));
        close(sojourn.current_delay_s(), 0.017);
        sojourn.departed(1500, Time::from_millis(4), Backlog::default(), Time::from_millis(21));
        assert_eq!(sojourn.current_delay_s(), 0.0);

        // A packet takes 2.4 ms on a 5 Mbit/s link. 11 packets are 16.5 kB >= 16384 B.
        let mut departures = PieCore::new(params(PieDelay::Departures), RATE);
        (0..20).for_each(|_| departures.accepted(1500));
        for packet in 0..12u64 {
            assert_eq!(departures.current_delay_s(), 0.0);
            departures.departed(1500, Time::ZERO, LONG, Time::from_micros(2400 * packet));
        }
        close(departures.current_delay_s(), 0.048);
    }
}
