//! Any scheme as a queue discipline behind an opaque handle, which owns the waiting packets.

use crate::text::{Message, table};
use crate::{Status, destroy, guard, read, time, write};
use fairlane_plugin::packet::{CPacket, CheckedPacket};
use fairlane_schemes::base::config::Table;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::discipline::{Backlog, DropReason, DropSink, QueueDiscipline};
use fairlane_schemes::contract::weights::Weights;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::registry::schemes::AnyDiscipline;
use std::ffi::{c_char, c_void};

/// Called for every packet that is dropped or marked, during the call that drops or marks it. Must not call functions
/// of the queue. `reason` is 0 for a drop by the AQM, 1 for a full queue, 2 for a packet that was pushed out, 3 for a
/// congestion mark.
pub type OnDrop = Option<unsafe extern "C" fn(context: *mut c_void, packet: *const CPacket, reason: u8)>;

/// `reason` of a congestion mark. Smaller numbers are the reasons of [`DropReason::ALL`].
const MARKED: u8 = 3;

/// A queue discipline, opaque to C.
#[derive(Debug)]
pub struct Queue {
    discipline: AnyDiscipline<CheckedPacket>,
    rng: Rng,
    now: Time,
    stats: QueueStats,
}

/// Counters of a queue. Offered = dropped + sent + waiting, in packets.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueStats {
    /// Packets offered.
    pub offered_packets: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets dropped, by reason: AQM, full queue, pushed out.
    pub dropped_packets: [u64; 3],
    /// Packets marked.
    pub marked_packets: u64,
    /// Waiting packets.
    pub backlog_packets: u64,
    /// Waiting bytes.
    pub backlog_bytes: u64,
    /// Drop threshold for the last arrival, in the unit of the scheme's thresholds; NaN if there is none.
    pub drop_threshold: f64,
}

/// Counts drops and passes them to the host.
struct Sink<'a> {
    stats: &'a mut QueueStats,
    on_drop: OnDrop,
    context: *mut c_void,
}

impl Sink<'_> {
    fn tell(&self, packet: &CheckedPacket, reason: u8) {
        if let Some(on_drop) = self.on_drop {
            let packet = packet.c();
            // SAFETY: the host gave function and context for this call; the packet outlives it.
            unsafe { on_drop(self.context, &raw const packet, reason) };
        }
    }
}

impl DropSink<CheckedPacket> for Sink<'_> {
    fn dropped(&mut self, packet: &CheckedPacket, reason: DropReason, _: Backlog) {
        self.stats.dropped_packets[reason.index()] += 1;
        self.tell(packet, reason.index() as u8);
    }
    fn marked(&mut self, packet: &CheckedPacket) {
        self.stats.marked_packets += 1;
        self.tell(packet, MARKED);
    }
}

/// Creates a queue for a link of `rate_bps` (1 bit/s to 1 Tbit/s) from the text of a `[queue]` table such as `scheme =
/// "abc"`. The text is TOML, or JSON if it begins with a brace. `seed` determines its random numbers. An error in the
/// text is written to `message` as one line, truncated to `message_size` bytes including the final zero; `message` may
/// be null.
///
/// # Safety
/// `description` must be null or end with a zero. `queue` must be null or point to room for a pointer. `message` must
/// be null or point to `message_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_queue_create(
    description: *const c_char,
    rate_bps: u64,
    seed: u64,
    queue: *mut *mut Queue,
    message: *mut c_char,
    message_size: usize,
) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller, for all three.
        let (out, message) = unsafe { (write(queue)?, Message::new(message, message_size)) };
        // SAFETY: as above.
        let json = unsafe { table(description, message) }?;
        let read = Table::new("queue", &json).and_then(|mut table| {
            let config = QueueConfig::read(&mut table)?;
            config.check_never_idles(|key| table.key(key))?;
            Ok(config)
        });
        let config = read.map_err(|error| message.error(&error))?;
        let rate = link_rate(rate_bps)?;
        let mut discipline = config.build(rate, &Weights::equal());
        discipline.set_link_rate(rate);
        let rng = Rng::stream(seed, 0, "queue", 0);
        *out = Box::into_raw(Box::new(Queue { discipline, rng, now: Time::ZERO, stats: QueueStats::default() }));
        Ok(())
    })
}

/// Destroys a queue and its waiting packets; does nothing if it is null.
///
/// # Safety
/// `queue` must be null or come from `fairlane_queue_create`, and must not be used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_queue_destroy(queue: *mut Queue) {
    // SAFETY: guaranteed by the caller.
    unsafe { destroy(queue) };
}

/// Offers a packet at `now_ns`. Calls `on_drop` (may be null) for each packet that is dropped or marked.
///
/// # Safety
/// `queue` must be null or a queue not used elsewhere during the call. `packet` must be null or point to a packet.
/// `on_drop` must be null or callable with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_queue_enqueue(
    queue: *mut Queue,
    packet: *const CPacket,
    now_ns: u64,
    on_drop: OnDrop,
    context: *mut c_void,
) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller, for both.
        let (queue, packet) = unsafe { (write(queue)?, read(packet)?) };
        let packet = CheckedPacket::new(*packet)?;
        let now = queue.advance(now_ns)?;
        queue.stats.offered_packets += 1;
        let mut sink = Sink { stats: &mut queue.stats, on_drop, context };
        queue.discipline.enqueue(packet, now, &mut queue.rng, &mut sink);
        Ok(())
    })
}

/// Returns the next packet to transmit at `now_ns`: sets `found` to 1 and writes `packet`, or sets `found` to 0. The
/// scheme may drop packets in this call; `on_drop` (may be null) is called for each.
///
/// # Safety
/// See `fairlane_queue_enqueue`. `packet` and `found` must be null or point to room for a value of their type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_queue_dequeue(
    queue: *mut Queue,
    now_ns: u64,
    on_drop: OnDrop,
    context: *mut c_void,
    packet: *mut CPacket,
    found: *mut u8,
) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller, for all three.
        let (queue, packet, found) = unsafe { (write(queue)?, write(packet)?, write(found)?) };
        let now = queue.advance(now_ns)?;
        let mut sink = Sink { stats: &mut queue.stats, on_drop, context };
        let next = queue.discipline.dequeue(now, &mut queue.rng, &mut sink);
        *found = u8::from(next.is_some());
        if let Some(next) = next {
            queue.stats.sent_packets += 1;
            *packet = next.c();
        }
        Ok(())
    })
}

/// Sets the rate of the link, 1 bit/s to 1 Tbit/s.
///
/// # Safety
/// `queue` must be null or a queue not used elsewhere during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_queue_set_rate(queue: *mut Queue, rate_bps: u64) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller.
        let queue = unsafe { write(queue) }?;
        queue.discipline.set_link_rate(link_rate(rate_bps)?);
        Ok(())
    })
}

/// Writes the counters of the queue so far.
///
/// # Safety
/// `queue` must be null or a queue not used elsewhere during the call. `stats` must be null or point to room for a
/// `QueueStats`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_queue_stats(queue: *const Queue, stats: *mut QueueStats) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller, for both.
        let (queue, stats) = unsafe { (read(queue)?, write(stats)?) };
        let backlog = queue.discipline.backlog();
        *stats = QueueStats {
            backlog_packets: backlog.packets.into(),
            backlog_bytes: backlog.bytes,
            drop_threshold: queue.discipline.drop_threshold().unwrap_or(f64::NAN),
            ..queue.stats
        };
        Ok(())
    })
}

impl Queue {
    /// Moves the queue's clock to `now_ns`, but never backwards. Returns the time of the clock.
    fn advance(&mut self, now_ns: u64) -> Result<Time, Status> {
        self.now = self.now.max(time(now_ns)?);
        Ok(self.now)
    }
}

fn link_rate(bps: u64) -> Result<BitRate, Status> {
    if (1..=1_000_000_000_000).contains(&bps) { Ok(BitRate(bps)) } else { Err(Status::OutOfRange) }
}
