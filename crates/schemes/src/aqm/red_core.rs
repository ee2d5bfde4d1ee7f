//! The core of RED: the average queue and the probability of an early drop. RED and the schemes based on it use this
//! module.
//!
//! Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1993 (red1993);
//! gentle line and automatic settings as in ns-2 and ns-3.
//!
//! | number | equation | code |
//! |---|---|---|
//! | (1) | `m = floor(C/(8*mean_packet) * idle time)`, 0 if the link was busy | [`RedCore::arrival`] |
//! | (2) | `avg = (1-w)^(m+1) * avg + w*q` | [`RedCore::arrival`] |
//! | (3) | `p_b = max_p*(avg-min_th)/(max_th-min_th)` from min_th to max_th | [`RedCore::base_probability`] |
//! | (4) | gentle: `p_b = max_p + (1-max_p)*(avg-max_th)/max_th` from max_th to 2*max_th, then 1 | the same |
//! | (5) | wait: `p_a = 0` if `c*p_b < 1`, `p_b/(2-c*p_b)` if `c*p_b < 2`, else 1 | [`RedCore::spread`] |
//! | (6) | no wait: `p_a = p_b/(1-c*p_b)` if `c*p_b < 1`, else 1 | the same |
//!
//! q is the queue length that an arrival finds. c is the number of arrivals since the last drop or mark, including this
//! arrival. C_pkt is the link's rate in packets of mean length per second. The first packet that finds avg above min_th
//! passes. Byte mode (`size_scaling`) multiplies p_a or p_b by the packet's length divided by the mean length. In byte
//! mode c is the number of arrived bytes divided by the mean length, rounded down as in ns-2 and ns-3. The gap between
//! drops is uniformly distributed: over `1/p_b..2/p_b` packets with (5), over `1..1/p_b` with (6).
//!
//! | `weight_rule` | w | ns-2 `q_weight_` |
//! |---|---|---|
//! | `given` | `weight` | the value |
//! | `second` | `1 - exp(-1/C_pkt)` | 0 |
//! | `ten_rtt` | `1 - exp(-1/(10*rtt*C_pkt))`, `rtt = max(100 ms, 3*(link_delay + 1/C_pkt))` | -1 |
//! | `tenth_second` | `1 - exp(-10/C_pkt)` | -2 |
//!
//! If both thresholds are 0, they are automatic: `min_th = max(5, target_delay*C_pkt/2)`, `max_th = 3*min_th`. For
//! thresholds in bytes, these values are multiplied by `mean_packet`.
//!
//! Cost: a few multiplications, one division and one draw while avg is between the thresholds, one power at the first
//! arrival after an idle time.

use crate::base::units::QueueMeasure;
use crate::contract::prelude::*;

choices! {
    /// Implementation of RED.
    pub enum RedProfile {
        /// RED as in the paper, ns-2 and ns-3.
        Ns = "ns",
        /// `sch_red`, `sch_choke` and `tc`.
        Linux = "linux",
    }
}

choices! {
    /// Source of the weight of the average.
    pub enum WeightRule {
        /// Given by `weight`.
        Given = "given",
        /// `1-exp(-1/C_pkt)`, for C_pkt packets per second: a time constant of one second (ns weight 0).
        Second = "second",
        /// `1-exp(-10/C_pkt)`: a time constant of a tenth of a second (ns weight -2).
        TenthSecond = "tenth_second",
        /// `1-exp(-1/(10*rtt*C_pkt))`, `rtt = max(100 ms, 3*(link_delay + 1/C_pkt))`: a time constant of ten round
        /// trips (ns weight -1).
        TenRtt = "ten_rtt",
    }
}

choices! {
    /// Effect of a packet's length on its drop probability.
    pub enum SizeScaling {
        /// No effect: packet mode.
        None = "none",
        /// `p_a` times length over mean: byte mode of ns-2 and ns-3.
        After = "after",
        /// `p_b` times length over mean: byte mode of red1993.
        Before = "before",
    }
}

params! {
    /// RED. Thresholds may be in packets or in bytes.
    pub struct RedParams {
        /// Implementation whose rules apply.
        profile: RedProfile = "ns", source "ns-2, ns-3; Linux red.h";
        /// Average queue below which no packet is dropped early; automatic if both `min_th` and `max_th` are 0.
        min_th: Threshold = "5 packets", symbol "min_th", source "ns-3.26; 50 in AFC";
        /// Average queue at which the drop probability reaches `max_p`.
        max_th: Threshold = "15 packets", symbol "max_th", source "ns-3.26; 150 in AFC";
        /// Drop probability at `max_th`.
        max_p: f64 = 0.02, in 0.000001..=1.0, symbol "max_p", source "ns-3.26 (LInterm 50); 0.1 in ns-2";
        /// Weight of a new sample in the average queue.
        weight: f64 = 0.002, in 0.000000001..=1.0, symbol "w_q", source "red1993 section VI";
        /// Source of the weight of the average. All values except `given` derive the weight from the rate of the link.
        weight_rule: WeightRule = "given", source "ns-2 q_weight 0, -1, -2";
        /// Gentle mode: between `max_th` and twice `max_th` the drop probability rises linearly to 1 instead of
        /// jumping.
        gentle: bool = true, source "ns-3.26, ns-2";
        /// Wait mode: at least `1/p_b` packets between early drops.
        wait: bool = true, source "ns-3.26, ns-2";
        /// Effect of a packet's length on its drop probability: byte mode is `after` (ns-2, ns-3) or `before`
        /// (red1993).
        size_scaling: SizeScaling = "none", source "ns-3.26 packet mode; ns-2 bytes_ = after";
        /// Mean packet length, used for idle times, byte mode and automatic settings.
        mean_packet: Bytes = "500 B", in "1 B"..="1 MB", source "ns-3.26, ns-2";
        /// Automatic thresholds: `min_th = max(5, target_delay*C_pkt/2)`, `max_th = 3*min_th`.
        target_delay: Time = "5 ms", in "1 us"..="10 s", source "ns-2 targetdelay_";
        /// One-way delay of the link, for `weight_rule = "ten_rtt"`.
        link_delay: Time = "20 ms", in "0 s"..="100 s", source "ns-3.26 LinkDelay";
        /// A forced drop or a full queue also resets the count between early drops.
        forced_restarts: bool = true, source "ns-2; false in ns-3";
        /// Marks ECN-capable packets instead of dropping them early.
        ecn: bool = false, source "RFC 3168; ns-3.26 has none";
        /// With ECN: still drops packets when the average is above the upper end of the drop curve.
        hard_drop: bool = true, source "ns-3 UseHardDrop";
    }
}

/// RED's decision on an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedDecision {
    /// Accept the packet.
    Pass,
    /// Drop or mark the packet, by chance.
    Early,
    /// Drop the packet: the average is above the end of the drop curve.
    Forced,
}

impl RedDecision {
    /// Converts the decision into a verdict. With `ecn`, early drops become marks. Without `hard_drop`, forced drops
    /// become marks, too.
    #[must_use]
    #[inline]
    pub fn verdict(self, ecn: bool, hard_drop: bool) -> Verdict {
        match self {
            Self::Pass => Verdict::Accept,
            Self::Early if ecn => Verdict::Mark,
            Self::Forced if ecn && !hard_drop => Verdict::Mark,
            Self::Early | Self::Forced => Verdict::Drop,
        }
    }
}

/// Average queue and drop decision of one port.
#[derive(Clone, Debug)]
pub struct RedCore {
    average: f64,
    weight: f64,
    min_th: f64,
    max_th: f64,
    max_p: f64,
    packets_per_s: f64,
    probability: f64,
    /// Packets (or, in byte mode, bytes) since the last drop.
    count: u64,
    /// Time at which the link became idle; [`Time::NEVER`] while it is busy.
    idle_since: Time,
    /// With Linux's rules, the last arrival.
    counted: Time,
    params: Box<RedParams>,
    /// Random threshold of the current gap in the Linux profile, rule (L4).
    drawn: f32,
    in_bytes: bool,
    /// True if the average was at least min_th at the previous arrival (`old` in ns-2).
    was_above: bool,
}

impl RedCore {
    /// Creates an idle port at rate `rate`.
    #[must_use]
    pub fn new(params: RedParams, rate: BitRate) -> Self {
        let mut core = Self {
            average: 0.0,
            weight: 0.0,
            min_th: 0.0,
            max_th: 0.0,
            max_p: params.max_p,
            packets_per_s: 0.0,
            probability: 0.0,
            count: 0,
            drawn: 0.0,
            // Linux does not count the time before the first packet as idle. The average is then 0 anyway.
            idle_since: Time::ZERO,
            counted: Time::ZERO,
            in_bytes: params.min_th.measure() == QueueMeasure::Bytes,
            was_above: false,
            params: Box::new(params),
        };
        core.set_link_rate(rate);
        core
    }

    /// Sets the rate of the link to `rate`. Idle times and automatic settings depend on the rate.
    pub fn set_link_rate(&mut self, rate: BitRate) {
        let params = &*self.params;
        let mean_packet = params.mean_packet.0 as f64;
        self.packets_per_s = rate.as_f64() / (8.0 * mean_packet);
        self.weight = automatic_weight(params, self.packets_per_s);
        (self.min_th, self.max_th) = (params.min_th.magnitude(), params.max_th.magnitude());
        if self.max_th == 0.0 {
            let packets = f64::max(5.0, params.target_delay.as_secs_f64() * self.packets_per_s / 2.0);
            self.min_th = if self.in_bytes { packets * mean_packet } else { packets };
            self.max_th = 3.0 * self.min_th;
        }
        if params.profile == RedProfile::Linux {
            self.weight = libm::exp2(libm::round(libm::log2(params.weight)));
            (self.min_th, self.max_th) = (self.min_th.floor(), self.max_th.floor());
        }
    }

    fn is_linux(&self) -> bool {
        self.params.profile == RedProfile::Linux
    }

    /// Waiting queue in the unit of the thresholds.
    #[must_use]
    #[inline]
    pub fn length(&self, backlog: Backlog) -> f64 {
        if self.in_bytes { backlog.bytes as f64 } else { f64::from(backlog.packets) }
    }

    /// Counts an arrival when `backlog` waits: eq. (1) and (2). Call it once per arrival, before [`RedCore::decide`].
    #[inline]
    pub fn arrival(&mut self, backlog: Backlog, wire_bytes: u32, now: Time) {
        if self.is_linux() {
            // A drop at an idle port restarts the idle time (red_dequeue).
            self.counted = now;
            let idle_since = std::mem::replace(&mut self.idle_since, Time::NEVER);
            self.average = if idle_since == Time::NEVER {
                self.average + self.weight * (self.length(backlog) - self.average.floor()) // (L1)
            } else {
                linux::fade(self.average, self.weight, self.packets_per_s, now.saturating_sub(idle_since))
            };
            return;
        }
        let mut kept = 1.0 - self.weight;
        if self.idle_since != Time::NEVER {
            let missed = (self.packets_per_s * now.saturating_sub(self.idle_since).as_secs_f64()).floor(); // eq. (1)
            kept = libm::pow(kept, missed + 1.0);
            self.idle_since = Time::NEVER;
        }
        self.average = kept * self.average + self.weight * self.length(backlog); // eq. (2)
        self.count = self.count.saturating_add(self.amount(wire_bytes));
    }

    /// Decides on the last counted arrival. A drop or mark restarts the count.
    pub fn decide(&mut self, backlog: Backlog, wire_bytes: u32, rng: &mut Rng) -> RedDecision {
        if self.is_linux() {
            return self.decide_as_linux(rng);
        }
        self.probability = 0.0;
        if self.average < self.min_th || self.length(backlog) <= 1.0 {
            self.was_above = false;
            return RedDecision::Pass;
        }
        if self.is_forced() {
            self.probability = 1.0;
            if self.params.forced_restarts {
                self.restart();
            }
            return RedDecision::Forced;
        }
        if !self.was_above {
            self.was_above = true;
            self.count = self.amount(wire_bytes);
            return RedDecision::Pass;
        }
        self.probability = self.spread(self.base_probability(), wire_bytes);
        if rng.open01() > self.probability {
            return RedDecision::Pass;
        }
        self.restart();
        RedDecision::Early
    }

    /// Rule (L4).
    #[allow(clippy::cast_possible_truncation)]
    fn decide_as_linux(&mut self, rng: &mut Rng) -> RedDecision {
        self.probability = self.base_probability();
        let is_between = self.average >= self.min_th && self.average < self.max_th;
        if !is_between {
            self.was_above = false;
            return if self.average < self.min_th { RedDecision::Pass } else { RedDecision::Forced };
        }
        self.count += 1;
        let decision = if !std::mem::replace(&mut self.was_above, true) {
            RedDecision::Pass
        } else if (self.average - self.min_th).floor() * self.count as f64 >= f64::from(self.drawn) {
            RedDecision::Early
        } else {
            return RedDecision::Pass;
        };
        self.count = 0;
        self.drawn = (rng.open01() * (self.max_th - self.min_th) / self.max_p).floor() as f32;
        decision
    }

    /// Records that the queue was full for the last counted packet.
    pub fn overflowed(&mut self) {
        if self.params.forced_restarts {
            self.restart();
        }
    }

    /// Restarts the count: the next arrival is the first since the last drop.
    #[inline]
    pub fn restart(&mut self) {
        if !self.is_linux() {
            self.count = 0;
        }
    }

    /// Records that the link requested a packet while none waited.
    #[inline]
    pub fn idle(&mut self, now: Time) {
        self.idle_since = self.idle_since.min(now.max(self.counted));
    }

    /// Returns true if the average is so large that every arrival is dropped.
    #[must_use]
    #[inline]
    pub fn is_forced(&self) -> bool {
        self.average >= if self.params.gentle && !self.is_linux() { 2.0 * self.max_th } else { self.max_th }
    }

    /// Returns p_b by eq. (3) and (4): 0 below min_th, 1 above the end of the drop curve.
    #[must_use]
    pub fn base_probability(&self) -> f64 {
        if self.average < self.min_th {
            0.0
        } else if self.is_forced() {
            1.0
        } else if self.average < self.max_th {
            self.max_p * (self.average - self.min_th) / (self.max_th - self.min_th) // eq. (3)
        } else {
            self.max_p + (1.0 - self.max_p) * (self.average - self.max_th) / self.max_th // eq. (4)
        }
    }

    /// Returns p_a: `p_b` increased by the count since the last drop, eq. (5) and (6), and scaled by the packet's
    /// length.
    #[must_use]
    pub fn spread(&self, p_b: f64, wire_bytes: u32) -> f64 {
        let relative_length = f64::from(wire_bytes) / self.params.mean_packet.0 as f64;
        let scaling = self.params.size_scaling;
        let p_b = if scaling == SizeScaling::Before { f64::min(p_b * relative_length, 1.0) } else { p_b };
        let whole = if scaling == SizeScaling::None { self.count } else { self.count / self.params.mean_packet.0 };
        let p_a = spread_over_gap(p_b, whole as f64 * p_b, self.params.wait);
        // As in ns-2, byte mode does not reduce a probability of 1 for short packets.
        if scaling == SizeScaling::After && p_a < 1.0 { f64::min(p_a * relative_length, 1.0) } else { p_a }
    }

    /// Returns how much a packet adds to the count.
    #[inline]
    fn amount(&self, wire_bytes: u32) -> u64 {
        if self.params.size_scaling == SizeScaling::None { 1 } else { u64::from(wire_bytes) }
    }

    /// Returns avg, in the unit of the thresholds.
    #[must_use]
    #[inline]
    pub fn average(&self) -> f64 {
        self.average
    }

    /// min_th as a number: packets or bytes.
    #[must_use]
    #[inline]
    pub fn min_th(&self) -> f64 {
        self.min_th
    }

    /// max_th as a number: packets or bytes.
    #[must_use]
    #[inline]
    pub fn max_th(&self) -> f64 {
        self.max_th
    }

    /// max_p.
    #[must_use]
    #[inline]
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// Changes max_p and with it both parts of the drop curve.
    #[inline]
    pub fn set_max_p(&mut self, max_p: f64) {
        self.max_p = max_p;
    }

    /// Number of mean packets that the link serves per second: C_pkt, `ptc` in ns-2.
    #[must_use]
    pub fn packets_per_s(&self) -> f64 {
        self.packets_per_s
    }

    /// p_a of the last decision.
    #[must_use]
    #[inline]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Size of the core in bytes, including the parameters on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(self) + size_of::<RedParams>()
    }
}

/// Arithmetic of `red.h` and of `tc`.
///
/// `profile = "linux"` follows `red.h` and `tc` (iproute2). With `W = 2^-round(-log2 w)`:
///
/// | number | rule | code |
/// |---|---|---|
/// | (L1) | `avg += W*(q - floor(avg))`; the arrival after an idle time of t us applies (L2) instead | `linux::fade` |
/// | (L2) | `x = floor(t/2^k)`, `s = min(31, floor(x*2^k*r))`: `avg /= 2^s`; if s = 0: `avg -= avg*min(t/2^k, 1/2)` | the same |
/// | (L3) | `r = -ln(1-W)/(15.625*us per mean packet)`; k is the smallest integer with `31/r < 512*2^k` | the same |
/// | (L4) | drop if `c*floor(avg-min_th) >= floor(U*(max_th-min_th)/max_p)` (U: uniform, drawn once per gap), or avg >= max_th | `RedCore::decide` |
///
/// `tc` counts r in ticks of 64 ns, the kernel in us. The average therefore fades 15.625 times slower than the kernel's
/// comment says. `gentle`, `wait`, `weight_rule`, `size_scaling` and `forced_restarts` have no effect.
mod linux {
    use crate::base::units::Time;

    /// Ticks of `tc` per microsecond. The kernel interprets a tick as a microsecond.
    const TICKS_PER_US: f64 = 15.625;

    /// Returns `average` after an idle time: rules (L2) and (L3).
    pub(super) fn fade(average: f64, weight: f64, packets_per_s: f64, idle: Time) -> f64 {
        let ticks = (TICKS_PER_US * 1e6 / packets_per_s).ceil();
        let rate = -libm::log1p(-weight) / ticks;
        let cell_us = libm::exp2(libm::log2(31.0 / rate / 512.0).floor() + 1.0).max(1.0);
        let idle_us = (idle.as_secs_f64() * 1e6).floor().min(255.0 * cell_us);
        let cell = (idle_us / cell_us).floor();
        let shift = if cell >= 255.0 { 31.0 } else { (cell * cell_us * rate).floor().min(31.0) };
        if shift > 0.0 {
            (average / weight / libm::exp2(shift)).floor() * weight
        } else {
            average * (1.0 - f64::min(idle_us / cell_us, 0.5))
        }
    }
}

/// Computes eq. (5) and (6); `progress` is `c*p_b`.
#[inline]
fn spread_over_gap(p_b: f64, progress: f64, wait: bool) -> f64 {
    let certain = if wait { 2.0 } else { 1.0 };
    if wait && progress < 1.0 {
        0.0
    } else if progress < certain {
        f64::min(p_b / (certain - progress), 1.0)
    } else {
        1.0
    }
}

fn automatic_weight(params: &RedParams, packets_per_s: f64) -> f64 {
    let time_constant_s = match params.weight_rule {
        WeightRule::Given => return params.weight,
        WeightRule::Second => 1.0,
        WeightRule::TenthSecond => 0.1,
        WeightRule::TenRtt => 10.0 * f64::max(0.1, 3.0 * (params.link_delay.as_secs_f64() + 1.0 / packets_per_s)),
    };
    -libm::expm1(-1.0 / (time_constant_s * packets_per_s))
}

/// Checks the thresholds of RED. They must have the same unit, packets or bytes, and either both be 0 or satisfy `0 <
/// min_th < max_th`.
///
/// # Errors
/// If the thresholds are not valid. The error names the key, its value and the allowed values.
pub fn check_thresholds(min_th: Threshold, max_th: Threshold, table: &Table<'_>) -> Result<(), ConfigError> {
    let error = |name, problem| Err(ConfigError::new(table.key(name), problem));
    for (name, threshold) in [("min_th", min_th), ("max_th", max_th)] {
        if threshold.measure() == QueueMeasure::Delay {
            return error(name, format!("\"{threshold}\" is a delay, it must be in packets or bytes"));
        }
        if !(0.0..=1e12).contains(&threshold.magnitude()) {
            return error(name, format!("\"{threshold}\" is out of range, it must be from 0 to 1e12"));
        }
    }
    if min_th.measure() != max_th.measure() {
        let problem =
            format!("\"{max_th}\" is in {}, it must be in {} as min_th is", max_th.measure(), min_th.measure());
        return error("max_th", problem);
    }
    let automatic = min_th.magnitude() == 0.0 && max_th.magnitude() == 0.0;
    if !automatic && (min_th.magnitude() == 0.0 || max_th.magnitude() <= min_th.magnitude()) {
        let problem = format!(
            "\"{max_th}\" does not fit min_th \"{min_th}\", it must be 0 < min_th < max_th, or both 0 for automatic"
        );
        return error("max_th", problem);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    const RATE: BitRate = BitRate(10_000_000);

    fn backlog(packets: u32) -> Backlog {
        Backlog { packets, bytes: u64::from(packets) * 1500 }
    }

    fn core(params: RedParams) -> RedCore {
        RedCore::new(params, RATE)
    }

    /// Returns a busy port whose average is `average`.
    fn with_average(params: RedParams, average: f64) -> RedCore {
        let mut core = core(params);
        core.average = average;
        core.idle_since = Time::NEVER;
        core
    }

    #[test]
    fn equations_1_and_2_average_and_idle_time() {
        let mut core = with_average(RedParams::default(), 10.0);
        core.arrival(backlog(20), 1500, Time::from_secs(1));
        close(core.average(), 0.998 * 10.0 + 0.002 * 20.0);
        // At 10 Mbit/s the link serves 2500 packets of 500 B per second, so 4.1 ms of idle time are m = 10 packets. A
        // second idle request does not restart the idle time.
        let before = core.average();
        core.idle(Time::from_secs(2));
        core.idle(Time::from_micros(2_004_000));
        core.arrival(backlog(0), 1500, Time::from_micros(2_004_100));
        close(core.average(), before * 0.998f64.powi(11));
        // The link is busy again, so the average makes only one step.
        let before = core.average();
        core.arrival(backlog(0), 1500, Time::from_secs(9));
        close(core.average(), before * 0.998);
    }

    #[test]
    fn with_the_rules_of_linux_a_drop_at_an_idle_port_restarts_the_idle_time() {
        let mut core = RedCore { idle_since: Time::NEVER, average: 8.0, ..core(linux(5.0, 0.002)) };
        core.idle(Time::from_secs(1));
        core.arrival(backlog(0), 1500, Time::from_secs(2));
        // The packet was dropped, so the link requests a packet again. The argument is the start of the same idle
        // period.
        core.idle(Time::from_secs(1));
        assert_eq!(core.idle_since, Time::from_secs(2));
    }

    fn linux(min_th: f64, weight: f64) -> RedParams {
        let (min_th, max_th) = (Threshold::Packets(min_th), Threshold::Packets(min_th + 10.0));
        RedParams { profile: RedProfile::Linux, min_th, max_th, weight, max_p: 0.1, ..Default::default() }
    }

    #[test]
    fn linux_averages_whole_packets_and_fades_by_the_table_of_tc() {
        let mut core = with_average(linux(5.0, 0.002), 10.5);
        // w = 2^-9. The average moves by w times the difference between the queue and the average's integer part.
        core.arrival(backlog(10), 1500, Time::ZERO);
        close(core.average(), 10.5);
        core.arrival(backlog(20), 1500, Time::ZERO);
        close(core.average(), 10.5 + 10.0 / 512.0);
        // A packet of 500 B at 10 Mbit/s takes 6250 ticks of 64 ns. r = 3.1281e-7 per us and 31/r/512 = 193.6 ms, so k
        // is 18 and a cell has 2^18 us.
        let faded = |ms| linux::fade(8.0, 1.0 / 512.0, 2500.0, Time::from_millis(ms));
        close(faded(26), 8.0 * (1.0 - 26_000.0 / 262_144.0));
        assert_eq!([132, 1000, 3000].map(faded), [4.0; 3]); // 11 cells: 0.902 of the first shift
        assert_eq!([3500, 7000, 100_000].map(faded), [4.0, 2.0, 0.0]); // 13 and 26 cells: shifts of 1 and 2; 31
    }

    #[test]
    fn linux_draws_a_threshold_for_each_gap() {
        // floor(avg - min_th) is 5 packets, max_th - min_th is 10 and max_p is 0.1. A gap of n packets requires 5 n >=
        // floor(100 U), so n is 1 to 20.
        let mut core = with_average(linux(5.0, 0.002), 10.5);
        let mut rng = Rng::stream(1, 0, "test", 0);
        assert_eq!(core.decide(backlog(10), 1500, &mut rng), RedDecision::Pass);
        let mut counts = [0u32; 21];
        let mut gap = 0;
        for _ in 0..400_000 {
            gap += 1;
            if core.decide(backlog(10), 1500, &mut rng) == RedDecision::Early {
                counts[std::mem::take(&mut gap)] += 1;
            }
        }
        // Gaps are uniform, except that n = 1 is drawn for 6 (0 to 5) of the 100 values of floor(100 U), and n = 20 for
        // only 4. The mean gap is 10.31, so about 1940 gaps of each n are expected.
        let expected = |values: f64| 400_000.0 / 10.31 * values / 100.0;
        for (gap, &count) in counts.iter().enumerate().skip(1) {
            let values = if gap == 1 {
                6.0
            } else if gap == 20 {
                4.0
            } else {
                5.0
            };
            assert!((f64::from(count) - expected(values)).abs() < 250.0, "{count} gaps of {gap}");
        }
        // The average is less than a whole packet above min_th. Only a draw of 0 causes a drop, and the drop starts
        // another gap.
        core.average = 5.9;
        core.drawn = 1.0;
        assert!((0..1000).all(|_| core.decide(backlog(1), 1500, &mut rng) == RedDecision::Pass));
        // Every arrival is dropped from max_th on. The next packet below max_th starts another gap.
        core.average = 15.0;
        assert_eq!(core.decide(backlog(1), 1500, &mut rng), RedDecision::Forced);
        core.average = 10.0;
        (core.count, core.drawn) = (100, 0.0);
        assert_eq!(core.decide(backlog(1), 1500, &mut rng), RedDecision::Pass);
    }

    #[test]
    fn equations_3_and_4_lines_of_classic_and_gentle_red() {
        let p_b =
            |average, gentle| with_average(RedParams { gentle, ..Default::default() }, average).base_probability();
        for (average, gentle, expected) in [
            (4.999, true, 0.0),
            (5.0, true, 0.0),
            (10.0, true, 0.01), // half of max_p
            (15.0, true, 0.02), // the lines meet
            (22.5, true, 0.51), // half way from 0.02 to 1
            (30.0, true, 1.0),
            (10.0, false, 0.01),
            (14.999_999, false, 0.02 * 9.999_999 / 10.0),
            (15.0, false, 1.0),
        ] {
            close(p_b(average, gentle), expected);
        }
    }

    /// Numbers of arrivals between drops at a constant p_b of 1/20.
    fn gaps(wait: bool, drops: usize) -> Vec<u32> {
        // At an average of 10, p_b is (10 - 5)/10 * 0.1 = 1/20. A weight of 0 keeps the average there.
        let settings = RedParams { wait, max_p: 0.1, weight: 0.0, ..Default::default() };
        let mut core = with_average(settings, 10.0);
        let mut rng = Rng::stream(1, 0, "test", 0);
        let (mut gaps, mut gap) = (Vec::new(), 0);
        while gaps.len() <= drops {
            core.arrival(backlog(10), 1500, Time::ZERO);
            gap += 1;
            if core.decide(backlog(10), 1500, &mut rng) == RedDecision::Early {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        gaps.split_off(1) // the first gap includes the packet that crossed min_th
    }

    #[test]
    fn equations_5_and_6_make_the_gap_between_drops_uniform() {
        // Without wait, the n-th packet after a drop is dropped with probability 1/(20-n), so each gap in 1..=19 has
        // probability 1/19. With wait, this probability is 1/(40-n) from n = 20 on, so each gap in 20..=39 has
        // probability 1/20. Each gap is expected 2000 times, with a standard deviation of 44.
        for (wait, low, high) in [(false, 1, 19), (true, 20, 39)] {
            let drops = 2000 * (high - low + 1);
            let mut counts = vec![0u32; high + 1];
            gaps(wait, drops).into_iter().for_each(|gap| counts[gap as usize] += 1);
            for (gap, count) in counts.into_iter().enumerate() {
                let expected = if gap < low { 0 } else { 2000 };
                assert!(count.abs_diff(expected) < 220, "{wait}: {count} gaps of {gap}");
            }
        }
    }

    #[test]
    fn nothing_is_dropped_below_min_th_or_behind_one_packet_and_everything_beyond_the_last_line() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut decide = |average, gentle, packets| {
            let mut core = with_average(RedParams { gentle, ..Default::default() }, average);
            core.was_above = true;
            core.count = 1 << 40;
            (core.decide(backlog(packets), 1500, &mut rng), core.probability(), core.count == 0)
        };
        assert_eq!(decide(4.9, true, 10), (RedDecision::Pass, 0.0, false));
        assert_eq!(decide(29.0, true, 1), (RedDecision::Pass, 0.0, false));
        assert_eq!(decide(29.0, true, 2), (RedDecision::Early, 1.0, true));
        assert_eq!(decide(30.0, true, 2), (RedDecision::Forced, 1.0, true));
        assert_eq!(decide(15.0, false, 2), (RedDecision::Forced, 1.0, true));
        assert_eq!(decide(14.9, false, 2), (RedDecision::Early, 1.0, true));
    }

    #[test]
    fn crossing_min_th_passes_one_packet_and_starts_the_count() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut core = with_average(RedParams { max_p: 1.0, wait: false, ..Default::default() }, 14.9);
        core.count = 1000;
        assert_eq!(core.decide(backlog(9), 1500, &mut rng), RedDecision::Pass);
        assert_eq!(core.count, 1);
        core.arrival(backlog(15), 1500, Time::ZERO);
        // With c = 2 and p_b = 0.99, c*p_b is above 1, so the packet is dropped.
        assert_eq!(core.decide(backlog(9), 1500, &mut rng), RedDecision::Early);
        // An almost empty queue restarts the count.
        core.decide(backlog(1), 1500, &mut rng);
        assert!(!core.was_above);
    }

    #[test]
    fn forced_drops_and_overflows_restart_the_count_unless_told_otherwise() {
        for forced_restarts in [true, false] {
            let mut core = with_average(RedParams { forced_restarts, ..Default::default() }, 31.0);
            core.count = 7;
            assert_eq!(core.decide(backlog(9), 1500, &mut Rng::stream(1, 0, "test", 0)), RedDecision::Forced);
            assert_eq!(core.count == 0, forced_restarts);
            core.count = 7;
            core.overflowed();
            assert_eq!(core.count == 0, forced_restarts);
        }
    }

    #[test]
    fn byte_mode_counts_and_scales_by_length() {
        let settings = |size_scaling| RedParams {
            min_th: Threshold::Bytes(5_000.0),
            max_th: Threshold::Bytes(15_000.0),
            max_p: 0.1,
            wait: false,
            size_scaling,
            ..Default::default()
        };
        let probability = |size_scaling, wire_bytes| {
            let mut core = with_average(settings(size_scaling), 10_000.0);
            core.count = 2_999; // 5 whole mean packets
            core.spread(core.base_probability(), wire_bytes)
        };
        // With p_b = 0.05 and c = 5, p_b/(1-0.25) = 1/15. This is multiplied by 3 for 1500 B and by 0.08 for 40 B.
        close(probability(SizeScaling::After, 1500), 3.0 / 15.0);
        close(probability(SizeScaling::After, 40), 0.08 / 15.0);
        // With p_b = 0.15 and c = 5, p_a is 0.15/(1 - 0.75).
        close(probability(SizeScaling::Before, 1500), 0.6);
        close(probability(SizeScaling::After, u32::MAX), 1.0);
        close(probability(SizeScaling::Before, u32::MAX), 1.0);
        let mut core = core(settings(SizeScaling::After));
        core.arrival(backlog(4), 1500, Time::ZERO);
        core.arrival(backlog(4), 40, Time::ZERO);
        close(core.average(), 0.002 * 6000.0 * 0.998 + 0.002 * 6000.0);
        assert_eq!(core.count, 1540);
    }

    #[test]
    fn automatic_settings_are_those_of_ns2() {
        // 500 B at 10 Mbit/s are 2500 packets/s. A target of 5 ms is 12.5 packets; half of that is 6.25 > 5.
        let automatic = RedParams {
            min_th: Threshold::Packets(0.0),
            max_th: Threshold::Packets(0.0),
            weight_rule: WeightRule::TenRtt,
            ..Default::default()
        };
        let mut core = core(automatic.clone());
        assert_eq!((core.min_th(), core.max_th()), (6.25, 18.75));
        // 3*(20 ms + 0.4 ms) = 61.2 ms is less than 100 ms, so ten_rtt uses 100 ms: w = 1 - exp(-1/(10*0.1*2500)).
        close(core.weight, 1.0 - (-1.0f64 / 2500.0).exp());
        // At 1 Mbit/s min_th has its lower bound, 5 packets.
        core.set_link_rate(BitRate(1_000_000));
        assert_eq!((core.min_th(), core.max_th()), (5.0, 15.0));
        let bytes = RedParams { min_th: Threshold::Bytes(0.0), max_th: Threshold::Bytes(0.0), ..automatic };
        assert_eq!(RedCore::new(bytes, RATE).min_th(), 3_125.0);
        let weight = |weight_rule| RedCore::new(RedParams { weight_rule, ..automatic }, RATE).weight;
        close(weight(WeightRule::Second), 1.0 - (-1.0f64 / 2500.0).exp());
        close(weight(WeightRule::TenthSecond), 1.0 - (-10.0f64 / 2500.0).exp());
        // The time constant is ten times 3*(100 ms + 0.4 ms) = 0.3012 s.
        let far = RedParams { link_delay: Time::from_millis(100), ..automatic };
        close(RedCore::new(far, RATE).weight, 1.0 - (-1.0f64 / (10.0 * 0.3012 * 2500.0)).exp());
    }

    #[test]
    fn the_core_is_small() {
        assert_eq!(size_of::<RedCore>(), 96);
        assert_eq!(core(RedParams::default()).bytes(), size_of::<RedCore>() + size_of::<RedParams>());
    }
}
