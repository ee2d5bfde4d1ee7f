//! Calls each controller with random histories of a connection: no panic, and window and rate let packets leave.

use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;
use fairlane_sim::traffic::tcp::Phase;
use fairlane_sim::traffic::tcp::control::{Connection, Event, FlightSize, Moment, Output, Sample};
use fairlane_sim::traffic::tcp::external::{Delivered, ExternalControl, Rtts, Sent};
use quic_stacks::{CONTROLLERS, find};

const MSS: u32 = 1165;
const EVENTS: u32 = 100_000;

/// A connection without a network model: the fate of its packets is random.
struct History {
    random: Rng,
    control: Box<dyn ExternalControl>,
    output: Output,
    now: Time,
    /// Numbers and times of the packets in flight, and of the packets considered lost.
    flying: Vec<(u32, Time)>,
    lost: Vec<(u32, Time)>,
    number: u32,
}

impl History {
    fn new(name: &str, seed: u64) -> Self {
        let connection = Connection {
            mss: MSS,
            socket_buffer: 1 << 24,
            byte_counting: true,
            flight_size: FlightSize::Pipe,
            whole_windows: false,
            clock_tick: Time::ZERO,
        };
        let control = find(name).expect("a name of the list").factory.create(&connection, seed).expect("a controller");
        Self {
            random: Rng::stream(seed, 0, name, 0),
            control,
            output: Output { cwnd: 10 * MSS, ssthresh: u32::MAX, pacing: None, quantum: 0 },
            now: Time::from_millis(10),
            flying: Vec::new(),
            lost: Vec::new(),
            number: 0,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        (self.random.bits() % end.max(1) as u64) as usize
    }

    fn in_flight(&self) -> u32 {
        self.flying.len() as u32 * MSS
    }

    fn tell(&mut self, event: Event) {
        let moment = Moment {
            now: self.now,
            srtt: Time::from_millis(10),
            min_rtt: Time::from_millis(10),
            in_flight: self.in_flight(),
            delivered: 0,
            total_lost: 0,
            app_limited: false,
            phase: Phase::Open,
        };
        self.control.on_event(&mut self.output, &event, &moment).expect("no mistake");
    }

    fn send(&mut self) {
        self.number += 1;
        self.flying.push((self.number, self.now));
        let sent = Sent {
            now: self.now,
            bytes: MSS,
            number: self.number,
            again: self.below(20) == 0,
            in_flight: self.in_flight(),
            app_limited: self.below(30) == 0,
        };
        self.control.on_sent(&mut self.output, &sent).expect("no mistake");
    }

    fn lose(&mut self) {
        if !self.flying.is_empty() {
            let at = self.below(self.flying.len().min(8));
            let (number, sent) = self.flying.remove(at);
            self.lost.push((number, sent));
            self.tell(Event::SegmentLost {
                bytes: MSS,
                sent,
                number,
                tx_in_flight: 0,
                lost_since_sent: 0,
                prior_delivered: 0,
                app_limited: false,
            });
        }
    }

    /// Delivers some packets in flight, and occasionally packets considered lost or never sent.
    fn acknowledge(&mut self) {
        let mut newest = None;
        for _ in 0..=self.below(4) {
            let (number, sent) = match self.below(40) {
                0 => (self.number + 1000, self.now),
                1 if !self.lost.is_empty() => self.lost.swap_remove(0),
                _ if self.flying.is_empty() => break,
                _ => {
                    let at = self.below(self.flying.len().min(6));
                    self.flying.remove(at)
                }
            };
            newest = newest.max(Some(sent));
            let rtts = Rtts { latest: Time::ZERO, smoothed: Time::ZERO, least: Time::NEVER, deviation: Time::ZERO };
            let delivered = Delivered { now: self.now, sent, bytes: MSS, number, app_limited: false, rtts };
            self.control.on_delivered(&mut self.output, &delivered).expect("no mistake");
        }
        for _ in 0..self.below(40).saturating_sub(36) {
            self.lose();
        }
        if self.below(50) == 0 {
            self.tell(Event::Timeout);
        }
        let rtt = newest.map(|sent| self.now.saturating_sub(sent)).filter(|_| self.below(5) > 0);
        let marked = if self.below(50) == 0 { MSS } else { 0 };
        let sample = Sample {
            now: self.now,
            rtt,
            rtt_in_milliseconds: false,
            since_echo: rtt.unwrap_or(Time::from_millis(10)),
            srtt: Time::from_millis(10),
            min_rtt: Time::from_millis(10),
            acked: MSS,
            in_order: MSS,
            lost: 0,
            marked,
            ece: false,
            duplicate: false,
            in_flight: self.in_flight(),
            prior_in_flight: 0,
            prior_outstanding: 0,
            delivered: 0,
            total_lost: 0,
            delivered_ce: 0,
            prior_delivered: 0,
            tx_in_flight: 0,
            lost_since_sent: 0,
            interval: Time::ZERO,
            delivery_rate: None,
            app_limited: false,
            cwnd_limited: true,
            phase: Phase::Open,
        };
        self.control.on_sample(&mut self.output, &sample).expect("no mistake");
    }

    fn step(&mut self) {
        // Mostly microseconds, occasionally seconds.
        let pause =
            if self.below(2000) == 0 { Time::from_secs(11) } else { Time::from_micros(self.below(3000) as u64) };
        self.now += pause;
        let room = self.in_flight() + MSS <= self.output.cwnd.min(200 * MSS);
        match self.below(10) {
            0..6 if room => self.send(),
            9 if self.below(30) == 0 => {
                self.lose();
                self.tell(Event::Loss);
            }
            _ => self.acknowledge(),
        }
    }
}

#[test]
fn no_history_of_a_connection_makes_a_controller_panic_or_stop() {
    for controller in CONTROLLERS {
        let mut history = History::new(controller.name, 7);
        history.tell(Event::Open);
        for event in 0..EVENTS {
            history.step();
            let Output { cwnd, pacing, .. } = history.output;
            assert!(cwnd > 0 && pacing.is_none_or(|rate| rate.0 > 0), "{}: {event}: {cwnd}", controller.name);
        }
    }
}
