//! Errors of changes of subscribers.

use super::store::StoreError;
use crate::config::shown_name;
use crate::kernel::KernelError;
use fairlane_schemes::base::config::ConfigError;

/// Reason why a change is not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// Error of the file of subscribers.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file of subscribers cannot be written.
    #[error("{0}; nothing was changed")]
    NotKept(StoreError),
    /// The kernel rejected a step, and earlier steps could not be undone.
    #[error("{refused}; taking the change back: {problem}; the next change or attach loads what the file has")]
    Half {
        /// Reason of the refusal.
        refused: Box<ChangeError>,
        /// Reason why the steps could not be undone.
        problem: String,
    },
    /// Error in a key of a subscriber.
    #[error("{source}")]
    User {
        /// Name of the subscriber.
        name: String,
        /// The error in the key.
        source: ConfigError,
    },
    /// Another subscriber already has the prefix, MAC address or session.
    #[error("user \"{name}\": {who} belongs to \"{other}\" already")]
    Taken {
        /// Subscriber that claims the identifier.
        name: String,
        /// The identifier: a prefix, MAC address or session.
        who: String,
        /// Subscriber that already has the identifier.
        other: String,
    },
    /// A user of the configuration has this name.
    #[error("user \"{0}\": is in the configuration, change it there")]
    Configured(String),
    /// No subscriber has the name.
    #[error("user \"{}\": there is none", shown_name(.0))]
    Nobody(String),
    /// A subscriber has a mark, which only users of the configuration may have.
    #[error("user \"{0}\": mark: users by mark are in the configuration only")]
    Mark(String),
    /// Error of the running node.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The request contradicts itself.
    #[error("{0}")]
    Asked(String),
}

impl ChangeError {
    /// Returns the subscriber whose change failed, if the error concerns a single one.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        match self {
            Self::User { name, .. } | Self::Taken { name, .. } => Some(name),
            Self::Configured(name) | Self::Nobody(name) | Self::Mark(name) => Some(name),
            Self::Store(_) | Self::NotKept(_) | Self::Half { .. } | Self::Kernel(_) | Self::Asked(_) => None,
        }
    }
}
