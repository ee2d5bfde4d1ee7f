//! Timer of a sender: retransmission timeout, tail loss probe or reordering window, as in Linux (`tcp_input.c`
//! tcp_rearm_rto, tcp_set_xmit_timer).

use fairlane_schemes::base::units::Time;

use super::TrackedSender;
use super::prr::Delivery;
use super::timer::Timer;
use crate::traffic::tcp::TcpParams;
use crate::traffic::tcp::phase::Phase;

impl TrackedSender {
    /// Ends the wait of the next chunk if pacing permits it now. Returns true if it did.
    #[inline]
    pub fn release(&mut self, now: Time) -> bool {
        let is_due = self.pacing_timer <= now;
        if is_due {
            self.pacing_timer = Time::NEVER;
            self.window_due = true;
        }
        is_due
    }

    /// Handles expired timers. Harmless if called early.
    #[inline]
    pub fn on_timer(&mut self, params: &TcpParams, now: Time) {
        self.release(now);
        if self.supply_timer <= now {
            self.supply_timer = Time::NEVER;
            self.window_due = true;
        }
        if self.timer.due() <= now {
            self.on_timer_due(params, now);
        }
    }

    #[inline(never)]
    fn on_timer_due(&mut self, params: &TcpParams, now: Time) {
        let timer = std::mem::replace(&mut self.timer, Timer::Off);
        match self.phase {
            Phase::Closed => {}
            Phase::SynSent => self.handshake_due = true,
            _ if self.records.outstanding() == 0 => {}
            _ => match timer {
                Timer::Off => {}
                Timer::Timeout(_) => self.on_timeout(params, now),
                Timer::Probe(_) if Self::is_numbered(params) => self.on_probe_timeout(params),
                Timer::Reordering(_) if Self::is_numbered(params) => {
                    self.repair_numbered(params, now);
                    self.window_due = true;
                }
                Timer::Probe(_) => self.on_probe_timer(params, now),
                Timer::Reordering(_) => self.on_reordering_timer(params, now),
            },
        }
    }

    /// Restarts the timer at an ACK that advances SND.UNA: for a probe or, if no probe may be sent, for the timeout.
    /// The timeout, counted from now, also limits the time of a probe.
    pub(super) fn arm(&mut self, params: &TcpParams, now: Time) {
        if let Some(delay) = self.probe_time(params) {
            self.arm_probe(params, delay.min(self.rtt.rto()), now);
        } else {
            self.arm_timeout(params, now);
        }
    }

    /// Restarts the timer after the segments that an ACK or a timer permits. `has_sent` is true if there were any.
    #[inline]
    pub(super) fn arm_after_batch(&mut self, params: &TcpParams, has_sent: bool, now: Time) {
        let restarts = std::mem::take(&mut self.timer_restarts);
        if !has_sent {
            if restarts {
                self.arm(params, now);
            }
            return;
        }
        if matches!(self.timer, Timer::Reordering(_)) {
            return; // it waits for reordered segments
        }
        if Self::is_numbered(params) {
            self.arm_probe_timeout(params, now);
        } else if let Some(delay) = self.probe_time(params) {
            // The timeout counts from the transmission of the first outstanding segment.
            self.arm_probe(params, delay.min(self.timeout_of_first().saturating_sub(now)), now);
        } else if restarts {
            self.arm_timeout(params, now);
        }
    }

    /// Starts the timer for a probe after `delay`, at most the time until the timeout (RFC 8985 7.2).
    #[inline]
    fn arm_probe(&mut self, params: &TcpParams, delay: Time, now: Time) {
        self.timer = Timer::Probe(params.due(now, delay.max(Time(1))));
    }

    /// Restarts the timer for the timeout (RFC 6298 5).
    pub(super) fn arm_timeout(&mut self, params: &TcpParams, now: Time) {
        self.timer = match self.timer {
            //= RFC 6298 5.2-1: The timer stops when all is acknowledged.
            _ if self.records.outstanding() == 0 => Timer::Off,
            // The timeout counts from the transmission of the first segment.
            Timer::Probe(_) | Timer::Reordering(_) => {
                let left = self.timeout_of_first().saturating_sub(now);
                Timer::Timeout(params.due(now, left.max(Time(1))))
            }
            //= RFC 6298 5.3-1: An ACK of new data restarts the timer.
            Timer::Off | Timer::Timeout(_) => Timer::Timeout(params.due(now, self.rtt.rto())),
        };
    }

    /// Time at which the first outstanding segment times out, counted from its last transmission.
    fn timeout_of_first(&self) -> Time {
        self.records.at(self.records.una()).sent.saturating_add(self.rtt.rto())
    }

    /// Handles missing segments at the end of the reordering window, as in `tcp_rack_reo_timeout`.
    fn on_reordering_timer(&mut self, params: &TcpParams, now: Time) {
        let before = self.records.lost();
        let due = self.detect_losses(params, now);
        if self.records.lost() > before {
            if self.phase != Phase::Recovery {
                self.enter_recovery(params, now);
                if !Self::has_full_control(params) {
                    let in_flight = self.records.in_flight();
                    let delivery = Delivery { delivered: 1, any_lost: true, advances: false, in_flight };
                    self.reduce_in_proportion(params, delivery);
                }
            }
            self.window_due = true;
        }
        match due {
            Some(due) => self.await_order(params, due, now),
            None => {
                self.timer = Timer::Reordering(now);
                self.arm_timeout(params, now);
            }
        }
    }
}
