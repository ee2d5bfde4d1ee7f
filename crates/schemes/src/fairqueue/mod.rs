//! Fair queueing: ideal and practical schedulers with a queue per flow, user or bucket.
//!
//! Shared parts: [`queue_store`] keeps a queue of packets per flow and finds the longest; it uses [`intrusive_list`]
//! and [`indexed_heap`]. [`skip_rounds`] skips rounds without a packet. [`hashed_queues`] serves hashed queues in turn.
//! [`ranked_queues`] are priority queues for packets with ranks. Ranks are [`start_tags`] or, for tests,
//! [`drawn_ranks`]. [`ranked_port`] fills the queues by the rules of a scheme. [`rank_window`] stores the last ranks.

pub mod afq;
pub mod aifo;
pub mod cake;
pub mod cebinae;
pub mod cut_longest;
pub mod drawn_ranks;
pub mod drr;
pub mod drr_lds;
pub mod fdpa;
pub mod fq_codel;
pub mod fq_pie;
pub mod hashed_queues;
pub mod htb;
pub mod indexed_heap;
pub mod intrusive_list;
pub mod new_and_old;
pub mod packs;
pub mod queue_store;
pub mod rank_window;
pub mod ranked_port;
pub mod ranked_queues;
pub mod rifo;
pub mod scrr;
pub mod sfq;
pub mod skip_rounds;
pub mod sp_pifo;
pub mod start_tags;
pub mod stfq;
#[cfg(test)]
pub(crate) mod testing;
pub mod wfq;
