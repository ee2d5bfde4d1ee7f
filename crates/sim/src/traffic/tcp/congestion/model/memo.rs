//! A value cached until its inputs change: most ACKs leave the model of a path unchanged.

/// The value computed last, and its inputs.
#[derive(Clone, Copy, Debug)]
pub struct Memo<K, V>(Option<(K, V)>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K: Copy + PartialEq, V: Copy> Memo<K, V> {
    /// Value for `key`; calls `make` only if `key` differs from that of the last call. `make` must depend
    /// only on `key`.
    #[inline]
    pub fn get(&mut self, key: K, make: impl FnOnce() -> V) -> V {
        match self.0 {
            Some((last, value)) if last == key => value,
            _ => self.0.insert((key, make())).1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_anew_when_its_key_changes_and_only_then() {
        let (mut memo, mut made) = (Memo::default(), 0);
        let mut square = |key: u32| {
            memo.get(key, || {
                made += 1;
                key * key
            })
        };
        assert_eq!([3, 3, 4, 4, 3].map(&mut square), [9, 9, 16, 16, 9]);
        assert_eq!(made, 3);
    }
}
