use super::*;
use crate::base::rng::Rng;
use crate::contract::class_tree::Classes;
use crate::fairqueue::testing::{limits, noise, packet, survives};
use crate::registry::schemes::SchemeParams;
use crate::testing::{Drops, TestPacket, refusal};
use proptest::prelude::*;
use serde_json::json;

const MBIT: u64 = 1_000_000;
/// Length of packets in all tests that do not set another.
const LENGTH: u32 = 1500;

fn class(parent: u32, rate: f64, ceil: f64) -> ClassSpec {
    let rate_of = |mbit: f64| BitRate((mbit * MBIT as f64).round() as u64);
    ClassSpec { parent: Some(parent), rate: rate_of(rate), ceil: Some(rate_of(ceil)) }
}

/// Demand of a test: a tree whose leaves always have packets, at a link of `link` Mbit/s.
struct Load {
    link: u64,
    seconds: f64,
    params: HtbParams,
    /// Classes below the root.
    inner: Vec<ClassSpec>,
    leaves: Vec<ClassSpec>,
    /// Leaves that send nothing.
    silent: Vec<u32>,
    /// Leaves whose packets are EF.
    expedited: Vec<u32>,
}

/// Time and leaf of each sent packet.
type Sent = Vec<(Time, u32)>;

impl Load {
    fn of(link: u64, inner: Vec<ClassSpec>, leaves: Vec<ClassSpec>) -> Self {
        let params = HtbParams { leaf: LeafQueue::DropTail, quantum: Some(Bytes(1500)), ..HtbParams::default() };
        Self { link, seconds: 20.0, params, inner, leaves, silent: Vec::new(), expedited: Vec::new() }
    }

    fn discipline(&self) -> Box<Htb<TestPacket>> {
        let root = ClassSpec { parent: None, rate: BitRate(self.link * MBIT), ceil: None };
        let inner = std::iter::once(root).chain(self.inner.iter().copied()).collect();
        let buffer = BufferParams { limit: QueueLimit::Packets(100), ..BufferParams::default() };
        let port = Port { buffer: &buffer, rate: root.rate, weights: &Weights::equal() };
        let mut htb = HtbScheme::build(&self.params, &port);
        htb.set_classes(ClassTree::new(Classes { inner, leaves: self.leaves.clone(), first_user: 0 }));
        htb
    }

    /// Returns all packets that are sent. The port dequeues again at the time that the scheme requests.
    fn run(&self) -> Sent {
        let mut htb = self.discipline();
        let (mut rng, mut drops) = (Rng::stream(1, 0, "queue", 0), Drops::default());
        let packet = |user: u32| {
            let class = if self.expedited.contains(&user) { TrafficClass::Expedited } else { TrafficClass::BestEffort };
            TestPacket { class, ..packet(user, LENGTH) }
        };
        for user in (0..self.leaves.len() as u32).filter(|user| !self.silent.contains(user)) {
            (0..4).for_each(|_| htb.enqueue(packet(user), Time::ZERO, &mut rng, &mut drops));
        }
        let (mut now, end, mut sent) = (Time::ZERO, Time::from_secs_f64(self.seconds), Vec::new());
        while now < end {
            match htb.dequeue(now, &mut rng, &mut drops) {
                Some(TestPacket { flow, .. }) => {
                    sent.push((now, flow));
                    htb.enqueue(packet(flow), now, &mut rng, &mut drops);
                    now += BitRate(self.link * MBIT).time_of(LENGTH.into());
                }
                None => {
                    let again = htb.ready_at().expect("packets wait");
                    assert!(again > now, "it would be asked for ever at {now}");
                    now = again;
                }
            }
        }
        assert!(drops.0.is_empty());
        sent
    }

    /// Rates of the leaves, in Mbit/s.
    fn rates(&self) -> Vec<f64> {
        let sent = self.run();
        let packets = |leaf: u32| sent.iter().filter(|&&(_, of)| of == leaf).count() as f64;
        let rate = |leaf: u32| packets(leaf) * f64::from(LENGTH) * 8.0 / self.seconds / MBIT as f64;
        (0..self.leaves.len() as u32).map(rate).collect()
    }
}

/// Asserts that rates in Mbit/s differ by at most 1 %, or by at most 0.006 Mbit/s, one packet in 2 s.
fn assert_near(found: &[f64], expected: &[f64]) {
    let near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 0.01 * expected.max(0.6);
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(near),
        "{found:?}, expected {expected:?} Mbit/s"
    );
}

#[test]
fn leaves_get_their_rates_and_borrow_what_is_left_by_quantum() {
    // The rates of the leaves are 3 and 1 Mbit/s on a link of 10 Mbit/s, and the ceilings are 10 Mbit/s. Equal quanta
    // divide the remaining 6 Mbit/s equally.
    assert_near(&Load::of(10, vec![], vec![class(0, 3.0, 10.0), class(0, 1.0, 10.0)]).rates(), &[6.0, 4.0]);
    // With r2q = 10, quanta are 1/80 of the rates: 37 500 and 12 500 bytes. They divide the remaining 6 Mbit/s into 4.5
    // and 1.5 Mbit/s.
    let mut load = Load::of(10, vec![], vec![class(0, 3.0, 10.0), class(0, 1.0, 10.0)]);
    load.params.quantum = None;
    assert_near(&load.rates(), &[7.5, 2.5]);
}

#[test]
fn nobody_exceeds_a_ceiling_and_the_link_stays_idle_for_it() {
    assert_near(&Load::of(10, vec![], vec![class(0, 1.0, 2.0), class(0, 1.0, 3.0)]).rates(), &[2.0, 3.0]);
}

#[test]
fn a_class_lends_to_its_own_children_first() {
    // Two sites with rates of 5 Mbit/s and ceilings of 6 share a link of 10 Mbit/s.
    let inner = vec![class(0, 5.0, 6.0), class(0, 5.0, 6.0)];
    let leaves = vec![class(1, 2.0, 6.0), class(1, 3.0, 6.0), class(2, 2.0, 6.0), class(2, 3.0, 6.0)];
    let mut load = Load::of(10, inner, leaves);
    // The rate that the silent leaf does not use stays within its site.
    load.silent = vec![1];
    assert_near(&load.rates(), &[5.0, 0.0, 2.0, 3.0]);
    // Site 2 has no active user, so site 1 borrows 1 Mbit/s from the root, up to its ceiling. The leaves of site 1
    // divide the borrowed rate by equal quanta.
    load.silent = vec![2, 3];
    assert_near(&load.rates(), &[2.5, 3.5, 0.0, 0.0]);
}

#[test]
fn rates_beyond_that_of_the_parent_break_its_ceiling() {
    // A leaf may use its own rate even if the classes above it have no tokens, as in Linux.
    let leaves = vec![class(1, 4.0, 5.0), class(1, 4.0, 5.0)];
    assert_near(&Load::of(10, vec![class(0, 5.0, 5.0)], leaves).rates(), &[4.0, 4.0]);
}

#[test]
fn expedited_users_borrow_first() {
    // The assured rates leave 6 of 10 Mbit/s. The first leaf borrows up to its ceiling of 5 Mbit/s, and the others
    // divide the remaining 2 Mbit/s.
    let leaves = vec![class(0, 1.0, 5.0), class(0, 1.0, 10.0), class(0, 2.0, 10.0)];
    let load = Load { expedited: vec![0], ..Load::of(10, vec![], leaves) };
    assert_near(&load.rates(), &[5.0, 2.0, 3.0]);
}

#[test]
fn a_silence_is_worth_a_burst() {
    // With rate and ceiling of 1 Mbit/s, the leaf sends 15 000 bytes at once, then a packet every 12 ms. A packet is
    // sent even if tokens are zero, since tokens may become negative.
    let mut load = Load::of(1000, vec![], vec![class(0, 1.0, 1.0)]);
    (load.seconds, load.params.burst, load.params.cburst) = (1.0, Bytes(15_000), Bytes(15_000));
    let sent = load.run();
    let at_once = sent.iter().take_while(|&&(time, _)| time < Time::from_millis(1)).count();
    assert_eq!(at_once, 11);
    let gaps = sent[12..].windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0).as_secs_f64());
    assert!(gaps.into_iter().all(|gap| (gap - 0.012).abs() < 1e-9));
}

#[test]
fn users_without_a_tree_share_by_weight() {
    let weights = Weights::new([1.0, 3.0]);
    let buffer = BufferParams { limit: QueueLimit::Packets(100), ..BufferParams::default() };
    let params = HtbParams { leaf: LeafQueue::DropTail, ..HtbParams::default() };
    let port = Port { buffer: &buffer, rate: BitRate(10 * MBIT), weights: &weights };
    let mut htb: Box<Htb<TestPacket>> = HtbScheme::build(&params, &port);
    let mut rng = Rng::stream(1, 0, "queue", 0);
    let (mut now, mut sent) = (Time::ZERO, [0.0; 2]);
    for _ in 0..20_000 {
        (0..2).for_each(|user| htb.enqueue(packet(user, LENGTH), now, &mut rng, &mut ()));
        sent[htb.dequeue(now, &mut rng, &mut ()).unwrap().flow as usize] += 1.0;
        now += BitRate(10 * MBIT).time_of(LENGTH.into());
    }
    assert_near(&[sent[1] / sent[0]], &[3.0]);
}

#[test]
fn leaves_come_and_go_with_their_packets() {
    let load = Load::of(100, vec![], vec![class(0, 1.0, 100.0); 100]);
    let mut htb = load.discipline();
    let (mut rng, mut now) = (Rng::stream(1, 0, "queue", 0), Time::ZERO);
    for user in 0..100 {
        htb.enqueue(packet(user, LENGTH), now, &mut rng, &mut ());
        assert!(htb.dequeue(now, &mut rng, &mut ()).is_some());
        now += Time::from_secs(1);
    }
    // The records are the root and the last leaf.
    assert_eq!(htb.state_size().records, 2);
}

#[test]
fn queues_of_a_leaf_that_is_one_queue_are_refused() {
    let error = refusal(json!({"scheme": "htb", "leaf": "droptail", "leaf_queues": 64}));
    assert_eq!(error, "queue.leaf_queues: 64 has no effect with leaf = \"droptail\", which is one queue");
}

#[test]
fn a_ceiling_below_the_rate_is_refused() {
    let error = refusal(json!({"scheme": "htb", "rate": "2 Mbit/s", "ceil": "1 Mbit/s"}));
    assert_eq!(error, "queue.ceil: \"1 Mbit/s\" is out of range, it must be at least rate \"2 Mbit/s\"");
}

/// Generates sites with leaves. Rates fit into their parents' rates; ceilings are 1 to 4 times the rates.
fn trees() -> impl Strategy<Value = (Vec<ClassSpec>, Vec<ClassSpec>)> {
    let leaf = (0.2f64..1.0, 1.0f64..4.0, any::<bool>());
    let site = (0.3f64..1.0, 1.0f64..2.0, prop::collection::vec(leaf, 1..5));
    prop::collection::vec(site, 1..4).prop_map(|sites| {
        let (mut inner, mut leaves) = (Vec::new(), Vec::new());
        let count = sites.len() as f64;
        for (number, (share, more, of_site)) in (1..).zip(sites) {
            // The root has a rate of 10.
            let rate = 10.0 * share / count;
            inner.push(class(0, rate, rate * more));
            let all = of_site.len() as f64;
            for (share, more, _) in of_site {
                let own = rate * share / all;
                leaves.push(class(number, own, own * more));
            }
        }
        (inner, leaves)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// In any interval, a class gets at most its ceiling plus a burst. While it is backlogged, it gets at least its
    /// rate minus a burst. Tokens may become negative by one packet, so each bound is one packet wider.
    #[test]
    fn no_class_exceeds_its_ceiling_or_falls_below_its_rate((inner, leaves) in trees(),
        starts in prop::collection::vec(0.0f64..3.0, 6)) {
        let load = Load { seconds: 4.0, ..Load::of(10, inner.clone(), leaves.clone()) };
        let sent = load.run();
        let all = leaves.len() as f64;
        for start in starts {
            let (from, until) = (Time::from_secs_f64(start), Time::from_secs_f64(start + 1.0));
            let during = |of: &dyn Fn(u32) -> bool| {
                sent.iter().filter(|&&(at, leaf)| at >= from && at < until && of(leaf)).count() as f64
            };
            let packets = |rate: BitRate| rate.as_f64() / 8.0 / f64::from(LENGTH);
            let bursts = 1600.0 / f64::from(LENGTH) + 2.0;
            for (number, leaf) in (0..).zip(&leaves) {
                let found = during(&|of| of == number);
                prop_assert!(found <= packets(leaf.ceil.unwrap()) + bursts, "leaf {number}: {found}");
                // A leaf may have to wait for a packet of every other leaf.
                prop_assert!(found >= packets(leaf.rate) - bursts - all, "leaf {number}: {found}");
            }
            for (number, site) in (1..).zip(&inner) {
                let below = leaves.iter().filter(|leaf| leaf.parent == Some(number)).count() as f64;
                let found = during(&|of| leaves[of as usize].parent == Some(number));
                // Leaves use their own rates even while the site is at its ceiling.
                prop_assert!(found <= packets(site.ceil.unwrap()) + bursts * (1.0 + below), "site {number}: {found}");
            }
        }
    }

    /// The link is idle only while every class with packets is at its own ceiling or that of an ancestor. A burst is
    /// slightly more than a packet. While other classes send, a class loses tokens that exceed its burst. This costs a
    /// few per cent of the link's rate if the sum of the ceilings is close to that rate.
    #[test]
    fn it_sends_unless_ceilings_forbid_it((inner, leaves) in trees()) {
        let load = Load { seconds: 8.0, ..Load::of(10, inner.clone(), leaves.clone()) };
        let rates = load.rates();
        let mbit = |rate: BitRate| rate.as_f64() / MBIT as f64;
        let of_site = |number: u32| {
            let wanted: f64 = leaves.iter()
                .filter(|leaf| leaf.parent == Some(number))
                .map(|leaf| mbit(leaf.ceil.unwrap()))
                .sum();
            wanted.min(mbit(inner[number as usize - 1].ceil.unwrap()))
        };
        let possible = (1..=inner.len() as u32).map(of_site).sum::<f64>().min(10.0);
        let sum: f64 = rates.iter().sum();
        prop_assert!(sum <= 1.01 * possible + 0.05 && sum >= 0.95 * possible - 0.05, "{sum} of {possible}");
    }

    #[test]
    fn survives_anything(
        limit in limits(),
        noise in noise(),
        leaf in prop::sample::select(LeafQueue::ALL),
        quantum in prop::sample::select(vec![None, Some(Bytes(1)), Some(Bytes(1_000_000))]),
        rate in prop::sample::select(vec![1000, MBIT, 10_000_000 * MBIT]),
    ) {
        let params = HtbParams { leaf, quantum, rate: BitRate(rate), leaf_queues: 8, ..HtbParams::default() };
        // The records are the root and the leaves that are not removed yet.
        prop_assert!((1..=7).contains(&survives(SchemeParams::Htb(params), limit, &noise)));
    }
}
