//! The forwarder on network interfaces, in one thread.

use super::config::{ForwardConfig, PacketIo};
use super::core::{Burst, Core};
use super::frame_pool::FrameId;
use super::outages::Outages;
use super::packet_ports::PacketPorts;
use super::ports::{Clock, Ports, is_outage};
#[cfg(feature = "ebpf")]
use super::xdp_ports::XdpPorts;
use crate::io::{self, Asked, BATCH};
use fairlane_schemes::base::units::Time;
use serde_json::{Value as Json, json};

pub use super::ports::OpenError;

/// Maximum wait while idle. Signals are checked after the wait, because one may arrive just before it.
const LOOK: Time = Time::from_millis(50);
/// Maximum interval between reads of the rings while frames are in flight. At a million frames per second, a thousand
/// frames arrive in this time.
const MOST_UNREAD: Time = Time::from_millis(1);

/// Forwards until a signal (SIGINT, SIGTERM) or until `duration` has passed. Once all ports are open, calls `report`
/// with `{"ready": true}` and the I/O mode of each port. Later calls `report` with the counters since the last report,
/// at every SIGUSR1 and at the end.
///
/// # Errors
/// An interface cannot be opened.
pub fn run(config: &ForwardConfig, duration: Option<Time>, report: impl FnMut(&Json)) -> Result<(), OpenError> {
    match config.forward.io {
        PacketIo::Packet => run_on::<PacketPorts>(config, duration, report),
        #[cfg(feature = "ebpf")]
        PacketIo::Xdp => run_on::<XdpPorts>(config, duration, report),
        #[cfg(not(feature = "ebpf"))]
        PacketIo::Xdp => {
            let problem = "\"af-xdp\" needs the kernel data plane, which this build is without; build it with \
                           --features ebpf, or set \"af-packet\"";
            Err(OpenError::new("forward.io", problem))
        }
    }
}

/// Runs on one kind of sockets. The function is generic, so the per-frame code is compiled for each kind.
fn run_on<P: Ports>(
    config: &ForwardConfig,
    duration: Option<Time>,
    mut report: impl FnMut(&Json),
) -> Result<(), OpenError> {
    let names: Vec<&str> = config.ports.iter().map(|port| port.interface.as_str()).collect();
    let (ports, core) = P::open(config)?;
    io::note_signals();
    let is_realtime = io::make_realtime(config.forward.realtime_priority);
    let mut host = Host { core, ports, outages: Outages::new(names.len()), clock: Clock::start() };
    report(&json!({"ready": true, "io": host.io()}));
    let end = duration.unwrap_or(Time::NEVER);
    let unread = may_stay_unread(host.core.shortest_line());
    loop {
        let now = host.clock.now();
        host.receive(now);
        host.core.run_until(now);
        host.send();
        host.outages.watch(&mut host.ports, &mut host.core, &names, now);
        let asked = if now >= end { Some(Asked::Stop) } else { io::asked() };
        if asked.is_some() {
            report(&host.report(is_realtime));
        }
        if asked == Some(Asked::Stop) {
            return Ok(());
        }
        let (next, now) = (host.core.next().min(end), host.clock.now());
        if next <= now {
            continue;
        }
        // Waking up for a frame costs more than forwarding it, for the forwarder and for the sender.
        match unread.filter(|_| host.core.held() > 0) {
            Some(unread) => io::sleep_until(host.clock.monotonic(next.min(now + unread))),
            None => {
                if host.ports.wait((next - now).min(LOOK)) {
                    host.note_errors();
                }
            }
        }
    }
}

/// Returns the time for which frames may stay in the rings if all links have at least the delay `shortest_line`.
/// Returns `None` if frames must be read immediately.
///
/// This is possible because timestamps give the arrival times, and a frame has no event before the end of its link.
/// Half of the delay is kept as a margin.
fn may_stay_unread(shortest_line: Time) -> Option<Time> {
    (shortest_line > Time::ZERO).then_some(Time(shortest_line.0 / 2).min(MOST_UNREAD))
}

struct Host<P> {
    core: Core,
    ports: P,
    outages: Outages,
    clock: Clock,
}

impl<P: Ports> Host<P> {
    #[inline]
    fn receive(&mut self, now: Time) {
        for port in 0..self.core.ports() {
            self.ports.receive(port, &mut self.core, self.clock, now);
        }
    }

    /// Reads the pending errors of the sockets, which clears them. Takes down a port whose error means an outage.
    #[cold]
    fn note_errors(&mut self) {
        for port in 0..self.core.ports() {
            if let Some(error) = self.ports.take_error(port) {
                self.note_error(port, &error);
            }
        }
    }

    #[cold]
    fn note_error(&mut self, port: usize, error: &std::io::Error) {
        if is_outage(error) {
            self.outages.begin(port, &mut self.ports, &mut self.core);
        }
    }

    #[inline]
    fn send(&mut self) {
        while let Some(turn) = self.core.next_burst(self.clock.now()) {
            self.send_batch(turn);
        }
    }

    #[inline]
    fn send_batch(&mut self, Burst { port, until }: Burst) {
        let mut due = [Time::ZERO; BATCH];
        let mut ids = [FrameId::default(); BATCH];
        let mut count = 0;
        while count < BATCH
            && let Some(next) = self.core.take_due(port, until)
        {
            (due[count], ids[count]) = next;
            count += 1;
        }
        let (sent, failed) = self.ports.send(port, &mut self.core, &ids[..count]);
        let finished = self.clock.now();
        if let Some(error) = failed {
            self.note_error(port, &error);
        }
        let stats = self.core.sent(port);
        for at in &due[..sent] {
            stats.lateness.record(finished.saturating_sub(*at));
        }
        stats.send_errors += (count - sent) as u64;
    }

    /// I/O mode of each port.
    fn io(&self) -> Vec<&'static str> {
        (0..self.core.ports()).map(|port| self.ports.describe(port)).collect()
    }

    fn report(&mut self, is_realtime: bool) -> Json {
        for port in 0..self.core.ports() {
            self.ports.count_drops(port, &mut self.core);
        }
        let mut report = self.core.report();
        for (port, json) in report["ports"].as_array_mut().into_iter().flatten().enumerate() {
            json["up"] = (!self.outages.has(port)).into();
            json["io"] = self.ports.describe(port).into();
        }
        report["realtime"] = is_realtime.into();
        report["held_frames"] = self.core.held().into();
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_wait_in_the_rings_for_half_of_the_shortest_delay_and_no_more_than_a_millisecond() {
        assert_eq!(may_stay_unread(Time::ZERO), None);
        assert_eq!(may_stay_unread(Time::from_micros(300)), Some(Time::from_micros(150)));
        assert_eq!(may_stay_unread(Time::from_millis(5)), Some(Time::from_millis(1)));
    }
}
