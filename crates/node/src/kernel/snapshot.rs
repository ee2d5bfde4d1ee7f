//! What the kernel data plane has done so far, for people and monitors.

use super::KernelError;
use super::attach::{netns, open_pinned};
use super::programs::{ZERO, read, read_ingress_stats, read_ports};
use crate::records::{IngressStats, NodeRecord, PortRecord, PortState, UserKey, UserState};
use libbpf_rs::MapCore;
use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use std::path::Path;
use zerocopy::{FromBytes, IntoBytes};

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
        let node: NodeRecord = read(&open_pinned(folder, "config")?, "config", ZERO.as_bytes())?.unwrap_or_default();
        let names =
            if netns()? == node.netns { socket(AddressFamily::INET, SocketType::DGRAM, None).ok() } else { None };
        let map = open_pinned(folder, "ports")?;
        let states = open_pinned(folder, "port_states")?;
        let mut ports = Vec::new();
        for record in read_ports(&map)? {
            let index = record.ifindex;
            let state = read(&states, "port_states", PortRecord::place(index).as_bytes())?.unwrap_or_default();
            let name = names.as_ref().and_then(|socket| netdevice::index_to_name(socket, index).ok());
            ports.push(PortView { index, interface: name.unwrap_or_else(|| format!("#{index}")), record, state });
        }
        ports.sort_by_key(|port| port.index);
        let map = open_pinned(folder, "users")?;
        let mut users = Vec::new();
        for key in map.keys() {
            // Gone since the key was read: silent for too long.
            let Some(state) = read(&map, "users", &key)? else { continue };
            let key = UserKey::read_from_bytes(&key).map_err(|_| KernelError::OtherVersion("users".into()))?;
            users.push(UserView { key, state });
        }
        users.sort_by_key(|user| user.key);
        let ingress = read_ingress_stats(&open_pinned(folder, "stats")?)?;
        Ok(Some(Self { node, ports, users, ingress }))
    }
}
