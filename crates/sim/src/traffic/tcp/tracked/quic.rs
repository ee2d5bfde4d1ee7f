//! Recovery in QUIC (RFC 9002): probe timeouts for all tail losses, persistent congestion, recovery by packet number.
//! Loss detection by number and time is in `losses`.

use fairlane_schemes::base::units::Time;

use super::timer::Timer;
use super::{Forced, TrackedSender};
use crate::traffic::tcp::congestion::control::{Cause, Event};
use crate::traffic::tcp::phase::Phase;
use crate::traffic::tcp::{LossDetection, TcpParams};

/// RFC 9002 7.6.1 kPersistentCongestionThreshold.
const PERSISTENT: u64 = 3;
/// RFC 9002 7.2 kMinimumWindow in segments.
const LEAST_WINDOW: u32 = 2;
/// Maximum number of doublings of the probe timeout; `max_rto` limits it much earlier.
const MOST_DOUBLINGS: u8 = 30;

impl TrackedSender {
    /// Returns true if packets are numbered as in QUIC.
    #[inline]
    pub(super) fn is_numbered(params: &TcpParams) -> bool {
        params.loss_detection == LossDetection::PacketThreshold
    }

    /// Handles the congestion signals of an ACK or of the loss timer (RFC 9002 7.3.2, 7.6).
    pub(super) fn repair_numbered(&mut self, params: &TcpParams, now: Time) {
        //= RFC 9002 7.3.2-6: Recovery ends with the ACK of a packet that was sent in it.
        if self.rack.number() > self.numbers.recovery {
            self.reducing = false;
            if self.phase == Phase::Recovery {
                self.phase = Phase::Open;
                self.tell(params, Event::RecoveryEnds, now);
            }
        }
        self.look_for_losses(params, now);
        //= RFC 9002 7.3.2-1: A sender in recovery does not begin it again.
        if self.numbers.newest_lost > self.numbers.recovery {
            self.enter_numbered_recovery(params, now);
        }
        let lasting = std::mem::take(&mut self.numbers.longest);
        //= RFC 9002 7.6.1-1: kPersistentCongestionThreshold is 3.
        //= RFC 9002 7.6.2-1: Losses of all packets of more than that many PTOs are persistent congestion.
        //= RFC 9002 7.6.2-3: That time does not begin before the first RTT sample.
        if lasting > Time(self.rtt.rto().0.saturating_mul(PERSISTENT)) && self.rtt.srtt() > Time::ZERO {
            self.on_persistent_congestion(params, now);
        }
        if self.phase != Phase::Recovery {
            self.phase = if self.records.sacked() > 0 { Phase::Disorder } else { Phase::Open };
        }
        //= RFC 9002 6.2.1-7: It is not set while the timer of the time threshold is.
        if !matches!(self.timer, Timer::Reordering(due) if due > now) {
            self.arm_probe_timeout(params, now);
        }
    }

    /// Starts a recovery: the window is reduced at once (RFC 9002 7.3.2).
    fn enter_numbered_recovery(&mut self, params: &TcpParams, now: Time) {
        self.stats.fast_recoveries += 1;
        self.numbers.begin_recovery(self.rate.transmissions());
        //= RFC 9002 7.3.1-2: A loss or a mark ends slow start and begins recovery.
        //= RFC 9002 7.3.2-2, deviation: Recovery sets ssthresh to half of cwnd.
        self.phase = Phase::Recovery;
        self.reduce(params, Cause::Loss);
        //= RFC 9002 7.3.2-3: cwnd is at ssthresh before recovery ends.
        //= RFC 9002 7.3.2-4: It is reduced at once, or by proportional rate reduction.
        self.begin_reduction(params, 0);
        // RFC 9002 7.3.2: one packet may be sent regardless of the reduced window.
        //= RFC 9002 7.3.2-5: One packet may be sent before a reduction at once.
        self.forced = self.records.first_lost().map_or(Forced::Nothing, Forced::Again);
        self.tell(params, Event::Loss, now);
    }

    /// Handles persistent congestion: the loss of all packets sent in a long period (RFC 9002 7.6.2).
    fn on_persistent_congestion(&mut self, params: &TcpParams, now: Time) {
        self.stats.timeouts += 1;
        self.congestion.timed_out();
        self.hystart.restart(now, self.records.nxt());
        if !Self::has_full_control(params) {
            //= RFC 9002 7.2-4: The least window is two datagrams.
            //= RFC 9002 7.6.2-6: Persistent congestion leaves the least window.
            self.output.cwnd = LEAST_WINDOW * params.segment_payload;
        }
        self.phase = Phase::Open;
        self.tell(params, Event::Timeout, now);
    }

    /// Handles an expired probe timeout: sends a packet regardless of the window, without a reduction (RFC 9002 6.2.4).
    pub(super) fn on_probe_timeout(&mut self, params: &TcpParams) {
        //= RFC 9002 6.2-1: A probe timeout takes nothing for lost.
        //= RFC 9002 6.2.4-1: An expiry sends one packet at least.
        //= RFC 9002 6.2.4-5, deviation: Probes carry new data.
        //= RFC 9002 6.2.4-6: Without new data they carry what was sent before.
        //= RFC 9002 6.2.4-7: What probes carry is chosen otherwise.
        self.forced = match (self.records.first_lost(), self.records.oldest()) {
            (Some(seq), _) => Forced::Again(seq),
            (None, _) if self.has_new_segment(params) => Forced::New,
            (None, oldest) => oldest.map_or(Forced::Nothing, Forced::Again),
        };
        self.stats.tail_loss_probes += 1;
        // Consecutive timeouts double the delay.
        //= RFC 9002 6.2.1-6: Each expiry doubles the PTO.
        self.retries = (self.retries + 1).min(MOST_DOUBLINGS);
    }

    /// Starts the probe timeout, counted from the last packet (RFC 9002 6.2.1). After an ACK that ends a series of
    /// probes or lowers the RTT, the timeout may be in the past. It then expires immediately.
    pub(super) fn arm_probe_timeout(&mut self, params: &TcpParams, now: Time) {
        //= RFC 9002 6.2.1-5: It restarts with each packet that is sent or acknowledged.
        self.timer = if self.records.outstanding() == 0 {
            Timer::Off
        } else {
            let doubled = Time(self.rtt.rto().0.saturating_mul(1 << self.retries));
            Timer::Probe(self.last_sent.saturating_add(doubled.min(params.max_rto)).max(now))
        };
    }
}
