//! The buffer of a port: one limit over all traffic classes, and the order of service between them.

use crate::base::units::{Bytes, QueueLimit};
use crate::choices;
use crate::params;

choices! {
    /// Who is served next.
    pub enum Scheduler {
        /// One queue for all classes, in the order of arrival.
        Fifo = "fifo",
        /// EF whenever it waits; BE can starve.
        Strict = "strict",
        /// Earliest deadline of the heads: EF first, but BE at the latest after its offset.
        Medf = "medf",
    }
}

params! {
    /// Buffer of a port, shared by all schemes.
    pub struct BufferParams {
        /// What the queue may hold, all classes together; the packet in transmission does not count.
        limit: QueueLimit = "24 packets", in "1 packets"..="16777216 packets", symbol "Q_max", source "abc2018 Table 1";
        /// Order of service between the traffic classes.
        scheduler: Scheduler = "fifo", source "abc2018 III-D2";
        /// Offset of BE in MEDF, in units of the time that a full queue takes.
        be_offset: f64 = 2.0, in 0.0..=1000.0, symbol "delta_BE", source "abc2018 III-D2 (Table 1 prints 1.5)";
        /// Length of a full packet, for the offset of MEDF when the limit is in packets.
        mtu: Bytes = "1500 B", in "64 B"..="65535 B", symbol "MTU", source "abc2018 IV-A1";
    }
}

impl BufferParams {
    /// Bytes of a full buffer, with full packets if the limit is in packets.
    #[must_use]
    pub fn full_bytes(&self) -> u64 {
        match self.limit {
            QueueLimit::Packets(packets) => u64::from(packets) * self.mtu.0,
            QueueLimit::Bytes(bytes) => bytes,
        }
    }
}
