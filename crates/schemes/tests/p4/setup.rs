//! Configurations of the switch, as entries of its tables.

use super::scheme::Parameters;
use fairlane_schemes::base::units::BitRate;
use std::fmt::Write;
use std::net::IpAddr;

/// Treatment of arriving packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// Labels are removed; no user is metered.
    Plain,
    /// Labels are removed; users are metered.
    Untrusted,
    /// Labels are trusted.
    Trusted,
}

/// Rule for the class of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClassRule {
    /// Best effort.
    BestEffort,
    /// Expedited.
    Expedited,
    /// Expedited, depending on the DSCP.
    Dscp,
}

/// Assignment of meters to a user.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// One meter.
    Prefix(u32),
    /// A separate meter for each address, selected from the `size` meters that start at `base`.
    Address { base: u32, size: u32 },
}

/// A user.
#[derive(Clone, Copy, Debug)]
pub struct User {
    pub prefix: (&'static str, u32),
    pub reference_rate: BitRate,
    pub class_rule: ClassRule,
    pub place: Place,
}

/// Queue of a port with an AQM.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    pub port: u16,
    pub limit: u64,
    /// Time per byte of a virtual queue, Q20; `None` for the port's real queues.
    pub ns_per_byte: Option<u64>,
    pub ef_priority: u8,
}

/// A setup.
pub struct Setup {
    pub name: &'static str,
    pub scheme: Box<dyn Parameters>,
    pub ports: &'static [(u16, Role)],
    pub default_user: User,
    pub users: Vec<User>,
    pub queues: Vec<Queue>,
    pub links: &'static [u16],
    /// Prefix and port.
    pub routes: &'static [(&'static str, u32, u16)],
}

/// The address as 128 bits, IPv4 mapped into IPv6.
pub fn mapped(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// A prefix of [`mapped`] addresses: address and length.
pub fn prefix(text: &str, bits: u32) -> (u128, u32) {
    let address: IpAddr = text.parse().expect("addresses of setups are addresses");
    (mapped(address), if address.is_ipv4() { bits + 96 } else { bits })
}

/// Returns true if an address has a prefix.
pub fn has_prefix(address: u128, (prefix, bits): (u128, u32)) -> bool {
    let rest = u128::MAX.checked_shr(bits).unwrap_or(0);
    address & !rest == prefix
}

/// Ports of the stations; their addresses are 02:00:00:00:00:port.
pub const STATIONS: std::ops::Range<u16> = 1..12;
/// A station whose packets are flooded, and the port of the flooded group whose AQM decides on these packets.
pub const FLOODED: (u8, u16) = (0xff, 6);
/// The MAC addresses that a route writes into frames.
pub const ROUTE_MACS: ([u8; 6], [u8; 6]) = ([2, 0, 0, 0, 2, 0], [2, 0, 0, 0, 3, 1]);

impl User {
    fn entry(&self, scheme: &dyn Parameters) -> (&'static str, String) {
        let offset = scheme.offset(self.reference_rate).cast_unsigned();
        let rule = self.class_rule as u8;
        match self.place {
            Place::Prefix(index) => ("set_user", format!("{offset:#x} {rule} {index}")),
            Place::Address { base, size } => ("set_user_of_address", format!("{offset:#x} {rule} {base} {size}")),
        }
    }
}

impl Setup {
    /// Configuration as commands of simple_switch_CLI.
    pub fn commands(&self) -> String {
        let mut text = String::new();
        let mut line = |command: String| writeln!(text, "{command}").expect("a String takes all");
        let scheme = &*self.scheme;
        line(format!("table_set_default domain set_domain {}", scheme.domain()));
        for (port, role) in self.ports {
            line(format!("table_add ports {} {port} =>", format!("{role:?}").to_lowercase()));
        }
        let (action, arguments) = self.default_user.entry(scheme);
        line(format!("table_set_default default_user {action} {arguments}"));
        for user in &self.users {
            let (address, bits) = prefix(user.prefix.0, user.prefix.1);
            let (action, arguments) = user.entry(scheme);
            line(format!("table_add users {action} {address:#x}/{bits} => {arguments}"));
        }
        for port in STATIONS {
            line(format!("table_add stations send 02:00:00:00:00:{port:02x} => {port}"));
        }
        let (station, port) = FLOODED;
        line(format!("table_add stations flood 02:00:00:00:00:{station:02x} => 1 {port}"));
        for &(address, bits, port) in self.routes {
            let (address, bits) = prefix(address, bits);
            line(format!("table_add routes route {address:#x}/{bits} => {port} 02:00:00:00:02:00 02:00:00:00:03:01"));
        }
        for queue in &self.queues {
            let Queue { port, limit, ns_per_byte, ef_priority } = queue;
            let action = if ns_per_byte.is_some() { "set_virtual_aqm" } else { "set_aqm" };
            let rate = ns_per_byte.map(|rate| format!(" {rate}")).unwrap_or_default();
            let arguments = scheme.aqm(*port);
            line(format!("table_add aqm {action} {port} => {arguments} {limit}{rate} {ef_priority}"));
        }
        for port in self.links {
            line(format!("table_add links carry_label {port} =>"));
        }
        // `simple_switch_CLI` expects signed 64-bit numbers.
        for (register, index, value) in scheme.registers() {
            line(format!("register_write {register} {index} {}", value.cast_signed()));
        }
        text
    }
}

/// Roles of the ports in all setups.
const PORTS: &[(u16, Role)] =
    &[(1, Role::Untrusted), (2, Role::Untrusted), (3, Role::Plain), (4, Role::Trusted), (5, Role::Trusted)];

fn user(prefix: (&'static str, u32), rate: u64, class_rule: ClassRule, index: u32) -> User {
    User { prefix, reference_rate: BitRate(rate), class_rule, place: Place::Prefix(index) }
}

/// Returns a setup with users that have the reference rates of p4abc 6.1.3, and other users.
pub fn published(scheme: impl Parameters + 'static, queues: Vec<Queue>) -> Setup {
    use ClassRule::{BestEffort, Dscp, Expedited};
    Setup {
        name: "published",
        scheme: Box::new(scheme),
        ports: PORTS,
        default_user: user(("::", 0), 10_000, BestEffort, 0),
        users: vec![
            user(("10.0.1.0", 24), 10_000, BestEffort, 1),
            user(("10.0.1.128", 25), 20_000, BestEffort, 2),
            user(("10.0.2.0", 24), 10_000, Expedited, 3),
            user(("10.0.3.0", 24), 10_000, Dscp, 4),
            user(("2001:db8:7::", 48), 10_000, Dscp, 5),
            user(("2001:db8:7:1::", 64), 1_000_000_000, BestEffort, 6),
        ],
        queues,
        links: &[6, 8],
        routes: &[("198.51.100.0", 24, 6), ("2001:db8:99::", 48, 7)],
    }
}

/// Returns a setup with reference rates at both ends of the range.
pub fn extreme(scheme: impl Parameters + 'static, queues: Vec<Queue>) -> Setup {
    use ClassRule::{BestEffort, Dscp, Expedited};
    Setup {
        name: "extreme",
        scheme: Box::new(scheme),
        ports: PORTS,
        default_user: user(("::", 0), 1_000, BestEffort, 0),
        users: vec![
            user(("10.0.1.0", 24), 1_000, Expedited, 1),
            user(("10.0.2.0", 24), 1_000_000_000_000, BestEffort, 2),
            user(("10.0.3.0", 24), 1_000_000_000_000, Dscp, 3),
            user(("2001:db8:7::", 48), 1_000, Dscp, 4),
            user(("2001:db8:7::1", 128), 123_456_789, Expedited, 4095),
        ],
        queues,
        links: &[6, 7, 8],
        routes: &[],
    }
}

/// A meter per address.
pub fn addresses(scheme: impl Parameters + 'static, queues: Vec<Queue>) -> Setup {
    use ClassRule::{BestEffort, Dscp};
    let of_address = |prefix, class_rule, base, size| User {
        prefix,
        reference_rate: BitRate(10_000),
        class_rule,
        place: Place::Address { base, size },
    };
    Setup {
        name: "addresses",
        scheme: Box::new(scheme),
        ports: PORTS,
        default_user: of_address(("::", 0), BestEffort, 1, 7),
        users: vec![
            of_address(("10.0.0.0", 8), Dscp, 1000, 1000),
            of_address(("2001:db8::", 32), BestEffort, 2000, 100),
        ],
        queues,
        links: &[7],
        routes: &[("198.51.100.0", 24, 6), ("198.51.100.7", 32, 7), ("2001:db8:99::", 48, 7)],
    }
}
