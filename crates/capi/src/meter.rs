//! The activity meter of ABC with state in the caller's memory: abc2018 eq. (1) to (5), see
//! [`fairlane_schemes::label::abc`].

use crate::{LARGEST_SUM, Status, guard, read, time, write};
use fairlane_plugin::packet::{CPacket, CheckedPacket};
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::contract::marker::{Marker, MeterSpec};
use fairlane_schemes::label::abc::{AbcMarker, AbcMarkerParams};
use fairlane_schemes::measure::utema::RateState;

/// Parameters of a meter.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeterConfig {
    /// Memory M of the rate measurement in ns, 1 ms to 1 h.
    pub memory_ns: u64,
    /// Reference rate R_r in bit/s, at least 1.
    pub reference_rate_bps: u64,
    /// Accounting factor of best effort, 0.001 to 1000.
    pub accounting_be: f64,
    /// Accounting factor of expedited packets, 0.001 to 1000.
    pub accounting_ef: f64,
}

/// State of a meter: three numbers that the caller must store bit for bit.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeterState {
    /// S, bits.
    pub weighted_sum_bits: f64,
    /// T/M = 1 - exp(-(t_last - t0)/M), 0 to 1.
    pub measured: f64,
    /// t_last, ns.
    pub last_ns: u64,
}

/// Returns a memory of `ns` nanoseconds, if it is in the range of the parameter tables.
pub(crate) fn memory(ns: u64) -> Result<Time, Status> {
    let range = Time::from_millis(1)..=Time::from_secs(3600);
    time(ns).ok().filter(|memory| range.contains(memory)).ok_or(Status::OutOfRange)
}

impl MeterConfig {
    fn marker(&self) -> Result<AbcMarker, Status> {
        let factors = [self.accounting_be, self.accounting_ef];
        if self.reference_rate_bps == 0 || factors.iter().any(|factor| !(0.001..=1000.0).contains(factor)) {
            return Err(Status::OutOfRange);
        }
        Ok(AbcMarker::new(&AbcMarkerParams {
            memory: memory(self.memory_ns)?,
            accounting_be: self.accounting_be,
            accounting_ef: self.accounting_ef,
            ..Default::default()
        }))
    }
}

impl MeterState {
    fn rate(&self) -> Result<RateState, Status> {
        // T/M of eq. (2) is 0 at the start, and 2.8e-13 after 1 ns with the longest memory, 1 h. S is divided by T/M,
        // so values below 1e-15 are rejected.
        let is_measured = self.measured == 0.0 || (1e-15..=1.0).contains(&self.measured);
        if !(0.0..=LARGEST_SUM).contains(&self.weighted_sum_bits) || !is_measured {
            return Err(Status::OutOfRange);
        }
        Ok(RateState::resume(self.weighted_sum_bits, self.measured, time(self.last_ns)?))
    }
}

/// Starts a measurement at `start_ns` (t0).
///
/// # Safety
/// `state` must be null or point to a `MeterState` not used elsewhere during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_abc_meter_reset(state: *mut MeterState, start_ns: u64) -> Status {
    guard(|| {
        time(start_ns)?;
        // SAFETY: guaranteed by the caller.
        let state = unsafe { write(state) }?;
        *state = MeterState { weighted_sum_bits: 0.0, measured: 0.0, last_ns: start_ns };
        Ok(())
    })
}

/// Counts a packet of `bytes` at `now_ns` and writes its activity, at least -32: eq. (1) to (5).
///
/// # Safety
/// Each pointer must be null or point to a value of its type. No one else may use `state` and `activity` during the
/// call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fairlane_abc_meter_label(
    config: *const MeterConfig,
    state: *mut MeterState,
    now_ns: u64,
    bytes: u32,
    traffic_class: u8,
    activity: *mut f64,
) -> Status {
    guard(|| {
        // SAFETY: guaranteed by the caller, for all three pointers.
        let (config, state, activity) = unsafe { (read(config)?, write(state)?, write(activity)?) };
        let marker = config.marker()?;
        let now_ns = now_ns.max(state.last_ns);
        let packet = CPacket { id: 0, label: 0.0, flow: 0, user: 0, bytes, traffic_class, ecn: 0, reserved: 0 };
        let (mut packet, now) = (CheckedPacket::new(packet)?, time(now_ns)?);
        let reference_rate = BitRate(config.reference_rate_bps);
        let spec = MeterSpec { reference_rate, weight: 1.0, start: Time::ZERO };
        let mut meter = marker.resume(&spec, state.rate()?);
        // The normal meter draws no random number.
        marker.label(&mut meter, &mut packet, now, &mut Rng::stream(0, 0, "", 0));
        let (weighted_sum_bits, measured, _) = meter.rate().parts();
        *state = MeterState { weighted_sum_bits, measured, last_ns: now_ns };
        *activity = packet.c().label;
        Ok(())
    })
}
