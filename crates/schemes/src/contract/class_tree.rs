//! Classes of a port: a tree with rates, and the class of each user. Only schemes that shape by classes use them.

use crate::base::units::BitRate;
use std::sync::Arc;

/// A class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Index of the parent, smaller than the class's own index; the root has none.
    pub parent: Option<u32>,
    /// Assured rate.
    pub rate: BitRate,
    /// Maximum rate with borrowing. If absent, only the ancestors limit the rate.
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
    /// Creates a tree of these classes.
    #[must_use]
    pub fn new(classes: Classes) -> Self {
        Self(Some(Arc::new(classes)))
    }

    /// The inner classes; none without a tree.
    #[must_use]
    pub fn inner(&self) -> &[Class] {
        self.0.as_ref().map_or(&[], |classes| &classes.inner)
    }

    /// The leaf of a user, if any.
    #[must_use]
    pub fn leaf(&self, user: u32) -> Option<Class> {
        let classes = self.0.as_ref()?;
        classes.leaves.get(user.checked_sub(classes.first_user)? as usize).copied()
    }

    /// Bytes of the list of classes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |classes| (classes.inner.len() + classes.leaves.len()) * size_of::<Class>())
    }
}
