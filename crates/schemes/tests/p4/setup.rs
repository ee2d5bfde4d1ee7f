//! What the switch is configured with: three setups, as entries of its tables.

use fairlane_schemes::fixed::{Accounting, Decay, FixedMeterParams};
use fairlane_schemes::units::{BitRate, Time};
use std::fmt::Write;
use std::net::IpAddr;

/// What happens to packets that come in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// Labels are stripped, nobody is metered.
    Plain,
    /// Labels are stripped, users metered.
    Untrusted,
    /// Labels are believed.
    Trusted,
}

/// Which class packets are in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClassRule {
    /// Best effort.
    BestEffort,
    /// Expedited.
    Expedited,
    /// Expedited if the DSCP says so.
    Dscp,
}

/// Which meter a user has.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// One.
    Prefix(u32),
    /// One of `size` from `base` on for each address.
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

/// The AQM of a port.
#[derive(Clone, Copy, Debug)]
pub struct Aqm {
    pub port: u16,
    pub memory: Time,
    pub q_min: i64,
    pub q_base: i64,
    pub gamma: i64,
    pub limit: u64,
    /// Of a virtual queue, Q20; none: the queues of the port.
    pub ns_per_byte: Option<u64>,
    pub ef_priority: u8,
}

/// A setup.
#[derive(Clone, Debug)]
pub struct Setup {
    pub name: &'static str,
    pub memory: Time,
    pub accounting: [f64; 2],
    pub start_us: u64,
    pub ports: &'static [(u16, Role)],
    pub default_user: User,
    pub users: Vec<User>,
    pub aqms: Vec<Aqm>,
    pub links: &'static [u16],
    /// Prefix and port.
    pub routes: &'static [(&'static str, u32, u16)],
    /// Index, S, last tick.
    pub meters: &'static [(u32, u64, u64)],
    /// Port, S, N, last tick.
    pub averagers: &'static [(u16, u64, u64, u64)],
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

/// Whether an address has a prefix.
pub fn has_prefix(address: u128, (prefix, bits): (u128, u32)) -> bool {
    let rest = u128::MAX.checked_shr(bits).unwrap_or(0);
    address & !rest == prefix
}

/// Stations are 02:00:00:00:00:port, for these ports.
pub const STATIONS: std::ops::Range<u16> = 1..12;
/// A station whose packets are flooded.
pub const FLOODED: u8 = 0xff;
/// The MAC addresses that a route writes.
pub const ROUTE_MACS: ([u8; 6], [u8; 6]) = ([2, 0, 0, 0, 2, 0], [2, 0, 0, 0, 3, 1]);

impl User {
    /// The constants of its meter.
    pub fn params(&self, memory: Time) -> FixedMeterParams {
        FixedMeterParams::new(memory, self.reference_rate).expect("setups are in range")
    }

    fn entry(&self, memory: Time) -> (&'static str, String) {
        let offset = self.params(memory).offset_q31().cast_unsigned();
        let rule = self.class_rule as u8;
        match self.place {
            Place::Prefix(index) => ("set_user", format!("{offset:#x} {rule} {index}")),
            Place::Address { base, size } => ("set_user_of_address", format!("{offset:#x} {rule} {base} {size}")),
        }
    }
}

impl Setup {
    /// What the switch is told, as commands of simple_switch_CLI.
    pub fn commands(&self) -> String {
        let mut text = String::new();
        let mut line = |command: String| writeln!(text, "{command}").expect("a String takes all");
        let decay = Decay::new(self.memory).expect("setups are in range");
        let factors = self.accounting.map(|factor| Accounting::new(factor).expect("setups are in range").q20());
        line(format!(
            "table_set_default domain set_domain {} {} {:#x} {} {} {}",
            decay.step_q56(),
            decay.shift(),
            self.default_user.params(self.memory).log2_memory_q31(),
            factors[0],
            factors[1],
            self.start_us
        ));
        for (port, role) in self.ports {
            line(format!("table_add ports {} {port} =>", format!("{role:?}").to_lowercase()));
        }
        let (action, arguments) = self.default_user.entry(self.memory);
        line(format!("table_set_default default_user {action} {arguments}"));
        for user in &self.users {
            let (address, bits) = prefix(user.prefix.0, user.prefix.1);
            let (action, arguments) = user.entry(self.memory);
            line(format!("table_add users {action} {address:#x}/{bits} => {arguments}"));
        }
        for port in STATIONS {
            line(format!("table_add stations send 02:00:00:00:00:{port:02x} => {port}"));
        }
        line(format!("table_add stations flood 02:00:00:00:00:{FLOODED:02x} => 1"));
        for &(address, bits, port) in self.routes {
            let (address, bits) = prefix(address, bits);
            line(format!("table_add routes route {address:#x}/{bits} => {port} 02:00:00:00:02:00 02:00:00:00:03:01"));
        }
        for aqm in &self.aqms {
            let decay = Decay::new(aqm.memory).expect("setups are in range");
            let action = if aqm.ns_per_byte.is_some() { "set_virtual_aqm" } else { "set_aqm" };
            let rate = aqm.ns_per_byte.map(|rate| format!(" {rate}")).unwrap_or_default();
            line(format!(
                "table_add aqm {action} {} => {} {} {} {} {} {}{rate} {}",
                aqm.port,
                decay.step_q56(),
                decay.shift(),
                aqm.q_min,
                aqm.q_base,
                aqm.gamma,
                aqm.limit,
                aqm.ef_priority
            ));
        }
        for port in self.links {
            line(format!("table_add links carry_label {port} =>"));
        }
        for (index, sum, tick) in self.meters {
            // The tool takes signed numbers of 64 bits.
            line(format!("register_write meter_sum {index} {}", sum.cast_signed()));
            line(format!("register_write meter_tick {index} {}", tick.cast_signed()));
        }
        for (port, sum, count, tick) in self.averagers {
            line(format!("register_write averager_sum {port} {sum}"));
            line(format!("register_write averager_count {port} {count}"));
            line(format!("register_write averager_tick {port} {tick}"));
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

/// Parameters of p4abc 6.1.3.
fn published() -> Setup {
    use ClassRule::{BestEffort, Dscp, Expedited};
    let aqm = Aqm {
        port: 6,
        memory: Time::from_millis(300),
        q_min: 6 * 16,
        q_base: 20 * 16,
        gamma: 16 * 16,
        limit: 24 * 16,
        ns_per_byte: None,
        ef_priority: 1,
    };
    Setup {
        name: "published",
        memory: Time::from_secs(3),
        accounting: [1.0, 3.0],
        start_us: 5_000_000,
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
        aqms: vec![aqm, Aqm { port: 7, limit: u64::MAX, ef_priority: 0, ..aqm }],
        links: &[6, 8],
        routes: &[("198.51.100.0", 24, 6), ("2001:db8:99::", 48, 7)],
        meters: &[],
        averagers: &[],
    }
}

/// Ends of all ranges, and registers that are almost full.
fn extreme() -> Setup {
    use ClassRule::{BestEffort, Dscp, Expedited};
    let aqm = Aqm {
        port: 6,
        memory: Time::from_secs(3600),
        q_min: 0,
        q_base: 1 << 40,
        gamma: 1 << 40,
        limit: u64::MAX,
        ns_per_byte: None,
        ef_priority: 1,
    };
    Setup {
        name: "extreme",
        memory: Time::from_millis(1),
        accounting: [0.001, 1000.0],
        start_us: 0,
        ports: PORTS,
        default_user: user(("::", 0), 1_000, BestEffort, 0),
        users: vec![
            user(("10.0.1.0", 24), 1_000, Expedited, 1),
            user(("10.0.2.0", 24), 1_000_000_000_000, BestEffort, 2),
            user(("10.0.3.0", 24), 1_000_000_000_000, Dscp, 3),
            user(("2001:db8:7::", 48), 1_000, Dscp, 4),
            user(("2001:db8:7::1", 128), 123_456_789, Expedited, 4095),
        ],
        aqms: vec![
            aqm,
            Aqm { port: 7, memory: Time::from_millis(1), q_min: 1 << 40, q_base: 0, gamma: 1, ..aqm },
            Aqm { port: 8, memory: Time::from_secs(3600), q_base: 100, gamma: 100, limit: 90, ..aqm },
        ],
        links: &[6, 7, 8],
        routes: &[],
        meters: &[(1, u64::MAX - 5_000, 0), (2, u64::MAX, 40), (3, 1, u64::MAX), (4095, 1 << 63, 12)],
        averagers: &[
            // N one packet below where it is halved; S as much, as of labels of 32.
            (6, (1 << 63) - (1 << 28) - 1, (1 << 63) - (1 << 28) - 1, 0),
            (7, 0, 1 << 28, 3),
            (8, 1 << 40, 1 << 41, 1 << 50),
        ],
    }
}

/// Virtual queues, a meter for each address, and an hour's memory.
fn addresses() -> Setup {
    use ClassRule::{BestEffort, Dscp};
    let aqm = Aqm {
        port: 6,
        memory: Time::from_millis(300),
        // 6, 20, 16, 24 packets of 1500 bytes at 50 Mbit/s: 240 us each, 160 ns a byte.
        q_min: 1_440_000,
        q_base: 4_800_000,
        gamma: 3_840_000,
        limit: 5_760_000,
        ns_per_byte: Some(160 << 20),
        ef_priority: 0,
    };
    let of_address = |prefix, class_rule, base, size| User {
        prefix,
        reference_rate: BitRate(10_000),
        class_rule,
        place: Place::Address { base, size },
    };
    Setup {
        name: "addresses",
        memory: Time::from_secs(3600),
        accounting: [1.0, 1.25],
        start_us: 77,
        ports: PORTS,
        default_user: of_address(("::", 0), BestEffort, 1, 7),
        users: vec![
            of_address(("10.0.0.0", 8), Dscp, 1000, 1000),
            of_address(("2001:db8::", 32), BestEffort, 2000, 100),
        ],
        aqms: vec![aqm, Aqm { port: 7, ns_per_byte: Some((160 << 20) / 3), ef_priority: 1, ..aqm }],
        links: &[7],
        routes: &[("198.51.100.0", 24, 6), ("198.51.100.7", 32, 7), ("2001:db8:99::", 48, 7)],
        meters: &[],
        averagers: &[],
    }
}

/// All setups.
pub fn setups() -> [Setup; 3] {
    [published(), extreme(), addresses()]
}
