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

/// Catalogue entry of a scheme, without its parameters.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct About {
    /// Full name.
    pub title: &'static str,
    /// Queue type, and which packets it drops.
    pub kind: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Paper or RFC.
    pub source: &'static str,
    /// State per port, flow and user.
    pub state: &'static str,
    /// State that a port keeps per flow or user.
    pub flow_state: FlowState,
    /// Order in which a port sends the packets of a traffic class.
    pub order: Order,
}

/// State that a port keeps per flow or user. A core node must be able to store it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowState {
    /// None: the memory does not depend on flows or users.
    None,
    /// A table of limited size: hashed queues, counters or samples.
    Table,
    /// A record for each active flow or user.
    Each,
    /// Not declared: for schemes outside the source tree.
    Unknown,
}

/// Order in which a port sends the packets of a traffic class. It determines the queues that a core node needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Arrival order: one queue.
    Fifo,
    /// Order of arrival within each of several queues.
    Queues,
    /// Order by a number in each packet: a sorted queue.
    Sorted,
    /// Not declared: for schemes outside the source tree.
    Unknown,
}

impl About {
    /// Creates the entry of a scheme outside the source tree, with its full name and a summary in one sentence.
    #[must_use]
    pub const fn new(title: &'static str, summary: &'static str) -> Self {
        Self { title, kind: "", summary, source: "", state: "", flow_state: FlowState::Unknown, order: Order::Unknown }
    }
}

/// The port for which a discipline is built.
#[derive(Clone, Copy, Debug)]
pub struct Port<'a> {
    /// Limit of the buffer, and scheduler between the classes.
    pub buffer: &'a BufferParams,
    /// Initial rate of the link.
    pub rate: BitRate,
    /// Weights of the flows or users, indexed by the scheme's flow key.
    pub weights: &'a Weights,
}

/// Definition of a scheme for its hosts.
pub trait SchemeSpec {
    /// Catalogue entry.
    const ABOUT: About;
    /// Marker that writes the scheme's labels.
    const MARKER: MarkerScheme = MarkerScheme::NONE;
    /// True if the scheme decides the order of service itself. The buffer's scheduler must then be `fifo`.
    const ORDERS_PACKETS: bool = false;
    /// True if the scheme may drop a packet that finds the queue empty, because its rules do not depend on the queue.
    const DROPS_WHEN_EMPTY: bool = false;
    /// True if packets of one flow may be reordered.
    const REORDERS_FLOWS: bool = false;
    /// True if the buffer's limit applies to the queue of each user, not to all queues together.
    const LIMITS_EACH_USER: bool = false;
    /// True if the scheme enforces configured rates, so that the link may be idle while packets wait.
    const SHAPES: bool = false;
    /// Parameters of the scheme, without those of the buffer.
    type Params: ParamSet + Clone + Debug + PartialEq;
    /// Discipline of a port.
    type Discipline<P: Packet>: QueueDiscipline<P> + Debug;
    /// Checks conditions that involve several parameters.
    ///
    /// # Errors
    /// If parameters contradict each other or the buffer.
    fn check(_params: &Self::Params, _buffer: &BufferParams, _table: &Table<'_>) -> Result<(), ConfigError> {
        Ok(())
    }
    /// Key and value of the rate at which the scheme holds packets back while the link is idle, if there is one.
    #[must_use]
    fn holds_back(_params: &Self::Params) -> Option<(&'static str, BitRate)> {
        None
    }
    /// True if the scheme may mark ECN-capable packets, instead of or in addition to dropping them. Most of these
    /// schemes have a key `ecn`.
    #[must_use]
    fn marks(params: &Self::Params) -> bool {
        let mut written = Map::new();
        params.write(&mut written);
        written.get("ecn").is_some_and(|ecn| ecn == true)
    }
    /// Builds the discipline of an idle port.
    fn build<P: Packet>(params: &Self::Params, port: &Port<'_>) -> Self::Discipline<P>;
}
