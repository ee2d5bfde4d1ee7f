use super::testing::{DELAY, PACKETS, arrivals, chance, enter, every_ms, impairment, random, span};
use super::*;
use crate::scenario::{
    ChanceParams, DetourParams, JitterParams, LossConfig, PeriodicLossParams, RandomLossParams, ReorderParams,
    SlotParams, Span,
};

#[test]
fn every_part_acts_exactly_within_its_span() {
    let ms = Time::from_millis;
    let all = || ChanceParams { span: span(10, 20), ..chance(1.0, 0.0) };
    let none = Impairments::default;
    let loss = vec![LossConfig::Random(RandomLossParams { span: span(10, 20), ..random(1.0) })];
    let numbers = |arrived: &[(u32, Time)]| arrived.iter().map(|&(seq, _)| seq).collect::<Vec<_>>();
    let (arrived, _) = arrivals(&Impairments { loss, ..none() }, every_ms(30));
    assert_eq!(numbers(&arrived), (0..10).chain(20..30).collect::<Vec<_>>());
    let (arrived, account) = arrivals(&Impairments { duplicate: Some(all()), ..none() }, every_ms(30));
    let copied: Vec<u32> = (0..30).flat_map(|seq| vec![seq; if (10..20).contains(&seq) { 2 } else { 1 }]).collect();
    assert_eq!((numbers(&arrived), account.copied), (copied, 10));
    let (_, account) = arrivals(&Impairments { corrupt: Some(all()), ..none() }, every_ms(30));
    assert_eq!(account.corrupted, 10);
    let reorder = Some(ReorderParams { gap: 1, chance: all() });
    let (arrived, account) = arrivals(&Impairments { reorder, ..none() }, every_ms(30));
    // Packets within the span skip the 20 ms of the link.
    let mut expected: Vec<_> =
        (0..30).map(|seq| (seq as u32, ms(if (10..20).contains(&seq) { seq } else { seq + 20 }))).collect();
    expected.sort_by_key(|&(seq, time)| (time, seq));
    assert_eq!((arrived, account.reordered), (expected, 10));
    let slot = Some(SlotParams { min: ms(4), span: span(10, 20), ..SlotParams::default() });
    let (arrived, _) = arrivals(&Impairments { slot, ..none() }, every_ms(30));
    // The packets of 10 ms to 14 ms leave at 14 ms, those of 15 ms to 19 ms at 19 ms.
    let slots = (0..30).map(|at| ms(if (10..20).contains(&at) { at / 5 * 5 + 4 } else { at }));
    assert_eq!(arrived, (0..).zip(slots).collect::<Vec<_>>());
    let deviation = ms(1);
    let jitter = Some(JitterParams { deviation, span: span(10, 20), ..JitterParams::default() });
    let (arrived, _) = arrivals(&Impairments { jitter, ..none() }, every_ms(30));
    let varied: Vec<u32> =
        arrived.iter().filter(|&&(seq, time)| time != ms(u64::from(seq) + 20)).map(|&(seq, _)| seq).collect();
    assert!(varied.iter().all(|seq| (10..=20).contains(seq)) && varied.len() >= 10, "{varied:?}");
}

#[test]
fn a_part_outside_its_span_draws_nothing() {
    // The losses of a second part of the path are the same with and without a part that does not act.
    let lossy = |duplicate| {
        let loss = vec![LossConfig::Random(random(0.3))];
        arrivals(&Impairments { loss, duplicate, ..Impairments::default() }, every_ms(1000)).0
    };
    let late = ChanceParams { span: span(5000, 6000), ..chance(0.5, 0.0) };
    assert_eq!(lossy(Some(late)), lossy(None));
    assert_ne!(lossy(Some(chance(0.5, 0.0))), lossy(None));
}

#[test]
fn shares_of_copies_and_of_reordered_packets_are_their_probabilities() {
    // The numbers are binomial. The tolerance is five standard errors.
    let n = f64::from(PACKETS);
    let close = |count: u64, p: f64| (count as f64 / n - p).abs() < 5.0 * (p * (1.0 - p) / n).sqrt();
    let none = Impairments::default;
    let (_, account) =
        arrivals(&Impairments { duplicate: Some(chance(0.03, 0.0)), ..none() }, every_ms(u64::from(PACKETS)));
    assert!(close(account.copied, 0.03), "{account:?}");
    let reorder = |gap, chance| {
        let reorder = Some(ReorderParams { gap, chance });
        arrivals(&Impairments { reorder, ..none() }, every_ms(u64::from(PACKETS)))
    };
    let (arrived, account) = reorder(1, chance(0.03, 0.0));
    assert!(close(account.reordered, 0.03), "{account:?}");
    // A packet that skips 20 ms overtakes those of the 20 packets before it that did not, unless it is among the
    // first 20. The packet sent 20 ms before arrives simultaneously, as the second.
    let mut overtaken = 0;
    let (mut place, mut early) = (vec![0; PACKETS as usize], vec![false; PACKETS as usize]);
    for (index, &(seq, time)) in arrived.iter().enumerate() {
        place[seq as usize] = index;
        early[seq as usize] = time == Time::from_millis(seq.into());
    }
    for seq in (20..PACKETS as usize).filter(|&seq| early[seq]) {
        let behind = (seq - 20..seq).filter(|&other| place[other] > place[seq]).count();
        let late = (seq - 20..seq).filter(|&other| !early[other]).count();
        assert_eq!(behind, late, "{seq}");
        overtaken += behind;
    }
    assert!(overtaken > 0);
    // With a gap of 5 and certainty, each fifth packet skips the delay. With a probability p, the distance between
    // two such packets is 4 plus a geometric number, with mean 4 + 1/p and variance (1 - p)/p^2.
    let (arrived, _) = reorder(5, chance(1.0, 0.0));
    assert!(arrived.iter().all(|&(seq, at)| (at == Time::from_millis(seq.into())) == (seq % 5 == 4)));
    let (_, account) = reorder(5, chance(0.2, 0.0));
    let mean = n / account.reordered as f64;
    assert!((mean - 9.0).abs() < 5.0 * (0.8f64.sqrt() / 0.2) / (n / 9.0).sqrt(), "{mean}");
}

#[test]
fn a_detour_delays_what_comes_meanwhile_and_is_overtaken_afterwards() {
    let ms = Time::from_millis;
    let detour = Some(DetourParams { delay: ms(50), span: span(10, 30) });
    let mut impairment = impairment(&Impairments { detour, ..Impairments::default() });
    let outcomes = [9, 10, 29, 30].map(|at| enter(&mut impairment, SimPacket::BLANK, ms(at)));
    use Outcome::{Passes, Waits};
    assert_eq!(outcomes, [Passes, Waits, Waits, Passes]);
    // The packets sent at 10 and 29 ms take the detour of 50 ms, so they arrive after the packet sent at 30 ms.
    let arrivals: Vec<Time> = std::iter::from_fn(|| {
        let next = impairment.next();
        (next < Time::NEVER).then(|| (impairment.take(), next).1)
    })
    .collect();
    assert_eq!(arrivals, [ms(60), ms(79)]);
    let account = impairment.account();
    assert_eq!((account.entered, account.passed, account.lost), (4, 4, 0));
}

#[test]
fn each_user_has_a_path_of_its_own_behind_the_access_links() {
    let loss = vec![LossConfig::Periodic(PeriodicLossParams { period: 3, span: Span::default() })];
    let place = Place::Access { group: 1, first_user: 10 };
    let config = Impairments { loss, ..Impairments::default() };
    let mut impairment = Impairment::new(place, &config, vec![DELAY], 2, Rng::stream(1, 0, "test", 0));
    let mut enter = |user| enter(&mut impairment, SimPacket { user, ..SimPacket::BLANK }, Time::ZERO);
    let outcomes = [10, 10, 11, 10, 11, 11].map(&mut enter);
    use Outcome::{Lost, Passes};
    assert_eq!(outcomes, [Passes, Passes, Passes, Lost, Passes, Lost]);
}
