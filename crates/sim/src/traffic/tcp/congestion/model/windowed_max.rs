//! Maximum of recent values, in constant memory and constant time.
//!
//! Source: the algorithm of Kathleen Nichols, Linux `lib/win_minmax.c`. The filter keeps three candidates: the largest
//! value in the window, the largest value after this one, and the largest value after the second. When the first
//! candidate leaves the window, the second replaces it. The second is renewed after a quarter of the window and the
//! third after half of it, so that the candidates differ in age. The result is the exact maximum until a candidate
//! expires, and afterwards an approximation.

/// Maximum of values over a window of time. Time may have any unit and must not decrease.
#[derive(Clone, Copy, Debug)]
pub struct WindowedMax {
    /// Candidates in descending order of value and ascending order of time.
    candidates: [Candidate; 3],
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    at: u64,
    value: f64,
}

impl WindowedMax {
    /// Creates a filter whose only value is `value` at time 0.
    pub fn new(value: f64) -> Self {
        Self { candidates: [Candidate { at: 0, value }; 3] }
    }

    /// Largest value in the window.
    #[inline]
    pub fn get(&self) -> f64 {
        self.candidates[0].value
    }

    /// Adds `value` at time `at`, and discards values older than `at - window`. Returns the largest value.
    #[inline]
    pub fn update(&mut self, window: u64, at: u64, value: f64) -> f64 {
        let new = Candidate { at, value };
        let [first, second, third] = &mut self.candidates;
        if value >= first.value || at - third.at > window {
            self.candidates = [new; 3];
            return value;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        self.expire(window, new);
        self.get()
    }

    /// Drops old candidates, and ensures that the remaining ones differ in age.
    fn expire(&mut self, window: u64, new: Candidate) {
        let [first, second, third] = &mut self.candidates;
        let age = new.at - first.at;
        if age > window {
            (*first, *second, *third) = (*second, *third, new);
            if new.at - first.at > window {
                (*first, *second) = (*second, *third);
            }
        } else if second.at == first.at && age > window / 4 {
            (*second, *third) = (new, new);
        } else if third.at == second.at && age > window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_schemes::base::rng::Rng;

    #[test]
    fn a_maximum_counts_for_the_window_and_not_longer() {
        let mut filter = WindowedMax::new(0.0);
        filter.update(10, 1, 9.0);
        for at in 2..=11 {
            assert_eq!(filter.update(10, at, 5.0), 9.0, "at {at}: no more than 10 later");
        }
        assert_eq!(filter.update(10, 12, 5.0), 5.0);
    }

    #[test]
    fn after_a_silence_longer_than_the_window_the_next_value_counts_alone() {
        let mut filter = WindowedMax::new(0.0);
        filter.update(10, 1, 9.0);
        assert_eq!(filter.update(10, 100, 1.0), 1.0);
    }

    #[test]
    fn a_window_of_one_round_forgets_the_round_before_the_last() {
        let mut filter = WindowedMax::new(0.0);
        for (at, value, expected) in [(1, 9.0, 9.0), (2, 3.0, 9.0), (3, 2.0, 3.0), (4, 1.0, 2.0)] {
            assert_eq!(filter.update(1, at, value), expected, "at {at}");
        }
    }

    #[test]
    fn the_result_lies_between_the_newest_value_and_the_true_maximum_of_the_window() {
        let mut random = Rng::stream(1, 0, "windowed max", 0);
        let mut filter = WindowedMax::new(0.0);
        let mut seen: Vec<(u64, f64)> = Vec::new();
        let mut at = 0;
        for _ in 0..20_000 {
            at += random.bits() % 3;
            let value = random.open01();
            seen.push((at, value));
            let result = filter.update(10, at, value);
            let most = seen.iter().rev().take_while(|(then, _)| at - then <= 10).map(|(_, value)| *value);
            let most = most.fold(0.0, f64::max);
            assert!(value <= result && result <= most, "{value} <= {result} <= {most}");
        }
    }
}
