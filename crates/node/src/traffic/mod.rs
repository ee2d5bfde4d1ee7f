//! Own traffic: a UDP sender whose packets come at constant or exponential gaps, and a sink that counts what arrives.
//!
//! A packet's payload starts with [`PayloadHeader`]; the rest is zeros.

pub mod sender;
pub mod sink;

/// What a packet says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadHeader {
    /// Number of the sender.
    pub stream: u32,
    /// Number of the packet, from 0.
    pub sequence: u64,
    /// When it was sent, in nanoseconds of the sender's monotonic clock: of use on the same machine only.
    pub sent_ns: u64,
}

impl PayloadHeader {
    /// Bytes that it takes: the least payload.
    pub const BYTES: usize = 24;
    /// "FAIR".
    const MAGIC: [u8; 4] = *b"FAIR";

    /// Writes it to the start of `payload`, which has room for it.
    pub fn write(self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&Self::MAGIC);
        payload[4..8].copy_from_slice(&self.stream.to_be_bytes());
        payload[8..16].copy_from_slice(&self.sequence.to_be_bytes());
        payload[16..24].copy_from_slice(&self.sent_ns.to_be_bytes());
    }

    /// Reads it; `None` if the payload is not of our sender.
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
