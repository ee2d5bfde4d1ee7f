//! Unresponsive UDP sources: Poisson, constant bit rate and bursts (abc2018 IV-A1, afpft III-E, afc 4.4).
//!
//! Bursts are as in ns-2 (`tools/expoo.cc`, `tools/pareto.cc`). A burst is a whole number of packets: its duration
//! divided by the gap, rounded, at least one. A silence lengthens the gap after the last packet of a burst. Deviation:
//! the source starts with a silence, so sources that start together do not burst together.

use crate::network::sim_packet::{PacketKind, SimPacket};
use crate::scenario::{BurstDistribution, OnOffParams, UDP_HEADER_BYTES, UdpConfig};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;

#[derive(Clone, Debug)]
enum Pattern {
    Poisson,
    Cbr,
    /// Gaps with uniform jitter of this width in picoseconds.
    Jittered(f64),
    Bursts(Box<Bursts>),
}

#[derive(Clone, Debug)]
struct Bursts {
    params: OnOffParams,
    left: u32,
}

impl Bursts {
    /// Draws the gap before the next packet. The next packet may be the first of another burst.
    fn gap(&mut self, gap: Time, rng: &mut Rng) -> Time {
        let mut wait = gap;
        if self.left == 0 {
            let packets = self.draw(self.params.on.0 as f64 / gap.0 as f64, rng).round();
            self.left = packets.clamp(1.0, f64::from(u32::MAX)) as u32;
            wait = wait.saturating_add(Time(self.draw(self.params.off.0 as f64, rng) as u64));
        }
        self.left -= 1;
        wait
    }

    fn draw(&self, mean: f64, rng: &mut Rng) -> f64 {
        match self.params.distribution {
            BurstDistribution::Exponential => rng.exponential(mean),
            BurstDistribution::Pareto => rng.pareto(mean, self.params.shape),
        }
    }
}

/// A source that sends packets of one size, regardless of congestion.
#[derive(Clone, Debug)]
pub struct UdpSource {
    pattern: Pattern,
    packet: SimPacket,
    /// Mean gap between packets, `E[T_IAT] = L / R_t`.
    gap: Time,
    next: Time,
    emitted: u64,
    unmeasured: u64,
    rng: Rng,
}

impl UdpSource {
    /// Creates a source that starts at `start`. Its first packet follows after a gap (Poisson), at a random phase of a
    /// gap (CBR) or after a silence (bursts), so sources are not synchronised.
    #[must_use]
    pub fn new(config: &UdpConfig, template: SimPacket, start: Time, rng: Rng) -> Self {
        let wire_bytes = config.packet_size().0 as u16;
        let packet = SimPacket {
            wire_bytes,
            payload: wire_bytes - UDP_HEADER_BYTES as u16,
            kind: PacketKind::Udp,
            ecn: config.ecn(),
            ..template
        };
        let gap = config.gap();
        let pattern = match config {
            UdpConfig::Poisson(_) => Pattern::Poisson,
            UdpConfig::Cbr(params) if params.jitter > 0.0 => Pattern::Jittered(params.jitter * gap.0 as f64),
            UdpConfig::Cbr(_) | UdpConfig::Voip(_) => Pattern::Cbr,
            UdpConfig::OnOff(params) => Pattern::Bursts(Box::new(Bursts { params: params.clone(), left: 0 })),
        };
        let mut source = Self { pattern, packet, gap, next: start, emitted: 0, unmeasured: 0, rng };
        source.next = match source.pattern {
            Pattern::Cbr | Pattern::Jittered(_) => start + Time::from_secs_f64(gap.as_secs_f64() * source.rng.open01()),
            Pattern::Poisson | Pattern::Bursts(_) => start.saturating_add(source.draw_gap()),
        };
        source
    }

    /// Sets the flow number.
    pub fn set_flow(&mut self, flow: u32) {
        self.packet.flow = flow;
    }

    /// Flow number.
    #[must_use]
    pub fn flow(&self) -> u32 {
        self.packet.flow
    }

    /// User that the source belongs to.
    #[must_use]
    pub fn user(&self) -> u32 {
        self.packet.user
    }

    /// Length of the source's packets on the wire.
    #[must_use]
    pub fn wire_bytes(&self) -> u32 {
        u32::from(self.packet.wire_bytes)
    }

    /// Mean gap between packets; within a burst, their gap.
    #[must_use]
    pub fn gap(&self) -> Time {
        self.gap
    }

    /// Time of the next packet.
    #[must_use]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Stops the source.
    pub fn stop(&mut self) {
        self.next = Time::NEVER;
    }

    /// Packets sent so far.
    #[must_use]
    pub fn emitted(&self) -> u64 {
        self.emitted
    }

    /// Starts the measurement.
    pub fn restart(&mut self) {
        self.unmeasured = self.emitted;
    }

    /// Packets sent during the measurement.
    #[must_use]
    pub fn measured(&self) -> u64 {
        self.emitted - self.unmeasured
    }

    /// Returns the packet that is due. Afterwards, [`UdpSource::next`] is the time of the following packet.
    #[inline]
    pub fn emit(&mut self) -> SimPacket {
        self.packet.timestamp = self.next;
        self.next = self.next.saturating_add(self.draw_gap());
        self.emitted += 1;
        self.packet
    }

    #[inline]
    fn draw_gap(&mut self) -> Time {
        match &mut self.pattern {
            Pattern::Poisson => Time(self.rng.exponential(self.gap.0 as f64) as u64),
            Pattern::Cbr => self.gap,
            Pattern::Jittered(width) => Time((self.gap.0 as f64 + *width * (self.rng.open01() - 0.5)) as u64),
            Pattern::Bursts(bursts) => bursts.gap(self.gap, &mut self.rng),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{CbrParams, Codepoint, CodepointParams, UdpParams};
    use fairlane_schemes::base::units::{BitRate, Bytes};
    use fairlane_schemes::contract::packet::Ecn;

    const PACKET: Bytes = Bytes(1500);

    fn source(config: &UdpConfig) -> UdpSource {
        UdpSource::new(config, SimPacket::BLANK, Time::ZERO, Rng::stream(1, 0, "source", 0))
    }

    fn poisson(rate: u64) -> UdpSource {
        source(&UdpConfig::Poisson(UdpParams { rate: BitRate(rate), packet_size: PACKET, ..UdpParams::default() }))
    }

    fn cbr(rate: u64, jitter: f64) -> UdpSource {
        source(&UdpConfig::Cbr(CbrParams { rate: BitRate(rate), packet_size: PACKET, jitter, ..CbrParams::default() }))
    }

    fn times(source: &mut UdpSource, end: Time) -> Vec<Time> {
        let mut times = Vec::new();
        while source.next() < end {
            times.push(source.next());
            source.emit();
        }
        times
    }

    #[test]
    fn packets_have_the_ecn_field_that_was_asked_for() {
        let ecn = |codepoint| {
            let codepoint = CodepointParams { ecn: codepoint };
            source(&UdpConfig::Cbr(CbrParams { codepoint, ..CbrParams::default() })).emit().ecn
        };
        let fields = [Codepoint::NotEct, Codepoint::Ect0, Codepoint::Ect1].map(ecn);
        assert_eq!(fields, [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1]);
        assert_eq!(poisson(1_000_000).emit().ecn, Ecn::NotEct);
    }

    #[test]
    fn poisson_rate_varies_as_abc2018_states() {
        // The corrected formula of abc2018 IV-A1: the number of packets in I = 1 s has a coefficient of variation of
        // (R*I/L)^(-1/2), which is 0.110 at R = 1 Mbit/s and 0.035 at 10 Mbit/s.
        for (rate, expected) in [(1_000_000, 0.1095), (10_000_000, 0.0346)] {
            let seconds = 4000;
            let mut counts = vec![0.0f64; seconds];
            for time in times(&mut poisson(rate), Time::from_secs(seconds as u64)) {
                counts[(time.0 / Time::PER_SECOND) as usize] += 1.0;
            }
            let mean = counts.iter().sum::<f64>() / seconds as f64;
            let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / seconds as f64;
            // The mean gap is L/R, which gives 83.3 or 833.3 packets per second. Tolerances are five standard errors of
            // the mean and of the deviation.
            let packets = rate as f64 / 12_000.0;
            assert!((mean - packets).abs() < 5.0 * (packets / seconds as f64).sqrt(), "{mean}");
            let cvar = variance.sqrt() / mean;
            assert!((cvar / expected - 1.0).abs() < 5.0 / (2.0 * seconds as f64).sqrt(), "{cvar}");
        }
    }

    #[test]
    fn cbr_gaps_are_equal_after_a_random_phase() {
        let mut source = cbr(10_000_000, 0.0);
        let first = source.next();
        assert!(first > Time::ZERO && first < Time::from_micros(1200));
        source.emit();
        source.emit();
        assert_eq!(source.next(), first + Time::from_micros(2400));
    }

    #[test]
    fn jitter_spreads_gaps_evenly_and_keeps_the_rate() {
        // Gaps are uniform from 0.6 to 1.8 ms, i.e. 1.2 ms plus or minus half of it, with a standard deviation of 1.2
        // ms / sqrt(12). The tolerance is five standard errors of the mean.
        let times = times(&mut cbr(10_000_000, 1.0), Time::from_secs(60));
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        assert!((mean - 1.2e-3).abs() < 5.0 * 1.2e-3 / (12.0 * n).sqrt(), "{mean}");
        assert!(gaps.iter().all(|gap| (0.6e-3..=1.8e-3).contains(gap)));
        // Since gaps are uniform, a quarter of them is in the lowest quarter of the range, below 0.9 ms.
        let low = gaps.iter().filter(|&&gap| gap < 0.9e-3).count() as f64 / n;
        assert!((low - 0.25).abs() < 5.0 * (0.25 * 0.75 / n).sqrt(), "{low}");
    }

    /// Returns the lengths of bursts in packets, and the silences in seconds. A wait longer than the gap ends a burst.
    fn bursts(source: &mut UdpSource, gap: Time, seconds: u64) -> (Vec<f64>, Vec<f64>) {
        let times = times(source, Time::from_secs(seconds));
        let (mut lengths, mut silences, mut length) = (Vec::new(), Vec::new(), 1.0);
        for pair in times.windows(2) {
            if pair[1] - pair[0] > gap {
                lengths.push(length);
                silences.push((pair[1] - pair[0] - gap).as_secs_f64());
                length = 0.0;
            }
            length += 1.0;
        }
        (lengths, silences)
    }

    #[test]
    fn bursts_have_the_duty_cycle_of_ns2() {
        // afpft has packets of 1000 B at 10 Mbit/s, and 0.2 s ON and 3.8 s OFF, which gives 250 packets per burst and
        // 0.5 Mbit/s. afc proposes 1 Mbit/s, and 0.5 s each for ON and OFF. In the last case, bursts are so short that
        // rounding matters: 2.5 packets on average become 1 + e^-0.6/(1 - e^-0.4) = 2.6647.
        for (rate, on_ms, off_ms, packets) in
            [(10_000_000, 200, 3800, 250.0), (1_000_000, 500, 500, 62.5), (10_000_000, 2, 10, 2.6647)]
        {
            let params = OnOffParams {
                rate: BitRate(rate),
                packet_size: Bytes(1000),
                on: Time::from_millis(on_ms),
                off: Time::from_millis(off_ms),
                ..OnOffParams::default()
            };
            // The mean number of packets is 1 + e^(-1.5/m)/(1 - e^(-1/m)), with m the mean of on/gap: see
            // OnOffParams::mean_burst_packets.
            let gap = BitRate(rate).time_of(1000);
            let mean_on = on_ms as f64 * 1e9 / gap.0 as f64;
            let expected = 1.0 + (-1.5 / mean_on).exp() / (1.0 - (-1.0 / mean_on).exp());
            assert!((expected / packets - 1.0).abs() < 2e-4, "{expected}");
            assert!((params.mean_burst_packets() / expected - 1.0).abs() < 1e-12);
            let config = UdpConfig::OnOff(params);
            let (lengths, silences) = bursts(&mut source(&config), gap, 40_000 * (on_ms + off_ms) / 1000);
            let n = lengths.len() as f64;
            let burst = lengths.iter().sum::<f64>() / n;
            let silence = silences.iter().sum::<f64>() / n;
            // Exponential times: the standard error of a mean is the mean divided by sqrt(n). The test allows five
            // standard errors.
            assert!((burst / expected - 1.0).abs() < 5.0 / n.sqrt(), "{burst} {expected}");
            assert!((silence / (off_ms as f64 / 1e3) - 1.0).abs() < 5.0 / n.sqrt(), "{silence}");
            // Mean rate: packets per cycle divided by the duration of the cycle.
            let cycle = expected * gap.as_secs_f64() + off_ms as f64 / 1e3;
            assert!((config.mean_rate_bps() / (expected * 8000.0 / cycle) - 1.0).abs() < 1e-12);
        }
        // Except for rounding, the first case is 0.5 Mbit/s, the fair rate of 20 flows on 10 Mbit/s.
        assert!((UdpConfig::OnOff(OnOffParams::default()).mean_rate_bps() / 0.5e6 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn pareto_bursts_have_their_least_length_and_tail() {
        // With shape 1.5, a mean of 200 ms and 0.8 ms per packet, a burst has 250 packets on average. Its minimum is
        // 250/3 = 83.3 packets, rounded.
        let params = OnOffParams { distribution: BurstDistribution::Pareto, ..OnOffParams::default() };
        let gap = Time::from_micros(800);
        let (lengths, silences) = bursts(&mut source(&UdpConfig::OnOff(params)), gap, 40_000);
        assert!(lengths.iter().all(|&length| length >= 83.0));
        assert!(silences.iter().all(|&silence| silence >= 3.8 / 3.0 - 1e-9));
        // P(X > 500.5) = (83.3/500.5)^1.5 = 0.0679. The tolerance is five standard errors.
        let n = lengths.len() as f64;
        let tail = (250.0 / 3.0 / 500.5f64).powf(1.5);
        let share = lengths.iter().filter(|&&length| length > 500.5).count() as f64 / n;
        assert!((share - tail).abs() < 5.0 * (tail / n).sqrt(), "{share} {tail}");
    }
}
