//! Tests of the 22 cases in appendix A of the draft. Cases 1 to 16 and 20 to 22 are scenario files in `examples/bbr3`.
//! The other cases need a policer, or segments delayed at a chosen time, so they use a constructed path.

use super::diary::{Page, Turn, document, run};
use super::path::{Lot, Path};
use super::*;
use crate::traffic::tcp::congestion::model::byte_rate::ByteRate;
use fairlane_schemes::base::config::ConfigValue;
use serde_json::Value as Json;

/// Payload as a fraction of bytes on the wire: 1448 of 1500.
const PAYLOAD: f64 = 1448.0 / 1500.0;

/// Returns true if an estimate is within 2 % of a bit rate on the wire. The appendix only says "close".
fn is_close(estimate: ByteRate, wire_bps: f64) -> bool {
    (estimate.0 * 8.0 / (wire_bps * PAYLOAD) - 1.0).abs() <= 0.02
}

fn rate_of(document: &Json) -> f64 {
    BitRate::parse(&document["topology"]["bottleneck_rate"]).expect("a rate").as_f64()
}

fn turns_of(name: &str) -> Vec<Turn> {
    run(&document(name), |_, _| {}).1
}

fn turn(turns: &[Turn], from: State, to: State) -> &Turn {
    turns.iter().find(|turn| turn.is(from, to)).unwrap_or_else(|| panic!("never from {from:?} to {to:?}"))
}

/// Returns the state after each change, in order.
fn states(turns: &[Turn]) -> Vec<State> {
    turns.iter().map(|turn| turn.after.bbr.state).collect()
}

/// Checks case A.1, for any rate and delay.
fn check_startup_plateau(document: &Json) {
    let mut count = Vec::new();
    let (_, turns) = run(document, |before, after| {
        if before.is_some_and(|before| before.bbr.full_bw_count != after.bbr.full_bw_count) {
            count.push(after.bbr.full_bw_count);
        }
    });
    let ends = |turn: &&Turn| turn.before.bbr.state == State::Startup && turn.after.bbr.state != State::ProbeRtt;
    let bbr = &turns.iter().find(ends).expect("the end of Startup").after.bbr;
    // Drain may end at the same ACK at which it starts.
    assert_eq!(bbr.drain_start_round, bbr.rounds.count);
    assert!(is_close(bbr.max_bw, rate_of(document)), "{:?} of {}", bbr.max_bw, rate_of(document));
    assert!(bbr.full_bw_now && bbr.full_bw_reached && bbr.full_bw_count == 3);
    assert!(count.starts_with(&[1, 2, 3]) || count.windows(3).any(|counts| counts == [1, 2, 3]), "{count:?}");
}

#[test]
fn a1_startup_ends_on_a_plateau_with_the_bandwidth_within_two_percent() {
    check_startup_plateau(&document("01-startup-plateau.toml"));
}

#[test]
fn a2_startup_ends_on_losses_though_the_application_limits() {
    let mut limited = 0;
    let (_, turns) = run(&document("02-startup-loss.toml"), |_, page| {
        // Counts ACKs in Startup while the rate still grows, to check that losses, not a plateau, end Startup.
        limited += u32::from(page.bbr.state == State::Startup && page.bbr.full_bw_count == 0);
    });
    let end = turn(&turns, State::Startup, State::Drain);
    assert!(end.before.bbr.full_bw_count < 2 && limited > 0, "{}", end.before.bbr.full_bw_count);
    assert!(end.after.bbr.full_bw_now && end.after.bbr.full_bw_reached);
    assert!(end.after.bbr.inflight_longterm < UNBOUNDED);
}

#[test]
fn a3_drain_halves_the_rate_and_ends_with_a_bdp_in_flight() {
    let document = document("03-drain-inflight.toml");
    let mut ended = None;
    let (_, turns) = run(&document, |before, after| {
        let Some(before) = before else { return };
        if before.bbr.state == State::Drain && ended.is_none() {
            let target = after.bbr.inflight(connection(), &after.output, after.bbr.bw, 1.0);
            assert_eq!(after.bbr.state == State::Drain, after.in_flight > target, "at {:?}", after.now);
            ended = (after.bbr.state != State::Drain).then_some(after.now);
        }
    });
    let start = &turn(&turns, State::Startup, State::Drain).after;
    assert!((paced(start) / (start.bbr.bw.0 * 8.0 * 0.99) - 0.5).abs() < 1e-6);
    let end = turns.iter().find(|turn| turn.before.bbr.state == State::Drain).expect("it ends");
    assert!(end.after.bbr.state.is_probe_bw());
    assert_eq!(Some(end.after.now), ended);
}

#[test]
fn a4_drain_ends_after_three_rounds_though_more_than_a_bdp_is_in_flight() {
    let turns = turns_of("04-drain-time.toml");
    let end = turn(&turns, State::Drain, State::Down);
    assert_eq!(end.before.bbr.rounds.count, end.after.bbr.drain_start_round + 3);
    assert_eq!(end.after.bbr.rounds.count, end.after.bbr.drain_start_round + 4);
    let bdp = end.before.bbr.inflight(connection(), &end.before.output, end.before.bbr.bw, 1.0);
    assert!(end.after.in_flight > bdp, "{} > {bdp}", end.after.in_flight);
}

#[test]
fn a5_probe_up_ends_on_a_plateau_of_three_rounds_without_losses() {
    let (record, turns) = run(&document("05-up-plateau.toml"), |_, _| {});
    let end = turn(&turns, State::Up, State::Down);
    // Down starts at the end of the third round without growth of the estimated bandwidth.
    assert!(end.after.bbr.full_bw_now && end.after.bbr.full_bw_count == 3);
    assert!(!end.after.bbr.prev_probe_too_high);
    assert_eq!(record.links[0].accounting.dropped, 0);
}

#[test]
fn a6_probe_up_ends_on_losses_though_the_application_limits() {
    let turns = turns_of("06-up-loss.toml");
    let end = turn(&turns, State::Up, State::Down);
    assert!(end.after.bbr.prev_probe_too_high && !end.before.bbr.prev_probe_too_high);
    assert!(!end.after.bbr.full_bw_now);
    // 5.5.10.2: application-limited data do not show how much the path can hold.
    assert_eq!(end.after.bbr.inflight_longterm, end.before.bbr.inflight_longterm);
}

#[test]
fn a7_without_losses_the_application_never_ends_startup_or_probe_up() {
    let mut document = document("07-app-limited.toml");
    let (mut last, turns) = final_page(&document);
    assert!(turns.is_empty() && last.bbr.state == State::Startup, "{:?}", states(&turns));
    // In this variant, the application limits the flow only from the first ProbeBW_UP on.
    document["tcp"]["app_limited_from"] = "2.04 s".into();
    let (page, turns) = final_page(&document);
    last = page;
    assert_eq!(states(&turns), [State::Drain, State::Cruise, State::Refill, State::Up]);
    assert_eq!(last.bbr.state, State::Up);
}

#[test]
fn a8_probe_down_ends_when_headroom_and_a_bdp_are_kept() {
    let mut checked = 0;
    let (_, turns) = run(&document("08-down-inflight.toml"), |before, after| {
        let Some(before) = before.filter(|before| before.bbr.state == State::Down) else { return };
        let params = Bbr3Params::default();
        let bound = after.bbr.inflight_with_headroom(connection(), &params);
        let bdp = after.bbr.inflight(connection(), &after.output, after.bbr.max_bw, 1.0);
        if after.bbr.state == State::Cruise {
            checked += 1;
        }
        // Data in flight just after the ACK. Since then the sender has sent a quantum.
        let in_flight = after.in_flight.saturating_sub(u64::from(after.output.quantum));
        assert!(in_flight <= bound.min(bdp) || after.bbr.state != State::Cruise, "at {:?}", after.now);
        assert!(before.now < after.now || after.in_flight > 0);
    });
    assert!(checked >= 2);
    let start = &turn(&turns, State::Up, State::Down).after;
    assert!((paced(start) / (start.bbr.bw.0 * 8.0 * 0.99) - 0.9).abs() < 1e-6);
    turn(&turns, State::Down, State::Cruise);
}

#[test]
fn a9_probe_down_ends_after_its_time_though_the_queue_stays() {
    let turns = turns_of("09-down-time.toml");
    let end = turn(&turns, State::Down, State::Refill);
    let waited = end.after.now - end.before.bbr.cycle_stamp;
    // At 9 Mbit/s an ACK for two packets arrives every 2.7 ms, so Down ends at most 2.7 ms late.
    let late = waited - end.before.bbr.bw_probe_wait;
    assert!(late > Time::ZERO && late < Time::from_micros(2700), "{late:?}");
    assert!(end.before.bbr.rounds_since_probe_up < 63, "nor for the number of rounds");
}

/// Checks A.10, for any rate and delay: from ProbeBW into ProbeRTT and back, at the intervals of the draft.
fn check_probe_rtt(document: &Json) {
    let (_, turns) = run(document, |_, _| {});
    let entry =
        turns.iter().find(|turn| turn.after.bbr.state == State::ProbeRtt && turn.before.bbr.state.is_probe_bw());
    let entry = entry.expect("ProbeRTT");
    assert!(entry.after.now - entry.before.bbr.probe_rtt_min_stamp > Time::from_secs(5));
    let params = Bbr3Params::default();
    assert_eq!(entry.after.bbr.cwnd_gain(&params), 0.5);
    assert_eq!(u64::from(entry.after.output.cwnd), entry.after.bbr.probe_rtt_cwnd(connection(), &params));
    let exit = turns.iter().find(|turn| turn.before.now >= entry.after.now && turn.before.bbr.state == State::ProbeRtt);
    let exit = exit.expect("the end of ProbeRTT");
    assert_eq!(exit.after.bbr.state, State::Cruise);
    assert!(exit.after.now - entry.after.now > Time::from_millis(200));
    assert!(exit.after.bbr.rounds.count > entry.after.bbr.rounds.count);
    assert!(exit.after.output.cwnd > exit.before.output.cwnd);
}

#[test]
fn a10_probe_rtt_comes_after_five_seconds_and_lasts_200_ms_and_a_round() {
    let document = document("10-probe-rtt.toml");
    check_probe_rtt(&document);
    for (rate, rtt) in [(1_000_000, 10), (10_000_000, 100), (100_000_000, 1)] {
        let mut document = at(&document, rate, Time::from_millis(rtt));
        document["run"]["measure"] = "12 s".into();
        check_probe_rtt(&document);
    }
}

#[test]
fn a11_an_idle_sender_skips_probe_rtt() {
    let pause = Time::from_secs(3)..Time::from_secs(10);
    let (mut restarted, mut probed) = (false, false);
    run(&document("11-probe-rtt-skipped.toml"), |before, after| {
        let woke = before.is_some_and(|before| before.now < pause.end && after.now >= pause.end);
        restarted |= woke && after.bbr.idle_restart;
        // 5 s after the restart ProbeRTT may start again.
        probed |= after.bbr.state == State::ProbeRtt && after.now < pause.end + Time::from_secs(5);
    });
    assert!(restarted && !probed);
}

#[test]
fn a12_startup_finds_the_bandwidth_where_acks_come_in_clumps() {
    let mut most = 0.0f64;
    let (_, turns) = run(&document("12-startup-aggregation.toml"), |_, page| {
        if page.bbr.state == State::Startup {
            most = most.max(f64::from(page.output.cwnd) - 2.0 * page.bbr.bdp(page.bbr.bw, 1.0) as f64);
        }
    });
    let end = &turn(&turns, State::Startup, State::Drain).after.bbr;
    assert!(is_close(end.max_bw, 1e7), "{:?}", end.max_bw);
    // An ACK covers the data that arrive in 10 ms: 8.3 segments on average, so up to 9 segments.
    assert_eq!(end.extra_acked, 9 * 1448);
    assert!(most > 0.0, "cwnd exceeds 2 BDP");
}

#[test]
fn a13_cruise_fills_the_link_where_acks_come_in_clumps() {
    let (mut cruised, mut sent) = (Time::ZERO, 0);
    run(&document("13-cruise-aggregation.toml"), |before, after| {
        let Some(before) = before.filter(|before| before.bbr.state == State::Cruise) else { return };
        if after.bbr.state == State::Cruise {
            let bbr = &after.bbr;
            assert!(bbr.extra_acked > 0);
            // Unless `inflight_longterm` limits the window, it is 2 BDP plus the allowance for aggregation, or at least
            // 3 quanta.
            if after.output.cwnd == before.output.cwnd && bbr.inflight_longterm == UNBOUNDED {
                let window = bbr.bdp(bbr.bw, 2.0) + bbr.extra_acked;
                assert!(u64::from(after.output.cwnd) <= window.max(3 * u64::from(after.output.quantum)));
            }
            cruised += after.now - before.now;
            sent += after.sent - before.sent;
        }
    });
    assert!(cruised > Time::from_secs(5), "{cruised:?}");
    // The flow paces at 99 % of the rate, and aggregated ACKs do not stop it.
    let rate = (sent * 1448 * 8) as f64 / cruised.as_secs_f64();
    assert!((rate / (1e7 * PAYLOAD * 0.99) - 1.0).abs() < 0.02, "{rate}");
}

#[test]
fn a14_below_a_bdp_of_a_packet_four_segments_keep_the_link_busy() {
    let (mut least, mut paced_at) = (u32::MAX, Vec::new());
    let (record, _) = run(&document("14-sub-packet-bdp.toml"), |_, page| {
        if page.bbr.full_bw_reached {
            least = least.min(page.output.cwnd);
            if page.bbr.state == State::Cruise {
                paced_at.push(paced(page));
            }
        }
    });
    assert_eq!(least, 4 * 1448, "BBR.MinPipeCwnd, in ProbeRTT");
    // The pacing rate is 99 % of the payload rate of a link of 64 kbit/s.
    assert!(paced_at.iter().all(|rate| (rate / (64_000.0 * PAYLOAD * 0.99) - 1.0).abs() <= 0.02), "{paced_at:?}");
    assert!(record.groups[0].throughput_bps / 64_000.0 > 0.98, "{}", record.groups[0].throughput_bps);
}

#[test]
fn a15_ten_times_the_bandwidth_is_found_in_a_number_of_rounds_logarithmic_in_the_bdp() {
    let rise = Time::from_secs(8);
    let (mut slopes, mut round) = (Vec::new(), None);
    run(&document("15-bandwidth-up.toml"), |before, after| {
        if after.now < rise || round.is_some() {
            return;
        }
        let rounds = after.bbr.bw_probe_up_rounds;
        if after.bbr.state == State::Up && before.is_some_and(|before| before.bbr.bw_probe_up_rounds != rounds) {
            let cwnd = u64::from(before.unwrap().output.cwnd);
            let slope = cwnd / after.bbr.probe_up_acked_per_inc;
            if slope == 1 {
                slopes.clear(); // a new probe
            }
            slopes.push((slope, cwnd / 1448));
        }
        if is_close(after.bbr.max_bw, 1e8) {
            round = Some(slopes.len());
        }
    });
    // inflight_longterm grows by 1, 2, 4, ... segments per round, but never by more than the window.
    for (number, (slope, window)) in slopes.iter().enumerate() {
        assert_eq!(*slope, window.min(&(1 << number)).to_owned(), "{slopes:?}");
    }
    // The window grows from 44 segments to a BDP of 336 segments. The sum of 1, 2, 4, ... exceeds 292 after 9 rounds.
    // The growth of a round is sent in the next round, and delivered in the round after that.
    assert!(round.is_some_and(|round| round <= 9 + 2), "{round:?} {slopes:?}");
}

#[test]
fn a16_a_tenth_of_the_bandwidth_is_found_within_two_cycles() {
    let fall = Time::from_secs(5);
    let (mut lowest, mut cycles, mut found) = (f64::INFINITY, 0, None);
    run(&document("16-bandwidth-down.toml"), |before, after| {
        if after.now < fall || found.is_some() {
            return;
        }
        lowest = lowest.min(after.bbr.bw_shortterm.0 * 8.0);
        cycles +=
            u32::from(before.is_some_and(|before| before.bbr.state == State::Up && after.bbr.state == State::Down));
        found = is_close(after.bbr.max_bw, 1e7).then_some(cycles);
    });
    // Each round with losses reduces the bandwidth by a factor of 0.7: 96.5, 67.6, 47.3, 33.1 Mbit/s and so on.
    assert!(lowest < 0.7 * 0.7 * 1e8 * PAYLOAD * 1.001, "{lowest}");
    assert!(found.is_some_and(|cycles| cycles <= 2), "{found:?}");
}

#[test]
fn a17_a_policer_is_followed_without_lasting_losses() {
    // A policer of 5 Mbit/s with a bucket of 100 kB.
    let (mut tokens, mut last) = (100_000.0f64, Time::ZERO);
    let mut police = |now: Time| {
        tokens = (tokens + (now - last).as_secs_f64() * 5e6 / 8.0).min(100_000.0);
        last = now;
        if tokens < 1250.0 {
            return Lot::Lost;
        }
        tokens -= 1250.0;
        Lot::Arrives
    };
    let mut path = Path::new();
    let mut adapted = false;
    path.run(&mut police, |path| {
        let bbr = path.bbr();
        adapted |= bbr.state.is_probe_bw() && bbr.inflight_shortterm < UNBOUNDED && bbr.bw_shortterm.0.is_finite();
        path.now < Time::from_secs(20)
    });
    assert!(adapted, "the short-term model responds");
    let (sent, lost) = (path.sent, path.lost);
    // Counts intervals that last a minimum RTT, and how many of them have no losses.
    let (mut calm, mut spans, mut last_lost, mut next) = (0, 0, lost, path.now);
    path.run(&mut police, |path| {
        if path.now >= next {
            (spans, calm) = (spans + 1, calm + u32::from(path.lost == last_lost));
            (last_lost, next) = (path.lost, next + Time::from_millis(41));
        }
        path.now < Time::from_secs(60)
    });
    let (sent, lost) = ((path.sent - sent) as f64, (path.lost - lost) as f64);
    // The policer passes packets at its token rate. At 5 Mbit/s, these are 20 000 segments in 40 s.
    assert!(((sent - lost) / 20_000.0 - 1.0).abs() < 0.1, "{sent} sent, {lost} lost");
    // If the flow kept the rate of Startup, half of its segments would be lost.
    assert!(lost / sent < 0.1, "{lost} of {sent}");
    assert!(calm > spans / 2, "{calm} of {spans} spans without losses");
}

fn probing() -> Path {
    let mut path = Path::new();
    path.run(|_| Lot::Arrives, |path| path.bbr().state != State::Up);
    path
}

#[test]
fn a18_a_spurious_recovery_is_taken_back() {
    let mut path = probing();
    let before = path.bbr();
    // Five segments are 30 ms late, more than a quarter of the minimum RTT (RFC 8985 6.2) and less than a timeout.
    let mut late = 0;
    let mut delay = |_| {
        late += 1;
        if (20..25).contains(&late) { Lot::Late(Time::from_millis(30)) } else { Lot::Arrives }
    };
    path.run(&mut delay, |path| path.bbr().undo.is_none());
    let saved = path.bbr().undo.expect("saved");
    assert_eq!(saved.inflight_longterm, before.inflight_longterm);
    assert_eq!((saved.bw_shortterm, saved.inflight_shortterm), (before.bw_shortterm, before.inflight_shortterm));
    path.run(&mut delay, |path| path.sender.stats().undone_reductions == 0);
    let after = path.bbr();
    assert_eq!((after.inflight_longterm, after.inflight_shortterm), (UNBOUNDED, UNBOUNDED));
    assert!(matches!(after.state, State::Up | State::Refill), "{:?}", after.state);
    let end = path.now + Time::from_millis(200);
    path.run(&mut delay, |path| path.bbr().state != State::Up && path.now < end);
    assert_eq!(path.bbr().state, State::Up);
}

#[test]
fn a19_a_spurious_timeout_is_taken_back() {
    let mut path = probing();
    let before = path.bbr();
    // No packet arrives for half a second, longer than the timeout of at least 0.24 s.
    let (start, end) = (path.now + Time::from_millis(20), path.now + Time::from_millis(520));
    let mut delay = |now| if now > start { Lot::NotBefore(end) } else { Lot::Arrives };
    path.run(&mut delay, |path| path.sender.stats().timeouts == 0);
    assert_eq!(path.bbr().undo.expect("saved").inflight_longterm, before.inflight_longterm);
    let end = path.now + Time::from_secs(2);
    path.run(&mut delay, |path| path.sender.stats().undone_reductions == 0 && path.now < end);
    assert!(path.sender.stats().undone_reductions > 0, "the timeout was spurious");
    let after = path.bbr();
    assert_eq!(after.inflight_longterm, before.inflight_longterm);
    assert_eq!(after.inflight_shortterm, before.inflight_shortterm);
    assert!(matches!(after.state, State::Up | State::Refill), "{:?}", after.state);
}

#[test]
fn a20_probe_rtt_in_startup_returns_to_startup() {
    let turns = turns_of("20-startup-probe-rtt.toml");
    let entry = turn(&turns, State::Startup, State::ProbeRtt);
    assert!(!entry.after.bbr.full_bw_reached);
    let exit = turn(&turns, State::ProbeRtt, State::Startup);
    assert!(exit.after.now - entry.after.now > Time::from_millis(200));
    // The flow continues to probe and reaches the link's 100 Mbit/s.
    let last = turns.last().expect("turns");
    assert!(is_close(last.after.bbr.max_bw, 1e8), "{:?}", last.after.bbr.max_bw);
}

#[test]
fn a21_losses_in_probe_up_lower_inflight_longterm_and_end_it() {
    let turns = turns_of("21-up-loss-again.toml");
    let lossy: Vec<&Turn> = turns
        .iter()
        .filter(|turn| turn.is(State::Up, State::Down) && turn.after.bbr.prev_probe_too_high)
        .filter(|turn| turn.before.bbr.inflight_longterm < UNBOUNDED)
        .collect();
    assert!(!lossy.is_empty(), "{:?}", states(&turns));
    for turn in lossy {
        assert!(!turn.after.bbr.full_bw_now, "no plateau");
        let bdp = turn.after.bbr.bdp(turn.after.bbr.bw, 1.0);
        assert!(turn.after.bbr.inflight_longterm as f64 >= 0.7 * bdp as f64);
        assert!(turn.after.bbr.inflight_longterm <= turn.before.in_flight + 2 * 1448);
    }
}

#[test]
fn a22_a_pause_in_refill_leaves_the_estimate_and_probe_up_follows() {
    let pause = Time::from_millis(1985)..Time::from_secs(4);
    let (_, turns) = run(&document("22-refill-app-limited.toml"), |_, page| {
        if page.bbr.full_bw_reached {
            assert!(is_close(page.bbr.max_bw, 1e7), "{:?} at {:?}", page.bbr.max_bw, page.now);
        }
    });
    let refill = turn(&turns, State::Cruise, State::Refill);
    assert!(pause.contains(&refill.after.now));
    let up = turn(&turns, State::Refill, State::Up);
    assert_eq!(up.after.bbr.rounds.count, refill.after.bbr.rounds.count + 1);
    // The pause ends when the application writes again.
    assert!(turn(&turns, State::Up, State::Down).after.now > pause.end);
}

/// Last snapshot of a run, and its changes of state.
fn final_page(document: &Json) -> (Page, Vec<Turn>) {
    let mut last = None;
    let (_, turns) = run(document, |_, page| last = Some(page.clone()));
    (last.expect("it runs"), turns)
}

/// Segment sizes of the scenario files.
fn connection() -> Connection {
    Connection { mss: 1448, ..OF }
}

/// Pacing rate in bit/s.
fn paced(page: &Page) -> f64 {
    page.output.pacing.expect("it paces").as_f64()
}

/// The scenario at another rate and RTT, with a buffer of four bandwidth-delay products, and a duration of 60 rounds.
fn at(document: &Json, rate_bps: u64, rtt: Time) -> Json {
    let mut document = document.clone();
    let packets = (rate_bps as f64 * rtt.as_secs_f64() / (8.0 * 1500.0)).ceil();
    // At low rates a round is determined by the transmission time of packets.
    let round = rtt.as_secs_f64().max(20.0 * 12_000.0 / rate_bps as f64);
    let topology = &mut document["topology"];
    topology["bottleneck_rate"] = format!("{rate_bps} bit/s").into();
    topology["access_rate"] = format!("{} bit/s", 100 * rate_bps).into();
    topology["access_delay"] = "0 s".into();
    topology["bottleneck_delay"] = format!("{} ps", rtt.0 / 2).into();
    document["queue"]["limit"] = format!("{} packets", (4.0 * packets).max(120.0)).into();
    document["run"]["measure"] = format!("{:.6} s", 60.0 * round).into();
    document
}

/// Rates of the appendix, from 64 kbit/s to 10 Gbit/s. The next constant has its RTTs, from below 1 ms to 1 s.
const RATES: [u64; 6] = [64_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000];
const RTTS: [Time; 4] = [Time::from_micros(800), Time::from_millis(10), Time::from_millis(100), Time::from_secs(1)];

/// Returns true if a point is fast enough for a test that runs at every commit.
fn is_cheap(rate: u64, rtt: Time) -> bool {
    rate as f64 * rtt.as_secs_f64() <= 2e6
}

#[test]
fn a1_holds_from_64_kbit_to_a_gigabit_and_from_below_a_millisecond_to_a_second() {
    let document = document("01-startup-plateau.toml");
    for (rate, rtt) in RATES.into_iter().flat_map(|rate| RTTS.map(|rtt| (rate, rtt))) {
        if is_cheap(rate, rtt) {
            println!("{rate} {rtt:?}");
            check_startup_plateau(&at(&document, rate, rtt));
        }
    }
}

#[test]
#[ignore = "long: run by make test-long"]
fn a1_holds_at_all_points_up_to_ten_gigabit_and_a_second() {
    let document = document("01-startup-plateau.toml");
    for (rate, rtt) in RATES.into_iter().flat_map(|rate| RTTS.map(|rtt| (rate, rtt))) {
        if !is_cheap(rate, rtt) {
            println!("{rate} {rtt:?}");
            check_startup_plateau(&at(&document, rate, rtt));
        }
    }
}
