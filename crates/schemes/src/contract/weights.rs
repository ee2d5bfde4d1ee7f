//! Weights: the number of shares of a link that a user has.

use std::sync::Arc;

/// Weights of users, shared by all ports. A flow has the weight of its user, so no list of flows is needed.
#[derive(Clone, Debug, Default)]
pub struct Weights(Option<Arc<[f64]>>);

impl Weights {
    /// Gives all users weight 1.
    #[must_use]
    pub fn equal() -> Self {
        Self(None)
    }

    /// Gives user `i` the weight `weights[i]`, which must be positive. Users without an entry have weight 1.
    #[must_use]
    pub fn new(weights: impl Into<Arc<[f64]>>) -> Self {
        Self(Some(weights.into()))
    }

    /// The weight of `user`, and of each of its flows.
    #[must_use]
    #[inline]
    pub fn of(&self, user: u32) -> f64 {
        self.0.as_ref().and_then(|weights| weights.get(user as usize)).copied().unwrap_or(1.0)
    }

    /// Weights of the first users; all others have weight 1.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The smallest weight; at most 1, the weight of users without an entry.
    #[must_use]
    pub fn smallest(&self) -> f64 {
        self.0.iter().flat_map(|weights| weights.iter()).copied().fold(1.0, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_without_a_weight_count_once() {
        let weights = Weights::new([2.0, 0.5]);
        assert_eq!([0, 1, 2].map(|user| weights.of(user)), [2.0, 0.5, 1.0]);
        assert_eq!(Weights::equal().of(0), 1.0);
    }
}
