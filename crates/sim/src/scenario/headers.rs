//! Headers of datagrams on the wire.

/// Headers of a UDP packet on the wire: PPP 2, IP 20, UDP 8 bytes. abc2018 IV-A1.
pub const UDP_HEADER_BYTES: u32 = 30;
/// Header of RTP without contributing sources: RFC 3550 5.1.
pub const RTP_HEADER_BYTES: u32 = 12;
