//! Unit that a scheme treats as one flow.

use crate::choices;
use crate::contract::packet::Packet;

choices! {
    /// Unit that gets one share of the link: the parameter `share_per` of every scheme that distinguishes flows.
    pub enum FlowKey {
        /// The flow: one transport connection.
        Flow = "flow",
        /// The user: all its flows together.
        User = "user",
    }
}

impl FlowKey {
    /// The key of `packet`.
    #[inline]
    pub fn of<P: Packet>(self, packet: &P) -> u32 {
        match self {
            Self::Flow => packet.flow(),
            Self::User => packet.user(),
        }
    }
}
