//! Deterministic generator of the vectors' packets.

use super::file::Input;
use super::frame::{ETHERTYPE_8021AD, ETHERTYPE_8021Q, Recipe};
use super::setup::{FLOODED, Setup};
use fairlane_schemes::base::rng::Rng;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Number of packets per setup.
pub const PACKETS: usize = 6_800;

/// Random choices.
pub struct Dice(Rng);

impl Dice {
    /// Creates the random choices of a setup.
    pub fn new(setup: &str) -> Self {
        Self(Rng::stream(1, 0, setup, 0))
    }

    /// Draws a uniform integer from 0 to `end - 1`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.bits() % end
    }

    pub fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// Draws log-uniformly between two powers of ten.
    pub fn magnitude(&mut self, from: f64, to: f64) -> f64 {
        libm::exp10(from + (to - from) * self.0.open01())
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// The packets of a setup, in order of arrival.
pub fn train(setup: &Setup) -> Vec<Input> {
    setup.scheme.train(setup).unwrap_or_else(|| usual(setup))
}

fn usual(setup: &Setup) -> Vec<Input> {
    let mut dice = Dice::new(setup.name);
    let mut now_ns: u64 = 0;
    let (mut gap_ns, mut favourites) = (1e5, Vec::new());
    let mut inputs = Vec::with_capacity(PACKETS);
    for number in 0..PACKETS {
        if number % 250 == 0 {
            // A new phase has another rate and a few active senders.
            gap_ns = setup.scheme.gap_ns(&mut dice);
            favourites = (0..3).map(|_| source(&mut dice, setup)).collect();
            if number % 1000 == 750 {
                // An idle time of up to 100 times the memory, but at most an hour.
                let memory_ns = (setup.scheme.memory().0 / 1000) as f64;
                now_ns += (memory_ns * dice.magnitude(-2.0, 2.0)).min(3.6e12) as u64;
            }
        }
        now_ns += dice.0.exponential(gap_ns) as u64;
        // The clock runs backwards, by up to 10 ms.
        let back = if dice.happens(8) { dice.magnitude(0.0, 7.0) as u64 } else { 0 };
        inputs.push(input(&mut dice, setup, &favourites, number, now_ns.saturating_sub(back)));
    }
    inputs
}

fn input(dice: &mut Dice, setup: &Setup, favourites: &[IpAddr], number: usize, now_ns: u64) -> Input {
    let station = match dice.below(100) {
        0..60 => 6,
        60..88 => 7,
        88..94 => 8,
        94..97 => 9,
        97 => FLOODED.0,
        _ => 77,
    };
    let mut recipe = Recipe::of(if dice.happens(750) { dice.one_of(favourites) } else { source(dice, setup) });
    let bytes = match dice.below(20) {
        0..8 => 1514,
        8..12 => 64,
        12 => 9014,
        // No data after the headers.
        13 => 14,
        _ => 54 + dice.below(1461) as usize,
    };
    let mut ingress_port = dice.one_of(&[1, 1, 1, 1, 1, 1, 2, 2, 3]);
    if dice.happens(250) {
        recipe.dscp = dice.one_of(&[46, 46, 46, 0, 10, 63]);
    }
    if dice.happens(100) {
        recipe.destination = Some(destination(dice, recipe.source));
        recipe.hops = dice.happens(200).then(|| dice.below(4) as u8);
    }
    match dice.below(100) {
        // Labels from neighbours; in the setup `extremes`, mostly the lowest and the highest.
        0..14 => {
            ingress_port = dice.one_of(&[4, 5]);
            let is_end = setup.name == "extreme" && dice.happens(600);
            let control = if is_end { dice.one_of(&[0, 0xffff, 0xefff, 0x8000]) } else { 0x6000 + dice.below(0x8000) };
            recipe.tags.push((ETHERTYPE_8021AD, control as u16));
        }
        // Forged labels from any port. The switch removes one or two, and rejects a frame with three.
        14..19 => {
            for _ in 0..1 + dice.below(3) {
                recipe.tags.push((ETHERTYPE_8021AD, dice.below(0x10000) as u16));
            }
            ingress_port = dice.one_of(&[1, 1, 2, 3, 4, 6, 300]);
        }
        // Stacks of both kinds of tags.
        19..23 => {
            for _ in 0..1 + dice.below(5) {
                let ethertype = dice.one_of(&[ETHERTYPE_8021Q, ETHERTYPE_8021Q, ETHERTYPE_8021AD]);
                recipe.tags.push((ethertype, dice.below(0x10000) as u16));
            }
            ingress_port = dice.one_of(&[1, 2, 3, 4]);
        }
        // Frames truncated at any position, also within tags and addresses.
        23..26 => {
            for _ in 0..dice.below(3) {
                recipe.tags.push((ETHERTYPE_8021AD, dice.below(0x10000) as u16));
            }
            recipe.cut = Some(dice.below(70) as usize);
            ingress_port = dice.one_of(&[1, 1, 3, 4]);
        }
        // Headers with inconsistent version and length.
        26 => recipe.first_byte = Some(dice.below(256) as u8),
        // Not IP.
        27..29 => {
            recipe.source = None;
            recipe.destination = None;
            recipe.ethertype = Some(dice.one_of(&[0x0806, 0x86cc, 0x0800, 0x86dd, 0xffff, 0x88a8]));
        }
        // Random bytes; half of the ethertypes are known ones.
        29 => recipe = Recipe { raw: Some(noise(dice)), ..Recipe::default() },
        // Unlabelled packets from a neighbour.
        30 => ingress_port = dice.one_of(&[4, 5]),
        _ => {}
    }
    let (queue, random) = (setup.scheme.queue(dice, number), setup.scheme.random(dice));
    Input { now_ns, ingress_port, station, queue, random, bytes, recipe }
}

/// An address in one of the prefixes, or in none.
fn source(dice: &mut Dice, setup: &Setup) -> IpAddr {
    // A setup with a meter per address has more hosts.
    let hosts = if setup.name == "addresses" { 250 } else { 4 };
    let host = 1 + dice.below(hosts) as u8;
    let v4 = |network: u8, host: u8| IpAddr::V4(Ipv4Addr::new(10, 0, network, host));
    let v6 = |network: u16, host: u16| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 7, network, 0, 0, 0, host));
    match dice.below(12) {
        0 | 1 => v4(1, host),
        2 => v4(1, 128 | host),
        3 | 4 => v4(2, host),
        5 | 6 => v4(3, host),
        7 => v6(0, host.into()),
        8 => v6(1, host.into()),
        9 => v6(u16::from(host), 1),
        // IPv4 in IPv6: the same user as the embedded address.
        10 => IpAddr::V6(Ipv4Addr::new(10, 0, 1, host).to_ipv6_mapped()),
        _ => IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)),
    }
}

fn destination(dice: &mut Dice, source: Option<IpAddr>) -> IpAddr {
    if source.is_some_and(|source| source.is_ipv6()) {
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, dice.one_of(&[0x99, 0x98]), 0, 0, 0, 0, 7))
    } else {
        IpAddr::V4(Ipv4Addr::new(198, 51, dice.one_of(&[100, 101]), dice.one_of(&[7, 8])))
    }
}

fn noise(dice: &mut Dice) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..dice.below(90)).map(|_| dice.below(256) as u8).collect();
    if bytes.len() > 14 && dice.happens(700) {
        let ethertype: u16 = dice.one_of(&[0x0800, 0x86dd, 0x88a8, 0x8100]);
        bytes[12..14].copy_from_slice(&ethertype.to_be_bytes());
    }
    bytes
}
