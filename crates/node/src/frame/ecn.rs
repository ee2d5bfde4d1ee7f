//! Rewrites the ECN field of a frame.

use super::{Frame, Network};
use fairlane_schemes::contract::packet::Ecn;

fn bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// Writes `ecn` into the frame that was parsed as `parsed`, and updates the IPv4 checksum. Frames other than IP are
/// unchanged.
pub fn set_ecn(frame: &mut [u8], parsed: &Frame, ecn: Ecn) {
    let at = parsed.network_at;
    match parsed.network {
        Network::Ipv4 => {
            let Some(header) = frame.get_mut(at..at + 20) else { return };
            let old = u16::from_be_bytes([header[0], header[1]]);
            header[1] = header[1] & !3 | bits(ecn);
            let new = u16::from_be_bytes([header[0], header[1]]);
            let checksum = u16::from_be_bytes([header[10], header[11]]);
            header[10..12].copy_from_slice(&updated(checksum, old, new).to_be_bytes());
        }
        Network::Ipv6 => {
            let Some(header) = frame.get_mut(at..at + 2) else { return };
            header[1] = header[1] & !0x30 | bits(ecn) << 4;
        }
        Network::Other => {}
    }
}

/// Returns the checksum after a change of one word: HC' = ~(~HC + ~m + m'), RFC 1624 eq. (3).
fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
