//! State and counters of the kernel data plane, for reports and monitoring.

use super::KernelError;
use super::attach::netns;
use super::batches::read_all;
use super::far_end::{Labels, Neighbour, neighbours, now_ns};
use super::programs::{ZERO, is_there, open_pinned, read, read_ingress_stats, read_ports};
use crate::records::{
    ClassCounts, IngressStats, Kind, LinkState, NodeRecord, Places, PoolRecord, PortCounts, PortRecord, PortState,
    QdiscState, UserKey, UserState,
};
use libbpf_rs::{MapCore, MapHandle};
use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use std::ops::ControlFlow;
use std::path::Path;
use zerocopy::IntoBytes;

/// State of a node. Entries are read one after another while packets are processed, so they are not simultaneous.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The node.
    pub node: NodeRecord,
    /// Ports, ordered by index.
    pub ports: Vec<PortView>,
    /// Users, ordered by key.
    pub users: Vec<UserView>,
    /// Counters of ingress.
    pub ingress: IngressStats,
    /// Sizes of the table.
    pub places: Places,
    /// Number of entries of configured users; 0 if users were not read.
    pub configured: u32,
    /// Usage of the slots for addresses, and state of the search for idle users.
    pub pool: PoolRecord,
}

/// One port.
#[derive(Clone, Debug)]
pub struct PortView {
    /// Index of the interface.
    pub index: u32,
    /// Name of the interface, or its index if it is gone.
    pub interface: String,
    /// Configuration of the port.
    pub record: PortRecord,
    /// State of the port.
    pub state: PortState,
    /// Packet counters.
    pub counts: PortCounts,
    /// Treatment of labels in packets to the far end of the port's link.
    pub labels: Labels,
    /// Neighbours with traffic, if the port asks its neighbours whether they read labels.
    pub neighbours: Vec<Neighbour>,
    /// Packets sent without the label that they should have.
    pub held_back: u64,
    /// Counts of the classes of the port's own qdisc, BE first, if it has one.
    pub classes: Option<[ClassCounts; 2]>,
    /// True if the port strips labels without announcing this, because a detach is running or was interrupted.
    pub is_silent: bool,
}

/// One user.
#[derive(Clone, Copy, Debug)]
pub struct UserView {
    /// Key of the meter.
    pub key: UserKey,
    /// State of the meter.
    pub state: UserState,
}

impl PortView {
    /// Treatment of labels in packets to the far end of the port's link, in words; `None` without a carrier.
    #[must_use]
    pub fn labels_in_words(&self) -> Option<String> {
        let carrier = self.record.carrier();
        Some(match self.labels {
            Labels::None => return None,
            Labels::Harmless => {
                format!("labels ({carrier}) are written; neighbours that do not read them pass them over")
            }
            Labels::Asserted => {
                format!("labels ({carrier}) are written; far_end = \"reads\" says that the far end reads them")
            }
            Labels::Idle => format!("labels ({carrier}): no packets lately"),
            Labels::Written => format!("labels ({carrier}) are written; the far end says that it reads them"),
            Labels::Waiting => format!(
                "labels ({carrier}) are held back, {} packets so far: {}",
                self.held_back,
                self.neighbours.iter().filter_map(Neighbour::waits_in_words).collect::<Vec<_>>().join(", ")
            ),
        })
    }
}

impl Snapshot {
    /// Packets dropped by ports.
    #[must_use]
    pub fn dropped_by_ports(&self) -> u64 {
        self.ports.iter().map(|port| port.counts.drops()).sum()
    }

    /// Number of dropped packets, summed over users. Equals [`Self::dropped_by_ports`] while no port or user is
    /// removed.
    #[must_use]
    pub fn dropped_of_users(&self) -> u64 {
        self.users.iter().map(|user| user.state.dropped).sum()
    }

    /// Reads the maps pinned in `folder`; `None` if nothing is attached.
    ///
    /// # Errors
    /// A system call fails, or the node is in another network namespace.
    pub fn read(folder: &Path) -> Result<Option<Self>, KernelError> {
        let Some(mut snapshot) = Self::without_users(folder)? else { return Ok(None) };
        (snapshot.users, snapshot.configured) = read_users(&open_pinned(folder, "users")?, &snapshot)?;
        Ok(Some(snapshot))
    }

    /// Like [`Self::read`], but without users, so the time does not depend on their number.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn without_users(folder: &Path) -> Result<Option<Self>, KernelError> {
        if !is_there(folder) {
            return Ok(None);
        }
        let node: NodeRecord = read(&open_pinned(folder, "config")?, "config", ZERO.as_bytes())?.unwrap_or_default();
        if netns()? != node.netns {
            let problem =
                "belongs to another network namespace; `nsenter --net=/run/netns/NAME fairlane-node ...` looks \
                           from there"
                    .into();
            return Err(KernelError::PinPath { path: folder.into(), problem });
        }
        let names = socket(AddressFamily::INET, SocketType::DGRAM, None).ok();
        let map = open_pinned(folder, "ports")?;
        let states = open_pinned(folder, "port_states")?;
        let qdiscs = open_pinned(folder, "qdisc_states")?;
        let links = open_pinned(folder, "link_states")?;
        let (all_neighbours, now) = (neighbours(folder)?, now_ns());
        let mut ports = Vec::new();
        for record in read_ports(&map)? {
            let index = record.ifindex;
            let state: PortState =
                read(&states, "port_states", PortRecord::place(index).as_bytes())?.unwrap_or_default();
            let qdisc: QdiscState =
                read(&qdiscs, "qdisc_states", PortRecord::place(index).as_bytes())?.unwrap_or_default();
            let name = names.as_ref().and_then(|socket| netdevice::index_to_name(socket, index).ok());
            let link: LinkState = read(&links, "link_states", PortRecord::place(index).as_bytes())?.unwrap_or_default();
            let neighbours: Vec<_> =
                all_neighbours.iter().filter(|(port, _)| *port == index).map(|(_, neighbour)| *neighbour).collect();
            ports.push(PortView {
                index,
                interface: name.unwrap_or_else(|| format!("#{index}")),
                record,
                counts: state.total(),
                state,
                labels: Labels::of(&record, &neighbours),
                neighbours,
                held_back: link.held_back,
                classes: (record.own_qdisc != 0).then_some(qdisc.classes),
                is_silent: record.reads() && record.quiet_until_ns > now,
            });
        }
        ports.sort_by_key(|port| port.index);
        let ingress = read_ingress_stats(&open_pinned(folder, "stats")?)?;
        let pool = read(&open_pinned(folder, "pools")?, "pools", ZERO.as_bytes())?.unwrap_or_default();
        let all = open_pinned(folder, "users")?.max_entries();
        let places = Places::of_table(all, open_pinned(folder, "addresses")?.max_entries());
        Ok(Some(Self { node, ports, users: Vec::new(), ingress, places, configured: 0, pool }))
    }
}

/// Reads the default user and all users with traffic: users that sent or received packets, and users whose packets were
/// metered at another node and dropped here. Also returns the number of configured users.
fn read_users(map: &MapHandle, snapshot: &Snapshot) -> Result<(Vec<UserView>, u32), KernelError> {
    let mut configured = 0;
    let end = snapshot.places.first_address() + snapshot.pool.fresh;
    let mut users = Vec::new();
    read_all(map, "users", |place: u32, state: UserState| {
        if place >= end {
            return ControlFlow::Break(());
        }
        configured += u32::from(snapshot.places.is_of_user(place) && state.key.kind() != Kind::Free);
        let is_there = state.key.kind() != Kind::Free && (state.last_ns != 0 || state.dropped != 0);
        if is_there || state.key == UserKey::DEFAULT {
            users.push(UserView { key: state.key, state: state.settled() });
        }
        ControlFlow::Continue(())
    })?;
    users.sort_by_key(|user| user.key);
    Ok((users, configured))
}
