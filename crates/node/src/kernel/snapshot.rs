//! What the kernel data plane has done so far, for people and monitors.

use super::KernelError;
use super::attach::{netns, open_pinned};
use super::layout::{IngressStats, Kind, NodeRecord, PortRecord, PortState, UserKey, UserState};
use super::programs::{ZERO, read_ports};
use libbpf_rs::{MapCore, MapFlags};
use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use std::fmt;
use std::net::Ipv6Addr;
use std::path::Path;

/// The state of a node at one moment; entries are read one after another while packets pass.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The node.
    pub node: NodeRecord,
    /// Ports, in the order of their indices.
    pub ports: Vec<PortView>,
    /// Users, in the order of their keys.
    pub users: Vec<UserView>,
    /// Counters of ingress.
    pub ingress: IngressStats,
}

/// One port.
#[derive(Clone, Debug)]
pub struct PortView {
    /// Index of the interface.
    pub index: u32,
    /// Its name, or its index if it is gone.
    pub interface: String,
    /// What it is set to.
    pub record: PortRecord,
    /// What it has done.
    pub state: PortState,
}

/// One user.
#[derive(Clone, Copy, Debug)]
pub struct UserView {
    /// Which meter.
    pub key: UserKey,
    /// Its state.
    pub state: UserState,
}

impl Snapshot {
    /// Reads the maps that are pinned in `folder`; nothing if nothing is attached.
    ///
    /// # Errors
    /// The kernel refuses, or the node is in another network namespace.
    pub fn read(folder: &Path) -> Result<Option<Self>, KernelError> {
        if !folder.join("ports").exists() {
            return Ok(None);
        }
        let refused = || KernelError::refused("reading the maps");
        let value = |map: &str, key: &[u8]| -> Result<Vec<u8>, KernelError> {
            Ok(open_pinned(folder, map)?.lookup(key, MapFlags::ANY).map_err(refused())?.unwrap_or_default())
        };
        let node = NodeRecord::from_bytes(&value("config", &ZERO)?);
        let names =
            if netns()? == node.netns { socket(AddressFamily::INET, SocketType::DGRAM, None).ok() } else { None };
        let map = open_pinned(folder, "ports")?;
        let mut ports = Vec::new();
        for record in read_ports(&map)? {
            let index = record.index;
            let state = PortState::from_bytes(&value("port_states", &PortRecord::place(index))?);
            let name = names.as_ref().and_then(|socket| netdevice::index_to_name(socket, index).ok());
            ports.push(PortView { index, interface: name.unwrap_or_else(|| format!("#{index}")), record, state });
        }
        ports.sort_by_key(|port| port.index);
        let map = open_pinned(folder, "users")?;
        let mut users = Vec::new();
        for key in map.keys() {
            // Gone since the key was read: silent for too long.
            let Some(value) = map.lookup(&key, MapFlags::ANY).map_err(refused())? else { continue };
            users.push(UserView { key: UserKey::from_bytes(&key), state: UserState::from_bytes(&value) });
        }
        users.sort_by_key(|user| user.key);
        let records = open_pinned(folder, "stats")?.lookup_percpu(&ZERO, MapFlags::ANY).map_err(refused())?;
        Ok(Some(Self { node, ports, users, ingress: IngressStats::sum(&records.unwrap_or_default()) }))
    }
}

/// As in a configuration: `10.0.1.0/24`, `2001:db8::1`, `vlan 7`, `mark 0x10/0xff`, `default`.
impl fmt::Display for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.words();
        match self.kind {
            Kind::Address => {}
            Kind::Default => return f.write_str("default"),
            Kind::Vlan => return write!(f, "vlan {first}"),
            Kind::Mark => return write!(f, "mark {first:#x}/{second:#x}"),
        }
        let address = Ipv6Addr::from(self.address);
        let most = if self.bits < 96 { None } else { address.to_ipv4_mapped() };
        match (most, self.bits) {
            (Some(address), 128) => write!(f, "{address}"),
            (Some(address), bits) => write!(f, "{address}/{}", bits - 96),
            (None, 128) => write!(f, "{address}"),
            (None, bits) => write!(f, "{address}/{bits}"),
        }
    }
}
