//! Weighted max-min fair shares of one resource, the reference for every scheme here.
//!
//! # Source
//!
//! Bertsekas and Gallager, Data Networks, 2nd edition 1992, section 6.5.2, for known demands ("water filling"). afpft
//! II calls the level the fair rate f, with `sum_i min(r_i, f) = C`. In abc2018 IV-A3 it is the fair share of a user.
//!
//! # Equations
//!
//! 1. `share_i = min(demand_i, level * weight_i)`
//! 2. `sum_i share_i = min(capacity, sum_i demand_i)`, which fixes `level`.
//!
//! # Cost
//!
//! Sorts the demands once: O(n log n) time, O(n) memory. Too slow to call for every packet.

/// Returns the shares of `capacity` for users with `demands` and positive `weights`. Capacity and demands have the same
/// unit. A demand may be infinite. If the demands fit, every user gets its demand.
///
/// # Panics
/// `demands` and `weights` differ in length.
#[must_use]
pub fn max_min_share(capacity: f64, demands: &[f64], weights: &[f64]) -> Vec<f64> {
    let level = max_min_level(capacity, demands, weights);
    demands.iter().zip(weights).map(|(&demand, &weight)| demand.min(level * weight)).collect()
}

/// Returns the level of eq. (1): the share per unit of weight of users that get less than their demand. The level is
/// infinite if every user gets its demand.
///
/// # Panics
/// `demands` and `weights` differ in length.
#[must_use]
pub fn max_min_level(capacity: f64, demands: &[f64], weights: &[f64]) -> f64 {
    assert_eq!(demands.len(), weights.len(), "every demand needs a weight");
    let mut order: Vec<usize> = (0..demands.len()).collect();
    // Users with the smallest demand per unit of weight are satisfied first.
    order.sort_by(|&a, &b| (demands[a] / weights[a]).total_cmp(&(demands[b] / weights[b])));
    let (mut left, mut weight_left) = (capacity, weights.iter().sum::<f64>());
    for &user in &order {
        let level = left / weight_left;
        if demands[user] > level * weights[user] {
            return level;
        }
        left = (left - demands[user]).max(0.0);
        weight_left -= weights[user];
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gives_the_shares_that_the_papers_print() {
        // afpft Fig. 2: 20 flows share 20 Mbit/s, five each at 0.5, 1, 1.5 and 2 Mbit/s. The flows at 1.5 and 2 Mbit/s
        // get 1.25 Mbit/s.
        let demands: Vec<f64> = [0.5, 1.0, 1.5, 2.0].iter().flat_map(|&rate| [rate; 5]).collect();
        let shares = max_min_share(20.0, &demands, &[1.0; 20]);
        assert_eq!([shares[0], shares[5], shares[10], shares[15]], [0.5, 1.0, 1.25, 1.25]);
        // afpft III-B: flow i of 32 sends i times the fair share of a link of 10 Mbit/s. Every flow gets 0.3125 Mbit/s.
        let demands: Vec<f64> = (1..=32).map(|i| f64::from(i) * 0.3125).collect();
        assert!(max_min_share(10.0, &demands, &[1.0; 32]).iter().all(|&share| share == 0.3125));
        // abc2018 IV-B: a user that sends R1 = 2.5 Mbit/s leaves 7.5 of 10 Mbit/s.
        assert_eq!(max_min_share(10.0, &[f64::INFINITY, 2.5], &[1.0, 1.0]), [7.5, 2.5]);
    }

    #[test]
    fn weights_scale_the_level() {
        assert_eq!(max_min_share(12.0, &[f64::INFINITY; 3], &[1.0, 2.0, 3.0]), [2.0, 4.0, 6.0]);
        assert_eq!(max_min_share(12.0, &[1.0, f64::INFINITY, f64::INFINITY], &[3.0, 1.0, 1.0]), [1.0, 5.5, 5.5]);
        assert!(max_min_share(1.0, &[], &[]).is_empty());
    }

    fn users() -> impl Strategy<Value = (f64, Vec<(f64, f64)>)> {
        let demand = prop_oneof![4 => 0.0..20.0, 1 => Just(f64::INFINITY)];
        (0.1..100.0, prop::collection::vec((demand, 0.01..50.0), 1..40))
    }

    proptest! {
        #[test]
        fn the_capacity_is_used_up_or_all_demands_are_met((capacity, users) in users()) {
            let (demands, weights): (Vec<f64>, Vec<f64>) = users.into_iter().unzip();
            let shares = max_min_share(capacity, &demands, &weights);
            let (used, wanted) = (shares.iter().sum::<f64>(), demands.iter().sum::<f64>());
            prop_assert!((used - capacity.min(wanted)).abs() < 1e-9 * capacity,
                "{used} of {capacity}, {wanted} wanted");
            prop_assert!(shares.iter().zip(&demands).all(|(share, demand)| share <= demand));
        }

        #[test]
        fn who_gets_less_than_he_asks_for_gets_as_much_as_anyone_per_weight((capacity, users) in users()) {
            let (demands, weights): (Vec<f64>, Vec<f64>) = users.into_iter().unzip();
            let shares = max_min_share(capacity, &demands, &weights);
            let best = shares.iter().zip(&weights).map(|(share, weight)| share / weight).fold(0.0, f64::max);
            for ((share, demand), weight) in shares.iter().zip(&demands).zip(&weights) {
                prop_assert!(share == demand || share / weight >= best * (1.0 - 1e-9));
            }
        }

        #[test]
        fn shares_do_not_depend_on_the_order_of_the_users((capacity, mut users) in users()) {
            let share = |users: &[(f64, f64)]| {
                let (demands, weights): (Vec<f64>, Vec<f64>) = users.iter().copied().unzip();
                max_min_share(capacity, &demands, &weights)
            };
            let forwards = share(&users);
            users.reverse();
            for (a, b) in forwards.iter().zip(share(&users).iter().rev()) {
                prop_assert!((a - b).abs() <= 1e-9 * capacity);
            }
        }

        #[test]
        fn a_larger_demand_of_one_never_gives_another_more((capacity, users) in users(), extra in 0.0..50.0f64) {
            let (mut demands, weights): (Vec<f64>, Vec<f64>) = users.into_iter().unzip();
            let before = max_min_share(capacity, &demands, &weights);
            demands[0] += extra;
            let after = max_min_share(capacity, &demands, &weights);
            prop_assert!(after[0] >= before[0] - 1e-9 * capacity);
            prop_assert!(before.iter().zip(&after).skip(1).all(|(b, a)| *a <= b + 1e-9 * capacity));
        }
    }
}
