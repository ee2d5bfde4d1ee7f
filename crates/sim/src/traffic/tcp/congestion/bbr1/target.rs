//! Window that fills the path (4.2.3.2), and its inputs.

use super::super::control::Connection;
use super::super::model::byte_rate::ByteRate;
use fairlane_schemes::base::units::Time;

/// Quanta that the hosts hold at full rate (4.2.3.2).
const HOST_QUANTA: u64 = 3;

/// Inputs of a window that fills the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    pub(super) bw: ByteRate,
    pub(super) gain: f64,
    pub(super) min_rtt: Time,
    pub(super) initial_cwnd: u64,
    /// Allowance for the aggregation of ACKs, in bytes.
    pub(super) extra: u64,
    pub(super) quantum: u32,
    pub(super) whole_segments: bool,
    /// True in the phase that probes for more bandwidth.
    pub(super) probes_up: bool,
}

impl Target {
    /// Window in bytes: bbr_quantization_budget.
    pub(super) fn window(self, of: Connection) -> u64 {
        let mss = u64::from(of.mss);
        let inflight = self.bdp(of) + self.extra;
        let target = inflight.saturating_add(HOST_QUANTA * u64::from(self.quantum));
        let budget = if self.whole_segments { target.div_ceil(2 * mss) * 2 * mss } else { target };
        if self.probes_up { budget + 2 * mss } else { budget }
    }

    /// bbr_bdp: rounded up to whole segments.
    pub(super) fn bdp(self, of: Connection) -> u64 {
        if self.min_rtt == Time::NEVER {
            return self.initial_cwnd;
        }
        let bytes = self.gain * self.bw.over(self.min_rtt);
        if !self.whole_segments {
            return bytes as u64;
        }
        ((bytes / f64::from(of.mss)).ceil() as u64).saturating_mul(u64::from(of.mss))
    }
}
