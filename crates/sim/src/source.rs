//! Sources that do not react: Poisson and constant bit rate over UDP. abc2018 IV-A1.

use crate::packet::{PacketKind, SimPacket};
use crate::scenario::{UDP_HEADER_BYTES, UdpKind, UdpParams};
use fairlane_schemes::rng::Rng;
use fairlane_schemes::units::Time;

/// A source that sends packets of one size at a rate of its own.
#[derive(Clone, Debug)]
pub struct UdpSource {
    kind: UdpKind,
    packet: SimPacket,
    /// Mean gap between packets, `E[T_IAT] = L / R_t`.
    gap: Time,
    next: Time,
    emitted: u64,
    rng: Rng,
}

impl UdpSource {
    /// A source that begins at `start`; its first packet comes after a gap (Poisson) or at a random phase of one
    /// (CBR), so that sources do not march in step.
    #[must_use]
    pub fn new(kind: UdpKind, params: &UdpParams, template: SimPacket, start: Time, rng: Rng) -> Self {
        let wire_bytes = params.packet_size.0 as u16;
        let packet =
            SimPacket { wire_bytes, payload: wire_bytes - UDP_HEADER_BYTES as u16, kind: PacketKind::Udp, ..template };
        let gap = params.rate.time_of(params.packet_size.0);
        let mut source = Self { kind, packet, gap, next: start, emitted: 0, rng };
        source.next = match kind {
            UdpKind::Poisson => start + source.exponential_gap(),
            UdpKind::Cbr => start + Time::from_secs_f64(gap.as_secs_f64() * source.rng.open01()),
        };
        source
    }

    /// Gives the flow its number.
    pub fn set_flow(&mut self, flow: u32) {
        self.packet.flow = flow;
    }

    /// When the next packet is due.
    #[must_use]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Packets sent so far.
    #[must_use]
    pub fn emitted(&self) -> u64 {
        self.emitted
    }

    /// The packet that is due; [`UdpSource::next`] is then the time of the one after it.
    #[inline]
    pub fn emit(&mut self) -> SimPacket {
        let gap = match self.kind {
            UdpKind::Poisson => self.exponential_gap(),
            UdpKind::Cbr => self.gap,
        };
        self.next = self.next.saturating_add(gap);
        self.emitted += 1;
        self.packet
    }

    fn exponential_gap(&mut self) -> Time {
        Time(self.rng.exponential(self.gap.0 as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_schemes::units::{BitRate, Bytes};

    fn source(kind: UdpKind, rate: u64) -> UdpSource {
        let params = UdpParams { rate: BitRate(rate), packet_size: Bytes(1500) };
        UdpSource::new(kind, &params, SimPacket::BLANK, Time::ZERO, Rng::stream(1, 0, "source", 0))
    }

    #[test]
    fn poisson_rate_varies_as_abc2018_states() {
        // IV-A1 with its formula mended: c_var over 1 s is (R*I/L)^(-1/2) = 0.110 at 1 Mbit/s, 0.035 at 10 Mbit/s.
        for (rate, expected) in [(1_000_000, 0.1095), (10_000_000, 0.0346)] {
            let mut source = source(UdpKind::Poisson, rate);
            let seconds = 4000;
            let mut counts = vec![0.0f64; seconds];
            while source.next() < Time::from_secs(seconds as u64) {
                counts[(source.next().0 / Time::PER_SECOND) as usize] += 1.0;
                source.emit();
            }
            let mean = counts.iter().sum::<f64>() / seconds as f64;
            let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / seconds as f64;
            // Mean L/R apart: 83.3 or 833.3 a second; five standard errors of the mean, and of the deviation.
            let packets = rate as f64 / 12_000.0;
            assert!((mean - packets).abs() < 5.0 * (packets / seconds as f64).sqrt(), "{mean}");
            let cvar = variance.sqrt() / mean;
            assert!((cvar / expected - 1.0).abs() < 5.0 / (2.0 * seconds as f64).sqrt(), "{cvar}");
        }
    }

    #[test]
    fn cbr_gaps_are_equal_after_a_random_phase() {
        let mut source = source(UdpKind::Cbr, 10_000_000);
        let first = source.next();
        assert!(first > Time::ZERO && first < Time::from_micros(1200));
        source.emit();
        source.emit();
        assert_eq!(source.next(), first + Time::from_micros(2400));
    }
}
