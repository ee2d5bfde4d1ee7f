//! Whatever happens, window and rate stay positive and bounded.

use super::*;
use crate::traffic::tcp::congestion::testing::{any, any_event};
use fairlane_schemes::base::rng::Rng;

const OPERATIONS: u32 = 1_000_000;

#[test]
fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
    let mut random = Rng::stream(3, 0, "operations", 0);
    let phases = [Phase::Open, Phase::Disorder, Phase::Recovery, Phase::Loss];
    let ecn = [Bbr3Ecn::Loss, Bbr3Ecn::Alpha];
    let mut flow = Flow::new(Bbr3Params::default());
    for operation in 0..OPERATIONS {
        if operation % 10_000 == 0 {
            let params = Bbr3Params { bbr3_ecn: ecn[(operation / 10_000 % 2) as usize], ..Default::default() };
            flow = Flow::new(params);
        }
        flow.now += Time(any(&mut random, 1 << 41));
        if random.bits().is_multiple_of(4) {
            let event = any_event(&mut random);
            flow.event(event);
        } else {
            let in_flight = any(&mut random, 1 << 32) as u32;
            let prior = flow.delivered - any(&mut random, flow.delivered + 1);
            let told = Told {
                rate: BitRate(1 + any(&mut random, 100_000_000_000)),
                rtt: Time(1 + any(&mut random, 1 << 42)),
                acked: any(&mut random, 1 << 28) as u32,
                lost: any(&mut random, 1 << 20) as u32,
                in_flight,
                app_limited: random.bits().is_multiple_of(2),
                cwnd_limited: random.bits().is_multiple_of(2),
                phase: phases[(random.bits() % 4) as usize],
                marked: 0,
            };
            flow.ack(prior, told);
            assert!(told.acked == 0 || flow.output.cwnd >= 4 * MSS, "operation {operation}: {:?}", flow.output);
        }
        assert!(flow.output.cwnd >= MSS, "operation {operation}: {:?}", flow.output);
        // The highest rate of a sample, 100 Gbit/s, times the highest gain; a byte per second at least.
        let rate = flow.output.pacing.expect("it paces").0;
        assert!((8..=277_000_000_000).contains(&rate), "operation {operation}: {rate}");
        assert!((2 * MSS..=65_536).contains(&flow.output.quantum), "operation {operation}: {:?}", flow.output);
    }
}
