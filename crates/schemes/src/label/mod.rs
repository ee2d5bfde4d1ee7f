//! Schemes with labels: the edge writes a label, every port decides by it.
//!
//! - [`abc`]: activities, and a threshold that falls with them
//! - [`csfq`]: rates, and drops in proportion to what exceeds the fair one
//! - [`hcsfq`]: rates of flows, and a fair rate for users above that for the flows of each
//! - [`afpft`]: start tags, and finish times only of flows that have packets in the queue
//! - [`rfq`]: colours of the layers of a rate, and a threshold
//! - [`ppv`]: values, and a full queue that drops the least
//! - [`pvpie`]: values, and a threshold by the probability of PIE
//! - [`abc2016`]: activities that bend the drop probability of another AQM
//!
//! Below them: [`meter_bank`], the meters of an edge.

pub mod abc;
pub mod abc2016;
pub mod afpft;
pub mod csfq;
pub mod hcsfq;
pub mod meter_bank;
pub mod ppv;
pub mod pvpie;
pub mod rfq;
