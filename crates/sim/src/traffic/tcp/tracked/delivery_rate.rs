//! Samples of the delivery rate: draft-ietf-ccwg-bbr, section on delivery rate.
//!
//! The record of each segment has the time and the total amount of delivered data at its transmission. When the segment
//! is delivered, the rate sample is the amount delivered since its transmission, divided by the longer of two
//! intervals: the time over which these data were sent, and the time over which their ACKs arrived.

use fairlane_schemes::base::units::{BitRate, Time};

use super::records::Record;

/// State of a connection for rate samples (C.*); sizes are in bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct RateSampler {
    pub(super) delivered: u64,
    /// C.delivered_time.
    delivered_at: Time,
    /// C.first_send_time.
    first_sent: Time,
    pub(super) lost: u64,
    /// Number of bytes in `delivered` with a congestion mark.
    pub(super) delivered_ce: u64,
    /// C.app_limited: the sender has too few data until `delivered` exceeds this value; 0 if it has enough.
    app_limited: u64,
    transmissions: u32,
    /// Newest segment that the current ACK delivers: its transmission number, or 0 if there is none, and its segment
    /// number.
    newest: (u32, u32),
}

/// A rate sample (RS.*).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RateSample {
    pub(super) prior_delivered: u64,
    pub(super) tx_in_flight: u32,
    pub(super) lost_since_sent: u64,
    pub(super) interval: Time,
    pub(super) rate: Option<BitRate>,
    pub(super) app_limited: bool,
}

impl RateSampler {
    /// Returns the record of a segment of `bytes` sent at `now`. `pipe` is the data in flight before the segment.
    #[inline]
    pub(super) fn on_send(&mut self, now: Time, silent: bool, pipe: u64, bytes: u32) -> Record {
        if silent {
            // Samples exclude the idle time before this segment.
            (self.first_sent, self.delivered_at) = (now, now);
        }
        self.transmissions = self.transmissions.wrapping_add(1);
        Record {
            sent: now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            tx_in_flight: u32::try_from(pipe + u64::from(bytes)).unwrap_or(u32::MAX),
            number: self.transmissions,
            app_limited: self.app_limited != 0,
            ..Record::BLANK
        }
    }

    /// Records that segment `seq`, last sent as transmission `number`, is delivered.
    #[inline]
    pub(super) fn on_delivered(&mut self, seq: u32, number: u32, bytes: u32, now: Time) {
        self.delivered += u64::from(bytes);
        self.delivered_at = now;
        if number > self.newest.0 {
            self.newest = (number, seq);
        }
    }

    /// Ends the current ACK. Returns the newest segment that it delivers, if any.
    #[inline]
    pub(super) fn end_ack(&mut self) -> Option<u32> {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let (number, seq) = std::mem::take(&mut self.newest);
        (number > 0).then_some(seq)
    }

    /// Returns the sample of the last ACK, from the record of the newest segment that the ACK delivers.
    #[inline]
    pub(super) fn sample(&mut self, newest: &Record, min_rtt: Time) -> RateSample {
        self.first_sent = newest.sent;
        let send_elapsed = newest.sent.saturating_sub(newest.first_sent);
        let ack_elapsed = self.delivered_at.saturating_sub(newest.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered - newest.delivered;
        // No segment can be delivered in less than the minimum RTT. A shorter interval is an artefact, for example of
        // ACKs bunched on the reverse path, so the sample has no rate.
        let rate = (interval > Time::ZERO && interval >= min_rtt.min(Time(u64::MAX - 1)))
            .then(|| BitRate::of(delivered, interval).max(BitRate(1)));
        RateSample {
            prior_delivered: newest.delivered,
            tx_in_flight: newest.tx_in_flight,
            lost_since_sent: self.lost - newest.lost,
            interval: if rate.is_some() { interval } else { Time::ZERO },
            rate,
            app_limited: newest.app_limited,
        }
    }

    /// Records that the sender had sent all its data while the window had room (CheckIfApplicationLimited). As in
    /// Linux, TCP checks this when the application writes. The draft also checks at ACKs and timers.
    #[inline]
    pub(super) fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Number of the last transmission.
    #[inline]
    pub(super) fn transmissions(&self) -> u32 {
        self.transmissions
    }

    /// Returns true if the sender has too few data.
    #[inline]
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;
    const MS: fn(u64) -> Time = Time::from_millis;

    /// Delivers the segment of a record; its segment number does not matter here.
    fn deliver(rate: &mut RateSampler, record: &Record, now: Time) {
        rate.on_delivered(0, record.number, MSS, now);
    }

    /// Returns the sample of an ACK that delivers the segment of a record.
    fn ack(rate: &mut RateSampler, record: &Record, now: Time) -> RateSample {
        deliver(rate, record, now);
        assert!(rate.end_ack().is_some());
        rate.sample(record, MS(1))
    }

    #[test]
    fn the_rate_is_what_was_delivered_since_the_segment_was_sent_over_the_time_of_its_acks() {
        let mut rate = RateSampler::default();
        // Ten segments are sent in a burst at time 0. Their ACKs arrive every 10 ms from 100 ms on, which is a rate of
        // 1000 B / 10 ms = 800 kbit/s.
        let burst: Vec<Record> = (0..10).map(|k| rate.on_send(MS(0), k == 0, k * u64::from(MSS), MSS)).collect();
        deliver(&mut rate, &burst[0], MS(100));
        // The first segment gives 1000 B in 100 ms.
        assert_eq!(rate.sample(&burst[0], MS(100)).rate, Some(BitRate(80_000)));
        // One more segment, sent at 100 ms, is delivered at 200 ms, after ten other segments. The rate is 10 000 B in
        // 100 ms.
        let next = rate.on_send(MS(100), false, 9 * u64::from(MSS), MSS);
        for k in 1..10 {
            deliver(&mut rate, &burst[k as usize], MS(100 + 10 * k));
            rate.sample(&burst[k as usize], MS(100));
        }
        deliver(&mut rate, &next, MS(200));
        let sample = rate.sample(&next, MS(100));
        assert_eq!((sample.rate, sample.interval), (Some(BitRate(800_000)), MS(100)));
        assert_eq!((sample.prior_delivered, sample.tx_in_flight), (1000, 10_000));
    }

    #[test]
    fn acks_that_come_in_a_bunch_do_not_raise_the_rate_above_that_of_sending() {
        let mut rate = RateSampler::default();
        // Eleven segments are sent, one every 10 ms, so over 100 ms. All ACKs arrive at 200 ms, so 11 000 B are
        // acknowledged at once.
        let sent: Vec<Record> = (0..11).map(|k| rate.on_send(MS(10 * k), k == 0, k * u64::from(MSS), MSS)).collect();
        for record in &sent {
            deliver(&mut rate, record, MS(200));
        }
        // The last segment was sent after 100 ms, and acknowledged after 200 ms. The interval is the longer of these
        // times.
        assert_eq!(rate.sample(&sent[10], MS(50)).rate, Some(BitRate(440_000)));
    }

    #[test]
    fn an_interval_below_the_least_rtt_gives_no_rate() {
        let mut rate = RateSampler::default();
        let record = rate.on_send(MS(0), true, 0, MSS);
        deliver(&mut rate, &record, MS(20));
        let sample = rate.sample(&record, MS(30));
        assert_eq!((sample.rate, sample.interval, sample.tx_in_flight), (None, Time::ZERO, MSS));
        assert_eq!((rate.end_ack(), rate.end_ack()), (Some(0), None));
    }

    #[test]
    fn segments_sent_with_too_few_data_say_so_until_what_was_in_flight_then_is_delivered() {
        let mut rate = RateSampler::default();
        let first = rate.on_send(MS(0), true, 0, MSS);
        rate.mark_app_limited(u64::from(MSS));
        let second = rate.on_send(MS(1), false, u64::from(MSS), MSS);
        assert!(!first.app_limited && second.app_limited);
        assert!(!ack(&mut rate, &first, MS(100)).app_limited);
        assert!(rate.is_app_limited());
        // 2000 B have been delivered, which is more than the 1000 B at which the app-limited phase ends.
        assert!(ack(&mut rate, &second, MS(101)).app_limited);
        assert!(!rate.is_app_limited());
    }
}
