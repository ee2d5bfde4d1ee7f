//! Slots in which packets leave.

use crate::network::sim_packet::SimPacket;
use crate::scenario::SlotParams;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;

/// The last slot of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    opens: Time,
    packets_left: u32,
    bytes_left: u64,
    /// Time at which the last packet leaves.
    last: Time,
}

impl Slot {
    /// Returns the time at which a packet that arrives at `now` leaves (rule 11).
    pub(super) fn take(
        last: &mut Option<Self>,
        params: &SlotParams,
        packet: &SimPacket,
        now: Time,
        rng: &mut Rng,
    ) -> Time {
        if !params.span.has(now) {
            return last.map_or(now, |slot| now.max(slot.last));
        }
        let slot = match last.take() {
            Some(slot) if slot.opens >= now => last.insert(slot),
            _ => last.insert(Self::after(now, params, rng)),
        };
        let leaves = slot.opens;
        slot.packets_left -= 1;
        slot.bytes_left = slot.bytes_left.saturating_sub(packet.wire_bytes.into());
        if slot.packets_left == 0 || slot.bytes_left == 0 {
            *slot = Self::after(leaves, params, rng);
        }
        slot.last = leaves;
        leaves
    }

    /// Returns the next slot after `time`.
    fn after(time: Time, params: &SlotParams, rng: &mut Rng) -> Self {
        let spread = params.max.map_or(0, |max| max.0 - params.min.0);
        let drawn = if spread == 0 { 0 } else { (rng.open01() * spread as f64) as u64 };
        Self {
            opens: time + params.min + Time(drawn),
            packets_left: params.packets.unwrap_or(u32::MAX),
            bytes_left: params.bytes.map_or(u64::MAX, |bytes| bytes.0),
            last: time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::impairment::testing::{PACKETS, arrivals, every_ms};
    use crate::scenario::Impairments;
    use fairlane_schemes::base::units::Bytes;

    #[test]
    fn slots_release_their_packets_and_bytes_together() {
        let ms = Time::from_millis;
        let slot = |packets, bytes| SlotParams { min: ms(10), packets, bytes, ..SlotParams::default() };
        let times = |slot| {
            let config = Impairments { slot: Some(slot), ..Impairments::default() };
            arrivals(&config, [0, 1, 2, 3, 40, 50, 51].into_iter().map(ms)).0.iter().map(|&(_, at)| at).collect()
        };
        let all = |times: [u64; 7]| times.map(ms).to_vec();
        // The first packet after the last slot waits for a full slot. A packet that arrives as the slot opens leaves.
        let plain: Vec<Time> = times(slot(None, None));
        assert_eq!(plain, all([10, 10, 10, 10, 50, 50, 61]));
        // Three packets a slot: the fourth waits for the next. Then the slot of 20 ms is over.
        let few: Vec<Time> = times(slot(Some(3), None));
        assert_eq!(few, all([10, 10, 10, 20, 50, 50, 61]));
        // A slot ends with the packet that reaches its bytes: two packets of 1500 bytes for 1501 bytes.
        let short: Vec<Time> = times(slot(None, Some(Bytes(1501))));
        assert_eq!(short, all([10, 10, 20, 20, 50, 50, 60]));
        let most: Vec<Time> = times(SlotParams { max: Some(ms(30)), ..slot(Some(1), None) });
        assert!(most.windows(2).all(|pair| pair[1] >= pair[0] + ms(10)), "{most:?}");
    }

    #[test]
    fn a_packet_waits_half_a_slot_on_average() {
        // A packet arrives every 1 ms. A slot opens U after the first packet that arrives behind the last slot, with U
        // uniform from 10 ms to 30 ms. So packets wait from U downwards in steps of 1 ms until the slot opens: floor(U)
        // + 1 packets with delays of U - i, which sum to U^2/2 + U/2 within 1/8 (in ms). The mean over packets is the
        // ratio of the means: (E[U^2]/2 + E[U]/2) / (E[U] + 1/2) with E[U] = 20 and E[U^2] = 400 + 400/12.
        let ms = Time::from_millis;
        let slot = Some(SlotParams { min: ms(10), max: Some(ms(30)), ..SlotParams::default() });
        let (arrived, _) = arrivals(&Impairments { slot, ..Impairments::default() }, every_ms(u64::from(PACKETS)));
        let waits = arrived.iter().map(|&(seq, at)| (at - ms(seq.into())).as_secs_f64() * 1e3);
        let mean = waits.sum::<f64>() / f64::from(PACKETS);
        let expected = ((400.0 + 400.0 / 12.0) / 2.0 + 10.0) / 20.5;
        // The tolerance is five standard errors: U^2/2 + U/2 - 11 (U + 1/2) has a standard deviation of 57.
        let error = 57.0 / 20.5 / (f64::from(PACKETS) / 20.5).sqrt();
        assert!((mean - expected).abs() < 5.0 * error, "{mean} {expected}");
    }
}
