//! A video player that chooses the bitrate of each chunk by the level of its playback buffer.
//!
//! Source: Huang, Johari, McKeown, Trunnell, Watson, A Buffer-Based Approach to Rate Adaptation, SIGCOMM 2014, BBA-0:
//! section 4, fig. 6, algorithm 1.
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | `f(B) = R_1` up to `r`, `R_m` from `r + cu` on, linear between | [`VideoPlayer::rate_map`] |
//! | (2) | at `B <= r` the lowest bitrate, at `B >= r + cu` the highest | [`VideoPlayer::choose`] |
//! | (3) | if `f(B)` is at or above the next higher bitrate, the highest bitrate below `f(B)` | the same |
//! | (4) | if `f(B)` is at or below the next lower bitrate, the lowest bitrate above `f(B)` | the same |
//! | (5) | otherwise the bitrate stays | the same |
//! | (6) | the next chunk is requested only when the buffer has room for it | [`VideoPlayer::receive`] |
//!
//! Cost: a few operations per chunk, 250 bytes per player.
//!
//! Deviations:
//! 1. All chunks of a bitrate have the same size, rounded up to whole TCP segments. The chunk map of BBA-1 and the
//!    start-up of BBA-2 are not implemented.
//! 2. Playback starts, and resumes after a stall, once a chunk is complete. The paper does not specify this.
//! 3. Users watch to the end and do not seek.

use crate::scenario::VideoParams;
use fairlane_schemes::base::units::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Playback {
    /// Waits for the first chunk.
    Starting,
    Playing,
    Stalled,
    /// The player has played all requested chunks and requests no more.
    Ended,
}

/// Event that the player waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// Arrival of the rest of a chunk.
    Chunk,
    /// Time at which the buffer has room for the next chunk.
    Room,
    /// Arrival of the player's request at the server.
    Request,
}

/// Results of a player during the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VideoFigures {
    /// Number of times that the buffer ran empty.
    pub stalls: u64,
    /// Stalled time, without the start-up.
    pub stalled: Time,
    /// Time spent playing.
    pub played: Time,
    /// Chunks received.
    pub chunks: u64,
    /// Sum of the chunks' bitrates in bit/s.
    pub bitrates_bps: f64,
    /// Number of chunks whose bitrate differs from that of the previous chunk.
    pub switches: u64,
}

impl VideoFigures {
    /// Mean bitrate of the chunks; `None` without chunks.
    #[must_use]
    pub fn bitrate_bps(&self) -> Option<f64> {
        (self.chunks > 0).then(|| self.bitrates_bps / self.chunks as f64)
    }

    /// Stalled time divided by stalled plus played time; `None` if both are zero.
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
    /// Start and end of the measurement.
    window: (Time, Time),
    /// Index of the player's connection.
    pub flow: u32,
    /// Next event.
    pub awaits: Awaits,
    /// Time of the player's next action; [`Time::NEVER`] while a chunk is being downloaded.
    pub next: Time,
    playback: Playback,
    buffered: Time,
    since: Time,
    /// Index of the bitrate of the current or last chunk. The next field is the index for the chunk before that.
    rung: usize,
    rung_before: Option<usize>,
    /// Time from the opening of the connection to the first picture; `None` before the first picture.
    pub startup: Option<Time>,
    figures: VideoFigures,
}

impl VideoPlayer {
    /// Creates a player with an empty buffer that has requested its first chunk at the lowest bitrate.
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

    /// Handles the arrival of the last byte of a chunk, `elapsed` after the opening of the connection.
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
        // Rule 6. The buffer is measured in playback time, so it has room for the chunk after the time `room`.
        let room = self.buffered.saturating_add(self.params.chunk).saturating_sub(self.params.buffer);
        self.next = now.saturating_add(room);
        self.awaits = Awaits::Room;
        if self.next >= self.params.until.stop.unwrap_or(Time::NEVER) {
            self.next = Time::NEVER;
        }
    }

    /// Chooses the next chunk, whose request reaches the server at `at_server`. The server then calls
    /// [`VideoPlayer::serve`].
    pub fn request(&mut self, now: Time, at_server: Time) {
        self.advance(now);
        self.rung_before = Some(self.rung);
        self.rung = self.choose();
        (self.awaits, self.next) = (Awaits::Request, at_server);
    }

    /// Starts the download of the requested chunk. Returns its number of segments of `segment_payload` bytes.
    pub fn serve(&mut self, segment_payload: u32) -> u32 {
        (self.awaits, self.next) = (Awaits::Chunk, Time::NEVER);
        self.params.segments(self.rung, segment_payload)
    }

    /// Results of the measurement up to `now`, the end of the run.
    #[must_use]
    pub fn figures(&self, now: Time) -> VideoFigures {
        let mut player = self.clone();
        player.advance(now);
        player.figures
    }

    /// Rate map (rule 1), in bit/s.
    fn rate_map(&self, buffered: Time) -> f64 {
        let (lowest, highest) = (self.rate(0), self.rate(self.params.ladder.len() - 1));
        let share = buffered.saturating_sub(self.params.reservoir).0 as f64 / self.params.cushion.0 as f64;
        lowest + (highest - lowest) * share.min(1.0)
    }

    /// Index of the next bitrate (rules 2 to 5).
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

    /// Duration of the part of a time span that is within the measurement.
    fn measured(&self, from: Time, to: Time) -> Time {
        to.min(self.window.1).saturating_sub(from.max(self.window.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_schemes::base::units::BitRate;

    const END: Time = Time::from_secs(1000);

    /// Returns parameters with bitrates of 1, 2, 3 and 4 Mbit/s, a reservoir of 10 s and a cushion of 30 s. The rate
    /// map rises by 0.1 Mbit/s per second of buffer.
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

    /// Delivers chunks at a constant rate in bit/s until `until`. The player's requests have no delay.
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
        // The rate map is f(B) = 1 + 0.1 * (B - 10) Mbit/s, B in seconds: 2 Mbit/s at 20 s, 3 Mbit/s at 30 s.
        for (rung, buffered, next) in [
            (3, 10, 0), // the reservoir
            (0, 40, 3), // above the cushion
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
        // At a link rate of 2.5 Mbit/s the buffer fills with lower bitrates and empties with higher ones, and the
        // player alternates between these. So the mean bitrate of the chunks is the link rate. The tolerance is 6 %,
        // since the final buffer holds at most 60 s of the 1000 s.
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
        // The buffer holds at most 60 s. The player requests a chunk of 2 s at 58 s, and the buffer empties to 57 s
        // while the chunk arrives.
        assert!(player.buffered >= Time::from_secs(57), "{}", player.buffered);
        // The bitrate rose from the lowest to the highest in at most three steps.
        assert!(player.figures(END).switches <= 3, "{:?}", player.figures(END));
    }

    #[test]
    fn below_the_ladder_it_stalls_for_the_share_that_is_missing() {
        // The link carries 0.8 Mbit/s and the bitrate is 1 Mbit/s, so the video plays 80 % of the time once started.
        // Each chunk of 2 s takes 2.5 s and causes a stall.
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
