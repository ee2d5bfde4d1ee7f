//! Ports whose interface is down or gone: watched until it is back.
//!
//! A socket of `AF_PACKET` holds `ENETDOWN` from the moment when its interface goes down (packet(7)): until somebody
//! takes the error, every wait ends at once. One of `AF_XDP` says nothing until something is sent: its interface is
//! looked at now and then.

use super::core::Core;
use super::ports::Ports;
use crate::io;
use fairlane_schemes::base::units::Time;

/// Between two looks at interfaces: the most that a port stays closed after it is back.
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

    /// The interface of a port is down or gone.
    #[cold]
    pub fn begin<P: Ports>(&mut self, port: usize, ports: &mut P, core: &mut Core) {
        if !self.is_down[port] {
            (self.is_down[port], self.any) = (true, true);
            core.received(port).outages += 1;
            ports.close(port, core);
        }
    }

    /// Looks, now and then, whether interfaces are back, and whether they are still there if nobody else says so.
    #[inline]
    pub fn watch<P: Ports>(&mut self, ports: &mut P, core: &mut Core, names: &[&str], now: Time) {
        if (self.any || P::IS_SILENT) && now >= self.look_at {
            self.look_at = now + LOOK;
            self.look(ports, core, names);
        }
    }

    #[cold]
    fn look<P: Ports>(&mut self, ports: &mut P, core: &mut Core, names: &[&str]) {
        for (port, name) in names.iter().enumerate() {
            let up = io::index_if_up(name);
            if P::IS_SILENT && up != Some(ports.index(port)) {
                self.begin(port, ports, core);
            }
            // It may have gone again since; the next wait or look says so.
            if self.is_down[port]
                && let Some(index) = up
                && ports.reopen(port, name, index, core).is_ok()
            {
                self.is_down[port] = false;
            }
        }
        self.any = self.is_down.contains(&true);
    }
}
