//! Max-min fair shares of users over any number of links, the reference for throughput.
//!
//! Uses progressive filling (Bertsekas and Gallager, Data Networks, 6.5.2). The link with the lowest level (share
//! per unit of weight) fixes the shares of its users, which are subtracted on all links. This is repeated for the other
//! users. On one link the result equals [`crate::measure::max_min_level`].

use crate::measure::max_min_level::max_min_level;

/// A group of users with equal weight, demand and route.
#[derive(Clone, Debug)]
pub struct Demand<'a> {
    /// Number of users.
    pub users: f64,
    /// Weight of each user.
    pub weight: f64,
    /// Demand of each user in bit/s; may be infinite.
    pub rate_bps: f64,
    /// Links that the users cross.
    pub route: &'a [u32],
}

/// Max-min share of one user of each group in bit/s. `capacities` has the rate of each link in bit/s.
#[must_use]
pub fn max_min_shares(capacities: &[f64], groups: &[Demand<'_>]) -> Vec<f64> {
    let mut shares: Vec<Option<f64>> = vec![None; groups.len()];
    let mut left = capacities.to_vec();
    let mut crossing: Vec<Vec<usize>> = vec![Vec::new(); left.len()];
    for (index, group) in groups.iter().enumerate() {
        group.route.iter().for_each(|&link| crossing[link as usize].push(index));
    }
    let level_of = |link: usize, left: &[f64], shares: &[Option<f64>]| {
        let open = || crossing[link].iter().filter(|&&group| shares[group].is_none()).map(|&group| &groups[group]);
        let demands: Vec<f64> = open().map(|group| group.users * group.rate_bps).collect();
        let weights: Vec<f64> = open().map(|group| group.users * group.weight).collect();
        max_min_level(left[link], &demands, &weights)
    };
    let mut levels: Vec<f64> = (0..left.len()).map(|link| level_of(link, &left, &shares)).collect();
    while let Some((link, &level)) = levels.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)) {
        if level == f64::INFINITY {
            break;
        }
        let mut changed = vec![false; left.len()];
        for &index in &crossing[link] {
            let group = &groups[index];
            if shares[index].is_none() {
                let fixed = group.rate_bps.min(level * group.weight);
                shares[index] = Some(fixed);
                for &crossed in group.route {
                    left[crossed as usize] = (left[crossed as usize] - group.users * fixed).max(0.0);
                    changed[crossed as usize] = true;
                }
            }
        }
        for link in (0..left.len()).filter(|&link| changed[link]) {
            levels[link] = level_of(link, &left, &shares);
        }
    }
    // Users that no link limits get their demand.
    shares.iter().zip(groups).map(|(share, group)| share.unwrap_or(group.rate_bps)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn group(users: f64, rate_bps: f64, route: &[u32]) -> Demand<'_> {
        Demand { users, weight: 1.0, rate_bps, route }
    }

    #[test]
    fn a_parking_lot_gives_the_long_flow_as_much_as_the_others() {
        // afpft III-D: 11 flows share each link of 10 Mbit/s, and the cross flows send 2 Mbit/s each. All get 0.909
        // Mbit/s.
        let groups = [group(1.0, f64::INFINITY, &[0, 1]), group(10.0, 2e6, &[0]), group(10.0, 2e6, &[1])];
        for share in max_min_shares(&[10e6, 10e6], &groups) {
            assert!((share - 10e6 / 11.0).abs() < 1e-6);
        }
    }

    #[test]
    fn what_one_link_denies_others_take_elsewhere() {
        // Like Bertsekas and Gallager, Fig. 6.12: three users on link 0 of capacity 1 get 1/3 each. One of these users
        // also crosses link 1 of capacity 1. The other user of link 1 gets 2/3.
        let groups = [group(2.0, f64::INFINITY, &[0]), group(1.0, f64::INFINITY, &[0, 1]), group(1.0, 9.0, &[1])];
        let shares = max_min_shares(&[1.0, 1.0], &groups);
        let expected = [1.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0];
        assert!(shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-12), "{shares:?}");
        assert_eq!(max_min_shares(&[5.0], &[group(2.0, 1.0, &[0])]), [1.0]);
    }

    proptest! {
        #[test]
        fn every_user_is_content_or_has_a_full_link_where_none_has_more(
            capacities in prop::collection::vec(1.0..10.0f64, 1..5),
            groups in prop::collection::vec(
                (1u32..5, 0.1..5.0f64, 0.1..20.0f64, prop::collection::btree_set(0u32..5, 1..4)), 1..8),
        ) {
            let links = capacities.len() as u32;
            let routes: Vec<Vec<u32>> = groups.iter()
                .map(|(.., route)| route.iter().map(|link| link % links).collect::<BTreeSet<_>>())
                .map(|route| route.into_iter().collect())
                .collect();
            let demands: Vec<Demand<'_>> = groups.iter().zip(&routes)
                .map(|(&(users, weight, rate_bps, _), route)| {
                    Demand { users: f64::from(users), weight, rate_bps, route }
                })
                .collect();
            let shares = max_min_shares(&capacities, &demands);
            let on = |link: u32| demands.iter().zip(&shares).filter(move |(group, _)| group.route.contains(&link));
            let load = |link: u32| on(link).map(|(group, share)| group.users * share).sum::<f64>();
            for (group, share) in demands.iter().zip(&shares) {
                let full = |&link: &u32| {
                    let best = on(link).map(|(other, share)| share / other.weight).fold(0.0, f64::max);
                    load(link) >= capacities[link as usize] * (1.0 - 1e-9)
                        && share / group.weight >= best * (1.0 - 1e-9)
                };
                prop_assert!(*share >= group.rate_bps * (1.0 - 1e-9) || group.route.iter().any(full));
            }
            for (link, capacity) in (0..).zip(&capacities) {
                prop_assert!(load(link) <= capacity * (1.0 + 1e-9));
            }
        }
    }
}
