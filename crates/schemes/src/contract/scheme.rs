//! Interface between a scheme and its hosts.

use crate::base::config::{ConfigError, ParamSet, Table};
use crate::base::units::BitRate;
use crate::contract::buffer::BufferParams;
use crate::contract::discipline::QueueDiscipline;
use crate::contract::marker::MarkerScheme;
use crate::contract::packet::Packet;
use crate::contract::weights::Weights;
use serde::Serialize;
use serde_json::Map;
use std::fmt::Debug;

/// Catalogue entry of a scheme, besides its parameters.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct About {
    /// Full name.
    pub title: &'static str,
    /// Queue type, and where it drops.
    pub kind: &'static str,
    /// Summary, in one sentence.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// State that it keeps per port, flow and user.
    pub state: &'static str,
    /// State that a port keeps per flow or user.
    pub flow_state: FlowState,
    /// Order in which a port sends the packets of a traffic class.
    pub order: Order,
}

/// State that a port keeps per flow or user, which a core node must be able to hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowState {
    /// Nothing: its memory does not depend on them.
    None,
    /// A table of limited size: hashed queues, counters or samples.
    Table,
    /// A record of each active flow or user.
    Each,
    /// Not declared, as of schemes outside the tree.
    Unknown,
}

/// Order in which a port sends the packets of a traffic class: which queues a core node has to have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The order of arrival: one queue.
    Fifo,
    /// Arrival order within each of several queues.
    Queues,
    /// By a number of each packet: a sorted queue.
    Sorted,
    /// Not declared, as of schemes outside the tree.
    Unknown,
}

impl About {
    /// For a scheme outside the tree: its full name, and a summary in one sentence.
    #[must_use]
    pub const fn new(title: &'static str, summary: &'static str) -> Self {
        Self { title, kind: "", summary, source: "", state: "", flow_state: FlowState::Unknown, order: Order::Unknown }
    }
}

/// The port that a discipline is built for.
#[derive(Clone, Copy, Debug)]
pub struct Port<'a> {
    /// Limit and order of service between the classes.
    pub buffer: &'a BufferParams,
    /// Rate of the link at first.
    pub rate: BitRate,
    /// Weights of the flows or users, by the key that the scheme uses.
    pub weights: &'a Weights,
}

/// A scheme as its hosts see it.
pub trait SchemeSpec {
    /// Its entry in the catalogue.
    const ABOUT: About;
    /// The marker that its labels come from.
    const MARKER: MarkerScheme = MarkerScheme::NONE;
    /// True if it decides the order of service itself: then the buffer's scheduler must be `fifo`.
    const ORDERS_PACKETS: bool = false;
    /// True if it may drop a packet that finds the queue empty: its definition does not look at the queue.
    const DROPS_WHEN_EMPTY: bool = false;
    /// True if packets of one flow may be reordered.
    const REORDERS_FLOWS: bool = false;
    /// True if the buffer's limit applies to each user's queue, not to all of them together.
    const LIMITS_EACH_USER: bool = false;
    /// True if it enforces configured rates, and so may leave the link idle while packets wait.
    const SHAPES: bool = false;
    /// Its parameters beyond the buffer.
    type Params: ParamSet + Clone + Debug + PartialEq;
    /// The discipline at a port.
    type Discipline<P: Packet>: QueueDiscipline<P> + Debug;
    /// Checks what no single range can.
    ///
    /// # Errors
    /// Parameters that contradict each other or the buffer.
    fn check(_params: &Self::Params, _buffer: &BufferParams, _table: &Table<'_>) -> Result<(), ConfigError> {
        Ok(())
    }
    /// True if it may mark ECN-capable packets, instead of dropping them or in addition. Most that do have a key `ecn`.
    #[must_use]
    fn marks(params: &Self::Params) -> bool {
        let mut written = Map::new();
        params.write(&mut written);
        written.get("ecn").is_some_and(|ecn| ecn == true)
    }
    /// The discipline of an idle port.
    fn build<P: Packet>(params: &Self::Params, port: &Port<'_>) -> Self::Discipline<P>;
}
