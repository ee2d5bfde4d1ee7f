//! Classes of a port: a tree with rates, and the class of each user. Schemes that shape by classes take it, others have
//! none.

use crate::base::units::BitRate;
use std::sync::Arc;

/// A class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Index of the class above, smaller than its own; the root has none.
    pub parent: Option<u32>,
    /// Rate that it is assured.
    pub rate: BitRate,
    /// Maximum rate with borrowing; without it, as much as the classes above leave.
    pub ceil: Option<BitRate>,
}

/// Inner classes, and the leaf of each user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Classes {
    /// Inner classes; the first is the root.
    pub inner: Vec<Class>,
    /// Leaves of users `first_user`, `first_user + 1` ...
    pub leaves: Vec<Class>,
    /// The first user with a leaf.
    pub first_user: u32,
}

/// The classes of a port; none by default.
#[derive(Clone, Debug, Default)]
pub struct ClassTree(Option<Arc<Classes>>);

impl ClassTree {
    /// These.
    #[must_use]
    pub fn new(classes: Classes) -> Self {
        Self(Some(Arc::new(classes)))
    }

    /// The inner classes; none without a tree.
    #[must_use]
    pub fn inner(&self) -> &[Class] {
        self.0.as_ref().map_or(&[], |classes| &classes.inner)
    }

    /// The leaf of a user; `None` if it has none.
    #[must_use]
    pub fn leaf(&self, user: u32) -> Option<Class> {
        let classes = self.0.as_ref()?;
        classes.leaves.get(user.checked_sub(classes.first_user)? as usize).copied()
    }

    /// Bytes that the list of classes takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |classes| (classes.inner.len() + classes.leaves.len()) * size_of::<Class>())
    }
}
