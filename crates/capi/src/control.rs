//! Congestion controls of a host: a table of functions, called for each connection of a simulation.

use crate::text::Message;
use crate::{Status, read};
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_sim::traffic::tcp::Phase;
use fairlane_sim::traffic::tcp::control::{
    Authority, Cause, Connection, EcnUse, Event, Flight, Moment, Output, Progress, Sample,
};
use fairlane_sim::traffic::tcp::external::{ControlFactory, Delivered, ExternalControl, NamedControl, Sent};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

/// Outputs of a control. When a function is called they contain the present values.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct COutput {
    /// Congestion window in bytes of payload.
    pub window: u32,
    /// Maximum number of bytes per burst if paced; 0 leaves it to the sender.
    pub quantum: u32,
    /// Pacing rate in bit/s of payload; 0 leaves it to the sender.
    pub pacing_bps: u64,
}

/// A segment that is sent, has arrived, or is considered lost.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CSegment {
    /// Present time.
    pub now_ns: u64,
    /// Time of the last transmission.
    pub sent_ns: u64,
    /// Number of the segment's last transmission; the first transmission of the connection is 1.
    pub number: u32,
    /// Bytes of payload.
    pub bytes: u32,
    /// 1 if the sender had too little data to fill the window.
    pub app_limited: u8,
}

/// An ACK.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CAck {
    /// Present time.
    pub now_ns: u64,
    /// RTT of the newest segment that the ACK delivers; 0 if there is none.
    pub rtt_ns: u64,
    /// Smoothed RTT.
    pub smoothed_rtt_ns: u64,
    /// Minimum RTT of the connection.
    pub min_rtt_ns: u64,
    /// Bytes delivered since the start of the connection.
    pub total_delivered: u64,
    /// Bytes lost since the start of the connection.
    pub total_lost: u64,
    /// `total_delivered` when the newest segment that the ACK delivers was sent.
    pub delivered_when_sent: u64,
    /// Delivery rate; 0 without a sample.
    pub delivery_rate_bps: u64,
    /// Newly delivered bytes.
    pub delivered: u32,
    /// Newly lost bytes.
    pub lost: u32,
    /// Newly delivered bytes with a mark.
    pub marked: u32,
    /// Bytes in flight after the ACK.
    pub in_flight: u32,
    /// 1 if the sender had too little data when the newest segment that the ACK delivers was sent.
    pub app_limited: u8,
    /// 1 if the window limited sending.
    pub window_limited: u8,
    /// 1 if losses are being repaired.
    pub in_recovery: u8,
}

type OfSegment = unsafe extern "C" fn(*mut c_void, *const CSegment, *mut COutput) -> c_int;

/// `FAIRLANE_CONGESTION_CONTROL_VERSION`: changes with the table or the meaning of its functions.
const VERSION: u32 = 1;

/// Functions of a control; `fairlane.h` describes each of them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ControlTable {
    /// The host's version of the table.
    pub version: u32,
    /// The host's size of the table.
    pub size: usize,
    /// Name in scenarios.
    pub name: *const c_char,
    /// Argument of `create`.
    pub context: *mut c_void,
    /// 0: the control always sets the window; 1: it defines only growth and reduction.
    pub kind: c_int,
    /// Feedback on marks. 0: one mark per round trip; 1: all marks, packets with ECT(0); 2: all marks, with ECT(1).
    pub marks: c_int,
    /// Creates the state of a new connection.
    pub create: Option<unsafe extern "C" fn(*mut c_void, u32, u64) -> *mut c_void>,
    /// Destroys the state.
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Called when a segment is sent.
    pub on_sent: Option<OfSegment>,
    /// Called when a segment has arrived.
    pub on_delivered: Option<OfSegment>,
    /// Called when a segment is considered lost.
    pub on_lost: Option<OfSegment>,
    /// Called for an ACK.
    pub on_ack: Option<unsafe extern "C" fn(*mut c_void, *const CAck, *mut COutput) -> c_int>,
    /// Called for any other event.
    pub on_event: Option<unsafe extern "C" fn(*mut c_void, c_int, u64, *mut COutput) -> c_int>,
    /// Window after an ACK in congestion avoidance.
    pub grow: Option<unsafe extern "C" fn(*mut c_void, u32, u32, u64) -> u32>,
    /// Window after congestion.
    pub reduce: Option<unsafe extern "C" fn(*mut c_void, u32, u64, u64, c_int) -> u32>,
}

impl ControlTable {
    /// Returns the control of a host's table. Error messages contain `place`, the table's index from 0.
    ///
    /// # Safety
    /// `table` must be null or point to a table whose functions, name and context stay valid while the control is used.
    pub(crate) unsafe fn named(table: *const Self, place: usize, message: Message) -> Result<NamedControl, Status> {
        let wrong = |what: String| message.write(&format!("controls[{place}].{what}"));
        // SAFETY: guaranteed by the caller; the version is the first field and is read before the rest.
        let version = *unsafe { read(table.cast::<u32>()) }?;
        if version != VERSION {
            return Err(wrong(format!("version: {version} must be {VERSION}, that of this library")));
        }
        // SAFETY: all tables of this version have the size at this offset.
        let size = *unsafe { read(&raw const (*table).size) }?;
        if size != size_of::<Self>() {
            return Err(wrong(format!("size: {size} must be {}", size_of::<Self>())));
        }
        // SAFETY: the table is as long as ours.
        let table = *unsafe { read(table) }?;
        // SAFETY: guaranteed by the caller; null is handled by `read`.
        let name = unsafe { CStr::from_ptr(read(table.name)?) };
        let name: Arc<str> = name.to_str().map_err(|_| wrong("name: not UTF-8".into()))?.into();
        let lacks = match table.kind {
            0 if table.on_ack.is_none() => Some("on_ack: null, but kind 0 needs it"),
            1 if table.grow.is_none() => Some("grow: null, but kind 1 needs it"),
            1 if table.reduce.is_none() => Some("reduce: null, but kind 1 needs it"),
            _ => None,
        };
        if let Some(lacks) = lacks {
            return Err(wrong(lacks.into()));
        }
        if !(0..=1).contains(&table.kind) {
            return Err(wrong(format!("kind: {} must be 0 or 1", table.kind)));
        }
        if !(0..=2).contains(&table.marks) {
            return Err(wrong(format!("marks: {} must be 0, 1 or 2", table.marks)));
        }
        Ok(NamedControl { factory: Arc::new(Factory { name: name.clone(), table }), name })
    }
}

/// Creates the controls of a table.
#[derive(Debug)]
struct Factory {
    name: Arc<str>,
    table: ControlTable,
}

// SAFETY: a simulation calls the functions of its tables only from the thread in which it was started.
unsafe impl Send for Factory {}
// SAFETY: as above.
unsafe impl Sync for Factory {}

impl ControlFactory for Factory {
    fn authority(&self) -> Authority {
        if self.table.kind == 0 { Authority::Full } else { Authority::Avoidance }
    }

    fn ecn(&self) -> EcnUse {
        match self.table.marks {
            0 => EcnUse::Classic,
            1 => EcnUse::AccurateEct0,
            _ => EcnUse::AccurateEct1,
        }
    }

    fn create(&self, of: &Connection, seed: u64) -> Result<Box<dyn ExternalControl>, String> {
        let mut state = self.table.context;
        if let Some(create) = self.table.create {
            // SAFETY: a function of the host, with the arguments that the header declares.
            state = unsafe { create(self.table.context, of.mss, seed) };
            if state.is_null() {
                return Err(format!("{}: create gave no state", self.name));
            }
        }
        Ok(Box::new(CControl { name: self.name.clone(), table: self.table, state }))
    }
}

/// The control of one connection.
#[derive(Debug)]
struct CControl {
    name: Arc<str>,
    table: ControlTable,
    state: *mut c_void,
}

// SAFETY: as for `Factory`.
unsafe impl Send for CControl {}

impl Drop for CControl {
    fn drop(&mut self) {
        // Without `create` the state is the context, which all connections share and the host owns.
        if let (Some(_), Some(destroy)) = (self.table.create, self.table.destroy) {
            // SAFETY: the state came from `create` of the same table and is not used afterwards.
            unsafe { destroy(self.state) };
        }
    }
}

impl CControl {
    /// Passes the present values, calls a function and applies its outputs.
    fn call(&self, name: &str, output: &mut Output, call: impl FnOnce(*mut COutput) -> c_int) -> Result<(), String> {
        let pacing_bps = output.pacing.map_or(0, |rate| rate.0);
        let mut set = COutput { window: output.cwnd, quantum: output.quantum, pacing_bps };
        let code = call(&raw mut set);
        if code != 0 {
            return Err(format!("{}: {name} failed with {code}", self.name));
        }
        let pacing = (set.pacing_bps > 0).then_some(BitRate(set.pacing_bps));
        *output = Output { cwnd: set.window, pacing, quantum: set.quantum, ..*output };
        Ok(())
    }

    fn of_segment(
        &self,
        name: &str,
        function: Option<OfSegment>,
        output: &mut Output,
        segment: CSegment,
    ) -> Result<(), String> {
        let Some(function) = function else { return Ok(()) };
        // SAFETY: as for `create`.
        self.call(name, output, |set| unsafe { function(self.state, &raw const segment, set) })
    }
}

fn ns(time: Time) -> u64 {
    if time < Time::NEVER { time.0 / 1000 } else { 0 }
}

impl ExternalControl for CControl {
    fn on_sent(&mut self, output: &mut Output, sent: &Sent) -> Result<(), String> {
        let (now_ns, app_limited) = (ns(sent.now), sent.app_limited.into());
        let segment = CSegment { now_ns, sent_ns: now_ns, number: sent.number, bytes: sent.bytes, app_limited };
        self.of_segment("on_sent", self.table.on_sent, output, segment)
    }

    fn on_delivered(&mut self, output: &mut Output, of: &Delivered) -> Result<(), String> {
        let (now_ns, sent_ns, app_limited) = (ns(of.now), ns(of.sent), of.app_limited.into());
        let segment = CSegment { now_ns, sent_ns, number: of.number, bytes: of.bytes, app_limited };
        self.of_segment("on_delivered", self.table.on_delivered, output, segment)
    }

    fn on_sample(&mut self, output: &mut Output, sample: &Sample) -> Result<(), String> {
        let Some(on_ack) = self.table.on_ack else { return Ok(()) };
        let ack = CAck {
            now_ns: ns(sample.now),
            rtt_ns: sample.rtt.map_or(0, ns),
            smoothed_rtt_ns: ns(sample.srtt),
            min_rtt_ns: ns(sample.min_rtt),
            total_delivered: sample.delivered,
            total_lost: sample.total_lost,
            delivered_when_sent: sample.prior_delivered,
            delivery_rate_bps: sample.delivery_rate.map_or(0, |rate| rate.0),
            delivered: sample.acked,
            lost: sample.lost,
            marked: sample.marked,
            in_flight: sample.in_flight,
            app_limited: sample.app_limited.into(),
            window_limited: sample.cwnd_limited.into(),
            in_recovery: matches!(sample.phase, Phase::Recovery | Phase::Loss).into(),
        };
        // SAFETY: as for `create`.
        self.call("on_ack", output, |set| unsafe { on_ack(self.state, &raw const ack, set) })
    }

    fn on_event(&mut self, output: &mut Output, event: &Event, at: &Moment) -> Result<(), String> {
        let kind = match *event {
            Event::SegmentLost { bytes, sent, number, app_limited, .. } => {
                let (now_ns, sent_ns, app_limited) = (ns(at.now), ns(sent), app_limited.into());
                let segment = CSegment { now_ns, sent_ns, number, bytes, app_limited };
                return self.of_segment("on_lost", self.table.on_lost, output, segment);
            }
            Event::Open => 0,
            Event::Loss => 1,
            Event::Mark => 2,
            Event::Timeout => 3,
            Event::RecoveryEnds => 4,
            Event::Undo { .. } => 5,
            Event::IdleRestart { .. } => 6,
        };
        let Some(on_event) = self.table.on_event else { return Ok(()) };
        // SAFETY: as for `create`.
        self.call("on_event", output, |set| unsafe { on_event(self.state, kind, ns(at.now), set) })
    }

    fn avoid(&mut self, cwnd: &mut u32, progress: &Progress) -> Result<(), String> {
        if let Some(grow) = self.table.grow {
            // SAFETY: as for `create`.
            *cwnd = unsafe { grow(self.state, *cwnd, progress.segments, ns(progress.now)) };
        }
        Ok(())
    }

    fn reduce(&mut self, flight: &Flight) -> Result<u64, String> {
        let Some(reduce) = self.table.reduce else { return Ok(flight.used() / 2) };
        let event = match flight.cause {
            Cause::Loss => 1,
            Cause::Mark => 2,
            Cause::Timeout => 3,
        };
        // SAFETY: as for `create`.
        Ok(unsafe { reduce(self.state, flight.cwnd, flight.outstanding, flight.pipe, event) }.into())
    }
}
