//! Delay of ACKs that follows the gaps between segments, as in Linux 6.12 (`icsk_ack.ato`).

use fairlane_schemes::base::units::Time;

use crate::traffic::tcp::TcpParams;

/// Maximum delay (TCP_DELACK_MAX).
const MOST: Time = Time::from_millis(200);

/// State of the delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckDelay {
    /// Arrival of the last in-order segment (lrcvtime) in microseconds, modulo 2^32.
    arrival_us: u32,
    /// Gaps below this number of microseconds never lengthen the delay: half of the minimum less a tick.
    short_us: u32,
    /// Delay in ticks; 0 before the first segment.
    ticks: u8,
    /// True if the delay exceeds the minimum.
    is_long: bool,
}

impl AckDelay {
    pub(super) fn new(params: &TcpParams) -> Self {
        let half = Time(params.delayed_ack_timeout.0 / 2);
        Self { arrival_us: 0, short_us: micros(half.saturating_sub(tick(params))), ticks: 0, is_long: false }
    }

    /// Records an in-order segment (tcp_event_data_recv). Returns true if the gap before it is longer than a
    /// retransmission timeout, so that the next segments are acknowledged at once. `rtt` is that of the handshake.
    #[inline]
    pub(super) fn on_segment(&mut self, params: &TcpParams, rtt: Time, now: Time) -> bool {
        let now_us = micros(now);
        let gap_us = now_us.wrapping_sub(std::mem::replace(&mut self.arrival_us, now_us));
        let is_short = gap_us < self.short_us && !self.is_long && self.ticks > 0;
        !is_short && self.follow(params, rtt, now, Time::from_micros(u64::from(gap_us)))
    }

    #[cold]
    fn follow(&mut self, params: &TcpParams, rtt: Time, now: Time, gap: Time) -> bool {
        let tick = tick(params);
        let least = in_ticks(params.delayed_ack_timeout, tick);
        let gap = now.0 / tick.0 - now.saturating_sub(gap).0 / tick.0;
        let ticks = u64::from(self.ticks);
        if ticks == 0 {
            self.set(least, params);
        } else if gap <= least / 2 {
            self.set(ticks / 2 + least / 2, params);
        } else if gap < ticks {
            self.set(ticks / 2 + gap, params);
        } else {
            // The retransmission timeout that the receiver computes from the RTT of the handshake.
            return gap > in_ticks(rtt + Time(2 * rtt.0).max(MOST), tick);
        }
        false
    }

    /// Doubles the delay after the timer has expired (tcp_delack_timer_handler).
    pub(super) fn on_timeout(&mut self, params: &TcpParams) {
        let least = in_ticks(params.delayed_ack_timeout, tick(params));
        self.set(2 * u64::from(self.ticks).max(least), params);
    }

    /// Returns to the minimum delay (tcp_enter_quickack_mode).
    pub(super) fn reset(&mut self, params: &TcpParams) {
        if self.ticks > 0 {
            self.set(in_ticks(params.delayed_ack_timeout, tick(params)), params);
        }
    }

    /// Delay of an ACK: at most the RTT of the handshake, unless the minimum is longer (tcp_send_delayed_ack).
    #[inline]
    pub(super) fn delay(&self, params: &TcpParams, rtt: Time) -> Time {
        if !self.is_long {
            return params.delayed_ack_timeout;
        }
        let delay = Time(u64::from(self.ticks) * tick(params).0);
        delay.min(rtt.max(params.delayed_ack_timeout))
    }

    fn set(&mut self, ticks: u64, params: &TcpParams) {
        let tick = tick(params);
        self.ticks = ticks.min(in_ticks(MOST, tick)) as u8;
        self.is_long = u64::from(self.ticks) > in_ticks(params.delayed_ack_timeout, tick);
    }
}

/// Microseconds, modulo 2^32.
pub(super) fn micros(time: Time) -> u32 {
    (time.0 / Time::from_micros(1).0) as u32
}

/// Unit of time (jiffy); at least a millisecond, so that a delay in ticks fits into 8 bits.
fn tick(params: &TcpParams) -> Time {
    params.clock_tick.max(Time::from_millis(1))
}

fn in_ticks(time: Time, tick: Time) -> u64 {
    time.0.div_ceil(tick.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Time = Time::from_millis(160);
    const MS: fn(u64) -> Time = Time::from_millis;

    fn params() -> TcpParams {
        TcpParams { delayed_ack_timeout: MS(40), clock_tick: MS(4), ..Default::default() }
    }

    #[test]
    fn the_delay_follows_gaps_that_are_longer_than_half_of_the_minimum() {
        let params = params();
        let mut delay = AckDelay::new(&params);
        let mut after = |ms| {
            let next = Time::from_micros(u64::from(delay.arrival_us)) + MS(ms);
            assert!(!delay.on_segment(&params, RTT, next));
            delay.delay(&params, RTT)
        };
        // If a gap is shorter than the delay, the new delay is half of the old one plus the gap: 20 + 36, 28 + 52 and
        // 40 + 72 ms. The gaps of 4 ms count as 20 ms. Halves are rounded down to ticks of 4 ms.
        assert_eq!([100, 1, 36, 52, 72, 4, 4].map(&mut after), [40, 40, 56, 80, 112, 76, 56].map(MS));
    }

    #[test]
    fn gaps_count_by_the_configured_minimum() {
        let params = TcpParams { delayed_ack_timeout: MS(20), ..params() };
        let mut delay = AckDelay::new(&params);
        // The gap of 12 ms changes the delay of 20 ms (5 ticks) to 2 + 3 ticks, which is the same; the gap of 16 ms to
        // 2 + 4 ticks.
        let delays = [101, 113, 129].map(|ms| {
            delay.on_segment(&params, RTT, MS(ms));
            delay.delay(&params, RTT)
        });
        assert_eq!(delays, [20, 20, 24].map(MS));
    }

    #[test]
    fn a_missed_delay_doubles_up_to_the_rtt_and_quick_acks_end_it() {
        let params = params();
        let mut delay = AckDelay::new(&params);
        delay.on_segment(&params, RTT, MS(1));
        let doubled = [(); 3].map(|()| {
            delay.on_timeout(&params);
            delay.delay(&params, RTT)
        });
        // The third doubling gives 200 ms, which the RTT limits to 160 ms. With an RTT of 10 ms, the delay is its
        // minimum, 40 ms.
        assert_eq!(doubled, [80, 160, 160].map(MS));
        assert_eq!(delay.delay(&params, MS(10)), MS(40));
        delay.reset(&params);
        assert_eq!(delay.delay(&params, RTT), MS(40));
    }

    #[test]
    fn a_gap_longer_than_the_timeout_asks_for_quick_acks() {
        let params = params();
        let mut delay = AckDelay::new(&params);
        delay.on_segment(&params, RTT, MS(4));
        // The timeout is 160 + 2 * 160 ms.
        assert!(!delay.on_segment(&params, RTT, MS(484)));
        assert!(delay.on_segment(&params, RTT, MS(968)));
    }
}
