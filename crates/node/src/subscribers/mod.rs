//! Subscribers: users that are added and removed while the node runs, in addition to those of the configuration.
//!
//! They are stored in a file in `node.state_path`, not next to the pinned maps, since a BPF file system cannot store
//! files. The maps of a running node are changed entry by entry.

pub mod addresses;
#[cfg(feature = "ebpf")]
mod change_error;
pub mod csv;
#[cfg(feature = "ebpf")]
pub mod ended;
pub mod json_list;
#[cfg(feature = "ebpf")]
mod live;
mod load;
#[cfg(feature = "ebpf")]
pub mod radius;
pub mod session;
#[cfg(feature = "ebpf")]
pub mod sessions;
pub mod store;
mod subscriber;
#[cfg(feature = "ebpf")]
pub mod tally;
#[cfg(feature = "ebpf")]
pub mod unfinished;

#[cfg(feature = "ebpf")]
pub use change_error::ChangeError;
#[cfg(feature = "ebpf")]
pub use live::{Changed, Live};
pub use load::{LoadSubscribersError, load, load_telling, load_without_users, with_kept};
pub use store::{Store, StoreError};
pub(crate) use subscriber::prefixes_of;
pub use subscriber::{Change, Subscriber};
