//! A video player that chooses the bitrate of each chunk by what is in its playback buffer.
//!
//! Source: Huang, Johari, McKeown, Trunnell, Watson, A Buffer-Based Approach to Rate Adaptation, SIGCOMM 2014, BBA-0:
//! section 4, fig. 6, algorithm 1.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | `f(B) = R_1` up to `r`, `R_m` from `r + cu` on, linear between | [`VideoPlayer::rate_map`] |
//! | (2) | at `B <= r` the lowest bitrate, at `B >= r + cu` the highest | [`VideoPlayer::choose`] |
//! | (3) | if `f(B)` is at or above the next higher bitrate, the highest one below `f(B)` | the same |
//! | (4) | if `f(B)` is at or below the next lower bitrate, the lowest one above `f(B)` | the same |
//! | (5) | otherwise the bitrate stays | the same |
//! | (6) | a full buffer has room for the next chunk before it is asked for | [`VideoPlayer::receive`] |
//!
//! Cost: a few operations per chunk, 250 bytes a player.
//!
//! Deviations:
//! 1. All chunks of a bitrate are of one size, rounded up to whole TCP segments; the chunk map of BBA-1 and the
//!    start-up of BBA-2 are not there.
//! 2. Playing starts, and goes on after a stall, with the first whole chunk: the paper does not say when.
//! 3. The buffer is that of the player alone: there are no seeks, and a user watches to the end.

use crate::scenario::VideoParams;
use fairlane_schemes::base::units::Time;

/// State of the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Playback {
    /// It has no chunk yet.
    Starting,
    Playing,
    Stalled,
    /// It has played all requested chunks, and requests no more.
    Ended,
}

/// Next event of the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// The rest of a chunk.
    Chunk,
    /// Room for the next chunk.
    Room,
    /// The arrival of its request at the server.
    Request,
}

/// Results of a player during the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VideoFigures {
    /// Times at which it ran out of video.
    pub stalls: u64,
    /// Time that it stood still, the start left out.
    pub stalled: Time,
    /// Time that it played.
    pub played: Time,
    /// Chunks received.
    pub chunks: u64,
    /// Sum of their bitrates in bit/s.
    pub bitrates_bps: f64,
    /// Chunks of another bitrate than the one before.
    pub switches: u64,
}

impl VideoFigures {
    /// Mean bitrate of the chunks; `None` without any.
    #[must_use]
    pub fn bitrate_bps(&self) -> Option<f64> {
        (self.chunks > 0).then(|| self.bitrates_bps / self.chunks as f64)
    }

    /// Time of stalls over the time that the video played or should have; `None` before it played.
    #[must_use]
    pub fn stalled_share(&self) -> Option<f64> {
        let all = self.stalled + self.played;
        (all > Time::ZERO).then(|| self.stalled.0 as f64 / all.0 as f64)
    }
}

/// A player.
#[derive(Clone, Debug)]
pub struct VideoPlayer {
    params: VideoParams,
    /// The measurement.
    window: (Time, Time),
    /// Place of its connection.
    pub flow: u32,
    /// Next event.
    pub awaits: Awaits,
    /// Time of its next action; [`Time::NEVER`] while a chunk is being downloaded.
    pub next: Time,
    playback: Playback,
    /// Time buffered at `since`.
    buffered: Time,
    since: Time,
    /// Number of the bitrate of the chunk that comes or came last, and of the one before.
    rung: usize,
    rung_before: Option<usize>,
    /// Time from the opening of the connection to the first picture; `None` before that.
    pub startup: Option<Time>,
    figures: VideoFigures,
}

impl VideoPlayer {
    /// A player that has requested its first chunk, of the lowest bitrate: its buffer is empty.
    #[must_use]
    pub fn new(params: VideoParams, flow: u32, window: (Time, Time)) -> Self {
        Self {
            params,
            window,
            flow,
            awaits: Awaits::Chunk,
            next: Time::NEVER,
            playback: Playback::Starting,
            buffered: Time::ZERO,
            since: Time::ZERO,
            rung: 0,
            rung_before: None,
            startup: None,
            figures: VideoFigures::default(),
        }
    }

    /// The last byte of a chunk arrived, `elapsed` after the opening of the connection.
    pub fn receive(&mut self, now: Time, elapsed: Time) {
        self.advance(now);
        self.startup.get_or_insert(elapsed);
        self.buffered = self.buffered.saturating_add(self.params.chunk);
        self.playback = Playback::Playing;
        if self.is_measured(now) {
            self.figures.chunks += 1;
            self.figures.bitrates_bps += self.params.ladder[self.rung].as_f64();
            self.figures.switches += u64::from(self.rung_before.is_some_and(|before| before != self.rung));
        }
        // Rule 6: while it plays, the buffer empties as time passes.
        let room = self.buffered.saturating_add(self.params.chunk).saturating_sub(self.params.buffer);
        self.next = now.saturating_add(room);
        self.awaits = Awaits::Room;
        if self.next >= self.params.until.stop.unwrap_or(Time::NEVER) {
            self.next = Time::NEVER;
        }
    }

    /// Chooses the next chunk; its request is at the server at `at_server`. The server then calls
    /// [`VideoPlayer::serve`].
    pub fn request(&mut self, now: Time, at_server: Time) {
        self.advance(now);
        self.rung_before = Some(self.rung);
        self.rung = self.choose();
        (self.awaits, self.next) = (Awaits::Request, at_server);
    }

    /// The request is at the server: the segments of the chunk, each of so much payload.
    pub fn serve(&mut self, segment_payload: u32) -> u32 {
        (self.awaits, self.next) = (Awaits::Chunk, Time::NEVER);
        self.params.segments(self.rung, segment_payload)
    }

    /// Results during the measurement, up to now, the end of the run.
    #[must_use]
    pub fn figures(&self, now: Time) -> VideoFigures {
        let mut player = self.clone();
        player.advance(now);
        player.figures
    }

    /// Rule 1, in bit/s.
    fn rate_map(&self, buffered: Time) -> f64 {
        let (lowest, highest) = (self.rate(0), self.rate(self.params.ladder.len() - 1));
        let share = buffered.saturating_sub(self.params.reservoir).0 as f64 / self.params.cushion.0 as f64;
        lowest + (highest - lowest) * share.min(1.0)
    }

    /// The number of the next bitrate. Rules 2 to 5.
    fn choose(&self) -> usize {
        let (rung, last) = (self.rung, self.params.ladder.len() - 1);
        if self.buffered <= self.params.reservoir {
            return 0;
        }
        if self.buffered >= self.params.reservoir + self.params.cushion {
            return last;
        }
        let rate = self.rate_map(self.buffered);
        if rate >= self.rate((rung + 1).min(last)) {
            return (0..=last).rev().find(|&other| self.rate(other) < rate).unwrap_or(0);
        }
        if rate <= self.rate(rung.saturating_sub(1)) {
            return (0..=last).find(|&other| self.rate(other) > rate).unwrap_or(last);
        }
        rung
    }

    fn rate(&self, rung: usize) -> f64 {
        self.params.ladder[rung].as_f64()
    }

    /// Plays until `now`.
    fn advance(&mut self, now: Time) {
        let since = std::mem::replace(&mut self.since, now);
        match self.playback {
            Playback::Starting | Playback::Ended => {}
            Playback::Stalled => {
                let stalled = self.measured(since, now);
                self.figures.stalled += stalled;
            }
            Playback::Playing if now - since <= self.buffered => {
                self.buffered -= now - since;
                let played = self.measured(since, now);
                self.figures.played += played;
            }
            Playback::Playing => {
                let empty = since + self.buffered;
                self.buffered = Time::ZERO;
                let played = self.measured(since, empty);
                self.figures.played += played;
                if self.awaits == Awaits::Room && self.next == Time::NEVER {
                    self.playback = Playback::Ended;
                    return;
                }
                self.playback = Playback::Stalled;
                self.figures.stalls += u64::from(self.is_measured(empty));
                let stalled = self.measured(empty, now);
                self.figures.stalled += stalled;
            }
        }
    }

    fn is_measured(&self, time: Time) -> bool {
        (self.window.0..self.window.1).contains(&time)
    }

    /// Part of a time span within the measurement.
    fn measured(&self, from: Time, to: Time) -> Time {
        to.min(self.window.1).saturating_sub(from.max(self.window.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_schemes::base::units::BitRate;

    const END: Time = Time::from_secs(1000);

    /// 1, 2, 3 and 4 Mbit/s; reservoir 10 s, cushion 30 s: 0.1 Mbit/s a second.
    fn params() -> VideoParams {
        VideoParams {
            ladder: (1..=4).map(|rate| BitRate(rate * 1_000_000)).collect(),
            chunk: Time::from_secs(2),
            buffer: Time::from_secs(60),
            reservoir: Time::from_secs(10),
            cushion: Time::from_secs(30),
            ..VideoParams::default()
        }
    }

    fn player() -> VideoPlayer {
        VideoPlayer::new(params(), 0, (Time::ZERO, END))
    }

    /// The player gets chunks at a constant rate in bit/s until `until`, and asks without delay.
    fn watch(player: &mut VideoPlayer, rate: f64, until: Time) {
        let mut now = player.since;
        loop {
            let bits = player.rate(player.rung) * player.params.chunk.as_secs_f64();
            now += Time::from_secs_f64(bits / rate);
            if now >= until {
                return;
            }
            player.receive(now, now);
            now = player.next;
            if now >= until {
                return;
            }
            player.request(now, now);
        }
    }

    #[test]
    fn the_choice_is_that_of_algorithm_1() {
        // f(B) = 1 + 0.1 (B - 10) Mbit/s: 2 Mbit/s at 20 s, 3 at 30 s.
        for (rung, buffered, next) in [
            (3, 10, 0), // the reservoir
            (0, 40, 3), // beyond the cushion
            (0, 19, 0), // f = 1.9 is below the next higher
            (0, 20, 0), // f = 2 is at the next higher, but the highest below f is 1
            (0, 21, 1), // f = 2.1
            (0, 31, 2), // f = 3.1: two steps at once
            (2, 21, 2), // f = 2.1 is above the next lower: hysteresis
            (2, 20, 2), // f = 2 is at the next lower; the lowest above it is 3
            (2, 19, 1), // f = 1.9: the lowest above is 2
            (3, 15, 1), // f = 1.5
        ] {
            let player = VideoPlayer { rung, buffered: Time::from_secs(buffered), ..player() };
            assert_eq!(player.choose(), next, "{rung} {buffered}");
        }
    }

    #[test]
    fn at_a_constant_rate_it_alternates_around_it_and_never_stalls() {
        // 2.5 Mbit/s: below it the buffer fills, above it empties; the mean over chunks is that for which it stands
        // still, each chunk weighted alike: sum of sizes over time = rate, so the mean bitrate is 2.5 Mbit/s, at the
        // end within what the buffer, 60 s of 1000 s, may have taken up.
        let mut player = player();
        watch(&mut player, 2.5e6, END);
        let figures = player.figures(END);
        assert_eq!((figures.stalls, figures.stalled), (0, Time::ZERO));
        let mean = figures.bitrate_bps().expect("chunks came");
        assert!((mean / 2.5e6 - 1.0).abs() < 0.06, "{mean}");
        assert!(player.rung == 1 || player.rung == 2, "{}", player.rung);
    }

    #[test]
    fn above_the_ladder_it_settles_on_the_highest_bitrate_with_a_full_buffer() {
        let mut player = player();
        watch(&mut player, 8e6, END);
        assert_eq!(player.rung, 3);
        // A chunk takes half its time: the buffer has between 60 s less what plays meanwhile, 1 s and a chunk, and
        // 60 s.
        assert!(player.buffered >= Time::from_secs(57), "{}", player.buffered);
        // It climbed the ladder once.
        assert!(player.figures(END).switches <= 3, "{:?}", player.figures(END));
    }

    #[test]
    fn below_the_ladder_it_stalls_for_the_share_that_is_missing() {
        // 0.8 Mbit/s for 1 Mbit/s: plays 80 % of the time once started; each chunk of 2 s comes in 2.5 s, a stall for
        // each.
        let mut player = player();
        watch(&mut player, 8e5, END);
        let figures = player.figures(END);
        let share = figures.stalled_share().expect("it played");
        assert!((share - 0.2).abs() < 0.003, "{share}");
        assert!((figures.stalls as f64 - 399.0).abs() <= 1.0, "{}", figures.stalls);
        assert_eq!((player.startup, figures.switches), (Some(Time::from_millis(2500)), 0));
    }

    #[test]
    fn a_video_that_stops_plays_what_it_has_and_ends_without_a_stall() {
        let mut params = params();
        params.until.stop = Some(Time::from_secs(100));
        let mut player = VideoPlayer::new(params, 0, (Time::ZERO, END));
        let mut now = Time::ZERO;
        while player.next == Time::NEVER {
            now += Time::from_secs(1);
            player.receive(now, now);
            if player.next == Time::NEVER {
                break;
            }
            now = player.next;
            player.request(now, now);
            player.serve(1448);
        }
        assert!(now < Time::from_secs(102) && now > Time::from_secs(97), "{now}");
        let figures = player.figures(END);
        assert_eq!((figures.stalls, figures.stalled), (0, Time::ZERO));
        assert_eq!(figures.played, Time(figures.chunks * player.params.chunk.0));
    }
}
