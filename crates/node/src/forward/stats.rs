//! Counters of a port since the last report.

use crate::histogram;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::discipline::{Backlog, DropReason};
use fairlane_schemes::port::DelayHistogram;
use serde::Serialize;
use serde_json::{Value as Json, json};

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
}

impl Count {
    /// Counts a packet.
    #[inline]
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Receive counters of a port. A report serialises them unchanged.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IngressStats {
    /// Frames read.
    pub received: Count,
    #[serde(skip)]
    last: Option<Time>,
    /// Times from the end of one frame to the end of the next one.
    #[serde(serialize_with = "histogram::serialize")]
    gaps: DelayHistogram,
    /// Frames dropped at the tail of the emulated link's queue.
    pub line_drops: u64,
    /// Frames dropped because they exceed the maximum length.
    pub oversized: u64,
    /// Frames dropped because the sender's kernel did not compute the checksum, but left it to the checksum offload of
    /// a network card that does not exist. Disable the `tx` offload at the sender.
    pub without_checksum: u64,
    /// Frames dropped because the pool had no free slot.
    pub no_frame: u64,
    /// Frames dropped by the kernel because the ring was full.
    pub kernel_drops: u64,
    /// Times that the interface went down or disappeared.
    pub outages: u64,
    /// Counters of packets that a router dropped or answered.
    pub router: RouterStats,
}

/// Counters of packets that a router dropped or answered; all zero in a bridge.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RouterStats {
    /// ARP frames and packets addressed to the router.
    pub own: u64,
    /// Frames not for the router's Ethernet address, or with an invalid IPv4 header.
    pub refused: u64,
    /// Packets with TTL 0 or 1.
    pub ttl_expired: u64,
    /// Packets without a matching route.
    pub no_route: u64,
    /// Packets lost because the next hop was unresolved.
    pub unresolved: u64,
    /// Packets that exceed the MTU of the next link.
    pub too_big: u64,
    /// ICMP messages sent: errors and echo replies.
    pub icmp: u64,
}

impl IngressStats {
    /// Counts a frame that arrived at `at`.
    #[inline]
    pub fn arrived(&mut self, bytes: u32, at: Time) {
        self.received.add(bytes);
        if let Some(last) = self.last.replace(at) {
            self.gaps.record(at.saturating_sub(last));
        }
    }
}

/// A user at a port.
#[derive(Clone, Copy, Debug, Default)]
pub struct UserStats {
    arrived: Count,
    departed: Count,
    dropped: u64,
    marked: u64,
}

/// Send counters of a port.
#[derive(Clone, Debug)]
pub struct EgressStats {
    since: Time,
    users: Vec<UserStats>,
    drops: [Count; DropReason::ALL.len()],
    delay: DelayHistogram,
    busy: Time,
    queue: QueueIntegral,
    /// Control packets that overtook the queue within their rate.
    pub control: u64,
    /// Control packets that exceed the control rate. The scheme treats them like other packets.
    pub control_excess: u64,
    /// Delay between due time and sending.
    pub lateness: DelayHistogram,
    /// Frames that the kernel did not accept for sending.
    pub send_errors: u64,
}

impl EgressStats {
    /// Creates counters of zero. `queued` packets wait at time `since`.
    #[must_use]
    pub fn new(users: usize, since: Time, queued: Backlog) -> Self {
        Self {
            since,
            users: vec![UserStats::default(); users],
            drops: Default::default(),
            delay: DelayHistogram::default(),
            busy: Time::ZERO,
            queue: QueueIntegral { since, at: queued, packet_s: 0.0, byte_s: 0.0, max: queued.packets },
            control: 0,
            control_excess: 0,
            lateness: DelayHistogram::default(),
            send_errors: 0,
        }
    }

    /// Counts an arriving packet of `user`.
    #[inline]
    pub fn arrived(&mut self, user: u32, bytes: u32) {
        self.users[user as usize].arrived.add(bytes);
    }

    /// Counts a dropped packet of `user`.
    #[inline]
    pub fn dropped(&mut self, user: u32, bytes: u32, reason: DropReason) {
        self.users[user as usize].dropped += 1;
        self.drops[reason.index()].add(bytes);
    }

    /// Counts a marked packet of `user`.
    #[inline]
    pub fn marked(&mut self, user: u32) {
        self.users[user as usize].marked += 1;
    }

    /// Counts a packet of `user` that waited for `delay` and occupies the link for `busy`.
    #[inline]
    pub fn departed(&mut self, user: u32, bytes: u32, delay: Time, busy: Time) {
        self.users[user as usize].departed.add(bytes);
        self.delay.record(delay);
        self.busy += busy;
    }

    /// Records the backlog, which applies from `now` on.
    #[inline]
    pub fn queued(&mut self, backlog: Backlog, now: Time) {
        self.queue.change(backlog, now);
    }

    /// Converts the counters at `now` to JSON, with the users' names in `names`.
    #[must_use]
    pub fn report(&self, rate: Option<BitRate>, names: &[String], now: Time) -> Json {
        let window_s = now.saturating_sub(self.since).as_secs_f64().max(1e-9);
        let mut queue = self.queue.clone();
        queue.change(queue.at, now);
        let total = |of: fn(&UserStats) -> u64| self.users.iter().map(of).sum::<u64>();
        let arrived = total(|user| user.arrived.packets);
        let users = names.iter().zip(&self.users).map(|(name, user)| {
            json!({
                "name": name,
                "arrived": user.arrived,
                "departed": user.departed,
                "dropped_packets": user.dropped,
                "marked_packets": user.marked,
            })
        });
        let drops = DropReason::ALL.iter().zip(&self.drops).map(|(reason, count)| {
            json!({
                "reason": reason.name(),
                "packets": count.packets,
                "bytes": count.bytes,
                "share_of_arrivals": count.packets as f64 / arrived.max(1) as f64,
            })
        });
        json!({
            "rate_bps": rate.map(BitRate::as_f64),
            "utilisation": self.busy.as_secs_f64() / window_s,
            "throughput_bps": total(|user| user.departed.bytes) as f64 * 8.0 / window_s,
            "queue": {
                "mean_packets": queue.packet_s / window_s,
                "mean_bytes": queue.byte_s / window_s,
                "max_packets": queue.max,
            },
            "delay": histogram::report(&self.delay),
            "drops": drops.collect::<Vec<_>>(),
            "marks": total(|user| user.marked),
            "control": self.control,
            "control_excess": self.control_excess,
            "accounting": {
                "arrived": arrived,
                "departed": total(|user| user.departed.packets),
                "dropped": total(|user| user.dropped),
                "queued": queue.at.packets,
            },
            "users": users.collect::<Vec<_>>(),
            "lateness": histogram::report(&self.lateness),
            "send_errors": self.send_errors,
        })
    }
}

#[derive(Clone, Debug)]
struct QueueIntegral {
    since: Time,
    at: Backlog,
    packet_s: f64,
    byte_s: f64,
    max: u32,
}

impl QueueIntegral {
    #[inline]
    fn change(&mut self, to: Backlog, now: Time) {
        let lasted_s = now.saturating_sub(self.since).as_secs_f64();
        self.packet_s += f64::from(self.at.packets) * lasted_s;
        self.byte_s += self.at.bytes as f64 * lasted_s;
        self.max = self.max.max(to.packets);
        (self.since, self.at) = (now, to);
    }
}
