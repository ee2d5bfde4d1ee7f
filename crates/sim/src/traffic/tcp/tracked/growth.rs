//! Growth of the window: slow start with HyStart, congestion avoidance, and the test whether the window limits sending.

use fairlane_schemes::base::units::Time;

use super::TrackedSender;
use super::hystart::Sign;
use crate::traffic::tcp::congestion::control::{Authority, Progress, Sample, Window};
use crate::traffic::tcp::{AfterIdle, CongestionControl, HyStartKind, TcpParams, clamped};

impl TrackedSender {
    /// Processes an ACK of `segments` segments while no reduction is in progress.
    pub(super) fn grow(&mut self, params: &TcpParams, sample: &Sample, segments: u32, now: Time) {
        if params.congestion_control.authority() == Authority::Growth {
            return; // it has grown with the sample
        }
        let mut segments = segments;
        if self.output.cwnd < self.output.ssthresh {
            self.look_for_end_of_slow_start(params, sample);
        }
        //= RFC 9438 5.8-1: A window that is not in use does not grow.
        //= RFC 9002 7.8-1: A window that is not in use does not grow.
        if !sample.cwnd_limited {
            return;
        }
        if self.output.cwnd < self.output.ssthresh {
            segments = self.slow_start(params, segments);
        }
        if segments > 0 && self.output.cwnd >= self.output.ssthresh {
            let progress = Progress { segments, now, srtt: self.rtt.srtt(), min_rtt: self.rtt.least() };
            let window = Window { cwnd: &mut self.output.cwnd, counted: &mut self.counted };
            self.congestion.grow(params, window, self.output.ssthresh, progress);
        }
    }

    /// Grows the window in slow start. Returns the number of segments of the ACK that remain once the window has
    /// reached the threshold.
    fn slow_start(&mut self, params: &TcpParams, segments: u32) -> u32 {
        let mss = params.segment_payload;
        //= RFC 5681 3.1-8: Slow start below ssthresh, congestion avoidance above, either where they are equal.
        //= RFC 9002 7.3.1-1: In slow start cwnd grows by the bytes that are acknowledged.
        let room = (self.output.ssthresh - self.output.cwnd).div_ceil(mss);
        //= RFC 5681 3.1-9, by byte_counting: In slow start an ACK adds the bytes that it covers, one segment at most.
        let counted = if params.byte_counting { segments } else { 1 };
        let steps = segments.min(room).min(counted);
        let paced = self.pacing_rate(params).is_some();
        let growth =
            self.hystart.growth(self.hystart_kind(params), steps.saturating_mul(mss), mss, paced) + self.part_of_growth;
        // The window grows by whole segments, as in Linux.
        self.part_of_growth = growth % mss;
        self.output.cwnd = self.output.cwnd.saturating_add(growth - self.part_of_growth);
        segments - steps
    }

    /// Rule that ends this slow start. Classic HyStart is part of CUBIC (`tcp_cubic.c`); with other controls, Linux
    /// stays in slow start until losses or marks. HyStart++ applies only to the first slow start, while ssthresh has
    /// its initial value (RFC 9406 4.3).
    fn hystart_kind(&self, params: &TcpParams) -> HyStartKind {
        let first = self.output.ssthresh == clamped(params.initial_ssthresh);
        match params.hystart {
            HyStartKind::Classic if params.congestion_control != CongestionControl::Cubic => HyStartKind::Off,
            HyStartKind::PlusPlus if !first => HyStartKind::Off,
            kind => kind,
        }
    }

    /// Lets HyStart end slow start before losses do.
    fn look_for_end_of_slow_start(&mut self, params: &TcpParams, sample: &Sample) {
        let kind = self.hystart_kind(params);
        if kind == HyStartKind::Off {
            return;
        }
        let sign = Sign {
            now: sample.now,
            rtt: sample.rtt,
            una: self.records.una(),
            nxt: self.records.nxt(),
            cwnd: self.output.cwnd / params.segment_payload,
            rate: self.rate_of_window(params),
            paced: self.pacing_rate(params).is_some(),
        };
        if self.hystart.ends_slow_start(kind, &sign) {
            self.output.ssthresh = self.output.cwnd;
        }
    }

    /// Reduces the window after an idle period.
    ///
    /// Linux also has tcp_cwnd_application_limited, which shrinks a window that has not been fully used for the
    /// duration of a timeout. The function never has an effect: tcp_cong_avoid restarts this duration at each ACK, and
    /// without ACKs the connection is idle.
    pub(super) fn restart_after_idle(&mut self, params: &TcpParams, idle: Time) {
        let rto = self.rtt.rto();
        if idle <= rto || Self::has_full_control(params) {
            return;
        }
        let (mss, cwnd) = (params.segment_payload, self.output.cwnd);
        let least = cwnd.min(params.initial_window.saturating_mul(mss));
        match params.after_idle {
            AfterIdle::Keep => {}
            //= RFC 5681 4.1-1, by after_idle: After an idle time longer than the timeout, cwnd is the initial window at
            //= most.
            AfterIdle::Restart => self.output.cwnd = least,
            // tcp_cwnd_restart, tcp_current_ssthresh.
            AfterIdle::Decay => {
                let window = cwnd / mss;
                if !self.reducing {
                    self.output.ssthresh = self.output.ssthresh.max(((window >> 1) + (window >> 2)) * mss);
                }
                let halvings = (idle.0 - 1) / rto.0.max(1);
                self.output.cwnd = (window >> halvings.min(31)).saturating_mul(mss).max(least);
            }
        }
    }

    /// Returns true if the window limits sending. In slow start, except in QUIC, this is also true if half of the
    /// window was in use (`tcp_is_cwnd_limited`).
    #[inline]
    pub(super) fn is_cwnd_limited(&self, params: &TcpParams) -> bool {
        let half_used = || {
            !Self::has_full_control(params)
                && !Self::is_numbered(params)
                && self.output.cwnd < self.output.ssthresh
                && u64::from(self.output.cwnd)
                    < 2 * u64::from(self.most_outstanding) * u64::from(params.segment_payload)
        };
        self.cwnd_limited || half_used()
    }

    /// Records the use of the window after all permitted segments have been sent (`tcp_cwnd_validate`).
    pub(super) fn note_use_of_window(&mut self, limited: bool) {
        let outstanding = self.records.outstanding();
        let round_over = self.records.una() >= self.usage_round;
        if round_over || limited || (!self.cwnd_limited && outstanding > self.most_outstanding) {
            self.cwnd_limited = limited;
            self.most_outstanding = outstanding;
            self.usage_round = self.records.nxt();
        }
    }
}
