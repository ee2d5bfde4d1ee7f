//! Parameters of BBRv3.

use fairlane_schemes::base::units::Time;
use fairlane_schemes::{choices, params};

choices! {
    /// BBRv3's response to congestion marks.
    pub enum Bbr3Ecn {
        /// A marked byte counts as a lost one.
        Loss = "loss",
        /// On paths with a short RTT, a moving average of the marked share reduces inflight_shortterm.
        Alpha = "alpha",
    }
}

params! {
    /// Parameters of BBRv3; sections are those of draft-ietf-ccwg-bbr.
    pub struct Bbr3Params {
        /// Pacing gain of BBRv3's Startup.
        bbr3_startup_pacing_gain: f64 = 2.77, in 1.0..=10.0, symbol "StartupPacingGain",
            source "draft-ietf-ccwg-bbr 2.5: 4 ln 2";
        /// Pacing gain of BBRv3's Drain.
        bbr3_drain_pacing_gain: f64 = 0.5, in 0.01..=1.0, symbol "DrainPacingGain", source "draft-ietf-ccwg-bbr 2.5";
        /// Window of BBRv3 in bandwidth-delay products, except while it probes.
        bbr3_cwnd_gain: f64 = 2.0, in 1.0..=10.0, symbol "DefaultCwndGain", source "draft-ietf-ccwg-bbr 2.6";
        /// Pacing gain of BBRv3's ProbeBW_UP.
        bbr3_probe_up_pacing_gain: f64 = 1.25, in 1.0..=10.0, source "draft-ietf-ccwg-bbr 5.3.3.5";
        /// Window of BBRv3 in ProbeBW_UP, in bandwidth-delay products.
        bbr3_probe_up_cwnd_gain: f64 = 2.25, in 1.0..=10.0, source "draft-ietf-ccwg-bbr 5.3.3.5";
        /// Pacing gain of BBRv3's ProbeBW_DOWN.
        bbr3_probe_down_pacing_gain: f64 = 0.9, in 0.01..=1.0, source "draft-ietf-ccwg-bbr 5.3.3.1; 0.91 in Linux v3";
        /// Percentage by which BBRv3 paces below its estimate of the bandwidth.
        bbr3_pacing_margin_percent: f64 = 1.0, in 0.0..=50.0, symbol "PacingMarginPercent",
            source "draft-ietf-ccwg-bbr 2.5";
        /// Growth factor of the delivery rate in a round below which BBRv3 may consider the pipe full.
        bbr3_full_bw_growth: f64 = 1.25, in 1.0..=2.0, source "draft-ietf-ccwg-bbr 5.3.1.2";
        /// Rounds without growth by `bbr3_full_bw_growth` after which BBRv3 considers the pipe full.
        bbr3_full_bw_rounds: u32 = 3, in 1..=100, source "draft-ietf-ccwg-bbr 5.3.1.2";
        /// Loss rate of a round trip above which BBRv3 considers a probe too high.
        bbr3_loss_threshold: f64 = 0.02, in 0.0..=0.5, symbol "LossThresh", source "draft-ietf-ccwg-bbr 2.8";
        /// Minimum number of lost ranges in a round for which losses end BBRv3's Startup.
        bbr3_startup_full_losses: u32 = 6, in 1..=1000, symbol "StartupFullLossCnt",
            source "draft-ietf-ccwg-bbr 5.3.1.3";
        /// Minimum share of its model that BBRv3 keeps after a round trip with losses.
        bbr3_beta: f64 = 0.7, in 0.1..=0.99, symbol "Beta", source "draft-ietf-ccwg-bbr 2.8";
        /// Headroom: share of inflight_longterm that BBRv3 leaves to other flows while it cruises.
        bbr3_headroom: f64 = 0.15, in 0.0..=0.9, symbol "Headroom", source "draft-ietf-ccwg-bbr 2.8";
        /// Minimum time between two bandwidth probes of BBRv3.
        bbr3_probe_wait: Time = "2 s", in "1 ms"..="1 h", source "draft-ietf-ccwg-bbr 5.3.3.8.3";
        /// Width of the uniform random time added to `bbr3_probe_wait`.
        bbr3_probe_wait_spread: Time = "1 s", in "0 s"..="1 h", source "draft-ietf-ccwg-bbr 5.3.3.8.3";
        /// Maximum number of round trips between two bandwidth probes; fewer if the flow has fewer segments in flight.
        bbr3_probe_wait_rounds: u32 = 63, in 1..=1000000, symbol "T_reno_bound", source "draft-ietf-ccwg-bbr 5.3.3.8.2";
        /// Rounds over which BBRv3 remembers the aggregation of ACKs.
        bbr3_extra_acked_rounds: u32 = 10, in 1..=1000, symbol "ExtraAckedFilterLen", source "draft-ietf-ccwg-bbr 2.12";
        /// Time over which BBRv3 takes the minimum RTT.
        bbr3_min_rtt_window: Time = "10 s", in "1 ms"..="1 h", symbol "MinRTTFilterLen",
            source "draft-ietf-ccwg-bbr 2.16.1";
        /// Time without a lower RTT after which BBRv3 probes for one.
        bbr3_probe_rtt_interval: Time = "5 s", in "1 ms"..="1 h", symbol "ProbeRTTInterval",
            source "draft-ietf-ccwg-bbr 2.16.2";
        /// Minimum duration of BBRv3's ProbeRTT.
        bbr3_probe_rtt_duration: Time = "200 ms", in "0 s"..="1 min", symbol "ProbeRTTDuration",
            source "draft-ietf-ccwg-bbr 2.16.2";
        /// Window of BBRv3's ProbeRTT, in bandwidth-delay products.
        bbr3_probe_rtt_cwnd_gain: f64 = 0.5, in 0.0..=1.0, symbol "ProbeRTTCwndGain",
            source "draft-ietf-ccwg-bbr 2.16.2";
        /// Response to congestion marks, if `ecn` is on.
        bbr3_ecn: Bbr3Ecn = "loss", source "draft-ietf-ccwg-bbr 3.7; alpha: Linux v3";
    }
}
