//! External congestion controls: controls that users write in Rust, Python or C, called through a trait object.
//!
//! A [`ControlFactory`] creates an [`ExternalControl`] for each connection whose sender has a record per segment. The
//! control gets the inputs of built-in controls, [`Sample`]s and [`Event`]s. It is also called for each segment sent or
//! delivered, as controllers of QUIC require. The outputs are checked after every call. The first error disables the
//! control: window and rate no longer change, and the run ends with an error in [`Failures`].
//!
//! An ACK causes these calls, in this order: `on_delivered` for each newly delivered segment, `on_event` for each
//! detected loss and the events that result, `on_sample`, `avoid`.
//!
//! Cost: one dynamic call each, plus the cost and the state of the control itself.

use super::control::{Authority, Connection, Control, EcnUse, Event, Flight, Moment, Output, Progress, Sample, Window};
use fairlane_schemes::base::config::{ConfigError, ParamSet, ParamSpec, Table};
use fairlane_schemes::base::units::{BitRate, Time};
use serde_json::{Map, Value as Json};
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

/// Round-trip times of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Rtts {
    /// Last sample; zero before the first.
    pub latest: Time,
    /// Smoothed RTT; zero before the first sample.
    pub smoothed: Time,
    /// Minimum RTT; [`Time::NEVER`] before the first sample.
    pub least: Time,
    /// Mean deviation (RTTVAR).
    pub deviation: Time,
}

/// A segment that is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Current time.
    pub now: Time,
    /// Payload in bytes.
    pub bytes: u32,
    /// Transmission number, from 1 on; in QUIC the packet number.
    pub number: u32,
    /// True if the segment is a retransmission.
    pub again: bool,
    /// Bytes in flight, including this segment.
    pub in_flight: u32,
    /// True if the sender has too few data to fill the window.
    pub app_limited: bool,
}

/// A segment that an ACK newly reports as delivered.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// Current time.
    pub now: Time,
    /// Time of the last transmission.
    pub sent: Time,
    /// Payload in bytes.
    pub bytes: u32,
    /// Number of the segment's last transmission.
    pub number: u32,
    /// True if the sender had too few data to fill the window when the segment was last sent.
    pub app_limited: bool,
    /// Round-trip times of the connection before the RTT sample of this ACK.
    pub rtts: Rtts,
}

/// Congestion control of one connection. `output` has the current values and receives the new ones. An error message is
/// one line that names the control. A window of 0 or a pacing rate of 0 is also an error. A window of less than one
/// segment is raised to one segment.
pub trait ExternalControl: Debug + Send {
    /// Handles a segment that is sent.
    ///
    /// # Errors
    /// The control failed.
    fn on_sent(&mut self, _output: &mut Output, _sent: &Sent) -> Result<(), String> {
        Ok(())
    }

    /// Handles a segment that has been delivered.
    ///
    /// # Errors
    /// The control failed.
    fn on_delivered(&mut self, _output: &mut Output, _delivered: &Delivered) -> Result<(), String> {
        Ok(())
    }

    /// Processes an ACK, like [`Control::on_sample`].
    ///
    /// # Errors
    /// The control failed.
    fn on_sample(&mut self, _output: &mut Output, _sample: &Sample) -> Result<(), String> {
        Ok(())
    }

    /// Handles events other than ACKs, like [`Control::on_event`].
    ///
    /// # Errors
    /// The control failed.
    fn on_event(&mut self, _output: &mut Output, _event: &Event, _at: &Moment) -> Result<(), String> {
        Ok(())
    }

    /// Grows the window in congestion avoidance, like [`Control::avoid`]. Called only with [`Authority::Avoidance`].
    ///
    /// # Errors
    /// The control failed.
    fn avoid(&mut self, _cwnd: &mut u32, _progress: &Progress) -> Result<(), String> {
        Ok(())
    }

    /// Window after congestion in bytes, like [`Control::reduce`]. Not called with [`Authority::Full`].
    ///
    /// # Errors
    /// The control failed.
    fn reduce(&mut self, flight: &Flight) -> Result<u64, String> {
        Ok(flight.used() / 2)
    }
}

/// Creates the controls of connections, in any thread.
pub trait ControlFactory: Debug + Send + Sync {
    /// Part of the window that the controls set after an ACK.
    fn authority(&self) -> Authority {
        Authority::Full
    }

    /// Feedback on congestion marks that the controls need.
    fn ecn(&self) -> EcnUse {
        EcnUse::Classic
    }

    /// Creates the control of a new connection. `seed` differs by run and flow, and is the only source of randomness.
    ///
    /// # Errors
    /// The control cannot be created. The message is one line that names the control.
    fn create(&self, connection: &Connection, seed: u64) -> Result<Box<dyn ExternalControl>, String>;
}

/// Failures of the controls of a run: only the first message is kept.
pub type Failures = Arc<OnceLock<String>>;

/// An external control with its name in a scenario.
#[derive(Clone, Debug)]
pub struct NamedControl {
    /// Name of the control.
    pub name: Arc<str>,
    /// Creates the controls of connections.
    pub factory: Arc<dyn ControlFactory>,
}

impl PartialEq for NamedControl {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.factory, &other.factory)
    }
}

/// Finds an external control by name.
pub type FindControl<'a> = &'a dyn Fn(&str) -> Option<NamedControl>;

/// Finds no external control.
#[must_use]
pub fn no_control(_: &str) -> Option<NamedControl> {
    None
}

/// Properties of an external control that the sender needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outside {
    /// See [`ControlFactory::authority`].
    pub authority: Authority,
    /// See [`ControlFactory::ecn`].
    pub ecn: EcnUse,
}

/// External control of a connection, if it has one, and the record of failures.
#[derive(Clone, Debug, Default)]
pub struct ExternalParams {
    /// The control.
    pub control: Option<NamedControl>,
    /// Failures of the run that the parameters belong to.
    pub failures: Failures,
}

impl ExternalParams {
    /// Error of a control, if one has failed.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failures.get().map(String::as_str)
    }
}

impl PartialEq for ExternalParams {
    fn eq(&self, other: &Self) -> bool {
        self.control == other.control
    }
}

/// External controls have no keys; `congestion_control` has their name.
impl ParamSet for ExternalParams {
    fn specs() -> Vec<ParamSpec> {
        Vec::new()
    }

    fn read_over(base: Self, _: &mut Table<'_>) -> Result<Self, ConfigError> {
        Ok(base)
    }

    fn write(&self, into: &mut Map<String, Json>) {
        if let Some(control) = &self.control {
            into.insert("congestion_control".into(), Json::from(&*control.name));
        }
    }
}

/// External control of one connection.
#[derive(Debug)]
pub struct External {
    /// `None` once it has failed.
    control: Option<Box<dyn ExternalControl>>,
    name: Arc<str>,
    failures: Failures,
    mss: u32,
}

impl External {
    /// Reports a segment that is sent.
    pub fn on_sent(&mut self, output: &mut Output, sent: &Sent) {
        self.call(output, |control, output| control.on_sent(output, sent));
    }

    /// Reports a segment that has been delivered.
    pub fn on_delivered(&mut self, output: &mut Output, delivered: &Delivered) {
        self.call(output, |control, output| control.on_delivered(output, delivered));
    }

    fn call(
        &mut self,
        output: &mut Output,
        act: impl FnOnce(&mut dyn ExternalControl, &mut Output) -> Result<(), String>,
    ) {
        let Some(control) = &mut self.control else { return };
        let mut wanted = *output;
        let done = act(&mut **control, &mut wanted).and_then(|()| self.check(&wanted));
        match done {
            Ok(()) => *output = Output { cwnd: wanted.cwnd.max(self.mss), ..wanted },
            Err(problem) => self.fail(problem),
        }
    }

    fn check(&self, output: &Output) -> Result<(), String> {
        if output.cwnd == 0 {
            return Err(format!("{} set a window of 0 bytes, it must be positive", self.name));
        }
        if output.pacing == Some(BitRate(0)) {
            return Err(format!("{} set a pacing rate of 0 bit/s, it must be positive", self.name));
        }
        Ok(())
    }

    fn fail(&mut self, problem: String) {
        self.control = None;
        // Only the first error of a run is reported.
        let _ = self.failures.set(problem);
    }
}

impl Control for External {
    type Params = ExternalParams;

    fn new(connection: Connection, params: &ExternalParams, seed: u64) -> Self {
        let name = params.control.as_ref().map_or_else(|| Arc::from(""), |control| control.name.clone());
        let mut external = Self { control: None, name, failures: params.failures.clone(), mss: connection.mss };
        match params.control.as_ref().map(|control| control.factory.create(&connection, seed)) {
            Some(Ok(control)) => external.control = Some(control),
            Some(Err(problem)) => external.fail(problem),
            None => {}
        }
        external
    }

    fn avoid(&mut self, _: Connection, _: &ExternalParams, window: Window<'_>, progress: Progress) {
        let mut output = Output { cwnd: *window.cwnd, ssthresh: 0, pacing: None, quantum: 0 };
        self.call(&mut output, |control, output| control.avoid(&mut output.cwnd, &progress));
        *window.cwnd = output.cwnd;
    }

    fn reduce(&mut self, _: Connection, _: &ExternalParams, flight: Flight) -> u64 {
        let left = self.control.as_mut().map(|control| control.reduce(&flight));
        match left {
            Some(Ok(left)) if left > 0 => return left,
            Some(Ok(_)) => self.fail(format!("{} left a window of 0 bytes, it must be positive", self.name)),
            Some(Err(problem)) => self.fail(problem),
            None => {}
        }
        flight.used() / 2
    }

    fn on_sample(&mut self, _: Connection, _: &ExternalParams, output: &mut Output, sample: &Sample) {
        self.call(output, |control, output| control.on_sample(output, sample));
    }

    fn on_event(&mut self, _: Connection, _: &ExternalParams, output: &mut Output, event: Event, at: &Moment) {
        self.call(output, |control, output| control.on_event(output, &event, at));
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::FlightSize;
    use super::super::testing::any;
    use super::*;
    use fairlane_schemes::base::rng::Rng;

    const MSS: u32 = 1000;
    const OF: Connection = Connection {
        mss: MSS,
        socket_buffer: 1 << 20,
        byte_counting: true,
        flight_size: FlightSize::Outstanding,
        whole_windows: false,
        clock_tick: Time::ZERO,
    };
    const SENT: Sent =
        Sent { now: Time::ZERO, bytes: MSS, number: 1, again: false, in_flight: MSS, app_limited: false };

    /// A control with random outputs that fails now and then.
    #[derive(Debug)]
    struct Wild(Rng);

    impl ExternalControl for Wild {
        fn on_sent(&mut self, output: &mut Output, _: &Sent) -> Result<(), String> {
            output.cwnd = any(&mut self.0, 1 << 32) as u32;
            output.pacing = (self.0.bits() & 1 == 0).then(|| BitRate(any(&mut self.0, u64::MAX)));
            if self.0.bits().is_multiple_of(64) { Err("wild: on purpose".into()) } else { Ok(()) }
        }
    }

    #[derive(Debug)]
    struct Wilds;

    impl ControlFactory for Wilds {
        fn create(&self, _: &Connection, seed: u64) -> Result<Box<dyn ExternalControl>, String> {
            Ok(Box::new(Wild(Rng::stream(seed, 0, "wild", 0))))
        }
    }

    #[test]
    fn whatever_a_control_sets_the_sender_has_a_segment_and_a_rate_and_a_failed_one_sets_nothing() {
        let mut failed = 0;
        for seed in 0..1000 {
            let control = Some(NamedControl { name: "wild".into(), factory: Arc::new(Wilds) });
            let params = ExternalParams { control, failures: Failures::default() };
            let mut external = External::new(OF, &params, seed);
            let mut output = Output { cwnd: 10 * MSS, ssthresh: u32::MAX, pacing: None, quantum: 0 };
            for _ in 0..20 {
                let (before, was_failed) = (output, params.failure().is_some());
                external.on_sent(&mut output, &SENT);
                assert!(output.cwnd >= MSS && output.pacing != Some(BitRate(0)), "{output:?}");
                assert!(!was_failed || output == before, "{output:?} after a failure");
            }
            failed += u32::from(params.failure().is_some());
        }
        // A call fails with probability 1/64 by an error, 1/64 by a window of 0, and 1/128 by a rate of 0. So a
        // fraction 1 - (1 - 2.5/64)^20 = 0.55 of the controls fails within 20 calls.
        assert!((450..650).contains(&failed), "{failed}");
    }
}
