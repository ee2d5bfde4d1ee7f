//! Network interfaces and their qdiscs as the kernel tells them over netlink (rtnetlink(7)), and what happens to them.

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkLayerType, LinkMessage, LinkXdp};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// `RTNLGRP_LINK` of linux/rtnetlink.h.
const LINKS: u32 = 1;

/// Room for what the kernel says before it is read: after more, it says that something was lost.
const RECEIVE_BUFFER: usize = 1 << 20;

/// What packets of an interface begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// An Ethernet header.
    #[default]
    Ethernet,
    /// The IP header: tun, PPP, WireGuard, tunnels of IP in IP.
    Layer3,
    /// Something else.
    Other(LinkLayerType),
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Whether it is up.
    pub is_up: bool,
    /// Largest packet.
    pub mtu: Option<u32>,
    /// What its packets begin with.
    pub framing: Framing,
    /// Segments that one packet may become on its way out.
    pub gso_max_segs: Option<u32>,
    /// Whether there is a program at XDP.
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
/// The kernel cannot be asked.
pub fn links() -> io::Result<Vec<Link>> {
    let mut links = Vec::new();
    dump(RouteNetlinkMessage::GetLink(LinkMessage::default()), |message| {
        if let RouteNetlinkMessage::NewLink(message) = message {
            links.push(Link::of(&message));
        }
    })?;
    Ok(links)
}

/// The name of an interface, if it is there.
pub(super) fn name_of(index: u32) -> Option<String> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None).ok()?;
    rustix::net::netdevice::index_to_name(&socket, index).ok()
}

/// The kind of the root qdisc of each interface, by its index.
///
/// # Errors
/// The kernel cannot be asked.
pub fn root_qdiscs() -> io::Result<HashMap<u32, String>> {
    let mut kinds = HashMap::new();
    dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()), |message| {
        let RouteNetlinkMessage::NewQueueDiscipline(message) = message else { return };
        let kind = message.attributes.iter().find_map(|attribute| match attribute {
            TcAttribute::Kind(kind) => Some(kind.clone()),
            _ => None,
        });
        if let Some(kind) = kind.filter(|_| message.header.parent == TcHandle::ROOT) {
            kinds.insert(message.header.index.unsigned_abs(), kind);
        }
    })?;
    Ok(kinds)
}

/// Asks for all objects of a kind.
fn dump(request: RouteNetlinkMessage, mut take: impl FnMut(RouteNetlinkMessage)) -> io::Result<()> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_DUMP | NLM_F_REQUEST;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
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

/// The messages of a datagram; those that the library cannot read are left out.
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

/// What happened to interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// There is this interface, which may be new or changed.
    Present(Link),
    /// There is none of this name any more.
    Gone(Link),
    /// There was more to say than there was room for.
    Lost,
}

/// Changes of interfaces of this network namespace from now on.
#[derive(Debug)]
pub struct LinkEvents {
    socket: Socket,
}

impl LinkEvents {
    /// Listens.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn listen() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.set_rx_buf_sz(RECEIVE_BUFFER as u32)?;
        socket.add_membership(LINKS)?;
        socket.set_non_blocking(true)?;
        Ok(Self { socket })
    }

    /// What has happened, waiting for it, or for something to read from one of `others`, for `patience` at most, or
    /// without end.
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
