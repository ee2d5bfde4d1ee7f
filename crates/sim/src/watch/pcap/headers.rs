//! Headers of simulated packets.

use crate::traffic::tcp::{SackBlocks, TcpParams, first_window, window_shift};
use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::contract::packet::{Ecn, TrafficClass};

/// Address 192.0.2.1 of the servers, from a network reserved for documentation (RFC 5737).
const SERVER: [u8; 4] = [192, 0, 2, 1];
/// Address 10.0.0.1 of the first user.
const FIRST_USER: u32 = 0x0a00_0001;
/// First of the users' [`FLOWS_PER_SERVER_PORT`] ports. These are dynamic ports (RFC 6335), so no dissector interprets
/// the payload.
const FIRST_USER_PORT: u32 = 50_000;
const FIRST_SERVER_PORT: u32 = 40_000;
const FLOWS_PER_SERVER_PORT: u32 = 10_000;
const TIME_TO_LIVE: u8 = 64;
/// DSCP of expedited forwarding (RFC 3246).
const DSCP_EF: u8 = 46;

const TIMESTAMP_BYTES: u32 = 12; // with two NOPs before it
const BARE_BYTES: u32 = 40; // IPv4 and TCP without options
//= RFC 7323 2.2-1: The shift is 14 at most.
const LARGEST_SHIFT: u8 = 14;

/// Payload, which is all zeros.
static ZEROS: [u8; 65_536] = [0; 65_536];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    ToServer,
    ToUser,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct IpFields {
    user: [u8; 4],
    user_port: u16,
    server_port: u16,
    dscp: IpDscp,
}

impl IpFields {
    pub(super) fn of(user: u32, flow: u32, class: TrafficClass) -> Self {
        let dscp = match class {
            TrafficClass::BestEffort => IpDscp::ZERO,
            TrafficClass::Expedited => IpDscp::try_new(DSCP_EF).expect("a DSCP has 6 bits"),
        };
        Self {
            user: (FIRST_USER + user).to_be_bytes(),
            user_port: (FIRST_USER_PORT + flow % FLOWS_PER_SERVER_PORT) as u16,
            server_port: (FIRST_SERVER_PORT + flow / FLOWS_PER_SERVER_PORT) as u16,
            dscp,
        }
    }

    fn ports(&self, direction: Direction) -> (u16, u16) {
        match direction {
            Direction::ToServer => (self.user_port, self.server_port),
            Direction::ToUser => (self.server_port, self.user_port),
        }
    }

    fn header(&self, direction: Direction, protocol: IpNumber, payload_len: u32, ecn: Ecn) -> Ipv4Header {
        let (source, destination) = match direction {
            Direction::ToServer => (self.user, SERVER),
            Direction::ToUser => (SERVER, self.user),
        };
        let mut header = Ipv4Header::new(payload_len as u16, TIME_TO_LIVE, protocol, source, destination)
            .expect("a simulated packet has at most 65535 bytes");
        header.dscp = self.dscp;
        header.ecn = match ecn {
            Ecn::NotEct => IpEcn::ZERO,
            Ecn::Ect1 => IpEcn::ONE,
            Ecn::Ect0 => IpEcn::TWO,
            Ecn::Ce => IpEcn::THREE,
        };
        header.header_checksum = header.calc_header_checksum();
        header
    }
}

/// Common parts of a connection's headers.
#[derive(Clone, Debug)]
pub(super) struct HeaderPlan {
    mss: u32,
    /// Payload of the whole transfer in bytes; `u64::MAX` if the transfer never ends.
    total: u64,
    pub(super) timestamps: bool,
    /// Receive window in bytes; with `autotuning`, that of SYN and SYN-ACK. ACKs then carry their own window.
    window: u64,
    pub(super) autotuning: bool,
    /// Window scale, if a SYN has room for it.
    shift: Option<u8>,
    syn_timestamps: bool,
    syn_sack: bool,
    syn_mss: bool,
}

impl HeaderPlan {
    /// Creates the plan for a transfer of `total` bytes of payload; 0 means that the transfer never ends.
    pub(super) fn new(params: &TcpParams, total: u64) -> Self {
        let timestamps = params.header_bytes >= BARE_BYTES + TIMESTAMP_BYTES;
        let link_bytes = params.header_bytes.saturating_sub(BARE_BYTES + if timestamps { TIMESTAMP_BYTES } else { 0 });
        // Options are padded to multiples of 4 bytes.
        let mut room = params.syn_bytes.saturating_sub(BARE_BYTES + link_bytes) / 4 * 4;
        let mut fits = |bytes: u32| {
            let fits = bytes <= room;
            room -= if fits { bytes } else { 0 };
            fits
        };
        let autotuning = params.autotuning;
        let window = if autotuning { first_window(params.segment_payload) } else { params.socket_buffer.0 };
        let least_shift = || (0..LARGEST_SHIFT).find(|&shift| window >> shift <= 65_535).unwrap_or(LARGEST_SHIFT);
        let shift = fits(3).then(|| if autotuning { window_shift(params) as u8 } else { least_shift() });
        let syn_timestamps = timestamps && fits(10);
        Self {
            mss: params.segment_payload,
            total: if total > 0 { total } else { u64::MAX },
            timestamps,
            window,
            autotuning,
            shift,
            syn_timestamps,
            syn_sack: params.sack && fits(2),
            syn_mss: fits(4),
        }
    }

    /// TCP sequence number of the first byte of a segment, which is also the end of the previous one. The initial
    /// sequence number is 0, and the SYN takes one number. The last segment may be short.
    pub(super) fn sequence_of(&self, segment: u32) -> u32 {
        ((u64::from(segment) * u64::from(self.mss)).min(self.total) + 1) as u32
    }

    //= RFC 7323 2.2-3: The window field of a SYN is not scaled.
    fn window_field(&self, syn: bool, offered: Option<u16>) -> u16 {
        if let Some(offered) = offered {
            return offered;
        }
        let shift = if syn { 0 } else { self.shift.unwrap_or(0) };
        u16::try_from(self.window >> shift).unwrap_or(u16::MAX)
    }

    /// Options, with padding for alignment.
    fn options(&self, tcp: &TcpFields) -> ([TcpOptionElement; 6], usize) {
        use TcpOptionElement::{
            MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, Timestamp,
            WindowScale,
        };
        let timestamp = Timestamp(millis(tcp.timestamps.0), millis(tcp.timestamps.1));
        let mut options = [const { Noop }; 6];
        let mut count = 0;
        let mut add = |option| {
            options[count] = option;
            count += 1;
        };
        if tcp.syn {
            if self.syn_mss {
                add(MaximumSegmentSize(self.mss as u16));
            }
            //= RFC 2018 2-1: Only a SYN permits SACK.
            if self.syn_sack {
                add(SelectiveAcknowledgementPermitted);
            }
            if self.syn_timestamps {
                add(timestamp);
            }
            if let Some(shift) = self.shift {
                add(WindowScale(shift));
            }
            return (options, count);
        }
        if self.timestamps {
            add(Noop);
            add(Noop);
            add(timestamp);
        }
        let mut blocks = tcp.sacks.iter().map(|block| (self.sequence_of(block.start), self.sequence_of(block.end)));
        if let Some(first) = blocks.next() {
            add(Noop);
            add(Noop);
            add(SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), None]));
        }
        (options, count)
    }
}

fn millis(time: Time) -> u32 {
    (time.0 / Time::from_millis(1).0) as u32
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TcpFields {
    pub(super) direction: Direction,
    pub(super) sequence: u32,
    /// Acknowledgement number; if present, the flag ACK is set.
    pub(super) acknowledgment: Option<u32>,
    pub(super) syn: bool,
    /// Flags ECE and CWR.
    pub(super) echo: bool,
    pub(super) reduced: bool,
    pub(super) sacks: SackBlocks,
    /// Scaled receive window, if it is not that of the connection.
    pub(super) window: Option<u16>,
    /// TSval and TSecr.
    pub(super) timestamps: (Time, Time),
}

/// Headers of a packet, and the length of its payload.
#[derive(Debug, Default)]
pub(super) struct Frame {
    bytes: Vec<u8>,
    headers: usize,
    payload: usize,
}

impl Frame {
    pub(super) fn build_tcp(&mut self, ip: &IpFields, ecn: Ecn, tcp: &TcpFields, plan: &HeaderPlan, payload: u32) {
        let (source, destination) = ip.ports(tcp.direction);
        let mut header = TcpHeader::new(source, destination, tcp.sequence, plan.window_field(tcp.syn, tcp.window));
        header.syn = tcp.syn;
        header.ack = tcp.acknowledgment.is_some();
        header.acknowledgment_number = tcp.acknowledgment.unwrap_or(0);
        (header.ece, header.cwr) = (tcp.echo, tcp.reduced);
        let (options, count) = plan.options(tcp);
        header.set_options(&options[..count]).expect("at most 40 bytes of options");
        let ip = ip.header(tcp.direction, IpNumber::TCP, header.header_len() as u32 + payload, ecn);
        header.checksum = header
            .calc_checksum_ipv4(&ip, &ZEROS[..payload as usize])
            .expect("a simulated packet has at most 65535 bytes");
        self.set(&ip, &header.to_bytes(), payload);
    }

    pub(super) fn build_udp(&mut self, ip: &IpFields, direction: Direction, ecn: Ecn, payload: u32) {
        let (source, destination) = ip.ports(direction);
        let ip = ip.header(direction, IpNumber::UDP, UdpHeader::LEN as u32 + payload, ecn);
        let header = UdpHeader::with_ipv4_checksum(source, destination, &ip, &ZEROS[..payload as usize])
            .expect("a simulated packet has at most 65535 bytes");
        self.set(&ip, &header.to_bytes(), payload);
    }

    fn set(&mut self, ip: &Ipv4Header, transport: &[u8], payload: u32) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&ip.to_bytes());
        self.bytes.extend_from_slice(transport);
        self.headers = self.bytes.len();
        self.payload = payload as usize;
    }

    /// Bytes captured with `snaplen`, at least the headers.
    pub(super) fn captured(&mut self, snaplen: u32) -> &[u8] {
        let length = (snaplen as usize).clamp(self.headers, self.headers + self.payload);
        self.bytes.resize(length, 0);
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tcp::{Ack, SackBlock, TcpProfile};
    use fairlane_schemes::base::units::Bytes;

    fn plan(header_bytes: u32, syn_bytes: u32, socket_buffer: u64) -> HeaderPlan {
        let params = TcpParams::default();
        HeaderPlan::new(&TcpParams { header_bytes, syn_bytes, socket_buffer: Bytes(socket_buffer), ..params }, 0)
    }

    fn lengths(plan: &HeaderPlan) -> (usize, usize) {
        let mut frame = Frame::default();
        let ip = IpFields::of(0, 0, TrafficClass::BestEffort);
        let mut length = |syn, payload| {
            let timestamps = (Time::ZERO, Time::ZERO);
            let direction = Direction::ToServer;
            let (sequence, sacks) = (0, SackBlocks::default());
            let tcp = TcpFields {
                direction,
                sequence,
                acknowledgment: None,
                syn,
                echo: false,
                reduced: false,
                sacks,
                window: Some(513),
                timestamps,
            };
            frame.build_tcp(&ip, Ecn::NotEct, &tcp, plan, payload);
            frame.captured(0).len()
        };
        (length(false, 1000), length(true, 0))
    }

    #[test]
    fn packets_are_as_long_as_the_simulated_ones_without_their_link_layer() {
        // Packets of abc2018 have 2 bytes of PPP. Packets of Linux have all options and no link layer. Packets of ns-2
        // have neither options nor a link layer.
        assert_eq!(lengths(&plan(54, 58, 1 << 21)), (52, 56));
        assert_eq!(lengths(&plan(52, 60, 1 << 22)), (52, 60));
        assert_eq!(lengths(&plan(40, 40, 1 << 21)), (40, 40));
        // Ethernet adds 26 bytes to each packet.
        assert_eq!(lengths(&plan(78, 86, 1 << 21)), (52, 60));
    }

    #[test]
    fn the_window_is_the_socket_buffer() {
        // 2 MiB is 32768 * 2^6. With a shift of 5, the field would be 65536, which does not fit in 16 bits.
        let plan = plan(54, 58, 1 << 21);
        assert_eq!(
            (plan.shift, plan.window_field(false, None), plan.window_field(true, None)),
            (Some(6), 32_768, 65_535)
        );
        let small = self::plan(54, 58, 40_000);
        assert_eq!(
            (small.shift, small.window_field(false, None), small.window_field(true, None)),
            (Some(0), 40_000, 40_000)
        );
        // RFC 7323 2.2: the window is at most 1 GiB.
        let huge = self::plan(54, 58, 4_000_000_000);
        assert_eq!((huge.shift, huge.window_field(false, None)), (Some(14), 65_535));
        let unscaled = self::plan(40, 40, 1 << 21);
        assert_eq!((unscaled.shift, unscaled.window_field(false, None)), (None, 65_535));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let plan = plan(54, 58, 1 << 21);
        assert_eq!(plan.sequence_of(0), 1);
        assert_eq!(plan.sequence_of(1), 1447);
        // The sequence number wraps: 2^32 = 2970240 * 1446 + 256.
        assert_eq!(plan.sequence_of(2_970_241), 1446 - 256 + 1);
    }

    #[test]
    fn packets_of_linux_are_as_long_as_the_simulated_ones_with_all_options() {
        let params = TcpParams::profile(TcpProfile::Linux);
        let plan = HeaderPlan::new(&params, 0);
        assert_eq!(lengths(&plan), (52, params.syn_bytes as usize));
        assert!(plan.syn_mss && plan.syn_sack && plan.syn_timestamps && plan.shift.is_some());
        let mut frame = Frame::default();
        let block = SackBlock { start: 2, end: 4 };
        for count in 0..=3 {
            let sacks = SackBlocks::new(&vec![block; count]);
            let ack = Ack { sacks, ..Ack::default() };
            let tcp = TcpFields {
                direction: Direction::ToUser,
                sequence: 1,
                acknowledgment: Some(1),
                syn: false,
                echo: true,
                reduced: false,
                sacks,
                window: Some(513),
                timestamps: (Time::ZERO, Time::ZERO),
            };
            frame.build_tcp(&IpFields::of(0, 0, TrafficClass::BestEffort), Ecn::NotEct, &tcp, &plan, 0);
            assert_eq!(frame.captured(0).len() as u32, params.ack_wire_bytes(&ack));
            // Bits 6 and 7 of the flags: ECE and CWR.
            assert_eq!(frame.captured(0)[20 + 13] >> 6, 0b01);
            assert_eq!(frame.captured(0)[20 + 14..20 + 16], [2, 1]);
        }
    }

    #[test]
    fn ports_and_addresses_tell_flow_and_user() {
        let ip = IpFields::of(300, 23_456, TrafficClass::Expedited);
        assert_eq!(ip.user, [10, 0, 1, 45]);
        assert_eq!((ip.user_port, ip.server_port), (53_456, 40_002));
        assert_eq!(ip.header(Direction::ToUser, IpNumber::TCP, 32, Ecn::Ce).destination, [10, 0, 1, 45]);
        assert_eq!(ip.header(Direction::ToUser, IpNumber::TCP, 32, Ecn::Ce).to_bytes()[1], 46 << 2 | 3);
    }
}
