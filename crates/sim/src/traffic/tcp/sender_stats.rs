//! Counters of a sender.

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Data segments sent, including retransmissions.
    pub segments_sent: u64,
    /// Retransmitted data segments.
    pub retransmissions: u64,
    /// Timeouts of data.
    pub timeouts: u32,
    /// Fast retransmissions.
    pub fast_recoveries: u32,
    /// Window reductions upon congestion marks.
    pub ecn_reductions: u32,
    /// Retransmitted SYNs.
    pub syn_retransmissions: u32,
    /// Segments of the handshake: SYNs, and the ACK that ends it.
    pub handshake_segments: u32,
    /// Number of times that ns-3.26 would have closed the connection: at the seventh SYN, or at the seventh
    /// retransmission (fast or by timeout) since the last ACK of new data.
    pub would_close: u32,
    /// Tail loss probes.
    pub tail_loss_probes: u32,
    /// Window reductions that were undone because they were spurious.
    pub undone_reductions: u32,
}

impl SenderStats {
    /// Adds the counters of another sender.
    pub fn add(&mut self, other: &Self) {
        self.segments_sent += other.segments_sent;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.fast_recoveries += other.fast_recoveries;
        self.ecn_reductions += other.ecn_reductions;
        self.syn_retransmissions += other.syn_retransmissions;
        self.handshake_segments += other.handshake_segments;
        self.would_close += other.would_close;
        self.tail_loss_probes += other.tail_loss_probes;
        self.undone_reductions += other.undone_reductions;
    }
}
