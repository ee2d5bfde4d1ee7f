//! The buffer of a port: one limit for all traffic classes, and the scheduler between them.

use crate::base::units::{BitRate, Bytes, QueueLimit, Time};
use crate::choices;
use crate::params;

choices! {
    /// Scheduling between traffic classes.
    pub enum Scheduler {
        /// FIFO: one queue for all classes.
        Fifo = "fifo",
        /// Strict priority for EF; BE can starve.
        Strict = "strict",
        /// Modified earliest deadline first: EF is sent first, but a BE packet waits at most for its offset.
        Medf = "medf",
    }
}

params! {
    /// Buffer of a port, with any scheme.
    pub struct BufferParams {
        /// Maximum total queue of all classes. The packet in transmission does not count.
        limit: QueueLimit = "24 packets", in "1 packets"..="16777216 packets", symbol "Q_max", source "abc2018 Table 1";
        /// Scheduling between traffic classes.
        scheduler: Scheduler = "fifo", source "abc2018 III-D2";
        /// Offset of BE in MEDF, as a multiple of the time to send a full queue.
        be_offset: f64 = 2.0, in 0.0..=1000.0, symbol "delta_BE", source "abc2018 III-D2 (Table 1 prints 1.5)";
        /// Length of a maximum-size packet, for the offset of MEDF if the limit is in packets.
        mtu: Bytes = "1500 B", in "64 B"..="65535 B", symbol "MTU", source "abc2018 IV-A1";
    }
}

impl BufferParams {
    /// Bytes of a full buffer. A limit in packets is converted with packets of maximum size.
    #[must_use]
    pub fn full_bytes(&self) -> u64 {
        match self.limit {
            QueueLimit::Packets(packets) => u64::from(packets) * self.mtu.0,
            QueueLimit::Bytes(bytes) => bytes,
        }
    }

    /// Offset of BE in MEDF at a link of rate `rate`: Delta_BE = delta_BE * Q_max * MTU / C_b, abc2018 III-D2.
    #[must_use]
    pub fn be_offset_at(&self, rate: BitRate) -> Time {
        let limit_bits = 8.0 * self.full_bytes() as f64;
        Time::from_secs_f64(self.be_offset * limit_bits / rate.as_f64())
    }
}
