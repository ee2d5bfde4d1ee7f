//! Suggests known names for an unknown one. The same rule applies to keys and values of files, options and Python.

use std::cmp::Reverse;

/// Minimum similarity (Jaro and Winkler) of a suggested name; 1 for equal names.
const SIMILAR: f64 = 0.8;
/// Minimum similarity of names that differ by two swapped neighbouring letters.
const SWAPPED: f64 = 0.81;
/// Maximum number of suggested names.
const MOST_MEANT: usize = 3;
/// Common words of the field for items that have other names in Fairlane.
const OTHER_WORDS: [(&str, &[&str]); 3] =
    [("udp", &["cbr", "poisson", "on_off"]), ("fifo", &["droptail"]), ("pfifo", &["droptail"])];

/// Returns the names of `known` that are similar to `unknown`, the most similar first. Ignores case and hyphens.
#[must_use]
pub fn meant<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let unknown = plain(unknown);
    let others = OTHER_WORDS.iter().find(|(word, _)| *word == unknown).map_or(&[][..], |(_, names)| names);
    let similarity = |name| match plain(name) {
        _ if others.contains(&name) => 1.0,
        // In names of three letters Jaro's measure does not detect swapped neighbours.
        plain if is_swap(&plain, &unknown) => strsim::jaro_winkler(&plain, &unknown).max(SWAPPED),
        plain => strsim::jaro_winkler(&plain, &unknown),
    };
    let mut found: Vec<_> = known.into_iter().map(|name| (similarity(name), name)).collect();
    found.retain(|(similarity, _)| *similarity > SIMILAR);
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    // If a name differs only in case or hyphens, it is the only suggestion.
    let is_exact = found.first().is_some_and(|(similarity, name)| *similarity == 1.0 && !others.contains(name));
    found.truncate(if is_exact { 1 } else { MOST_MEANT });
    found.into_iter().map(|(_, name)| name).collect()
}

/// Returns a hint for an unknown name: the similar names or, if there are none, the known ones. If there are more than
/// `most` known names, returns the nearest ones.
#[must_use]
pub fn near(unknown: &str, known: &[&str], most: usize) -> String {
    let close = meant(unknown, known.iter().copied());
    if !close.is_empty() {
        return format!("did you mean {}?", close.join(", "));
    }
    if known.len() <= most {
        return format!("there are {}", known.join(", "));
    }
    let mut nearest = known.to_vec();
    nearest.sort_by_key(|name| Reverse((strsim::normalized_levenshtein(&plain(name), &plain(unknown)) * 1e6) as u64));
    format!("the nearest of {} are {}", known.len(), nearest[..most].join(", "))
}

fn is_swap(one: &str, other: &str) -> bool {
    strsim::osa_distance(one, other) == 1 && strsim::levenshtein(one, other) == 2
}

fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace(['-', ' '], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_suggested_and_no_others() {
        let names = ["droptail", "codel", "fq_codel", "reno", "bbr1", "bbr3", "cbr", "poisson", "on_off"];
        for (unknown, expected) in [
            ("codle", &["codel"][..]),
            ("crb", &["cbr"]),
            ("FQ-CoDel", &["fq_codel"]),
            ("bbr", &["bbr1", "bbr3"]),
            ("udp", &["cbr", "poisson", "on_off"]),
            ("pfifo", &["droptail"]),
            ("nobody", &[]),
            ("", &[]),
        ] {
            assert_eq!(meant(unknown, names), expected, "{unknown}");
        }
    }

    #[test]
    fn without_a_similar_name_all_are_named_or_the_nearest_of_many() {
        assert_eq!(near("codle", &["codel", "red"], 5), "did you mean codel?");
        assert_eq!(near("x", &["codel", "red"], 2), "there are codel, red");
        assert_eq!(near("rxx", &["codel", "red", "abc"], 1), "the nearest of 3 are red");
    }
}
