//! Runs the forwarder on capture files. Time comes from the packets, so runs are reproducible.

use super::config::ForwardConfig;
use super::core::Core;
use fairlane_schemes::base::units::Time;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::{DataLink, PcapError, TsResolution};
use serde_json::Value as Json;
use std::io::{Read, Write};
use std::time::Duration;

/// Errors of captures.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// The input is not a capture file, or ends within a packet.
    #[error(transparent)]
    Capture(#[from] PcapError),
    /// The link type is not Ethernet.
    #[error("the capture is of link type {0:?}, it must be of ETHERNET")]
    LinkType(DataLink),
    /// A packet is older than the previous one.
    #[error("packet {0} is earlier than the one before it")]
    Order(u64),
}

/// Forwards the frames of `input`, which arrive at port `from`. Writes the frames that leave port `to`, with their due
/// times in nanoseconds of the capture's clock. Returns the counters.
///
/// # Errors
/// See [`OfflineError`].
///
/// # Panics
/// If `from` or `to` is not a port of the configuration.
pub fn forward(
    config: &ForwardConfig,
    (from, to): (usize, usize),
    input: impl Read,
    output: impl Write,
) -> Result<Json, OfflineError> {
    let mut reader = PcapReader::new(input)?;
    let header = reader.header();
    if header.datalink != DataLink::ETHERNET {
        return Err(OfflineError::LinkType(header.datalink));
    }
    let header = PcapHeader { ts_resolution: TsResolution::NanoSecond, ..header };
    let mut writer = PcapWriter::with_header(output, header)?;
    let mut core = Core::new(config);
    let (mut origin, mut now, mut number) = (None, Time::ZERO, 0);
    while let Some(packet) = reader.next_packet() {
        let packet = packet?;
        number += 1;
        // Time zero of the forwarder is the second in which the capture starts.
        let origin = *origin.get_or_insert(Duration::from_secs(packet.timestamp.as_secs()));
        let at = packet.timestamp.checked_sub(origin).map(time).filter(|at| *at >= now);
        let at = at.ok_or(OfflineError::Order(number))?;
        // Executes the events before the packet's arrival. Events at the time of the arrival are executed after it.
        advance(&mut core, Time(at.0.saturating_sub(1)), to, origin, &mut writer)?;
        now = at;
        if packet.orig_len as usize > packet.data.len() || packet.data.len() > config.forward.frame_size.0 as usize {
            core.received(from).oversized += 1;
        } else {
            core.arrive(from, &packet.data, &[], at);
        }
    }
    while core.next() < Time::NEVER {
        let next = core.next();
        advance(&mut core, next, to, origin.unwrap_or_default(), &mut writer)?;
    }
    Ok(core.report())
}

fn advance(
    core: &mut Core,
    until: Time,
    to: usize,
    origin: Duration,
    writer: &mut PcapWriter<impl Write>,
) -> Result<(), PcapError> {
    while core.next() <= until {
        let now = core.next();
        core.run_until(now);
        for port in 0..core.ports() {
            while let Some((due, id)) = core.take_due(port, now) {
                if port == to {
                    let frame = core.frame(id);
                    let timestamp = origin + Duration::from_nanos(due.0 / 1000);
                    writer.write_packet(&PcapPacket::new(timestamp, frame.len() as u32, frame))?;
                }
                core.release(id);
            }
        }
    }
    Ok(())
}

fn time(since: Duration) -> Time {
    Time::from_nanos(since.as_nanos() as u64)
}

#[cfg(test)]
mod tests;
