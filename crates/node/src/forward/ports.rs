//! Input and output of frames.

use super::config::ForwardConfig;
use super::core::Core;
use super::frame_pool::FrameId;
use crate::io;
use fairlane_schemes::base::units::Time;
use std::io::{Error, ErrorKind};

/// Maximum age of a frame when it is read. Older timestamps are limited to this age, since clocks may jump.
const OLDEST: Time = Time::from_millis(100);

/// Reason why the forwarder cannot run.
#[derive(Debug, thiserror::Error)]
#[error("{interface}: {problem}")]
pub struct OpenError {
    interface: String,
    problem: String,
}

impl OpenError {
    /// Problem with an interface.
    pub fn new(interface: &str, problem: impl Into<String>) -> Self {
        Self { interface: interface.into(), problem: problem.into() }
    }

    /// System error of an interface.
    pub fn of(interface: &str, error: &Error) -> Self {
        let problem = match error.raw_os_error() {
            Some(libc::ENODEV) => "no such network interface".into(),
            Some(libc::EPERM) => "not permitted, the forwarder needs root or CAP_NET_RAW".into(),
            _ => error.to_string(),
        };
        Self::new(interface, problem)
    }
}

/// Clock of the forwarder, which starts at zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Time,
}

impl Clock {
    /// Starts the clock.
    pub fn start() -> Self {
        Self { start: io::monotonic() }
    }

    /// Time since the start.
    #[inline]
    pub fn now(self) -> Time {
        io::monotonic().saturating_sub(self.start)
    }

    /// Converts a time of [`io::monotonic`].
    #[inline]
    pub fn monotonic(self, at: Time) -> Time {
        self.start + at
    }

    /// Returns the arrival time of a frame with age `age` at `now`. The age is unsigned, so a timestamp in the future
    /// gives a huge age, which counts as 0.
    #[inline]
    pub fn arrival(now: Time, age: u64) -> Time {
        let age = if age > u64::MAX / 2 { Time::ZERO } else { Time(age).min(OLDEST) };
        now.saturating_sub(age)
    }
}

/// Sockets of all ports, of one kind.
pub trait Ports: Sized {
    /// True if sockets do not report that their interface went down. The interface must then be polled.
    const IS_SILENT: bool;

    /// Opens all ports with filters for their frames. Returns the ports, and a core with the memory that the sockets
    /// require.
    ///
    /// # Errors
    /// An interface is missing or cannot be opened.
    fn open(config: &ForwardConfig) -> Result<(Self, Core), OpenError>;

    /// Passes a batch of frames that arrived at `port` to `core`.
    fn receive(&mut self, port: usize, core: &mut Core, clock: Clock, now: Time);

    /// Sends frames in order, at most [`io::BATCH`]. Removes the frames accepted by the kernel from `core`. Returns
    /// their number, and the error if not all were accepted.
    fn send(&mut self, port: usize, core: &mut Core, frames: &[FrameId]) -> (usize, Option<Error>);

    /// Waits for a frame at a port that is up, a signal, or the end of `timeout`. Returns true if a socket has an
    /// error.
    fn wait(&mut self, timeout: Time) -> bool;

    /// Reads and clears the error of a port's socket.
    fn take_error(&self, port: usize) -> Option<Error>;

    /// Index of a port's interface.
    fn index(&self, port: usize) -> u32;

    /// Releases the resources of a port whose interface is down or missing.
    fn close(&mut self, port: usize, core: &mut Core);

    /// Reopens a port after the interface `name` is up again. `index` is its current index.
    ///
    /// # Errors
    /// The interface has disappeared again.
    fn reopen(&mut self, port: usize, name: &str, index: u32, core: &mut Core) -> Result<(), OpenError>;

    /// Counts frames of a port that the kernel dropped since the last call.
    fn count_drops(&mut self, port: usize, core: &mut Core);

    /// I/O mode of a port.
    fn describe(&self, port: usize) -> &'static str;
}

/// Returns true if a socket error means that its interface is down or missing.
pub fn is_outage(error: &Error) -> bool {
    error.kind() == ErrorKind::NetworkDown || matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENODEV))
}
