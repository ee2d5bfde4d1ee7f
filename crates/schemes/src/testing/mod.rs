//! Tools for tests of schemes: a packet, a drop sink, and the harness that runs every scheme through the same
//! operations.

pub mod harness;
pub mod vectors;

use crate::base::config::{ConfigError, Table};
use crate::base::units::{BitRate, Time};
use crate::contract::aqm::QueueView;
use crate::contract::discipline::{Backlog, DropReason, DropSink, Report};
use crate::contract::packet::{Ecn, Packet, TrafficClass};
use crate::registry::queue_config::QueueConfig;

/// A packet with public fields.
#[derive(Clone, Copy, Debug)]
pub struct TestPacket {
    /// Number that identifies the packet within a test.
    pub id: u64,
    /// Flow of the packet.
    pub flow: u32,
    /// User of the packet.
    pub user: u32,
    /// Length on the wire.
    pub wire_bytes: u32,
    /// Traffic class of the packet.
    pub class: TrafficClass,
    /// ECN field.
    pub ecn: Ecn,
    /// Label of the packet.
    pub label: f64,
    /// Time of enqueueing.
    pub enqueued_at: Time,
}

impl Default for TestPacket {
    fn default() -> Self {
        Self {
            id: 0,
            flow: 0,
            user: 0,
            wire_bytes: 1500,
            class: TrafficClass::BestEffort,
            ecn: Ecn::NotEct,
            label: 0.0,
            enqueued_at: Time::ZERO,
        }
    }
}

impl Packet for TestPacket {
    fn flow(&self) -> u32 {
        self.flow
    }
    fn user(&self) -> u32 {
        self.user
    }
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }
    fn class(&self) -> TrafficClass {
        self.class
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
    fn label(&self) -> f64 {
        self.label
    }
    fn set_label(&mut self, label: f64) {
        self.label = label;
    }
    fn enqueued_at(&self) -> Time {
        self.enqueued_at
    }
    fn set_enqueued_at(&mut self, now: Time) {
        self.enqueued_at = now;
    }
}

/// Stores every drop, and the flow of every marked packet.
#[derive(Debug, Default)]
pub struct Drops(pub Vec<(TestPacket, DropReason, Backlog)>, pub Vec<u32>);

impl DropSink<TestPacket> for Drops {
    fn dropped(&mut self, packet: &TestPacket, reason: DropReason, backlog: Backlog) {
        self.0.push((*packet, reason, backlog));
    }
    fn marked(&mut self, packet: &TestPacket) {
        self.1.push(packet.flow);
    }
}

/// Readings of an AQM or a discipline: `readings(|report| queue.report(report))`.
pub fn readings(report: impl FnOnce(Report<'_>)) -> Vec<(&'static str, f64)> {
    let mut readings = Vec::new();
    report(&mut |name, value| readings.push((name, value)));
    readings
}

/// Returns the value of the reading `name` of [`readings`].
///
/// # Panics
/// If no reading has this name.
pub fn reading(name: &str, report: impl FnOnce(Report<'_>)) -> f64 {
    readings(report).into_iter().find(|reading| reading.0 == name).expect("there is such a reading").1
}

/// Returns the view of a queue of `packets` of 1500 bytes before a link.
#[must_use]
pub fn view(packets: u32, link_rate: BitRate) -> QueueView {
    let backlog = Backlog { packets, bytes: u64::from(packets) * 1500 };
    QueueView { backlog, head_enqueued_at: None, link_rate }
}

/// Reads a `[queue]` table.
///
/// # Errors
/// If the table is not valid.
pub fn read_queue(table: serde_json::Value) -> Result<QueueConfig, ConfigError> {
    QueueConfig::read(&mut Table::new("queue", &table)?)
}

/// Returns the error of a `[queue]` table.
///
/// # Panics
/// If the table is valid.
#[must_use]
pub fn refusal(table: serde_json::Value) -> String {
    read_queue(table).expect_err("a table that must be refused").to_string()
}

/// Asserts that a number equals the expected one, except for the rounding of a few operations.
///
/// # Panics
/// If the numbers differ.
pub fn close(measured: f64, expected: f64) {
    assert!((measured - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{measured} is not {expected}");
}
