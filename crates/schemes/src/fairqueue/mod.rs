//! Fair queueing: schedulers with a queue per flow, user or bucket, ideal and practical.
//!
//! Below the schemes: [`queue_store`] keeps queues of packets by flow with the longest at hand, on [`intrusive_list`] and
//! [`indexed_heap`]; [`skip_rounds`] makes up rounds without a packet.

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
