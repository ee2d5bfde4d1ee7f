//! Fair queueing: schedulers with a queue per flow, user or bucket, ideal and practical.
//!
//! - [`wfq`]: weighted fair queueing, by GPS or self-clocked
//! - [`stfq`]: start-time fair queueing, one queue sorted by start tag
//! - [`drr`], [`drr_lds`]: deficit round robin, without and with limited deficit savings
//! - [`sfq`]: stochastic fair queueing
//! - [`fq_codel`]: hashed queues, each with a CoDel
//! - [`cake`]: hashed queues, each with a CoDel and a BLUE, and quanta by the load of the host
//! - [`afq`]: approximate fair queueing with a calendar of queues
//! - [`fdpa`]: priority by measured rate
//! - [`cebinae`]: two queues by rounds, and a tax on the largest flows of a saturated link
//!
//! Below them: [`queue_store`] keeps queues of packets by flow with the longest at hand, on [`intrusive_list`] and [`indexed_heap`]; [`skip_rounds`]
//! makes up rounds without a packet.

pub mod afq;
pub mod cake;
pub mod cebinae;
pub mod drr;
pub mod drr_lds;
pub mod fdpa;
pub mod fq_codel;
pub mod indexed_heap;
pub mod intrusive_list;
pub mod queue_store;
pub mod sfq;
pub mod skip_rounds;
pub mod stfq;
#[cfg(test)]
mod testing;
pub mod wfq;
