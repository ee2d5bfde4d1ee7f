//! Ports whose interface is down or gone: watched until it is back.
//!
//! A socket of `AF_PACKET` holds `ENETDOWN` from the moment when its interface goes down (packet(7)): until somebody takes
//! the error, every wait ends at once. It works again when the interface is up; one that was made anew needs a new socket.

use crate::io::{self, Interface};
use fairlane_schemes::base::units::Time;
use std::io::{Error, Result};

/// Between two looks at interfaces that are down: the most that a port stays closed after it is back.
const LOOK: Time = Time::from_millis(100);

/// Which ports are down.
#[derive(Debug)]
pub struct Outages {
    is_down: Vec<bool>,
    any: bool,
    look_at: Time,
}

impl Outages {
    /// All of `ports` ports are up.
    pub fn new(ports: usize) -> Self {
        Self { is_down: vec![false; ports], any: false, look_at: Time::ZERO }
    }

    /// Whether a port is down.
    pub fn has(&self, port: usize) -> bool {
        self.is_down[port]
    }

    /// Notes an error of a port's socket; says whether an outage begins with it.
    pub fn begin(&mut self, port: usize, error: &Error) -> bool {
        let is_outage = matches!(error.raw_os_error(), Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV));
        let begins = is_outage && !self.is_down[port];
        self.is_down[port] |= is_outage;
        self.any |= is_outage;
        begins
    }

    /// Looks, now and then, whether interfaces are back; `open` opens one that was made anew.
    #[inline]
    pub fn watch(
        &mut self,
        interfaces: &mut [Interface],
        names: &[&str],
        now: Time,
        open: impl Fn(&str) -> Result<Interface>,
    ) {
        if self.any && now >= self.look_at {
            self.look_at = now + LOOK;
            self.look(interfaces, names, open);
        }
    }

    #[cold]
    fn look(&mut self, interfaces: &mut [Interface], names: &[&str], open: impl Fn(&str) -> Result<Interface>) {
        for ((interface, name), is_down) in interfaces.iter_mut().zip(names).zip(&mut self.is_down) {
            let Some(index) = io::index_if_up(name).filter(|_| *is_down) else { continue };
            if index == interface.index() {
                *is_down = false;
            } else if let Ok(new) = open(name) {
                // It may have gone again since; the next wait says so.
                *interface = new;
                *is_down = false;
            }
        }
        self.any = self.is_down.contains(&true);
    }
}
