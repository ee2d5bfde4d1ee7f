//! What counts as one flow for a scheme.

use crate::choices;
use crate::contract::packet::Packet;

choices! {
    /// What gets one share of the link: the parameter `share_per` of every scheme that tells flows apart.
    pub enum FlowKey {
        /// The transport connection.
        Flow = "flow",
        /// The user: all its connections together.
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
