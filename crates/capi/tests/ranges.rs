//! The interface rejects numbers that would make a state infinite; numbers just inside the ranges give finite results.

#![allow(unsafe_code)] // calls through the C interface

use fairlane_capi::Status;
use fairlane_capi::aqm::{
    AqmConfig, AveragerState, fairlane_abc_aqm_threshold, fairlane_abc_averager_accept, fairlane_abc_averager_average,
};
use fairlane_capi::marker::{UserSpec, fairlane_marker_create};
use fairlane_capi::meter::{MeterConfig, MeterState, fairlane_abc_meter_label};
use fairlane_capi::queue::{
    QueueStats, fairlane_queue_create, fairlane_queue_dequeue, fairlane_queue_destroy, fairlane_queue_enqueue,
    fairlane_queue_stats,
};
use fairlane_plugin::packet::CPacket;
use fairlane_schemes::registry::schemes::Scheme;
use std::ffi::CString;
use std::ptr::{null, null_mut};

const MEMORY_NS: u64 = 300_000_000;

/// Returns the status, and the activity if the status is [`Status::Ok`].
fn mark(weighted_sum_bits: f64, measured: f64) -> (Status, f64) {
    let config = MeterConfig { memory_ns: MEMORY_NS, reference_rate_bps: 1, accounting_be: 1.0, accounting_ef: 1.0 };
    let (mut state, mut activity) = (MeterState { weighted_sum_bits, measured, last_ns: 0 }, 0.0);
    // SAFETY: all three are local and not used elsewhere.
    let status = unsafe { fairlane_abc_meter_label(&raw const config, &raw mut state, 1, 1500, 0, &raw mut activity) };
    (status, activity)
}

#[test]
fn a_meter_state_that_gives_an_infinite_rate_is_refused() {
    for (sum, measured) in [(1e308, 1.0), (f64::MAX, 0.0), (1.0, f64::MIN_POSITIVE), (f64::INFINITY, 1.0)] {
        assert_eq!(mark(sum, measured).0, Status::OutOfRange, "{sum} {measured}");
    }
    for (sum, measured) in [(1e30, 1e-15), (1e30, 1.0), (0.0, 0.0)] {
        let (status, activity) = mark(sum, measured);
        assert!(status == Status::Ok && activity.is_finite(), "{sum} {measured}: {status:?} {activity}");
    }
}

fn accept(state: &mut AveragerState, activity: f64) -> Status {
    // SAFETY: the state is not used elsewhere.
    unsafe { fairlane_abc_averager_accept(MEMORY_NS, &raw mut *state, activity, 1) }
}

#[test]
fn an_averager_state_that_gives_an_infinite_mean_is_refused() {
    for (weighted_sum, weighted_count) in
        [(1.0, f64::MIN_POSITIVE), (1e308, 1.0), (-1e308, 1.0), (1.0, 0.0), (f64::NAN, 1.0)]
    {
        let (mut state, mut average) = (AveragerState { weighted_sum, weighted_count, last_ns: 0 }, 0.0);
        // SAFETY: both are local and not used elsewhere.
        let status = unsafe { fairlane_abc_averager_average(&raw const state, &raw mut average) };
        assert_eq!(status, Status::OutOfRange, "{weighted_sum} {weighted_count}");
        assert_eq!(accept(&mut state, 1.0), Status::OutOfRange, "{weighted_sum} {weighted_count}");
    }
    let mut state = AveragerState { weighted_sum: 0.0, weighted_count: 0.0, last_ns: 0 };
    for activity in [f64::MAX, 1e300, -1e300] {
        assert_eq!(accept(&mut state, activity), Status::OutOfRange, "{activity}");
    }
}

#[test]
fn activities_that_give_an_infinite_threshold_are_refused() {
    let config = AqmConfig { q_min: 6.0, q_base: 20.0, gamma: 1e12 };
    let mut threshold = 0.0;
    // SAFETY: both are local and not used elsewhere.
    let status = unsafe { fairlane_abc_aqm_threshold(&raw const config, -1e300, 1e300, &raw mut threshold) };
    assert_eq!(status, Status::OutOfRange);
}

#[test]
fn weights_have_the_range_of_a_scenario() {
    for weight in [f64::MAX, f64::MIN_POSITIVE, 1001.0, 0.0] {
        let (user, mut marker) = (UserSpec { reference_rate_bps: 1000, weight }, null_mut());
        let scheme = c"scheme = \"csfq\"".as_ptr();
        // SAFETY: the text ends with a zero, there is one user, and without a buffer no message is written.
        let status =
            unsafe { fairlane_marker_create(scheme, &raw const user, 1, 0, 1, &raw mut marker, null_mut(), 0) };
        assert_eq!((status, marker.cast_const()), (Status::OutOfRange, null()), "{weight}");
    }
}

/// Creates a queue of a scheme at 10 Mbit/s with default parameters, except that the update interval is the shortest
/// one allowed.
fn queue_of(scheme: Scheme) -> *mut fairlane_capi::queue::Queue {
    let params = scheme.params();
    let update = params.iter().find(|param| param.name == "update_interval");
    let update = update.map(|param| format!("update_interval = {}", param.min)).unwrap_or_default();
    let text = CString::new(format!("scheme = \"{}\"\n{update}", scheme.name())).unwrap();
    let mut queue = null_mut();
    // SAFETY: the text ends with a zero, and without a buffer no message is written.
    let status = unsafe { fairlane_queue_create(text.as_ptr(), 10_000_000, 1, &raw mut queue, null_mut(), 0) };
    assert_eq!(status, Status::Ok, "{scheme:?}");
    queue
}

/// Packets are queued at time 0, and the next event is at the last nanosecond of the clock. Running each missed tick of
/// 10 us, about 10^12, would take hours, and an unchecked addition to the time would panic.
#[test]
fn a_gap_of_half_a_year_is_one_call_for_every_scheme() {
    const END_NS: u64 = 200 * 24 * 3600 * 1_000_000_000;
    // `fairlane_queue_create` rejects shapers.
    for scheme in Scheme::ALL.iter().filter(|scheme| !scheme.shapes()) {
        let queue = queue_of(*scheme);
        let packet =
            CPacket { id: 1, label: 0.0, flow: 1, user: 0, bytes: 1500, traffic_class: 0, ecn: 1, reserved: 0 };
        let enqueue = |now| unsafe {
            // SAFETY: queue and packet are valid and not used elsewhere.
            fairlane_queue_enqueue(queue, &raw const packet, now, None, null_mut())
        };
        let dequeue = |now| {
            let (mut packet, mut found) = (packet, 0);
            // SAFETY: as above.
            let status =
                unsafe { fairlane_queue_dequeue(queue, now, None, null_mut(), &raw mut packet, &raw mut found) };
            (status, found)
        };
        for _ in 0..4 {
            assert_eq!(enqueue(0), Status::Ok, "{scheme:?}");
        }
        for _ in 0..2 {
            assert_eq!(enqueue(END_NS - 1), Status::Ok, "{scheme:?}");
            assert_eq!(dequeue(END_NS - 1).0, Status::Ok, "{scheme:?}");
        }
        assert_eq!((enqueue(END_NS), dequeue(END_NS).0), (Status::OutOfRange, Status::OutOfRange), "{scheme:?}");
        let mut stats = QueueStats::default();
        // SAFETY: as above; the queue is not used afterwards.
        unsafe {
            assert_eq!(fairlane_queue_stats(queue, &raw mut stats), Status::Ok);
            fairlane_queue_destroy(queue);
        }
        assert_eq!(stats.offered_packets, 6, "{scheme:?}");
    }
}
