//! Measurements at a port. Memory does not grow with simulated time.

use super::occupancy::{LONGEST_COUNTED, Occupancy};
use super::path_probe::Loss;
use super::series::Series;
use crate::cache_line::fetch;
use crate::network::sim_packet::{PacketKind, SimPacket};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::discipline::{Backlog, DropReason};
use fairlane_schemes::contract::packet::TrafficClass;
use fairlane_schemes::port::DelayHistogram;
use prefetch_index::prefetch_index;
use std::ops::Range;
use std::sync::Arc;

/// Drops for one reason.
#[derive(Clone, Debug, Default)]
pub struct DropCount {
    /// Packets dropped.
    pub packets: u64,
    /// Bytes dropped.
    pub bytes: u64,
    /// Number of packets dropped while 0, 1, 2 ... packets waited.
    pub by_queue_length: Vec<u64>,
}

impl DropCount {
    fn record(&mut self, wire_bytes: u32, waiting: u32) {
        self.packets += 1;
        self.bytes += u64::from(wire_bytes);
        let bin = (waiting as usize).min(LONGEST_COUNTED);
        if bin >= self.by_queue_length.len() {
            self.by_queue_length.resize(bin + 1, 0);
        }
        self.by_queue_length[bin] += 1;
    }
}

/// Measurements at one port.
#[derive(Clone, Debug)]
pub struct PortProbe {
    start: Time,
    /// Queue length over time.
    pub queue: Occupancy,
    /// Queueing delay per class.
    pub delay: [DelayHistogram; TrafficClass::ALL.len()],
    /// Drops per reason.
    pub drops: [DropCount; DropReason::ALL.len()],
    /// Packets lost on the wire, counted with a queue length of 0.
    pub lost: DropCount,
    /// Packets that got a congestion mark.
    pub marks: u64,
    /// First of the users that cross the port.
    pub first_user: u32,
    /// Bytes transmitted and not lost, for each user from `first_user` on.
    pub user_bytes: Vec<u64>,
    /// Part of `user_bytes` in acknowledgements; empty if the port has none.
    pub ack_bytes: Vec<u64>,
    /// Packets dropped or lost, for each user from `first_user` on.
    pub user_drops: Vec<u64>,
    /// Packets that arrived.
    pub arrived: u64,
    busy: Time,
    /// Dropped and lost packets that have not been counted yet for their user and flow.
    pub losses: Vec<Loss>,
    /// Group of each user, for the time series. All ports share it.
    group_of_user: Arc<[u16]>,
    /// Time series over the whole run, not only the measurement, if requested.
    pub series: Option<Box<Series>>,
    /// True if there is a time series, or if bytes of acknowledgements are counted.
    is_detailed: bool,
}

impl PortProbe {
    /// Creates a probe that observes from time 0. `group_of_user` has an entry for each user; the users in the range
    /// `users` cross the port.
    #[must_use]
    pub fn new(group_of_user: Arc<[u16]>, users: Range<u32>, series: Option<Series>) -> Self {
        Self {
            start: Time::ZERO,
            queue: Occupancy::new(Time::ZERO, Backlog::default()),
            delay: Default::default(),
            drops: Default::default(),
            lost: DropCount::default(),
            marks: 0,
            first_user: users.start,
            user_bytes: vec![0; users.len()],
            ack_bytes: Vec::new(),
            user_drops: vec![0; users.len()],
            arrived: 0,
            busy: Time::ZERO,
            losses: Vec::new(),
            group_of_user,
            is_detailed: series.is_some(),
            series: series.map(Box::new),
        }
    }

    /// Also counts bytes of acknowledgements.
    pub fn count_acks(&mut self) {
        self.ack_bytes = vec![0; self.user_bytes.len()];
        self.is_detailed = true;
    }

    /// Starts the measurement at `now`, with `backlog` waiting and the transmitter busy until `busy_until`. Clears
    /// everything except the time series.
    pub fn restart(&mut self, now: Time, backlog: Backlog, busy_until: Time) {
        self.start = now;
        self.queue = Occupancy::new(now, backlog);
        self.delay = Default::default();
        self.drops = Default::default();
        self.lost = DropCount::default();
        self.marks = 0;
        self.user_bytes.fill(0);
        self.ack_bytes.fill(0);
        self.user_drops.fill(0);
        self.arrived = 0;
        self.busy = busy_until.saturating_sub(now);
    }

    /// Prefetches the cache lines that each packet touches.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.queue);
        fetch(&self.delay[TrafficClass::BestEffort.index()]);
        fetch(&self.user_bytes);
        fetch(&self.arrived);
    }

    /// Prefetches the counts that a transmission of `packet` touches after the packet has waited for `wait`. Must be
    /// called after the cache lines that [`PortProbe::fetch`] prefetches have arrived.
    #[inline]
    pub fn fetch_counts(&self, packet: &SimPacket, wait: Time) {
        self.delay[packet.class.index()].fetch(wait);
        // A user that does not cross the port has no counter.
        prefetch_index(&self.user_bytes, packet.user.wrapping_sub(self.first_user) as usize);
    }

    /// Records a packet offered at `now`; `backlog` includes the packet if it was queued. `threshold` is the packet's
    /// drop threshold.
    #[inline(always)]
    pub fn offered(&mut self, now: Time, backlog: Backlog, threshold: Option<f64>) {
        self.arrived += 1;
        self.queue.change(now, backlog);
        if self.series.is_some() {
            self.offered_in_series(now, backlog, threshold);
        }
    }

    #[cold]
    #[inline(never)]
    fn offered_in_series(&mut self, now: Time, backlog: Backlog, threshold: Option<f64>) {
        let Some(series) = &mut self.series else { return };
        series.queue_changed(now, backlog.packets);
        if let Some(threshold) = threshold {
            series.threshold_met(now, threshold);
        }
    }

    /// Records a packet that was dropped at `now`, while `backlog` waited.
    pub fn dropped(&mut self, packet: &SimPacket, now: Time, reason: DropReason, backlog: Backlog) {
        self.drops[reason.index()].record(u32::from(packet.wire_bytes), backlog.packets);
        let user = self.place(packet.user);
        self.user_drops[user] += 1;
        self.losses.push(Loss::of(packet, now));
    }

    /// Records that a packet, whose transmission was recorded before, was lost on the wire at `now`.
    pub fn lost(&mut self, packet: &SimPacket, now: Time) {
        let (user, bytes) = (self.place(packet.user), u64::from(packet.wire_bytes));
        self.lost.packets += 1;
        self.lost.bytes += bytes;
        self.user_drops[user] += 1;
        // A transmission before the measurement was not counted.
        self.user_bytes[user] = self.user_bytes[user].saturating_sub(bytes);
        if packet.kind == PacketKind::Ack {
            self.ack_bytes[user] = self.ack_bytes[user].saturating_sub(bytes);
        }
        self.losses.push(Loss::of(packet, now));
    }

    /// Records a transmission from `start` to `end` that leaves `backlog` waiting.
    #[inline(always)]
    pub fn transmitted(&mut self, packet: &SimPacket, start: Time, end: Time, backlog: Backlog) {
        self.queue.change(start, backlog);
        self.delay[packet.class.index()].record(start - packet.enqueued_at);
        let user = self.place(packet.user);
        self.user_bytes[user] += u64::from(packet.wire_bytes);
        self.busy += end - start;
        if self.is_detailed {
            self.transmitted_in_detail(packet, start, backlog);
        }
    }

    #[cold]
    #[inline(never)]
    fn transmitted_in_detail(&mut self, packet: &SimPacket, start: Time, backlog: Backlog) {
        if packet.kind == PacketKind::Ack {
            let user = self.place(packet.user);
            self.ack_bytes[user] += u64::from(packet.wire_bytes);
        }
        let Some(series) = &mut self.series else { return };
        series.queue_changed(start, backlog.packets);
        let group = self.group_of_user[packet.user as usize];
        series.departed(usize::from(group), u32::from(packet.wire_bytes), start);
    }

    /// Closes the measurement at `end`.
    pub fn finish(&mut self, end: Time, backlog: Backlog, busy_until: Time) {
        self.queue.change(end, backlog);
        self.busy -= busy_until.saturating_sub(end);
        if let Some(series) = &mut self.series {
            series.queue_changed(end, backlog.packets);
            series.finish(end);
        }
    }

    #[inline]
    fn place(&self, user: u32) -> usize {
        (user - self.first_user) as usize
    }

    /// Bytes of a user that were transmitted and not lost.
    #[must_use]
    pub fn bytes_of(&self, user: u32) -> u64 {
        self.user_bytes[self.place(user)]
    }

    /// Busy time of the transmitter divided by the measured time. Call it after [`PortProbe::finish`].
    #[must_use]
    pub fn utilisation(&self, end: Time) -> f64 {
        self.busy.as_secs_f64() / (end - self.start).as_secs_f64()
    }
}
