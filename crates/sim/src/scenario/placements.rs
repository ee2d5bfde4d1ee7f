//! Locations of the groups' users. On an access network each group has users at many nodes; on other topologies all
//! users are at one location.

use super::groups::{GroupConfig, MOST_ACCESS_LINKS, access_delays, check_hops, corrupts, default_spread};
use super::sources::SourceConfig;
use super::topology::{AccessNetwork, Dealt, Direction, SubscriberParams, TopologyConfig};
use fairlane_schemes::base::config::ConfigError;
use fairlane_schemes::base::units::BitRate;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Users of a group at one location; their numbers are consecutive.
#[derive(Clone, Debug)]
pub struct Placement<'a> {
    /// Index of the group.
    pub group: usize,
    /// Node of the access network, with the rate of the plan and the enforced rate; `None` on other topologies.
    pub at: Option<Dealt>,
    /// The group at this location: number of users, route, access links.
    pub config: Cow<'a, GroupConfig>,
}

/// Locations of the users of these groups, in the order of user numbers. If `in_tree`, a tree of shapers enforces the
/// plans instead of the edge.
pub(super) fn placements<'a>(
    groups: &'a [GroupConfig],
    topology: &TopologyConfig,
    in_tree: bool,
) -> Vec<Placement<'a>> {
    let Some(tree) = &topology.tree else {
        let whole = |(group, config)| Placement { group, at: None, config: Cow::Borrowed(config) };
        return groups.iter().enumerate().map(whole).collect();
    };
    let place = |dealt: Dealt| {
        let group = &groups[dealt.group];
        let mut config = placed(group, &dealt, tree, topology);
        config.params.access_rate = Some(match in_tree {
            // The tree enforces the plans. Packets with direction `local` do not cross the tree, so their plan is not
            // enforced.
            true => group.params.access_rate.unwrap_or(topology.access.access_rate).max(dealt.configured),
            false => dealt.configured,
        });
        Placement { group: dealt.group, config: Cow::Owned(config), at: Some(dealt) }
    };
    tree.deal(&of_groups(groups)).into_iter().map(place).collect()
}

fn of_groups(groups: &[GroupConfig]) -> Vec<(SubscriberParams, Option<u32>)> {
    groups.iter().filter_map(|group| group.subscribers.clone()).collect()
}

/// Returns the part of a group that is at a node.
fn placed(group: &GroupConfig, dealt: &Dealt, tree: &AccessNetwork, topology: &TopologyConfig) -> GroupConfig {
    let mut placed = group.clone();
    let direction = group.subscribers.as_ref().map_or(Direction::Down, |(params, _)| params.direction);
    placed.params.users = dealt.users;
    placed.route = tree.route(dealt.node, direction);
    if let Ok(delays) = access_delays(&group.params, &placed.route, topology, str::to_string) {
        (placed.access_delays, placed.access_spread) = delays;
    }
    placed
}

/// Sets the number of users at each location, computed from the shares, and the spread of their round-trip times.
/// Checks the requirements of the locations.
pub(super) fn check_placements(
    groups: &mut [GroupConfig],
    tree: &AccessNetwork,
    topology: &TopologyConfig,
) -> Result<(), ConfigError> {
    check_shares(groups)?;
    let dealt = tree.deal(&of_groups(groups));
    let corrupts = corrupts(groups, topology);
    let mut routes = BTreeSet::new();
    for (index, group) in groups.iter_mut().enumerate() {
        let mine = || dealt.iter().filter(|one| one.group == index);
        let users: u32 = mine().map(|one| one.users).sum();
        if users == 0 {
            let share = group.subscribers.as_ref().map_or(0.0, |(params, _)| params.share);
            let problem = format!("{share} is out of range, no subscriber falls to it");
            return Err(ConfigError::new(format!("groups[{index}].share"), problem));
        }
        if group.params.users != 1 && group.params.users != users {
            let problem = format!("{} is not what its share gives, {users}: leave it out", group.params.users);
            return Err(ConfigError::new(format!("groups[{index}].users"), problem));
        }
        group.params.users = users;
        let direction = group.subscribers.as_ref().map_or(Direction::Down, |(params, _)| params.direction);
        let nodes: BTreeSet<u32> = mine().map(|one| one.node).collect();
        let ways: Vec<_> = nodes.iter().map(|&node| tree.route(node, direction)).collect();
        let spread = default_spread(&group.params, &ways, topology);
        group.params.rtt_spread.get_or_insert(spread);
        for route in &ways {
            access_delays(&group.params, route, topology, |name| format!("groups[{index}].{name}"))?;
            for (source, application) in group.sources.iter().zip(&group.applications) {
                let call = SourceConfig::is_call(source);
                routes.insert((route.clone(), application.clone(), group.params.forged_labels, call));
            }
        }
        if let Ok(delays) = access_delays(&group.params, &group.route, topology, str::to_string) {
            (group.access_delays, group.access_spread) = delays;
        }
        let hops = routes.iter().map(|(route, _, _, call)| route.len() + usize::from(*call) + 1).sum();
        check_hops(hops, corrupts, &format!("groups[{index}].sources"))?;
    }
    if dealt.len() > MOST_ACCESS_LINKS {
        let problem = format!("{} places of users are out of range, there may be {MOST_ACCESS_LINKS}", dealt.len());
        return Err(ConfigError::new("topology.access_points", problem));
    }
    Ok(())
}

/// For each direction, checks that the shares of all groups that may be at the same node sum to at most one.
fn check_shares(groups: &[GroupConfig]) -> Result<(), ConfigError> {
    for &direction in Direction::ALL {
        let mut sum = 0.0;
        for (index, group) in groups.iter().enumerate() {
            let Some((params, node)) = &group.subscribers else { continue };
            if params.direction != direction || node.is_some() {
                continue;
            }
            sum += params.share;
            if sum > 1.0 + 1e-9 {
                let problem = format!(
                    "{} is out of range, the shares of all groups with direction \"{}\" may be 1 together",
                    params.share,
                    direction.name()
                );
                return Err(ConfigError::new(format!("groups[{index}].share"), problem));
            }
        }
    }
    Ok(())
}

impl Placement<'_> {
    /// Maximum rate of a user at the location: the rate of the plan or, without a plan, of the access link.
    #[must_use]
    pub fn most(&self, topology: &TopologyConfig) -> BitRate {
        let access = self.config.params.access_rate.unwrap_or(topology.access.access_rate);
        self.at.as_ref().map_or(access, |dealt| dealt.plan)
    }
}
