//! The TOML file of the forwarder: `[forward]`, `[default_user]`, `[[users]]`, `[[ports]]`.
//!
//! `examples/node/forward.toml` lists every key.

use super::ingress::IngressParams;
use crate::config::{ClassRule, LoadError, Prefix, TomlFile, check_name, refuse_renamed, section};
use fairlane_schemes::base::config::{ConfigError, ParamSet, Table};
use fairlane_schemes::base::units::{BitRate, Bytes, Time};
use fairlane_schemes::contract::marker::MeterSpec;
use fairlane_schemes::registry::markers::MarkerConfig;
use fairlane_schemes::registry::queue_config::QueueConfig;
use fairlane_schemes::{choices, params};
use serde_json::Value as Json;
use std::net::Ipv4Addr;
use std::path::Path;
use std::str::FromStr;

choices! {
    /// Input and output of frames.
    pub enum PacketIo {
        /// Copies of received frames, from a packet socket's ring. The kernel's own stack receives the frames as well.
        Packet = "af-packet",
        /// Frames that an XDP program takes from the driver. The kernel's stack does not receive them.
        Xdp = "af-xdp",
    }
}

/// Maximum frame size with AF_XDP in bytes: a page minus the headroom for the kernel and the XDP program.
const LONGEST_WITH_XDP: u64 = 3832;

params! {
    /// Settings of the whole forwarder.
    pub struct ForwardParams {
        /// Input and output of frames. AF_XDP needs the kernel data plane in the build, a driver with XDP, and CAP_BPF,
        /// CAP_NET_ADMIN and CAP_PERFMON in addition to CAP_NET_RAW.
        io: PacketIo = "af-packet", source "our choice";
        /// Maximum number of stored frames. Further frames are dropped and counted.
        frames: u32 = 32768, in 64..=4194304, source "our choice";
        /// Maximum frame size, including tags, without the frame check sequence.
        frame_size: Bytes = "1600 B", in "64 B"..="65535 B", source "MTU 1500 with four VLAN tags";
        /// Number of frames that the kernel buffers for each port until they are read.
        ring: u32 = 4096, in 16..=65536, source "our choice";
        /// Priority in the scheduling class SCHED_FIFO; 0 for the ordinary class. Without permission, the forwarder
        /// uses the ordinary class and reports this.
        realtime_priority: u32 = 50, in 0..=99, source "our choice";
        /// Seed of the random numbers of schemes.
        seed: u64 = 1, in 0..=18446744073709551615, source "our choice";
    }
}

params! {
    /// Parameters of a user's meter.
    pub struct ForwardUserParams {
        /// Rate at which a user of weight 1 has activity 0.
        reference_rate: BitRate = "10 kbit/s", in "1 kbit/s"..="1 Tbit/s", symbol "R_r", source "abc2018 Table 1";
        /// Weight in every scheme that shares by weight.
        weight: f64 = 1.0, in 0.001..=1000.0, symbol "w", source "our choice";
        /// Traffic class of the packets.
        traffic_class: ClassRule = "BE", source "abc2018 III-D";
    }
}

params! {
    /// The emulated link on which a port sends.
    pub struct EgressParams {
        /// Link rate. Without a rate, packets leave immediately, without a queue.
        rate: Option<BitRate> = null, in "1 kbit/s"..="1 Tbit/s", symbol "C_b", source "our choice";
        /// Propagation delay.
        delay: Time = "0 s", in "0 s"..="10 s", symbol "D_b", source "our choice";
        /// Rate up to which control traffic overtakes the queue; "0 bit/s": control traffic has no precedence.
        control_rate: BitRate = "1 Mbit/s", in "0 bit/s"..="1 Tbit/s", source "our choice";
        /// Maximum size of an IP packet on the link. A router drops larger packets and informs their senders (RFC
        /// 1191).
        mtu: Option<Bytes> = null, in "68 B"..="65535 B", source "our choice";
    }
}

/// Keys of earlier versions, with their current names.
const RENAMED: [(&str, &str); 2] =
    [("default_user.class", "default_user.traffic_class"), ("users[].class", "users[].traffic_class")];

/// A user.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// Name in reports.
    pub name: String,
    /// Source addresses.
    pub prefix: Prefix,
    /// Rate, weight, class.
    pub params: ForwardUserParams,
}

/// Outgoing side of a port.
#[derive(Clone, Debug, PartialEq)]
pub struct Egress {
    /// Rate and delay.
    pub params: EgressParams,
    /// Queue discipline, if there is a rate.
    pub queue: Option<QueueConfig>,
    /// Meters before the discipline.
    pub marker: MarkerConfig,
}

/// Address of a router's port, and the prefix length of its subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: Ipv4Addr,
    length: u8,
}

impl Address {
    /// The subnet.
    ///
    /// # Panics
    /// Never, because an address masked to the length of its prefix is a prefix.
    #[must_use]
    pub fn subnet(&self) -> Prefix {
        let network = Ipv4Addr::from_bits(self.ip.to_bits() & self.mask());
        format!("{network}/{}", self.length).parse().expect("no bits behind the prefix")
    }

    /// Returns true if another host of the subnet may have the address.
    #[must_use]
    pub fn has_neighbour(&self, other: Ipv4Addr) -> bool {
        let is_in = (other.to_bits() ^ self.ip.to_bits()) & self.mask() == 0;
        // A point-to-point subnet has no reserved addresses (RFC 3021).
        let host = other.to_bits() & !self.mask();
        is_in && other != self.ip && (self.length >= 31 || (host != 0 && host != !self.mask()))
    }

    /// Ethernet address of the port: locally administered, derived from the IP address.
    #[must_use]
    pub fn mac(&self) -> [u8; 6] {
        let [a, b, c, d] = self.ip.octets();
        [0x02, 0xfa, a, b, c, d]
    }

    fn mask(&self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.length)).unwrap_or(0)
    }
}

impl FromStr for Address {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (ip, length) = text.split_once('/').ok_or(())?;
        let address = Self { ip: ip.parse().map_err(|_| ())?, length: length.parse().map_err(|_| ())? };
        let is_host = !address.ip.is_multicast() && !address.ip.is_unspecified() && !address.ip.is_loopback();
        if address.length <= 32 && is_host { Ok(address) } else { Err(()) }
    }
}

/// A route to a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destinations of the route.
    pub prefix: Prefix,
    /// Index of the outgoing port.
    pub port: usize,
    /// Next-hop router; without one, the destinations are neighbours.
    pub next_hop: Option<Ipv4Addr>,
}

/// A port.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Name of the network interface.
    pub interface: String,
    /// Index of the port to which all arriving frames go. If absent, the bridge or router forwards them.
    pub peer: Option<usize>,
    /// Address of the port. If ports have addresses, the forwarder is a router.
    pub address: Option<Address>,
    /// Incoming link.
    pub ingress: IngressParams,
    /// Outgoing link.
    pub egress: Egress,
}

/// The configuration of a forwarder.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardConfig {
    /// `[forward]`.
    pub forward: ForwardParams,
    /// `[default_user]`: senders whose addresses belong to no user.
    pub default_user: ForwardUserParams,
    /// `[[users]]`.
    pub users: Vec<User>,
    /// `[[ports]]`, at least two.
    pub ports: Vec<Port>,
    /// `[[routes]]` of a router.
    pub routes: Vec<Route>,
}

impl ForwardConfig {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, or has a wrong key or value.
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let file = TomlFile::open(path)?;
        Self::read(&file.json).map_err(|error| file.wrong(&[error]))
    }

    /// Reads the tables of a configuration.
    ///
    /// # Errors
    /// A key is unknown, missing, of the wrong kind or out of range, or values contradict each other.
    pub fn read(json: &Json) -> Result<Self, ConfigError> {
        refuse_renamed(json, &RENAMED)?;
        let mut root = Table::new("", json)?;
        let forward: ForwardParams = section(&mut root, "forward")?;
        check_io(&forward)?;
        let default_user = section(&mut root, "default_user")?;
        let users = root.tables("users")?.iter_mut().map(read_user).collect::<Result<Vec<_>, _>>()?;
        unique("users", "prefix", users.iter().map(|user| user.prefix.to_string()))?;
        let mut tables = root.tables("ports")?;
        if tables.len() < 2 {
            return Err(ConfigError::new("ports", format!("{} [[ports]] tables, give at least two", tables.len())));
        }
        let names = tables.iter_mut().map(|table| table.required("interface")).collect::<Result<Vec<String>, _>>()?;
        unique("ports", "interface", names.iter().cloned())?;
        let ports = tables.iter_mut().map(|table| read_port(table, &names)).collect::<Result<Vec<_>, _>>()?;
        let mut tables = root.tables("routes")?;
        let routes = tables.iter_mut().map(|table| read_route(table, &names)).collect::<Result<Vec<_>, _>>()?;
        unique("routes", "prefix", routes.iter().map(|route| route.prefix.to_string()))?;
        check_peers(&ports)?;
        check_addresses(&ports, &routes)?;
        root.finish()?;
        Ok(Self { forward, default_user, users, ports, routes })
    }

    /// Meters of all users, the default user's last.
    #[must_use]
    pub fn meters(&self) -> Vec<MeterSpec> {
        let users = self.users.iter().map(|user| &user.params).chain([&self.default_user]);
        let spec = |user: &ForwardUserParams| MeterSpec {
            reference_rate: BitRate((user.reference_rate.as_f64() * user.weight).round() as u64),
            weight: user.weight,
            start: Time::ZERO,
        };
        users.map(spec).collect()
    }
}

/// Checks that the I/O mode supports the frame size. Each frame occupies one chunk of memory; with AF_XDP a chunk is at
/// most a page.
fn check_io(forward: &ForwardParams) -> Result<(), ConfigError> {
    if forward.io == PacketIo::Xdp && forward.frame_size.0 > LONGEST_WITH_XDP {
        let size = forward.frame_size;
        let problem =
            format!("\"{size}\" is out of range, with io = \"af-xdp\" it must be \"{LONGEST_WITH_XDP} B\" at most");
        return Err(ConfigError::new("forward.frame_size", problem));
    }
    Ok(())
}

fn read_user(table: &mut Table<'_>) -> Result<User, ConfigError> {
    let prefix: Prefix = table.required("prefix")?;
    let name: String = table.optional("name", None)?.unwrap_or_else(|| prefix.to_string());
    check_name(&name).map_err(|problem| ConfigError::new(table.key("name"), problem))?;
    let user = User { name, prefix, params: ForwardUserParams::read(table)? };
    table.finish()?;
    Ok(user)
}

fn read_port(table: &mut Table<'_>, names: &[String]) -> Result<Port, ConfigError> {
    let interface: String = table.required("interface")?;
    let peer =
        table.optional::<String>("peer", None)?.map(|peer| port_named(table, "peer", &peer, names)).transpose()?;
    let address = table.optional::<String>("address", None)?.map(|text| {
        let problem = format!("\"{text}\" is not an IPv4 address of a host with its prefix, such as \"10.0.1.1/24\"");
        text.parse().map_err(|()| ConfigError::new(table.key("address"), problem))
    });
    let address = address.transpose()?;
    let ingress = section(table, "ingress")?;
    let egress = match table.table("egress")? {
        Some(mut egress) => read_egress(&mut egress)?,
        None => Egress { params: EgressParams::default(), queue: None, marker: MarkerConfig::None },
    };
    table.finish()?;
    Ok(Port { interface, peer, address, ingress, egress })
}

fn port_named(table: &Table<'_>, key: &'static str, name: &str, names: &[String]) -> Result<usize, ConfigError> {
    names.iter().position(|other| other == name).ok_or_else(|| {
        ConfigError::new(table.key(key), format!("\"{name}\" is no port; there are {}", names.join(", ")))
    })
}

fn read_route(table: &mut Table<'_>, names: &[String]) -> Result<Route, ConfigError> {
    let prefix: Prefix = table.required("prefix")?;
    let name: String = table.required("port")?;
    let port = port_named(table, "port", &name, names)?;
    let next_hop = table.optional::<String>("next_hop", None)?.map(|text| {
        let problem = format!("\"{text}\" is not an IPv4 address such as \"10.0.2.9\"");
        text.parse().map_err(|_| ConfigError::new(table.key("next_hop"), problem))
    });
    let route = Route { prefix, port, next_hop: next_hop.transpose()? };
    table.finish()?;
    Ok(route)
}

fn read_egress(table: &mut Table<'_>) -> Result<Egress, ConfigError> {
    let params = EgressParams::read(table)?;
    let read = |mut table: Table<'_>| {
        let queue = QueueConfig::read(&mut table)?;
        queue.check_never_idles(|key| table.key(key))?;
        Ok(queue)
    };
    let queue = table.table("queue")?.map(read).transpose()?;
    match (&queue, params.rate) {
        (Some(_), None) => {
            return Err(ConfigError::new(table.key("rate"), "missing, a queue needs the rate of its link"));
        }
        (None, Some(_)) => {
            let problem = "missing, a link with a rate needs one such as { scheme = \"droptail\" }";
            return Err(ConfigError::new(table.key("queue"), problem));
        }
        _ => {}
    }
    let default = queue.as_ref().map_or(fairlane_schemes::contract::marker::MarkerScheme::NONE, QueueConfig::marker);
    let marker = match table.table("marker")? {
        Some(mut marker) => MarkerConfig::read(&mut marker, default)?,
        None => MarkerConfig::of(default),
    };
    table.finish()?;
    Ok(Egress { params, queue, marker })
}

fn unique(tables: &str, key: &str, values: impl Iterator<Item = String>) -> Result<(), ConfigError> {
    let mut seen: Vec<String> = Vec::new();
    for value in values {
        if seen.contains(&value) {
            let problem = format!("\"{value}\" is in another table already");
            return Err(ConfigError::new(format!("{tables}[{}].{key}", seen.len()), problem));
        }
        seen.push(value);
    }
    Ok(())
}

fn check_peers(ports: &[Port]) -> Result<(), ConfigError> {
    for (number, port) in ports.iter().enumerate() {
        let Some(peer) = port.peer else { continue };
        if peer == number || ports[peer].peer != Some(number) {
            let other = &ports[peer].interface;
            let problem = format!("\"{other}\" does not name \"{}\" as its peer", port.interface);
            return Err(ConfigError::new(format!("ports[{number}].peer"), problem));
        }
    }
    if let [alone] = ports.iter().filter(|port| port.peer.is_none()).collect::<Vec<_>>()[..] {
        let problem = format!("\"{}\" is alone on the bridge, give it a peer or another port", alone.interface);
        return Err(ConfigError::new("ports", problem));
    }
    Ok(())
}

/// Checks that either all ports have addresses or none, and that every next hop is a neighbour of its port.
fn check_addresses(ports: &[Port], routes: &[Route]) -> Result<(), ConfigError> {
    let addressed = ports.iter().filter(|port| port.address.is_some()).count();
    if addressed == 0 {
        return match routes.first() {
            Some(_) => Err(ConfigError::new("routes", "a router's ports have addresses, give each port its own")),
            None => Ok(()),
        };
    }
    unique("ports", "address", ports.iter().filter_map(|port| Some(port.address?.subnet().to_string())))?;
    for (number, port) in ports.iter().enumerate() {
        let name = &port.interface;
        if port.address.is_none() {
            let problem = format!("missing at \"{name}\", either all ports have addresses or none");
            return Err(ConfigError::new(format!("ports[{number}].address"), problem));
        }
        if port.peer.is_some() {
            return Err(ConfigError::new(format!("ports[{number}].peer"), "a port of a router has none"));
        }
    }
    for (number, route) in routes.iter().enumerate() {
        let Some(hop) = route.next_hop else { continue };
        if !ports[route.port].address.is_some_and(|address| address.has_neighbour(hop)) {
            let problem = format!("{hop} is no neighbour of \"{}\"", ports[route.port].interface);
            return Err(ConfigError::new(format!("routes[{number}].next_hop"), problem));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(json: &Json) -> String {
        ForwardConfig::read(json).unwrap_err().to_string()
    }

    #[test]
    fn a_port_without_links_passes_frames_on() {
        let config = ForwardConfig::read(&json!({"ports": [{"interface": "a"}, {"interface": "b"}]})).unwrap();
        assert_eq!(config.ports[0].egress.params.rate, None);
        assert_eq!(config.meters().len(), 1);
    }

    #[test]
    fn mistakes_are_named() {
        let port = |egress: Json| json!({"ports": [{"interface": "a", "egress": egress}, {"interface": "b"}]});
        assert_eq!(message(&json!({})), "ports: 0 [[ports]] tables, give at least two");
        assert_eq!(
            message(&port(json!({"rate": "1 Gbit/s"}))),
            "ports[0].egress.queue: missing, a link with a rate needs one such as { scheme = \"droptail\" }"
        );
        assert_eq!(
            message(&port(json!({"queue": {"scheme": "abc"}}))),
            "ports[0].egress.rate: missing, a queue needs the rate of its link"
        );
        assert_eq!(
            message(&port(json!({"rate": "1 Gbit/s", "queue": {"scheme": "abc", "gama": "1 packets"}}))),
            "ports[0].egress.queue.gama: unknown key (value \"1 packets\"); did you mean gamma?"
        );
        assert_eq!(
            message(&port(json!({"rate": "1 Gbit/s", "queue": {"scheme": "htb", "ceil": "2 Mbit/s"}}))),
            "ports[0].egress.queue.ceil: \"2 Mbit/s\" needs a host that asks a queue again at a time of its choice, \
             as the simulator does"
        );
        assert_eq!(
            message(&json!({"ports": [{"interface": "a"}, {"interface": "a"}]})),
            "ports[1].interface: \"a\" is in another table already"
        );
        assert_eq!(
            message(&json!({"ports": [{"interface": "a", "peer": "b"}, {"interface": "b"}]})),
            "ports[0].peer: \"b\" does not name \"a\" as its peer"
        );
        let with_forward =
            |forward: Json| message(&json!({"forward": forward, "ports": [{"interface": "a"}, {"interface": "b"}]}));
        assert_eq!(with_forward(json!({"io": "dpdk"})), "forward.io: \"dpdk\" is not one of af-packet, af-xdp");
        assert_eq!(
            with_forward(json!({"io": "af-xdp", "frame_size": "9000 B"})),
            "forward.frame_size: \"9000 B\" is out of range, with io = \"af-xdp\" it must be \"3832 B\" at most"
        );
        let router = |a: &str, b: Json, route: Json| {
            let b = if b.is_null() { json!({"interface": "b"}) } else { json!({"interface": "b", "address": b}) };
            let ports = json!([{"interface": "a", "address": a}, b]);
            message(&json!({"ports": ports, "routes": [route]}))
        };
        let (b, route) = (json!("10.0.2.1/24"), json!({"prefix": "0.0.0.0/0", "port": "b", "next_hop": "10.0.1.2"}));
        assert_eq!(
            router("10.0.1.1", b.clone(), route.clone()),
            "ports[0].address: \"10.0.1.1\" is not an IPv4 address of a host with its prefix, such as \"10.0.1.1/24\""
        );
        assert_eq!(
            router("10.0.1.1/24", Json::Null, route.clone()),
            "ports[1].address: missing at \"b\", either all ports have addresses or none"
        );
        assert_eq!(
            router("10.0.2.9/24", b.clone(), route.clone()),
            "ports[1].address: \"10.0.2.0/24\" is in another table already"
        );
        assert_eq!(router("10.0.1.1/24", b.clone(), route), "routes[0].next_hop: 10.0.1.2 is no neighbour of \"b\"");
        assert_eq!(
            router("10.0.1.1/24", b, json!({"prefix": "10.0.0.0/8", "port": "c"})),
            "routes[0].port: \"c\" is no port; there are a, b"
        );
    }

    #[test]
    fn the_example_lists_every_key() {
        let text =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/node/forward.toml")).unwrap();
        ForwardConfig::read(&toml::from_str(&text).unwrap()).unwrap();
        const OTHERS: [&str; 9] =
            ["prefix", "name", "interface", "peer", "queue", "marker", "address", "port", "next_hop"];
        let keys = [ForwardParams::specs(), ForwardUserParams::specs(), IngressParams::specs(), EgressParams::specs()]
            .concat();
        for key in keys.iter().map(|spec| spec.name).chain(OTHERS) {
            assert!(text.contains(&format!("{key} =")), "{key}");
        }
    }
}
