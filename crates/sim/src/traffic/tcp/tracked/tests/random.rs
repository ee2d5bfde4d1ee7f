//! Tests random paths: with any losses, delays and marks, every segment is delivered and the counters agree.

use fairlane_schemes::base::units::{BitRate, Bytes, Time};
use proptest::prelude::*;

use super::path::{Lot, MS, MSS, Path, linux, plain};
use crate::traffic::tcp::{CongestionControl, HyStartKind, LossDetection, Pacing, Recovery, TcpParams};

fn params() -> impl Strategy<Value = TcpParams> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let kinds = (
        prop_oneof![Just(HyStartKind::Off), Just(HyStartKind::Classic), Just(HyStartKind::PlusPlus)],
        prop_oneof![Just(Pacing::Auto), Just(Pacing::On)],
        prop_oneof![Just(LossDetection::Rack), Just(LossDetection::Scoreboard), Just(LossDetection::PacketThreshold)],
        prop_oneof![Just(Recovery::Prr), Just(Recovery::NewReno)],
        prop_oneof![Just(CongestionControl::Reno), Just(CongestionControl::Cubic)],
    );
    (flags, kinds, 1u32..4).prop_map(|((tlp, frto, undo, ecn, accurate_ecn), kinds, delayed_ack)| {
        let (hystart, pacing, loss_detection, recovery, congestion_control) = kinds;
        let (accurate_ecn, delayed_ack) = (accurate_ecn && ecn, delayed_ack);
        TcpParams {
            tlp,
            frto,
            undo,
            ecn,
            accurate_ecn,
            hystart,
            pacing,
            loss_detection,
            recovery,
            congestion_control,
            delayed_ack,
            ..linux()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 150 } else { 1500 }))]

    #[test]
    fn a_stall_without_a_loss_leaves_no_reduction(
        first in 10u32..400,
        until in 250u64..3000,
        tlp: bool,
        delayed_ack in 1u32..3,
        window in 5u64..60,
    ) {
        // From segment `first` on, no packet arrives before `until`. The order does not change. All reductions after
        // timeouts are spurious and are undone.
        let mut stalls = false;
        let lot = move |seq, _| {
            stalls |= seq >= first;
            if stalls { Lot::NotBefore(MS(until)) } else { Lot::Arrives }
        };
        let params = TcpParams { tlp, delayed_ack, socket_buffer: Bytes(window * u64::from(MSS)), ..plain() };
        let mut path = Path::new(params, Some(500), lot);
        path.run_to_completion();
        prop_assert_eq!(path.sender.ssthresh(), u64::from(u32::MAX), "{:?}", path.sender.stats());
    }

    #[test]
    fn fast_paths_leave_the_state_of_the_general_functions(
        params in params(),
        loss in 0u8..12,
        late in 0u8..4,
        sack_duplicates: bool,
        pause: bool,
        one_way_us in prop_oneof![Just(500u64), Just(50_000)],
        lots in prop::collection::vec((any::<u8>(), 0u64..300), 64..512),
    ) {
        let path = |is_fast| {
            let mut draws = lots.iter().cycle();
            let lot = move |_: u32, _: u32| {
                let &(draw, delay) = draws.next().unwrap();
                if draw < loss { Lot::Lost }
                else if draw < loss.saturating_add(late) { Lot::Late(MS(delay)) }
                else { Lot::Arrives }
            };
            let params = TcpParams {
                tso_defer: true,
                sack_duplicates,
                app_rate: pause.then_some(BitRate(0)),
                app_limited_from: MS(250),
                app_limited_until: Some(MS(5000)),
                ..params.clone()
            };
            let mut path = Path::new(params, Some(if pause { 1000 } else { 200 }), lot);
            path.sender.is_fast &= is_fast;
            path.one_way = Time::from_micros(one_way_us);
            path
        };
        let (mut fast, mut reference) = (path(true), path(false));
        for step in 0.. {
            if fast.sender.is_done() {
                break;
            }
            fast.step();
            reference.step();
            if step % 8 > 0 {
                continue;
            }
            // Looking for the first lost segment raises a lower bound, which the general functions do more often.
            fast.sender.records.first_lost();
            reference.sender.records.first_lost();
            reference.sender.is_fast = fast.sender.is_fast;
            prop_assert_eq!(format!("{:?}", fast.sender), format!("{:?}", reference.sender));
            reference.sender.is_fast = false;
        }
        prop_assert_eq!(fast.sent, reference.sent);
    }

    #[test]
    fn every_segment_is_delivered_whatever_happens_on_the_path(
        params in params(),
        loss in 0u8..60,
        late in 0u8..60,
        lots in prop::collection::vec((any::<u8>(), 0u64..300), 64..512),
    ) {
        let mut draws = lots.iter().cycle();
        let lot = move |_: u32, time: u32| {
            let &(draw, delay) = draws.next().unwrap();
            // After six transmissions a segment is not lost any more, so the transfer ends in time.
            if time < 6 && draw < loss { Lot::Lost }
            else if draw < loss.saturating_add(late) { Lot::Late(MS(delay)) }
            else if draw % 16 == 15 { Lot::Marked }
            else { Lot::Arrives }
        };
        let mut path = Path::new(params.clone(), Some(400), lot);
        path.run_to_completion();
        prop_assert_eq!(path.receiver.delivered_bytes(&params), 400_000);
        let stats = path.sender.stats();
        prop_assert_eq!(stats.segments_sent, path.sent.len() as u64);
        prop_assert_eq!(stats.segments_sent - stats.retransmissions, 400);
        prop_assert_eq!(path.sender.in_flight(&params), 0);
    }
}
