//! Reno's congestion avoidance: RFC 5681 3.1, eq. (3).

use crate::traffic::tcp::TcpParams;

/// Adds MSS^2 / cwnd, at least 1 byte, for the ACK, or for each segment that it covers if bytes are counted.
#[inline]
pub(super) fn avoid(params: &TcpParams, cwnd: &mut u32, segments: u32) {
    let mss = u64::from(params.segment_payload);
    // cwnd is never below one MSS.
    //= RFC 5681 3.1-11: An ACK of new data adds MSS^2 / cwnd.
    //= RFC 5681 3.1-12: What would round to nothing is one byte.
    let step = (mss * mss / u64::from((*cwnd).max(1))).max(1);
    //= RFC 5681 3.1-10: In congestion avoidance cwnd grows by one segment per round trip at most.
    //= RFC 3465 2.1-1: In congestion avoidance cwnd grows by a segment per window of bytes acknowledged.
    let steps = if params.byte_counting { u64::from(segments) } else { 1 };
    *cwnd = cwnd.saturating_add(crate::traffic::tcp::clamped(step * steps));
}
