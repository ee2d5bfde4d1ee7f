//! A traffic generator: a UDP sender with constant or exponential gaps, and a sink that counts arrivals.
//!
//! A packet's payload starts with [`PayloadHeader`], followed by zeros.

pub mod sender;
pub mod sink;

/// Header in a packet's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadHeader {
    /// Number of the stream.
    pub stream: u32,
    /// Number of the packet, from 0.
    pub sequence: u64,
    /// Send time, in nanoseconds of the sender's monotonic clock. Only meaningful on the same machine.
    pub sent_ns: u64,
}

impl PayloadHeader {
    /// Length of the header, which is the minimum payload.
    pub const BYTES: usize = 24;
    const MAGIC: [u8; 4] = *b"FAIR";

    /// Writes the header to the start of `payload`, which must have room for it.
    pub fn write(self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&Self::MAGIC);
        payload[4..8].copy_from_slice(&self.stream.to_be_bytes());
        payload[8..16].copy_from_slice(&self.sequence.to_be_bytes());
        payload[16..24].copy_from_slice(&self.sent_ns.to_be_bytes());
    }

    /// Reads the header. Returns `None` if the payload is not from our sender.
    #[must_use]
    pub fn read(payload: &[u8]) -> Option<Self> {
        let (magic, rest) = payload.split_first_chunk()?;
        let (stream, rest) = rest.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        let (sent, _) = rest.split_first_chunk()?;
        (*magic == Self::MAGIC).then(|| Self {
            stream: u32::from_be_bytes(*stream),
            sequence: u64::from_be_bytes(*sequence),
            sent_ns: u64::from_be_bytes(*sent),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back_and_nothing_else_does() {
        let header = PayloadHeader { stream: 7, sequence: 1 << 40, sent_ns: 5 };
        let mut payload = [0; 30];
        header.write(&mut payload);
        assert_eq!(PayloadHeader::read(&payload), Some(header));
        assert_eq!(PayloadHeader::read(&payload[..23]), None);
        payload[0] = b'X';
        assert_eq!(PayloadHeader::read(&payload), None);
    }
}
