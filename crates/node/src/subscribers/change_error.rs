//! Why subscribers are not changed.

use super::store::StoreError;
use crate::config::shown_name;
use crate::kernel::KernelError;
use fairlane_schemes::base::config::ConfigError;

/// Why a change is not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The file of subscribers.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file of subscribers cannot be written.
    #[error("{0}; nothing was changed")]
    NotKept(StoreError),
    /// The kernel refused, and what was done before that could not be undone.
    #[error("{refused}; taking the change back: {problem}; the next change or attach loads what the file has")]
    Half {
        /// Why it was refused.
        refused: Box<ChangeError>,
        /// Why it could not be undone.
        problem: String,
    },
    /// A key of a subscriber.
    #[error("{source}")]
    User {
        /// Whose.
        name: String,
        /// What is wrong.
        source: ConfigError,
    },
    /// What one is known by belongs to another one.
    #[error("user \"{name}\": {who} belongs to \"{other}\" already")]
    Taken {
        /// Who wants it.
        name: String,
        /// What it is.
        who: String,
        /// Who has it.
        other: String,
    },
    /// The name is one of the configuration.
    #[error("user \"{0}\": is in the configuration, change it there")]
    Configured(String),
    /// Who is to be changed or removed is not there.
    #[error("user \"{}\": there is none", shown_name(.0))]
    Nobody(String),
    /// What only users of the configuration can be known by.
    #[error("user \"{0}\": mark: users by mark are in the configuration only")]
    Mark(String),
    /// The running node.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Asked(String),
}

impl ChangeError {
    /// Whose change is not possible, if it is that of one.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        match self {
            Self::User { name, .. } | Self::Taken { name, .. } => Some(name),
            Self::Configured(name) | Self::Nobody(name) | Self::Mark(name) => Some(name),
            Self::Store(_) | Self::NotKept(_) | Self::Half { .. } | Self::Kernel(_) | Self::Asked(_) => None,
        }
    }
}
