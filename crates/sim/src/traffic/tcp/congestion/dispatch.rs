//! Window of one sender: slow start, which is common to all controls, and its congestion control.
//!
//! Source: RFC 5681 3.1 (slow start), RFC 3465 (byte counting). Windows are in bytes.

use super::State;
use super::control::{Connection, Event, Flight, Moment, Output, Progress, Sample, Window};
use super::external::External;
use crate::cache_line::fetch;
use crate::traffic::tcp::{TcpParams, clamped};

#[inline]
fn connection(params: &TcpParams) -> Connection {
    Connection {
        mss: params.segment_payload,
        socket_buffer: params.socket_buffer.0,
        byte_counting: params.byte_counting,
        flight_size: params.flight_size,
        whole_windows: params.whole_windows,
        clock_tick: params.clock_tick,
    }
}

/// Congestion control of one sender; empty for a control without state, such as Reno.
#[derive(Debug)]
pub struct Congestion(pub(super) Option<Box<State>>);

impl Congestion {
    /// Creates the control of a new connection. `seed` differs by run and flow.
    pub fn new(params: &TcpParams, seed: u64) -> Self {
        let control = params.congestion_control;
        Self(control.has_state().then(|| State::new(control, connection(params), &params.congestion, seed).into()))
    }

    /// Control of a connection that is never opened.
    pub const NONE: Self = Self(None);

    /// Prefetches the state, if there is any.
    #[inline]
    pub fn fetch(&self) {
        if let Some(state) = &self.0 {
            fetch(&**state);
        }
    }

    #[inline]
    fn with_state<R>(&mut self, params: &TcpParams, act: impl FnOnce(&mut State) -> R) -> R {
        // Checks the parameters, not `self`. They are in the cache, because all flows share them, and the `self` of
        // Reno need not be fetched.
        if params.congestion_control.has_state() {
            act(self.0.as_mut().expect("made with the connection"))
        } else {
            act(&mut State::new(params.congestion_control, connection(params), &params.congestion, 0))
        }
    }

    /// Grows the window. If the window reaches `ssthresh`, the remaining segments of the ACK count in congestion
    /// avoidance.
    // Always inlined: otherwise the arguments are passed through memory.
    #[inline(always)]
    pub fn grow(&mut self, params: &TcpParams, window: Window<'_>, ssthresh: u32, mut progress: Progress) {
        let Window { cwnd, counted } = window;
        //= RFC 5681 3.1-8: Slow start below ssthresh, congestion avoidance above, either where they are equal.
        //= RFC 9438 4.10-1: Below ssthresh cwnd grows by slow start.
        //= RFC 9438 4.10-3: Slow start is that of Reno.
        if *cwnd < ssthresh && progress.segments > 0 {
            // RFC 5681 3.1, eq. (2); RFC 3465 2.2 without the limit L if bytes are counted.
            let mss = params.segment_payload;
            //= RFC 5681 3.1-9, by byte_counting: In slow start an ACK adds the bytes that it covers, one segment at
            //= most.
            //= RFC 3465 2.2-1: In slow start an ACK adds what it covers, up to a limit L.
            //= RFC 3465 2.3-2, deviation: L is not above two segments.
            //= RFC 3465 2.3-3, deviation: L is one segment in the slow start after a timeout.
            let most = if params.byte_counting { (ssthresh - *cwnd).div_ceil(mss) } else { 1 };
            let steps = progress.segments.min(most);
            *cwnd = cwnd.saturating_add(steps.saturating_mul(mss));
            progress.segments -= steps;
        }
        if *cwnd >= ssthresh && progress.segments > 0 {
            if params.congestion_control.has_state() {
                // Copies `progress`, so that the original can stay in registers.
                self.avoid_by_state(params, Window { cwnd, counted }, Progress { ..progress });
            } else {
                // Fast path of controls without state, in particular Reno.
                let (of, own) = (connection(params), &params.congestion);
                State::new(params.congestion_control, of, own, 0).avoid(of, own, Window { cwnd, counted }, progress);
            }
        }
    }

    #[inline(never)]
    fn avoid_by_state(&mut self, params: &TcpParams, window: Window<'_>, progress: Progress) {
        self.with_state(params, |state| state.avoid(connection(params), &params.congestion, window, progress));
    }

    /// Handles congestion. Returns the new slow-start threshold, at least two segments.
    pub fn reduce(&mut self, params: &TcpParams, flight: Flight) -> u32 {
        //= RFC 9438 4.6-6, deviation: Marks reduce cwnd down to one segment.
        //= RFC 9438 4.6-7, deviation: Marks at a cwnd of one segment slow the sender further.
        let mss = params.segment_payload;
        let flight = if params.whole_windows { flight.of_whole_window(mss) } else { flight };
        let left =
            clamped(self.with_state(params, |state| state.reduce(connection(params), &params.congestion, flight)));
        let rest = if params.whole_windows { left % mss } else { 0 };
        (left - rest).max(2 * mss)
    }

    /// Handles a timeout, after [`Congestion::reduce`] or instead of it.
    pub fn timed_out(&mut self) {
        if let Some(state) = &mut self.0 {
            state.timed_out();
        }
    }

    /// Processes an ACK, before any growth.
    #[inline]
    pub fn on_sample(&mut self, params: &TcpParams, output: &mut Output, sample: &Sample) {
        self.with_state(params, |state| state.on_sample(connection(params), &params.congestion, output, sample));
    }

    /// Returns the external control, if there is one, which must be called for each segment sent or delivered.
    #[inline]
    pub fn external(&mut self, params: &TcpParams) -> Option<&mut External> {
        if !params.congestion_control.is_external() {
            return None;
        }
        match self.0.as_deref_mut() {
            Some(State::External(external)) => Some(external),
            _ => None,
        }
    }

    /// Handles events other than ACKs.
    pub fn on_event(&mut self, params: &TcpParams, output: &mut Output, event: Event, at: &Moment) {
        self.with_state(params, |state| state.on_event(connection(params), &params.congestion, output, event, at));
    }
}
