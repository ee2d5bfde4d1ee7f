//! Building blocks of the schemes' queues.

pub mod class_queues;
pub mod managed_queue;
pub mod queue_length;
pub mod queue_threshold;
pub mod random_access_fifo;
pub mod sorted_queue;
