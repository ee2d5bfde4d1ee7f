//! Tests that external congestion controls are called like the built-in ones, and that their errors end the run.

use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_sim::engine::{self, Stop};
use fairlane_sim::measure::run_record::RunRecord;
use fairlane_sim::scenario::{Externals, Scenario};
use fairlane_sim::traffic::tcp::control::{
    Authority, Connection, EcnUse, Event, Flight, Moment, Output, Progress, Sample,
};
use fairlane_sim::traffic::tcp::external::{ControlFactory, Delivered, ExternalControl, NamedControl, Sent};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

type Create = dyn Fn(&Connection) -> Result<Box<dyn ExternalControl>, String> + Send + Sync;

/// A factory that creates controls with a closure.
struct Made {
    authority: Authority,
    ecn: EcnUse,
    create: Box<Create>,
}

impl Debug for Made {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("Made")
    }
}

impl ControlFactory for Made {
    fn authority(&self) -> Authority {
        self.authority
    }

    fn ecn(&self) -> EcnUse {
        self.ecn
    }

    fn create(&self, connection: &Connection, _seed: u64) -> Result<Box<dyn ExternalControl>, String> {
        (self.create)(connection)
    }
}

/// Returns a scenario with 10 Mbit/s, an RTT of 40 ms and 33 packets of buffer. Two flows of `control` send for 20 s,
/// with `keys` in `[tcp]`.
fn scenario(control: &str, keys: &Json) -> Json {
    let mut tcp = json!({"profile": "linux", "congestion_control": control});
    tcp.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    json!({
        "run": {"warmup": "2 s", "measure": "20 s"},
        "topology": {"bottleneck_rate": "10 Mbit/s", "bottleneck_delay": "20 ms", "access_limit": "1000 packets"},
        "queue": {"scheme": "droptail", "limit": "33 packets"},
        "tcp": tcp,
        "groups": [{"start_until": "1 s", "sources": [{"kind": "tcp", "flows": 2}]}],
    })
}

/// Runs a scenario that may name the control `mine`.
fn run(scenario: &Json, made: Made) -> Result<RunRecord, Stop> {
    let mine = NamedControl { name: "mine".into(), factory: Arc::new(made) };
    let find = |name: &str| (name == "mine").then(|| mine.clone());
    let read = |json: &Json| Scenario::read_with(json, Externals { controls: &find, ..Externals::NONE }).unwrap();
    let scenario = read(scenario);
    assert_eq!(read(&scenario.write()), scenario, "what is written reads back");
    assert!(scenario.is_external());
    let record =
        engine::try_observe(&scenario, 0, &AtomicBool::new(false), &mut fairlane_sim::watch::observer::NoObserver)?;
    Ok(RunRecord { cpu_seconds: None, ..record })
}

/// Reno (RFC 5681 3.1) as in `congestion/reno.rs`, with byte counting as in the profiles `linux` and `quic`. Windows
/// are in bytes.
#[derive(Debug)]
struct Reno {
    mss: u32,
}

impl ExternalControl for Reno {
    fn avoid(&mut self, cwnd: &mut u32, progress: &Progress) -> Result<(), String> {
        *cwnd += (self.mss * self.mss / *cwnd).max(1) * progress.segments;
        Ok(())
    }

    fn reduce(&mut self, flight: &Flight) -> Result<u64, String> {
        Ok(flight.outstanding.min(flight.cwnd.into()) / 2)
    }
}

#[test]
fn reno_from_outside_gives_the_bytes_of_the_one_inside() {
    for profile in ["linux", "quic"] {
        let create = Box::new(|of: &Connection| Ok(Box::new(Reno { mss: of.mss }) as _));
        let made = Made { authority: Authority::Avoidance, ecn: EcnUse::Classic, create };
        let ours = run(&scenario("mine", &json!({"profile": profile, "whole_windows": false})), made).unwrap();
        let theirs = Scenario::read(&scenario("reno", &json!({"profile": profile, "whole_windows": false}))).unwrap();
        let theirs = engine::run(&theirs, 0, &AtomicBool::new(false)).unwrap();
        let theirs = RunRecord { cpu_seconds: None, ..theirs };
        assert!(theirs.groups[0].tcp.as_ref().unwrap().fast_recoveries > 5, "{profile}: losses show the rule");
        assert_eq!(serde_json::to_string(&ours).unwrap(), serde_json::to_string(&theirs).unwrap(), "{profile}");
    }
}

/// Transmissions of a connection: send time, and true once delivered.
#[derive(Debug, Default)]
struct Log {
    sent: BTreeMap<u32, (Time, bool)>,
    delivered_bytes: u64,
    lost: u64,
    recoveries: i64,
    windows: Vec<u32>,
}

/// A congestion control that sets the window in all phases. It adds a segment per delivered window, and halves the
/// window at most once per round trip with losses. Paces at twice the window per round trip.
#[derive(Debug)]
struct Aimd {
    mss: u32,
    window: f64,
    reduced: Time,
    log: Arc<Mutex<Log>>,
}

impl ExternalControl for Aimd {
    fn on_sent(&mut self, _: &mut Output, sent: &Sent) -> Result<(), String> {
        let mut log = self.log.lock().unwrap();
        assert_eq!(sent.number as usize, log.sent.len() + 1, "numbers follow each other");
        log.sent.insert(sent.number, (sent.now, false));
        Ok(())
    }

    fn on_delivered(&mut self, _: &mut Output, delivered: &Delivered) -> Result<(), String> {
        let mut log = self.log.lock().unwrap();
        let (sent, arrived) = log.sent[&delivered.number];
        assert_eq!((sent, arrived), (delivered.sent, false), "each arrives once");
        log.sent.insert(delivered.number, (sent, true));
        log.delivered_bytes += u64::from(delivered.bytes);
        self.window += f64::from(self.mss) * f64::from(delivered.bytes) / self.window;
        Ok(())
    }

    fn on_sample(&mut self, output: &mut Output, sample: &Sample) -> Result<(), String> {
        let mut log = self.log.lock().unwrap();
        assert_eq!(sample.delivered, log.delivered_bytes);
        log.windows.push(output.cwnd);
        output.cwnd = self.window as u32;
        output.pacing = Some(BitRate((16.0 * self.window / sample.srtt.as_secs_f64()) as u64));
        Ok(())
    }

    fn on_event(&mut self, _: &mut Output, event: &Event, at: &Moment) -> Result<(), String> {
        let mut log = self.log.lock().unwrap();
        match *event {
            Event::SegmentLost { number, sent, .. } => {
                assert_eq!(log.sent[&number], (sent, false));
                log.lost += 1;
                if sent > self.reduced {
                    self.window = (self.window / 2.0).max(f64::from(self.mss));
                    self.reduced = at.now;
                }
            }
            Event::Loss => log.recoveries += 1,
            Event::RecoveryEnds => log.recoveries -= 1,
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn a_control_of_everything_is_told_of_each_segment_and_its_window_is_obeyed() {
    let logs = Arc::new(Mutex::new(Vec::new()));
    let of_run = logs.clone();
    let create = Box::new(move |of: &Connection| {
        let log = Arc::new(Mutex::new(Log::default()));
        of_run.lock().unwrap().push(log.clone());
        Ok(Box::new(Aimd { mss: of.mss, window: f64::from(10 * of.mss), reduced: Time::ZERO, log }) as _)
    });
    let made = Made { authority: Authority::Full, ecn: EcnUse::Classic, create };
    let record = run(&scenario("mine", &json!({})), made).unwrap();
    // With a buffer of one bandwidth-delay product, AIMD fills the link. Two synchronised AIMD flows also fill it.
    assert!(record.links[0].utilisation > 0.95, "{}", record.links[0].utilisation);
    let logs = logs.lock().unwrap();
    assert_eq!(logs.len(), 2, "a control for each flow");
    for log in logs.iter().map(|log| log.lock().unwrap()) {
        assert!(log.lost > 0 && (0..=1).contains(&log.recoveries), "{} lost, {} recoveries", log.lost, log.recoveries);
        // The path holds 33 packets and the buffer 33, so the window of a flow is at most 67 segments.
        let most = log.windows.iter().max().unwrap() / 1448;
        assert!((10..=67).contains(&most), "{most}");
        // Segments neither delivered nor lost are in flight. Their number is at most a window.
        let arrived = log.sent.values().filter(|(_, arrived)| *arrived).count() as u64;
        let rest = log.sent.len() as u64 - arrived - log.lost;
        assert!(rest <= 67, "{rest}");
    }
}

#[test]
fn marks_reach_a_control_that_wants_them_all() {
    #[derive(Debug)]
    struct Counts(Arc<Mutex<u64>>);
    impl ExternalControl for Counts {
        fn on_event(&mut self, output: &mut Output, event: &Event, _: &Moment) -> Result<(), String> {
            if *event == Event::Open {
                output.cwnd = 40 * 1448;
            }
            Ok(())
        }

        fn on_sample(&mut self, _: &mut Output, sample: &Sample) -> Result<(), String> {
            *self.0.lock().unwrap() += u64::from(sample.marked);
            Ok(())
        }
    }
    let marked = Arc::new(Mutex::new(0));
    let of_run = marked.clone();
    let create = Box::new(move |_: &Connection| Ok(Box::new(Counts(of_run.clone())) as _));
    let made = Made { authority: Authority::Full, ecn: EcnUse::AccurateEct1, create };
    let mut scenario = scenario("mine", &json!({"ecn": true}));
    // Two windows of 40 segments exceed the capacity of the path by 47 segments. Each packet that arrives while more
    // than five packets wait is marked.
    scenario["queue"] = json!({"scheme": "red", "limit": "100 packets", "min_th": "5 packets", "max_th": "6 packets",
        "weight": 1.0, "max_p": 1.0, "gentle": false, "wait": false, "ecn": true, "hard_drop": false});
    let record = run(&scenario, made).unwrap();
    // At 10 Mbit/s, 16 666 packets are sent in 20 s. Marks in the warm-up are also reported.
    let marks = record.links[0].marks;
    assert!(marks > 15_000, "{marks}");
    let marked = *marked.lock().unwrap() / 1448;
    assert!((marks..marks * 22 / 20 + 100).contains(&marked), "{marked} of {marks}");
}

/// Errors of a congestion control, one at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    Create,
    Sent,
    Delivered,
    Sample,
    Event,
    Avoid,
    Reduce,
    Window,
    Rate,
    Left,
}

#[derive(Debug)]
struct Mistaken(Mistake);

impl Mistaken {
    fn at(&self, mistake: Mistake) -> Result<(), String> {
        if self.0 == mistake { Err(format!("mine: {mistake:?}")) } else { Ok(()) }
    }
}

impl ExternalControl for Mistaken {
    fn on_sent(&mut self, _: &mut Output, _: &Sent) -> Result<(), String> {
        self.at(Mistake::Sent)
    }

    fn on_delivered(&mut self, _: &mut Output, _: &Delivered) -> Result<(), String> {
        self.at(Mistake::Delivered)
    }

    fn on_sample(&mut self, output: &mut Output, _: &Sample) -> Result<(), String> {
        match self.0 {
            Mistake::Window => output.cwnd = 0,
            Mistake::Rate => output.pacing = Some(BitRate(0)),
            _ => {}
        }
        self.at(Mistake::Sample)
    }

    fn on_event(&mut self, _: &mut Output, _: &Event, _: &Moment) -> Result<(), String> {
        self.at(Mistake::Event)
    }

    fn avoid(&mut self, _: &mut u32, _: &Progress) -> Result<(), String> {
        self.at(Mistake::Avoid)
    }

    fn reduce(&mut self, _: &Flight) -> Result<u64, String> {
        self.at(Mistake::Reduce)?;
        Ok(if self.0 == Mistake::Left { 0 } else { 10_000 })
    }
}

#[test]
fn a_mistake_of_a_control_ends_the_run_with_one_line() {
    use Mistake::{Avoid, Create, Delivered, Event, Left, Rate, Reduce, Sample, Sent, Window};
    for mistake in [Create, Sent, Delivered, Sample, Event, Avoid, Reduce, Window, Rate, Left] {
        let create =
            Box::new(
                move |_: &Connection| {
                    if mistake == Create { Err("mine: Create".into()) } else { Ok(Box::new(Mistaken(mistake)) as _) }
                },
            );
        let made = Made { authority: Authority::Avoidance, ecn: EcnUse::Classic, create };
        let wanted = match mistake {
            Window => "mine set a window of 0 bytes, it must be positive".into(),
            Rate => "mine set a pacing rate of 0 bit/s, it must be positive".into(),
            Left => "mine left a window of 0 bytes, it must be positive".into(),
            other => format!("mine: {other:?}"),
        };
        assert_eq!(run(&scenario("mine", &json!({})), made), Err(Stop::ExternalFailed(wanted)));
    }
}

#[test]
fn a_control_from_outside_needs_a_sender_with_records_and_its_name_must_be_known() {
    let create = || Box::new(|_: &Connection| Err(String::new()));
    let made = Made { authority: Authority::Full, ecn: EcnUse::Classic, create: create() };
    let mine = NamedControl { name: "mine".into(), factory: Arc::new(made) };
    let find = |name: &str| (name == "mine").then(|| mine.clone());
    let refused = |json: &Json| {
        let read = Scenario::read_with(json, Externals { controls: &find, ..Externals::NONE });
        read.unwrap_err().to_string()
    };
    assert_eq!(
        refused(&scenario("mine", &json!({"profile": "ns3"}))),
        "tcp.congestion_control: \"mine\" needs loss_detection = \"rack\", as the profile linux has it, \
         \"scoreboard\" or \"packet_threshold\""
    );
    let unknown = refused(&scenario("nobody", &json!({})));
    assert!(unknown.starts_with("tcp.congestion_control: \"nobody\" is not one of reno, cubic"), "{unknown}");
    // A source with a built-in control is not affected by an external default.
    let mut mixed = scenario("mine", &json!({}));
    mixed["groups"][0]["sources"][0]["congestion_control"] = json!("cubic");
    let mixed = Scenario::read_with(&mixed, Externals { controls: &find, ..Externals::NONE }).unwrap();
    assert!(!mixed.is_external());
    assert_eq!(mixed.write()["groups"][0]["sources"][0]["congestion_control"], "cubic");
}
