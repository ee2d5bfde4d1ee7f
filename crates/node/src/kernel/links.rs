//! Network interfaces, their qdiscs, and their changes, from netlink (rtnetlink(7)).

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkLayerType, LinkMessage, LinkXdp};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// `RTNLGRP_LINK` of linux/rtnetlink.h.
const LINKS: u32 = 1;

/// Size of the receive buffer for events, in bytes. If it overflows, the kernel reports lost events.
const RECEIVE_BUFFER: usize = 1 << 20;

/// First header of an interface's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// An Ethernet header.
    #[default]
    Ethernet,
    /// An IP header, as on tun, PPP, WireGuard and IP-in-IP interfaces.
    Layer3,
    /// Something else.
    Other(LinkLayerType),
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Index of the interface.
    pub index: u32,
    /// Name of the interface.
    pub name: String,
    /// True if the interface is up.
    pub is_up: bool,
    /// Maximum packet size (MTU).
    pub mtu: Option<u32>,
    /// First header of its packets.
    pub framing: Framing,
    /// Maximum number of segments in a GSO packet that is sent.
    pub gso_max_segs: Option<u32>,
    /// True if the interface has an XDP program.
    pub has_xdp: bool,
}

impl Link {
    fn of(message: &LinkMessage) -> Self {
        let is_up = message.header.flags.contains(LinkFlags::Up);
        let framing = match message.header.link_layer_type {
            LinkLayerType::Ether | LinkLayerType::Loopback => Framing::Ethernet,
            LinkLayerType::None
            | LinkLayerType::Ppp
            | LinkLayerType::Rawip
            | LinkLayerType::Tunnel
            | LinkLayerType::Tunnel6
            | LinkLayerType::Sit => Framing::Layer3,
            other => Framing::Other(other),
        };
        let mut link = Self { index: message.header.index, is_up, framing, ..Self::default() };
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Mtu(mtu) => link.mtu = Some(*mtu),
                LinkAttribute::Xdp(parts) => {
                    link.has_xdp = parts.iter().any(|part| matches!(part, LinkXdp::ProgId(_)));
                }
                LinkAttribute::GsoMaxSegs(segments) => link.gso_max_segs = Some(*segments),
                _ => {}
            }
        }
        link
    }
}

/// All interfaces of this network namespace.
///
/// # Errors
/// The kernel cannot be queried.
pub fn links() -> io::Result<Vec<Link>> {
    let mut links = Vec::new();
    dump(RouteNetlinkMessage::GetLink(LinkMessage::default()), |message| {
        if let RouteNetlinkMessage::NewLink(message) = message {
            links.push(Link::of(&message));
        }
    })?;
    Ok(links)
}

/// Name of an interface, if it exists.
pub(super) fn name_of(index: u32) -> Option<String> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None).ok()?;
    rustix::net::netdevice::index_to_name(&socket, index).ok()
}

/// Root qdisc of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootQdisc {
    /// Index of the interface.
    pub index: u32,
    /// Kind, such as `tbf`.
    pub kind: String,
    /// True if a program has set it; false for the kernel's default.
    pub is_configured: bool,
}

/// Root qdiscs of all interfaces.
///
/// # Errors
/// The kernel cannot be queried.
pub fn root_qdiscs() -> io::Result<Vec<RootQdisc>> {
    let mut roots = Vec::new();
    dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()), |message| {
        let RouteNetlinkMessage::NewQueueDiscipline(message) = message else { return };
        let kind = message.attributes.iter().find_map(|attribute| match attribute {
            TcAttribute::Kind(kind) => Some(kind.clone()),
            _ => None,
        });
        if let Some(kind) = kind.filter(|_| message.header.parent == TcHandle::ROOT) {
            let is_configured = message.header.handle != TcHandle::UNSPEC;
            roots.push(RootQdisc { index: message.header.index.unsigned_abs(), kind, is_configured });
        }
    })?;
    Ok(roots)
}

/// Replaces the root qdisc of an interface by one of `kind` without options.
pub(super) fn replace_root_qdisc(index: u32, kind: &str) -> io::Result<()> {
    let mut message = root_qdisc_of(index);
    message.attributes.push(TcAttribute::Kind(kind.into()));
    change(RouteNetlinkMessage::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_REPLACE)
}

/// Removes the root qdisc of an interface. The kernel then sets its default.
pub(super) fn remove_root_qdisc(index: u32) -> io::Result<()> {
    change(RouteNetlinkMessage::DelQueueDiscipline(root_qdisc_of(index)), 0)
}

fn root_qdisc_of(index: u32) -> TcMessage {
    let mut message = TcMessage::default();
    message.header.index = index.cast_signed();
    message.header.parent = TcHandle::ROOT;
    message
}

/// Requests a change, and waits until the kernel has made it.
fn change(request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let socket = ask(request, NLM_F_REQUEST | NLM_F_ACK | flags)?;
    let (datagram, _) = socket.recv_from_full()?;
    match payloads(&datagram).into_iter().next() {
        Some(NetlinkPayload::Error(error)) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}

/// Requests all objects of a kind, and passes each to `take`.
fn dump(request: RouteNetlinkMessage, mut take: impl FnMut(RouteNetlinkMessage)) -> io::Result<()> {
    let socket = ask(request, NLM_F_DUMP | NLM_F_REQUEST)?;
    loop {
        let (datagram, _) = socket.recv_from_full()?;
        for payload in payloads(&datagram) {
            match payload {
                NetlinkPayload::Done(_) => return Ok(()),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(message) => take(message),
                _ => {}
            }
        }
    }
}

/// Sends a request. Returns the socket at which the answer arrives.
fn ask(request: RouteNetlinkMessage, flags: u16) -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    Ok(socket)
}

/// Returns the messages of a datagram. Skips messages that the library cannot parse.
fn payloads(mut datagram: &[u8]) -> Vec<NetlinkPayload<RouteNetlinkMessage>> {
    let mut payloads = Vec::new();
    while let Some(length) = datagram.first_chunk::<4>().map(|length| u32::from_ne_bytes(*length) as usize) {
        if length == 0 || length > datagram.len() {
            break;
        }
        if let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&datagram[..length]) {
            payloads.push(message.payload);
        }
        // NLMSG_ALIGN of linux/netlink.h.
        datagram = &datagram[length.next_multiple_of(4).min(datagram.len())..];
    }
    payloads
}

/// Event of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// This interface exists, and may be new or changed.
    Present(Link),
    /// The interface with this name no longer exists.
    Gone(Link),
    /// Events were lost.
    Lost,
}

/// Event source for the interfaces of this network namespace.
#[derive(Debug)]
pub struct LinkEvents {
    socket: Socket,
}

impl LinkEvents {
    /// Starts listening.
    ///
    /// # Errors
    /// A system call fails.
    pub fn listen() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.set_rx_buf_sz(RECEIVE_BUFFER as u32)?;
        socket.add_membership(LINKS)?;
        socket.set_non_blocking(true)?;
        Ok(Self { socket })
    }

    /// Waits for an event or for input from one of the descriptors `others`, and returns the events. If `patience` is
    /// given, waits at most that long.
    ///
    /// # Errors
    /// The socket fails.
    pub fn next(&self, others: &[BorrowedFd<'_>], patience: Option<Duration>) -> io::Result<Vec<LinkEvent>> {
        let patience = patience.map(|patience| rustix::time::Timespec {
            tv_sec: patience.as_secs().cast_signed(),
            tv_nsec: patience.subsec_nanos().into(),
        });
        let others = others.iter().map(|other| PollFd::from_borrowed_fd(*other, PollFlags::IN));
        let mut all: Vec<_> = std::iter::once(PollFd::new(&self.socket, PollFlags::IN)).chain(others).collect();
        match poll(&mut all, patience.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        match self.socket.recv_from_full() {
            Ok((datagram, _)) => Ok(payloads(&datagram).into_iter().filter_map(event).collect()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Vec::new()),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error()) => {
                Ok(vec![LinkEvent::Lost])
            }
            Err(error) => Err(error),
        }
    }
}

fn event(payload: NetlinkPayload<RouteNetlinkMessage>) -> Option<LinkEvent> {
    match payload {
        NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(message)) => {
            Some(LinkEvent::Present(Link::of(&message)))
        }
        NetlinkPayload::InnerMessage(RouteNetlinkMessage::DelLink(message)) => {
            Some(LinkEvent::Gone(Link::of(&message)))
        }
        _ => None,
    }
}
