//! CoDel: drops packets at the head of the queue, at increasing frequency, while the minimum delay of an interval is
//! too long.
//!
//! Source: RFC 8289, sections 4 and 5; marks as in Linux (`codel_impl.h`) and RFC 8289 section 3. A packet that leaves
//! the queue has waited for the sojourn time d and leaves B bytes behind.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | `d < target` or `B <= MTU`: the delay is good; otherwise set `first_above = now + interval`, unless set | `Codel::too_long` |
//! | (2) | the delay has been bad for an interval: `now >= first_above` | `Codel::too_long` |
//! | (3) | not dropping and (2): drop and begin dropping; `count = max(1, count - lastcount)` if the last drops ended less than 16 intervals ago, else 1 | `Codel::begin` |
//! | (4) | control law: `drop_next = t + interval / sqrt(count)`, `t = now` when dropping begins, later t is the last `drop_next` | `CodelTarget::control_law` |
//! | (5) | dropping and `now >= drop_next`: `count += 1`, drop, and look at the next packet at once | `Codel::go_on` |
//! | (6) | dropping and not (2): stop | `Codel::judge` |
//! | (7) | with ECN: mark instead of dropping, and send the packet | `Codel::judge` |
//! | (8) | `root = "newton"`: 1/sqrt(count) has 16 bits: all ones for count = 1, otherwise one Newton step | `Codel::step_root` |
//!
//! Cost: one or two comparisons per packet, a square root per drop. [`Codel`] has 40 bytes. A discipline with many
//! queues has one `Codel` per queue, and one [`CodelTarget`] for all.
//!
//! Deviations:
//! 1. The square root is exact unless `root` selects the approximation of Linux (`codel_Newton_step`).
//! 2. B counts the bytes of all classes.
//!
//! Not implemented: the second threshold of Linux that marks by sojourn time alone (`ce_threshold`).

use crate::contract::prelude::*;
use crate::queue::managed_queue::ManagedQueue;

choices! {
    /// Square root of the control law.
    pub enum Root {
        /// Exact.
        Exact = "exact",
        /// One Newton step per increment of the count, as in Linux.
        Newton = "newton",
    }
}

params! {
    /// CoDel.
    pub struct CodelParams {
        //= RFC 8289 4.3-1: The target is 5 ms on the Internet.
        //= RFC 8289 4.5-1: Where the times can be set, the defaults are those for the Internet.
        /// Target delay of the standing queue.
        target: Time = "5 ms", in "1 us"..="10 s", symbol "TARGET", source "RFC 8289 section 4.3";
        //= RFC 8289 4.2-1: The interval is 100 ms on the Internet.
        //= RFC 8289 4.5-2: Other networks use other times, the target 5 to 10 % of the interval.
        /// Time for which the delay may exceed the target; should be at least the round-trip time of most flows.
        interval: Time = "100 ms", in "10 us"..="100 s", symbol "INTERVAL", source "RFC 8289 section 4.2";
        /// Marks ECN-capable packets instead of dropping them.
        ecn: bool = false, source "RFC 8289 section 3; Linux codel: off";
        /// Square root of the control law.
        root: Root = "exact", source "RFC 8289 section 3.3; newton in Linux";
    }
}

/// Registry entry of CoDel.
#[derive(Clone, Copy, Debug)]
pub struct CodelScheme;

impl SchemeSpec for CodelScheme {
    const ABOUT: About = About {
        title: "Controlled delay",
        kind: "one queue, or one per class; drops or marks at the head",
        summary: "Drops at the head of the queue, at a rate that grows with the square root of the number of drops, \
                  while the minimum delay of an interval is above a target.",
        source: "RFC 8289",
        state: "port: 2 times, 2 counts",
        flow_state: FlowState::None,
        order: Order::Fifo,
    };
    type Params = CodelParams;
    type Discipline<P: Packet> = ManagedQueue<P, CodelAqm>;

    fn check(params: &CodelParams, _: &BufferParams, table: &Table<'_>) -> Result<(), ConfigError> {
        check_target(params.target, params.interval, table)
    }

    fn build<P: Packet>(params: &CodelParams, port: &Port<'_>) -> Self::Discipline<P> {
        //= RFC 8289 5.3-1: The least backlog is the MTU of the interface.
        let CodelParams { target, interval, root, .. } = *params;
        let target = CodelTarget { target, interval, root, mtu: port.buffer.mtu.0 as u32 };
        ManagedQueue::new(port.buffer, port.rate, CodelAqm { codel: Codel::default(), target, ecn: params.ecn })
    }
}

/// Checks that the target is below the interval.
///
/// # Errors
/// If the target is not below the interval. The error names the key.
pub fn check_target(target: Time, interval: Time, table: &Table<'_>) -> Result<(), ConfigError> {
    if target < interval {
        return Ok(());
    }
    let problem = format!("\"{target}\" is out of range, it must be below the interval, {interval}");
    Err(ConfigError::new(table.key("target"), problem))
}

/// Parameters of CoDel shared by all queues.
#[derive(Clone, Copy, Debug)]
pub struct CodelTarget {
    /// TARGET.
    pub target: Time,
    /// INTERVAL.
    pub interval: Time,
    /// Square root of rule (4).
    pub root: Root,
    /// Backlog in bytes up to which a queue is never too long.
    pub mtu: u32,
}

/// The state of CoDel at one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codel {
    /// Time at which the delay will have exceeded the target for an interval; `None` while it is below the target.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    /// 1/sqrt(count) in units of 1/65 536: rule (8).
    inverse_root: u16,
    dropping: bool,
    /// True if rule (5) dropped the last packet. Then `drop_next` is still the time of that drop.
    dropped_last: bool,
}

impl Codel {
    /// Decides on the packet just taken from the head of the queue after `sojourn`. The queue still has `bytes_behind`.
    /// After a drop, the caller must judge the next packet at the same `now` or call [`Codel::emptied`]. `markable`
    /// packets are marked instead of dropped.
    #[inline]
    pub fn judge(&mut self, aim: &CodelTarget, sojourn: Time, bytes_behind: u64, markable: bool, now: Time) -> Verdict {
        let too_long = self.too_long(aim, sojourn, bytes_behind, now);
        match (self.dropping, too_long) {
            (false, false) => Verdict::Accept,
            (false, true) => {
                self.begin(aim, now);
                if markable { Verdict::Mark } else { Verdict::Drop }
            }
            (true, false) => {
                //= RFC 8289 4-3: A delay below the target ends the drops and cancels the next.
                (self.dropping, self.dropped_last) = (false, false); // rule (6)
                Verdict::Accept
            }
            (true, true) => self.go_on(aim, markable, now),
        }
    }

    /// Notes that the queue was found empty.
    #[inline]
    pub fn emptied(&mut self) {
        //= RFC 8289 5.6-2: An empty queue has no delay above the target.
        (self.first_above, self.dropping, self.dropped_last) = (None, false, false);
    }

    /// Notes that `packets` were dropped at a full buffer. They increase the count (Linux `fq_codel_drop`).
    pub fn overflowed(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Drops or marks since dropping began.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// True while CoDel is in the dropping state.
    #[must_use]
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }

    /// Returns true if the delay has been bad for an interval: rules (1) and (2).
    #[inline]
    fn too_long(&mut self, aim: &CodelTarget, sojourn: Time, bytes_behind: u64, now: Time) -> bool {
        //= RFC 8289 4.1-1: Nothing is dropped that would leave less than a full packet waiting.
        //= RFC 8289 4.3-2: One packet below the target restarts the interval.
        if sojourn < aim.target || bytes_behind <= u64::from(aim.mtu) {
            self.first_above = None;
            return false;
        }
        //= RFC 8289 4-1: Drops begin once the delay has stayed at the target or above for an interval.
        now >= *self.first_above.get_or_insert(now.saturating_add(aim.interval))
    }

    /// Time of the next drop: rule (4).
    fn control_law(&self, aim: &CodelTarget, from: Time) -> Time {
        //= RFC 8289 3.3-1: Gaps between drops shrink with the square root of the drops so far.
        //= RFC 8289 5.6-1: The next drop is due an interval over the root of the count after the last.
        let gap = match aim.root {
            Root::Exact => aim.interval.as_secs_f64() / f64::from(self.count).sqrt(),
            Root::Newton => aim.interval.as_secs_f64() * f64::from(self.inverse_root) / 65_536.0,
        };
        from.saturating_add(Time::from_secs_f64(gap))
    }

    /// Updates the root by rule (8), in the wrapping arithmetic of the kernel. If dropping begins with a count below
    /// the previous one, the root is too small and drops are more frequent. From count 20 to count 5, for example,
    /// the root is 0.307 instead of 1/sqrt(5) = 0.447.
    #[allow(clippy::cast_possible_truncation)]
    fn step_root(&mut self) {
        let root = u64::from(self.inverse_root) << 16;
        let rest = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul((root * root) >> 32)) >> 2;
        self.inverse_root = (rest.wrapping_mul(root) >> 31 >> 16) as u16;
    }

    /// Begins dropping: rule (3).
    fn begin(&mut self, aim: &CodelTarget, now: Time) {
        let since_last = now.saturating_sub(self.drop_next);
        let delta = self.count.saturating_sub(self.last_count);
        //= RFC 8289 5.5-2: Drops that resume within 16 intervals go on near the rate they had.
        // A kernel has run for more than 16 intervals before its first drop, so the count then starts at 1.
        let is_first = aim.root == Root::Newton && self.drop_next == Time::ZERO;
        if delta > 1 && !is_first && since_last.0 < aim.interval.0.saturating_mul(16) {
            self.count = delta;
            self.step_root();
        } else {
            (self.count, self.inverse_root) = (1, u16::MAX);
        }
        self.last_count = self.count;
        //= RFC 8289 4-2: The second drop comes an interval after the first.
        self.drop_next = self.control_law(aim, now);
        (self.dropping, self.dropped_last) = (true, false);
    }

    /// Decides on the packet at the head during dropping: rule (5).
    fn go_on(&mut self, aim: &CodelTarget, markable: bool, now: Time) -> Verdict {
        if std::mem::take(&mut self.dropped_last) {
            // `drop_next` changes only if the delay is still too long. If it is not, rule (3) needs the old value.
            self.drop_next = self.control_law(aim, self.drop_next);
        }
        if now < self.drop_next {
            return Verdict::Accept;
        }
        //= RFC 8289 4-4: When the next drop is due, the packet at the head goes and the time moves on.
        self.count = self.count.saturating_add(1);
        self.step_root();
        if markable {
            self.drop_next = self.control_law(aim, self.drop_next);
            return Verdict::Mark;
        }
        //= RFC 8289 5.5-1: Several drops may fall due at once; they are made one after the other.
        self.dropped_last = true;
        Verdict::Drop
    }
}

/// CoDel at a port with one queue.
#[derive(Clone, Debug)]
pub struct CodelAqm {
    codel: Codel,
    target: CodelTarget,
    ecn: bool,
}

//= RFC 8289 5.4-2: Drops at a full buffer do not count for CoDel.
impl Aqm for CodelAqm {
    const JUDGES_AT_HEAD: bool = true;

    #[inline]
    fn admit<P: Packet>(&mut self, _: &P, _: &QueueView, _: Time, _: &mut Rng) -> Verdict {
        Verdict::Accept
    }

    fn release<P: Packet>(&mut self, packet: &P, backlog: Backlog, now: Time, _: &mut Rng) -> Verdict {
        //= RFC 8289 5.4-1: A packet is stamped when it is stored, and judged when it leaves.
        let sojourn = now.saturating_sub(packet.enqueued_at());
        //= RFC 3168 5-3: A packet that is ECN-capable is marked in place of a drop.
        let markable = self.ecn && packet.ecn().is_capable();
        self.codel.judge(&self.target, sojourn, backlog.bytes, markable, now)
    }

    fn idle(&mut self, _: Time) {
        self.codel.emptied();
    }

    fn report(&self, report: Report<'_>) {
        report("drop_count", f64::from(self.codel.count()));
        report("dropping", f64::from(u8::from(self.codel.is_dropping())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Drops, TestPacket, readings, refusal};
    use serde_json::json;

    const AIM: CodelTarget =
        CodelTarget { target: Time::from_millis(5), interval: Time::from_millis(100), root: Root::Exact, mtu: 1500 };

    #[test]
    fn the_root_of_linux_is_a_step_of_newton_for_each_count() {
        let mut codel = Codel { count: 1, inverse_root: u16::MAX, ..Default::default() };
        let mut root_of = |count| {
            codel.count = count;
            codel.step_root();
            f64::from(codel.inverse_root) / 65_536.0
        };
        // Each count updates the root x, from x = 1, to `x * (3 - count * x^2) / 2`: 0.5, 0.5625, 0.4878 and so on up
        // to count 20, where x is close to 1/sqrt(20) = 0.2236.
        let roots: Vec<f64> = (2..=20).map(&mut root_of).collect();
        for (at, expected) in [(0, 0.5), (1, 0.5625), (2, 0.4878), (18, 0.2236)] {
            assert!((roots[at] - expected).abs() < 5e-4, "{roots:?}");
        }
        assert!((root_of(5) - 0.3075).abs() < 5e-4);
        // The gap is the root times the interval.
        let aim = CodelTarget { root: Root::Newton, ..AIM };
        let gap = Codel { inverse_root: 32_768, count: 2, ..Default::default() }.control_law(&aim, Time::ZERO);
        assert_eq!(gap, Time::from_millis(50));
    }
    const LONG: Time = Time::from_millis(50);

    /// The RFC's pseudocode (section 5), transcribed literally. Dequeues at `now` from a queue of sojourn times.
    /// Returns the sojourn time of the packet sent, if any, and the number of drops before it.
    #[derive(Default)]
    struct Rfc {
        first_above: u64,
        drop_next: u64,
        count: u32,
        last_count: u32,
        dropping: bool,
    }

    impl Rfc {
        fn take(&mut self, queue: &mut Vec<Time>, now: u64) -> (Option<Time>, bool) {
            if queue.is_empty() {
                self.first_above = 0;
                return (None, false);
            }
            let sojourn = queue.remove(0);
            let mut ok = false;
            if sojourn < AIM.target || queue.len() as u64 * 1500 <= u64::from(AIM.mtu) {
                self.first_above = 0;
            } else if self.first_above == 0 {
                self.first_above = now + AIM.interval.0;
            } else if now >= self.first_above {
                ok = true;
            }
            (Some(sojourn), ok)
        }

        fn law(from: u64, count: u32) -> u64 {
            Codel { count, ..Default::default() }.control_law(&AIM, Time(from)).0
        }

        fn dequeue(&mut self, queue: &mut Vec<Time>, now: u64) -> (Option<Time>, u32) {
            let mut dropped = 0;
            let (mut packet, mut ok) = self.take(queue, now);
            if packet.is_none() {
                self.dropping = false;
                return (None, 0);
            }
            if self.dropping {
                self.dropping &= ok;
                while self.dropping && now >= self.drop_next {
                    dropped += 1;
                    self.count += 1;
                    (packet, ok) = self.take(queue, now);
                    if ok {
                        self.drop_next = Self::law(self.drop_next, self.count);
                    } else {
                        self.dropping = false;
                    }
                }
            } else if ok {
                dropped += 1;
                (packet, _) = self.take(queue, now);
                self.dropping = true;
                let delta = self.count.wrapping_sub(self.last_count);
                let recent = (now as i64 - self.drop_next as i64) < 16 * AIM.interval.0 as i64;
                self.count = if delta > 1 && recent { delta } else { 1 };
                self.drop_next = Self::law(now, self.count);
                self.last_count = self.count;
            }
            (packet, dropped)
        }
    }

    fn ours(codel: &mut Codel, queue: &mut Vec<Time>, now: u64) -> (Option<Time>, u32) {
        let mut dropped = 0;
        while !queue.is_empty() {
            let sojourn = queue.remove(0);
            match codel.judge(&AIM, sojourn, queue.len() as u64 * 1500, false, Time(now)) {
                Verdict::Drop => dropped += 1,
                _ => return (Some(sojourn), dropped),
            }
        }
        codel.emptied();
        (None, dropped)
    }

    proptest::proptest! {
        #[test]
        fn decisions_are_those_of_the_rfc(
            steps in proptest::collection::vec((0u64..3, 0usize..8, proptest::bool::weighted(0.93)), 1..400),
        ) {
            let (mut rfc, mut codel) = (Rfc::default(), Codel::default());
            let mut now = 1_000_000_000_000;
            for (wait, packets, bad) in steps {
                now += [3_000_000_000, 30_000_000_000, 900_000_000_000][wait as usize];
                let mut queue = vec![if bad { LONG } else { Time::from_millis(1) }; packets];
                let mut same = queue.clone();
                proptest::prop_assert_eq!(ours(&mut codel, &mut queue, now), rfc.dequeue(&mut same, now));
                proptest::prop_assert_eq!(queue, same);
            }
        }
    }

    /// Times in ms of the drops of a queue that is always too long. One packet leaves every 0.1 ms.
    fn drop_times(until_ms: u64) -> Vec<f64> {
        let mut codel = Codel::default();
        (0..until_ms * 10)
            .filter(|step| {
                let now = Time::from_micros(step * 100);
                let drop = codel.judge(&AIM, LONG, 30_000, false, now) == Verdict::Drop;
                drop && codel.judge(&AIM, LONG, 30_000, false, now) == Verdict::Accept
            })
            .map(|step| step as f64 / 10.0)
            .collect()
    }

    #[test]
    fn drops_come_at_the_interval_over_the_root_of_their_number() {
        // The delay exceeds the target from 0 on. The first drop comes after 100 ms, the next ones after gaps of
        // 100/sqrt(1), 100/sqrt(2), 100/sqrt(3) ...
        let (mut at, mut expected) = (100.0, vec![]);
        for count in 1..=20 {
            expected.push(at);
            at += 100.0 / f64::from(count).sqrt();
        }
        let times = drop_times(1000);
        assert!(times.len() >= 20, "{times:?}");
        for (time, expected) in times.iter().zip(expected) {
            assert!((0.0..0.1001).contains(&(time - expected)), "{time} {expected}"); // at the next step of 0.1 ms
        }
    }

    #[test]
    fn a_short_delay_or_one_packet_left_is_never_too_long() {
        for (sojourn, behind) in [(Time::from_micros(4999), 100_000), (LONG, 1500)] {
            let mut codel = Codel::default();
            for ms in 0..1000 {
                let verdict = codel.judge(&AIM, sojourn, behind, false, Time::from_millis(ms));
                assert_eq!(verdict, Verdict::Accept);
            }
        }
    }

    #[test]
    fn one_good_packet_ends_dropping_and_the_next_begin_resumes_the_count() {
        let mut codel = Codel::default();
        let run = |codel: &mut Codel, from: u64, to: u64| {
            (from..to)
                .filter(|&ms| codel.judge(&AIM, LONG, 30_000, true, Time::from_millis(ms)) == Verdict::Mark)
                .count()
        };
        let first = run(&mut codel, 0, 1000) as u32;
        assert_eq!(codel.count(), first);
        assert_eq!(codel.judge(&AIM, Time::ZERO, 30_000, true, Time::from_millis(1000)), Verdict::Accept);
        assert!(!codel.is_dropping());
        // `last_count` is 1 after the first dropping period. Dropping begins again after 100 ms, with the count
        // `first - 1`.
        assert_eq!(run(&mut codel, 1001, 1102), 1);
        assert_eq!(codel.count(), first - 1);
        // After more than 16 intervals with a delay below the target, the count restarts at 1.
        codel.judge(&AIM, Time::ZERO, 30_000, true, Time::from_millis(1103));
        assert_eq!(run(&mut codel, 3000, 3101), 1);
        assert_eq!(codel.count(), 1);
    }

    /// Runs a port for 2 s with a queue that is always full. Returns the numbers of AQM drops, other drops, and marks.
    fn at_port(ecn: Ecn, marks: bool) -> (usize, usize, usize) {
        let buffer = BufferParams { limit: QueueLimit::Packets(100), ..Default::default() };
        let params = CodelParams { ecn: marks, ..Default::default() };
        let port = Port { buffer: &buffer, rate: BitRate(10_000_000), weights: &Weights::equal() };
        let mut queue = CodelScheme::build::<TestPacket>(&params, &port);
        let (mut rng, mut drops) = (Rng::stream(1, 0, "test", 0), Drops::default());
        for step in 0..1666 {
            let now = Time::from_micros(1200 * step);
            while queue.backlog().packets < 100 {
                queue.enqueue(TestPacket { ecn, ..Default::default() }, now, &mut rng, &mut drops);
            }
            queue.dequeue(now, &mut rng, &mut drops);
        }
        let aqm = drops.0.iter().filter(|drop| drop.1 == DropReason::Aqm).count();
        assert_eq!(
            readings(|report| queue.report(report)),
            [("drop_count", (aqm + drops.1.len()) as f64), ("dropping", 1.0)]
        );
        (aqm, drops.0.len() - aqm, drops.1.len())
    }

    #[test]
    fn marks_in_place_of_drops_if_both_sides_want_it() {
        // The delay exceeds 5 ms at 6 ms, so the interval ends at 106 ms. The next departure, at 106.8 ms, detects
        // this. Drop n + 1 comes 100 ms * (1/sqrt(1) + ... + 1/sqrt(n)) later. n = 103 is the last drop before 1998 ms.
        let later = |n: u32| 106.8 + 100.0 * (1..=n).map(|k| 1.0 / f64::from(k).sqrt()).sum::<f64>();
        assert!(later(103) < 1998.0 && later(104) > 1998.0);
        assert_eq!(at_port(Ecn::Ect0, false), (104, 0, 0));
        assert_eq!(at_port(Ecn::NotEct, true), (104, 0, 0));
        assert_eq!(at_port(Ecn::Ect0, true), (0, 0, 104));
    }

    #[test]
    fn an_idle_link_ends_dropping() {
        let mut aqm = CodelAqm { codel: Codel { dropping: true, ..Default::default() }, target: AIM, ecn: false };
        aqm.idle(Time::ZERO);
        assert!(!aqm.codel.is_dropping());
    }

    #[test]
    fn a_target_not_below_the_interval_is_refused() {
        assert_eq!(
            refusal(json!({"scheme": "codel", "target": "100 ms"})),
            "queue.target: \"100 ms\" is out of range, it must be below the interval, 100 ms"
        );
    }
}
