//! Headers of datagrams on the wire.

/// Headers of a UDP packet on the wire: 2 bytes of PPP, 20 of IP, 8 of UDP (abc2018 IV-A1).
pub const UDP_HEADER_BYTES: u32 = 30;
/// RTP header without contributing sources (RFC 3550 5.1).
pub const RTP_HEADER_BYTES: u32 = 12;
