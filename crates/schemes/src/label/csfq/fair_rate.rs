//! The estimate of the fair rate alpha, per unit of weight: eq. (5) to (7) and the amendments.

use crate::contract::prelude::*;
choices! {
    /// Version of the fair-rate estimation.
    pub enum CsfqVariant {
        /// 1998: without the queue threshold and without cuts at an overflow.
        V1998 = "1998",
        /// With the amendments of 2003, as implemented in ports of the ns-2 code: below the queue threshold no
        /// estimation starts, and an uncongested window ends without an estimate.
        Amended = "amended",
        /// As `amended`; in addition, a congested window that ends below the threshold ends the congestion (abc2018
        /// V-E1 on csfq2003 Fig. 4).
        TonFig4 = "ton_fig4",
    }
}

choices! {
    /// Events that allow further cuts by eq. (7).
    pub enum CutBudget {
        /// Start of congestion, as in the ns-2 code.
        OnEntry = "on_entry",
        /// Start of congestion and end of each congested window, as in the text of the amendment.
        PerWindow = "per_window",
    }
}

choices! {
    /// Limit of the cuts by eq. (7).
    pub enum OverflowBound {
        /// 30 cuts by 1 %, as in the ns-2 code: 0.99^30 = 0.740.
        Cuts = "cuts",
        /// Exactly 0.75 of alpha at the time when cuts were last allowed.
        Floor = "floor",
    }
}

/// Constants of the estimation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub variant: CsfqVariant,
    pub budget: CutBudget,
    pub bound: OverflowBound,
    pub window: Time,
}

/// Input of the estimate from an arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    /// The packet's label on arrival.
    pub label: f64,
    /// A in bit/s.
    pub arrival_rate: f64,
    /// F in bit/s.
    pub accepted_rate: f64,
    /// C in bit/s.
    pub capacity: f64,
    /// True if the queue is below the threshold.
    pub is_short: bool,
}

/// Number of cuts by 1 % in one budget. Together they multiply alpha by 0.99^30 = 0.740.
const CUTS: u32 = 30;
const CUT: f64 = 0.99;
const FLOOR: f64 = 0.75;

/// State of alpha and its estimation.
#[derive(Clone, Debug)]
pub(super) struct FairRate {
    /// alpha in bit/s per unit of weight; 0 if there is no estimate.
    alpha: f64,
    /// Largest label of the current uncongested window.
    largest_label: f64,
    is_congested: bool,
    window_start: Time,
    cuts_left: u32,
    /// alpha at the time when cuts were last allowed.
    alpha_before_cuts: f64,
}

impl FairRate {
    pub fn new() -> Self {
        Self {
            alpha: 0.0,
            largest_label: 0.0,
            is_congested: true,
            window_start: Time::ZERO,
            cuts_left: CUTS,
            alpha_before_cuts: 0.0,
        }
    }

    /// alpha in bit/s per unit of weight; 0 if there is no estimate.
    #[inline]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    pub fn is_congested(&self) -> bool {
        self.is_congested
    }

    /// Updates the estimate at an arrival at `now`.
    #[inline]
    pub fn observe(&mut self, rules: &Rules, seen: &Observation, now: Time) {
        if self.alpha == 0.0 && rules.variant != CsfqVariant::V1998 {
            if seen.is_short {
                self.largest_label = self.largest_label.max(seen.label);
                return;
            }
            self.alpha = if self.largest_label > 0.0 { self.largest_label } else { seen.capacity / 2.0 };
            self.largest_label = 0.0;
            self.alpha_before_cuts = self.alpha;
        }
        if seen.arrival_rate >= seen.capacity {
            self.congested(rules, seen, now);
        } else {
            self.uncongested(rules, seen, now);
        }
    }

    fn congested(&mut self, rules: &Rules, seen: &Observation, now: Time) {
        if !self.is_congested {
            self.is_congested = true;
            self.window_start = now;
            self.allow_cuts();
        } else if now >= self.window_start.saturating_add(rules.window) {
            self.window_start = now;
            if rules.variant == CsfqVariant::TonFig4 && seen.is_short {
                self.is_congested = false;
                self.largest_label = 0.0;
                return;
            }
            let alpha = if self.alpha > 0.0 { self.alpha } else { seen.capacity };
            if seen.accepted_rate > 0.0 {
                self.alpha = f64::min(seen.capacity, alpha * seen.capacity / seen.accepted_rate); // eq. (5)
            }
            if rules.budget == CutBudget::PerWindow {
                self.allow_cuts();
            }
        }
    }

    fn uncongested(&mut self, rules: &Rules, seen: &Observation, now: Time) {
        if self.is_congested {
            self.is_congested = false;
            self.window_start = now;
            self.largest_label = 0.0;
        } else if now < self.window_start.saturating_add(rules.window) {
            self.largest_label = self.largest_label.max(seen.label);
        } else {
            self.window_start = now;
            self.alpha = self.largest_label; // eq. (6)
            if rules.variant != CsfqVariant::V1998 && seen.is_short {
                self.alpha = 0.0; // the largest label is kept for the next estimate
            } else {
                self.largest_label = 0.0;
            }
        }
    }

    fn allow_cuts(&mut self) {
        self.cuts_left = CUTS;
        self.alpha_before_cuts = self.alpha;
    }

    /// Applies eq. (7) after a packet arrived at a full queue.
    pub fn overflow(&mut self, rules: &Rules) {
        if rules.variant == CsfqVariant::V1998 {
            return;
        }
        match rules.bound {
            OverflowBound::Cuts if self.cuts_left > 0 => {
                self.cuts_left -= 1;
                self.alpha *= CUT;
            }
            OverflowBound::Cuts => {}
            OverflowBound::Floor => {
                let floor = FLOOR * self.alpha_before_cuts;
                self.alpha = f64::min(self.alpha, f64::max(CUT * self.alpha, floor));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::ConfigValue;
    use serde_json::json;

    const C: f64 = 10e6;

    fn rules(variant: &str) -> Rules {
        Rules {
            variant: CsfqVariant::parse(&json!(variant)).unwrap(),
            budget: CutBudget::OnEntry,
            bound: OverflowBound::Cuts,
            window: Time::from_millis(100),
        }
    }

    /// Returns an observation with this arrival rate, accepted rate and label, in Mbit/s.
    fn seen(arrival: f64, accepted: f64, label: f64, is_short: bool) -> Observation {
        Observation {
            label: label * 1e6,
            arrival_rate: arrival * 1e6,
            accepted_rate: accepted * 1e6,
            capacity: C,
            is_short,
        }
    }

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn without_an_estimate_the_first_long_queue_takes_the_largest_label_or_half_the_link() {
        let mut fair = FairRate::new();
        fair.observe(&rules("amended"), &seen(5.0, 5.0, 3.0, true), ms(1));
        fair.observe(&rules("amended"), &seen(5.0, 5.0, 2.0, true), ms(2));
        assert_eq!(fair.alpha(), 0.0);
        fair.observe(&rules("amended"), &seen(12.0, 12.0, 2.0, false), ms(3));
        assert_eq!(fair.alpha(), 3e6);
        let mut fair = FairRate::new();
        fair.observe(&rules("amended"), &seen(12.0, 12.0, 4.0, false), ms(1));
        assert_eq!(fair.alpha(), C / 2.0);
    }

    #[test]
    fn equation_5_scales_alpha_at_the_end_of_a_congested_window() {
        for variant in ["amended", "ton_fig4"] {
            let mut fair = FairRate::new();
            fair.observe(&rules(variant), &seen(20.0, 20.0, 8.0, false), ms(1)); // alpha = C/2, congested from 0 on
            fair.observe(&rules(variant), &seen(20.0, 20.0, 8.0, false), ms(99));
            assert_eq!(fair.alpha(), 5e6, "{variant}");
            fair.observe(&rules(variant), &seen(20.0, 20.0, 8.0, false), ms(100));
            assert_eq!(fair.alpha(), 2.5e6, "{variant}"); // 5 * 10/20
            fair.observe(&rules(variant), &seen(20.0, 0.5, 8.0, false), ms(200));
            assert_eq!(fair.alpha(), C, "{variant}"); // 2.5 * 10/0.5 = 50, bounded by the link
            fair.observe(&rules(variant), &seen(20.0, 0.0, 8.0, false), ms(300));
            assert_eq!(fair.alpha(), C, "{variant}"); // F = 0: nothing to scale by
        }
    }

    #[test]
    fn equation_6_takes_the_largest_label_of_an_uncongested_window() {
        for variant in ["1998", "amended", "ton_fig4"] {
            let mut fair = FairRate::new();
            fair.observe(&rules(variant), &seen(20.0, 20.0, 8.0, false), ms(1));
            for (at, label) in [(10, 9.0), (50, 2.0), (90, 4.0), (110, 1.0)] {
                fair.observe(&rules(variant), &seen(9.0, 9.0, label, false), ms(at));
            }
            // The window starts at 10 ms with the first packet, but does not include it. It ends at 110 ms.
            assert_eq!(fair.alpha(), 4e6, "{variant}");
            assert!(!fair.is_congested());
        }
    }

    #[test]
    fn an_uncongested_window_that_ends_below_the_threshold_leaves_no_estimate_but_its_largest_label() {
        let run = |variant| {
            let mut fair = FairRate::new();
            fair.observe(&rules(variant), &seen(20.0, 20.0, 8.0, false), ms(1));
            for (at, label) in [(10, 9.0), (50, 4.0), (110, 1.0)] {
                fair.observe(&rules(variant), &seen(9.0, 9.0, label, true), ms(at));
            }
            let short = fair.alpha();
            fair.observe(&rules(variant), &seen(12.0, 12.0, 1.0, false), ms(120));
            (short, fair.alpha())
        };
        assert_eq!(run("amended"), (0.0, 4e6));
        assert_eq!(run("ton_fig4"), (0.0, 4e6));
        assert_eq!(run("1998"), (4e6, 4e6));
    }

    #[test]
    fn ton_fig4_leaves_congestion_when_the_queue_is_short_at_the_end_of_a_window() {
        let run = |variant| {
            let mut fair = FairRate::new();
            fair.observe(&rules(variant), &seen(20.0, 20.0, 8.0, false), ms(1));
            fair.observe(&rules(variant), &seen(20.0, 20.0, 8.0, true), ms(100));
            (fair.alpha(), fair.is_congested())
        };
        assert_eq!(run("ton_fig4"), (5e6, false));
        assert_eq!(run("amended"), (2.5e6, true));
    }

    #[test]
    fn the_version_of_1998_starts_from_the_link_and_does_not_cut() {
        let mut fair = FairRate::new();
        fair.observe(&rules("1998"), &seen(20.0, 20.0, 8.0, true), ms(50));
        assert_eq!(fair.alpha(), 0.0);
        fair.observe(&rules("1998"), &seen(20.0, 20.0, 8.0, true), ms(100));
        assert_eq!(fair.alpha(), 5e6); // C * C/F
        fair.overflow(&rules("1998"));
        assert_eq!(fair.alpha(), 5e6);
    }

    /// Returns a congested estimate with alpha = 5 Mbit/s and a full budget of cuts.
    fn congested(rules: &Rules) -> FairRate {
        let mut fair = FairRate::new();
        fair.observe(rules, &seen(9.0, 9.0, 5.0, true), ms(1));
        fair.observe(rules, &seen(20.0, 20.0, 8.0, false), ms(2));
        fair
    }

    #[test]
    fn thirty_cuts_are_allowed_and_then_none() {
        let rules = rules("amended");
        let mut fair = congested(&rules);
        (0..100).for_each(|_| fair.overflow(&rules));
        // 0.99^30 = 0.7397.
        assert!((fair.alpha() / 5e6 - 0.99f64.powi(30)).abs() < 1e-12);
        assert!((fair.alpha() / 5e6 - 0.740).abs() < 0.0005);
    }

    #[test]
    fn the_exact_bound_is_three_quarters_and_never_raises() {
        let rules = Rules { bound: OverflowBound::Floor, ..rules("amended") };
        let mut fair = congested(&rules);
        (0..100).for_each(|_| fair.overflow(&rules));
        assert_eq!(fair.alpha(), 0.75 * 5e6);
        fair.observe(&rules, &seen(20.0, 20.0, 8.0, false), ms(200)); // 3.75 * 10/20
        fair.overflow(&rules);
        assert_eq!(fair.alpha(), 0.75 * 5e6 / 2.0); // below the floor already
    }

    #[test]
    fn cuts_are_allowed_anew_when_congestion_begins_or_at_each_window() {
        let cuts_after = |budget, second_arrival_rate: f64| {
            let rules = Rules { budget, ..rules("amended") };
            let mut fair = congested(&rules);
            (0..100).for_each(|_| fair.overflow(&rules));
            fair.observe(&rules, &seen(second_arrival_rate, 10.0, 8.0, false), ms(150)); // F = C: alpha stays
            fair.observe(&rules, &seen(20.0, 10.0, 8.0, false), ms(160));
            let before = fair.alpha();
            (0..100).for_each(|_| fair.overflow(&rules));
            (libm::log(fair.alpha() / before) / libm::log(0.99)).round()
        };
        assert_eq!(cuts_after(CutBudget::OnEntry, 20.0), 0.0);
        assert_eq!(cuts_after(CutBudget::OnEntry, 5.0), 30.0);
        assert_eq!(cuts_after(CutBudget::PerWindow, 20.0), 30.0);
    }
}
