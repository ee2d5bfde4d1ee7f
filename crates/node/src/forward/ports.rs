//! What frames come in by and leave by.

use super::config::ForwardConfig;
use super::core::Core;
use super::frame_pool::FrameId;
use crate::io;
use fairlane_schemes::base::units::Time;
use std::io::{Error, ErrorKind};

/// A frame that is read later than this after it arrived counts as arrived this long ago: clocks may step.
const OLDEST: Time = Time::from_millis(100);

/// Why the forwarder cannot run.
#[derive(Debug, thiserror::Error)]
#[error("{interface}: {problem}")]
pub struct OpenError {
    interface: String,
    problem: String,
}

impl OpenError {
    /// Something is wrong with an interface.
    pub fn new(interface: &str, problem: impl Into<String>) -> Self {
        Self { interface: interface.into(), problem: problem.into() }
    }

    /// What the system says of an interface.
    pub fn of(interface: &str, error: &Error) -> Self {
        let problem = match error.raw_os_error() {
            Some(libc::ENODEV) => "no such network interface".into(),
            Some(libc::EPERM) => "not permitted, the forwarder needs root or CAP_NET_RAW".into(),
            _ => error.to_string(),
        };
        Self::new(interface, problem)
    }
}

/// The time of the forwarder, which begins at zero.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Time,
}

impl Clock {
    /// Zero is now.
    pub fn start() -> Self {
        Self { start: io::monotonic() }
    }

    /// Time since the start.
    #[inline]
    pub fn now(self) -> Time {
        io::monotonic().saturating_sub(self.start)
    }

    /// A time of the forwarder as [`io::monotonic`] tells it.
    #[inline]
    pub fn monotonic(self, at: Time) -> Time {
        self.start + at
    }

    /// When a frame came that is `age` old at `now`. A stamp that is later than the reading of the clock wraps to a
    /// huge age.
    #[inline]
    pub fn arrival(now: Time, age: u64) -> Time {
        let age = if age > u64::MAX / 2 { Time::ZERO } else { Time(age).min(OLDEST) };
        now.saturating_sub(age)
    }
}

/// The ports' sockets, of one kind.
pub trait Ports: Sized {
    /// Whether no socket tells that its interface has gone down: somebody must look.
    const IS_SILENT: bool;

    /// Opens all ports, and what decides about their frames, with memory as the sockets need it.
    ///
    /// # Errors
    /// An interface is not there, or cannot be opened.
    fn open(config: &ForwardConfig) -> Result<(Self, Core), OpenError>;

    /// Hands what has arrived at `port` to `core`, a batch at most.
    fn receive(&mut self, port: usize, core: &mut Core, clock: Clock, now: Time);

    /// Sends frames in order, [`io::BATCH`] at most, after which they are no longer `core`'s. Says how many were taken,
    /// and why not more.
    fn send(&mut self, port: usize, core: &mut Core, frames: &[FrameId]) -> (usize, Option<Error>);

    /// Waits until a frame comes at a port that is up, a signal, or the end of `timeout`; whether a socket has an
    /// error.
    fn wait(&mut self, timeout: Time) -> bool;

    /// Takes the error of a port's socket.
    fn take_error(&self, port: usize) -> Option<Error>;

    /// The index of the interface of a port.
    fn index(&self, port: usize) -> u32;

    /// The interface of a port is down or gone.
    fn close(&mut self, port: usize, core: &mut Core);

    /// The interface called `name` is up again, with this index.
    ///
    /// # Errors
    /// It has gone again.
    fn reopen(&mut self, port: usize, name: &str, index: u32, core: &mut Core) -> Result<(), OpenError>;

    /// Counts what the kernel dropped of a port's frames since the last time.
    fn count_drops(&mut self, port: usize, core: &mut Core);

    /// How frames get in and out of a port.
    fn describe(&self, port: usize) -> &'static str;
}

/// Whether an error of a socket says that its interface is down or gone.
pub fn is_outage(error: &Error) -> bool {
    error.kind() == ErrorKind::NetworkDown || matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENODEV))
}
