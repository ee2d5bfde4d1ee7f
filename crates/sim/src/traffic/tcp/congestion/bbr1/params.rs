//! Parameters of BBRv1.

use fairlane_schemes::base::units::Time;
use fairlane_schemes::params;

params! {
    /// Parameters of BBRv1; sections are those of draft-cardwell-iccrg-bbr-congestion-control-00.
    pub struct Bbr1Params {
        /// Gain of rate and window in BBRv1's Startup; Drain uses its inverse as pacing gain.
        bbr1_high_gain: f64 = 2.885, in 1.0..=10.0, symbol "BBRHighGain",
            source "draft 4.3.2.1: 2 / ln 2; tcp_bbr.c bbr_high_gain";
        /// Window of BBRv1 once the pipe is full, in bandwidth-delay products.
        bbr1_cwnd_gain: f64 = 2.0, in 1.0..=10.0, source "draft 4.3.4.3; tcp_bbr.c bbr_cwnd_gain";
        /// Pacing gain of the ProbeBW phase that probes for more bandwidth.
        bbr1_probe_up_pacing_gain: f64 = 1.25, in 1.0..=10.0, source "draft 4.3.4.1; tcp_bbr.c bbr_pacing_gain";
        /// Pacing gain of the ProbeBW phase that drains the queue of the previous phase.
        bbr1_probe_down_pacing_gain: f64 = 0.75, in 0.01..=1.0, source "draft 4.3.4.1; tcp_bbr.c bbr_pacing_gain";
        /// Percentage by which BBRv1 paces below its estimate of the bandwidth.
        bbr1_pacing_margin_percent: f64 = 1.0, in 0.0..=50.0,
            source "tcp_bbr.c bbr_pacing_margin_percent; the draft has none";
        /// Round trips over which BBRv1 takes the maximum delivery rate.
        bbr1_bw_rounds: u32 = 10, in 1..=1000, symbol "BtlBwFilterLen", source "draft 4.1.1.2; tcp_bbr.c bbr_bw_rtts";
        /// Time over which BBRv1 takes the minimum RTT, and time without a lower RTT after which it probes for one.
        bbr1_min_rtt_window: Time = "10 s", in "1 ms"..="1 h", symbol "RTpropFilterLen",
            source "draft 4.1.2.2; tcp_bbr.c bbr_min_rtt_win_sec";
        /// Minimum duration of BBRv1's ProbeRTT.
        bbr1_probe_rtt_duration: Time = "200 ms", in "0 s"..="1 min", symbol "ProbeRTTDuration",
            source "draft 4.3.5; tcp_bbr.c bbr_probe_rtt_mode_ms";
        /// Enlarges BBRv1's window for aggregated ACKs.
        bbr1_ack_aggregation: bool = true, source "tcp_bbr.c bbr_update_ack_aggregation; not in the draft";
        /// Rounds BBRv1's windows and quanta to whole segments. Bandwidth-delay products are rounded up, and windows up
        /// to an even number. Quanta (of 2^-10 s, not 1 ms) and expected deliveries are rounded down. Times are rounded
        /// down to microseconds, and Startup's gains to multiples of 1/256.
        bbr1_whole_segments: bool = true,
            source "tcp_bbr.c bbr_bdp, bbr_quantization_budget, bbr_tso_segs_goal, bbr_update_ack_aggregation; the \
                draft counts bytes";
        /// Estimates the data in flight when the next quantum departs: subtracts data delivered until then and, in the
        /// ProbeBW phase that probes, counts the quantum.
        bbr1_counts_next_quantum: bool = true, source "tcp_bbr.c bbr_packets_in_net_at_edt; not in the draft";
        /// Lets an RTT equal to the minimum postpone ProbeRTT, as a lower one does.
        bbr1_equal_rtt_counts: bool = false, source "draft 4.1.2.3: RTT <= RTprop; tcp_bbr.c bbr_update_min_rtt: lower";
        /// Lets BBRv1 detect a policer and limit itself to the policer's rate.
        bbr1_policer_detection: bool = true, source "tcp_bbr.c bbr_lt_bw_sampling; not in the draft";
    }
}

/// Denominator of gains in Linux (BBR_UNIT).
const UNIT: f64 = 256.0;

impl Bbr1Params {
    /// Unit of times that Linux compares with the minimum RTT.
    pub fn unit_of_time(&self) -> Time {
        if self.bbr1_whole_segments { Time::from_micros(1) } else { Time::ZERO }
    }

    /// Gain of rate and window in Startup.
    pub fn high_gain(&self) -> f64 {
        let gain = self.bbr1_high_gain;
        if self.bbr1_whole_segments { ((gain * UNIT).floor() + 1.0) / UNIT } else { gain }
    }

    /// Pacing gain in Drain.
    pub fn drain_gain(&self) -> f64 {
        let gain = 1.0 / self.bbr1_high_gain;
        if self.bbr1_whole_segments { (gain * UNIT).floor() / UNIT } else { gain }
    }

    /// Factor of the pacing margin.
    pub fn margin(&self) -> f64 {
        1.0 - self.bbr1_pacing_margin_percent / 100.0
    }
}
