//! Ports whose interface is down or missing, polled until it is back.
//!
//! An `AF_PACKET` socket reports `ENETDOWN` when its interface goes down (packet(7)). Until the error is read, every
//! wait returns immediately. An `AF_XDP` socket reports no error before a send, so its interface is polled.

use super::core::Core;
use super::ports::Ports;
use crate::io;
use fairlane_schemes::base::units::Time;

/// Polling interval of interfaces. A port stays closed for at most this time after its interface is back.
const LOOK: Time = Time::from_millis(100);

/// State of the ports.
#[derive(Debug)]
pub struct Outages {
    is_down: Vec<bool>,
    any: bool,
    look_at: Time,
}

impl Outages {
    /// Creates the state with all `ports` ports up.
    pub fn new(ports: usize) -> Self {
        Self { is_down: vec![false; ports], any: false, look_at: Time::ZERO }
    }

    /// Returns true if a port is down.
    pub fn has(&self, port: usize) -> bool {
        self.is_down[port]
    }

    /// Records that the interface of a port is down or missing.
    #[cold]
    pub fn begin<P: Ports>(&mut self, port: usize, ports: &mut P, core: &mut Core) {
        if !self.is_down[port] {
            (self.is_down[port], self.any) = (true, true);
            core.received(port).outages += 1;
            ports.close(port, core);
        }
    }

    /// Polls all interfaces while a port is down, and always if sockets do not report outages.
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
            // The interface may have disappeared again; the next wait or poll detects this.
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
