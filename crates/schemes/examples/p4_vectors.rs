//! Records the golden vectors of the P4 programs on BMv2: `cargo run -p fairlane-schemes --example p4_vectors`, or
//! `-- csfq` for one program.
//!
//! Compiles a program with probes, lets `simple_switch` read the packets from a file, and writes the results to
//! `tests/vectors/p4`. Requires neither root nor network interfaces. The tools must be on the PATH or named by
//! `FAIRLANE_P4C`, `FAIRLANE_SIMPLE_SWITCH` and `FAIRLANE_SIMPLE_SWITCH_CLI`; `FAIRLANE_P4INCLUDE` names the folder of
//! `v1model.p4` if the compiler does not find it.

#[allow(dead_code, missing_docs)]
#[path = "../tests/p4/mod.rs"]
mod p4;

use p4::file::{Input, Section, Vectors};
use p4::program::{compile, find, hash, project};
use p4::scheme::Scheme;
use p4::setup::Setup;
use p4::switch::{Outcome, folded};
use p4::train::PACKETS;
use std::collections::HashMap;
use std::error::Error;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Number of ports of the switch; packets to other ports are lost.
const PORTS: u16 = 12;
/// Time for configuration before the switch reads packets; long enough for busy machines.
const SETUP_SECONDS: u64 = 45;
/// Time without a packet after which missing packets count as lost.
const SILENCE: Duration = Duration::from_secs(90);
const PROBE_BYTES: usize = 51;

struct Tools {
    p4c: PathBuf,
    simple_switch: PathBuf,
    simple_switch_cli: PathBuf,
}

impl Tools {
    fn find() -> Result<Self> {
        let [p4c, simple_switch, simple_switch_cli] = [
            ("p4c-bm2-ss", "FAIRLANE_P4C"),
            ("simple_switch", "FAIRLANE_SIMPLE_SWITCH"),
            ("simple_switch_CLI", "FAIRLANE_SIMPLE_SWITCH_CLI"),
        ]
        .map(|(name, variable)| (name, variable, find(name, variable)));
        let missing: Vec<_> = [&p4c, &simple_switch, &simple_switch_cli]
            .iter()
            .filter(|tool| tool.2.is_none())
            .map(|(name, variable, _)| format!("{name} (on the PATH, or named by {variable})"))
            .collect();
        match (p4c.2, simple_switch.2, simple_switch_cli.2) {
            (Some(p4c), Some(simple_switch), Some(simple_switch_cli)) => {
                Ok(Self { p4c, simple_switch, simple_switch_cli })
            }
            _ => Err(format!(
                "missing: {}; see the installation guides of p4c and BMv2, https://github.com/p4lang",
                missing.join(", ")
            )
            .into()),
        }
    }
}

/// Returns the first word that begins with a digit in a tool's version output.
fn version(tool: &Path) -> Result<String> {
    let output = Command::new(tool).arg("--version").output()?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let number = text.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    Ok(number.ok_or_else(|| format!("{} does not tell its version", tool.display()))?.to_owned())
}

/// A switch process that is killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the packet: a probe with the inputs and room for the outputs, and then the frame.
fn probed(number: u32, input: &Input) -> Vec<u8> {
    let mut packet = number.to_be_bytes().to_vec();
    packet.extend(input.ingress_port.to_be_bytes());
    packet.extend(input.now_ns.to_be_bytes());
    packet.extend(input.queue.to_be_bytes());
    packet.extend(input.random.to_be_bytes());
    packet.resize(PROBE_BYTES, 0);
    packet.extend(input.frame());
    packet
}

/// Parses a returned packet: its number and outcome.
fn outcome(packet: &[u8]) -> (u32, Outcome) {
    let number =
        |at: usize, bytes: usize| packet[at..at + bytes].iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    let verdict = number(26, 1) as u8;
    let outcome = Outcome {
        verdict,
        flags: number(27, 1) as u8,
        egress_port: number(48, 2) as u16,
        priority: number(50, 1) as u8,
        activity: number(28, 4) as u32,
        average: number(32, 8),
        threshold: number(40, 8),
        frame: if verdict == 0 { folded(&packet[PROBE_BYTES..]) } else { 0 },
    };
    (number(0, 4) as u32, outcome)
}

/// Writes a capture file in the classic format: little-endian, microseconds.
fn write_capture(path: &Path, packets: &[Vec<u8>]) -> Result<()> {
    let word = |value: u32| value.to_le_bytes();
    let mut bytes = [word(0xa1b2_c3d4), word(0x0004_0002), word(0), word(0), word(65_535), word(1)].concat();
    for packet in packets {
        let length = word(packet.len() as u32);
        bytes.extend([word(0), word(0), length, length].concat());
        bytes.extend(packet);
    }
    Ok(fs::write(path, bytes)?)
}

/// Reads the complete packets of a capture file, which may still grow.
fn read_capture(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap_or_default();
    let mut packets = Vec::new();
    let mut at = 24;
    while let Some(length) = bytes.get(at + 8..at + 12) {
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        let Some(packet) = bytes.get(at + 16..at + 16 + length) else { break };
        packets.push(packet.to_vec());
        at += 16 + length;
    }
    packets
}

fn command_line(tools: &Tools, port: u16, commands: &str) -> Result<()> {
    let mut cli = Command::new(&tools.simple_switch_cli)
        .args(["--thrift-port", &port.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    cli.stdin.take().expect("it is piped").write_all(commands.as_bytes())?;
    let output = cli.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let complaint =
        text.lines().find(|line| ["Error", "error", "Invalid", "Could not"].iter().any(|word| line.contains(word)));
    match complaint {
        Some(line) => Err(format!("simple_switch_CLI: {line}").into()),
        None if !output.status.success() => Err(format!("simple_switch_CLI: {text}").into()),
        None => Ok(()),
    }
}

fn record(tools: &Tools, json: &Path, folder: &Path, setup: &Setup) -> Result<Section> {
    let inputs = p4::train::train(setup);
    let packets: Vec<_> = inputs.iter().enumerate().map(|(number, input)| probed(number as u32, input)).collect();
    let mut switch = Command::new(&tools.simple_switch);
    for port in 0..PORTS {
        let base = folder.join(format!("port{port}"));
        write_capture(&base.with_file_name(format!("port{port}_in.pcap")), if port == 0 { &packets } else { &[] })?;
        switch.arg("-i").arg(format!("{port}@{}", base.display()));
    }
    let thrift_port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let wait = SETUP_SECONDS.to_string();
    switch.args([
        "--use-files",
        &wait,
        "--thrift-port",
        &thrift_port.to_string(),
        "--device-id",
        &thrift_port.to_string(),
    ]);
    switch.arg(json).args(["--", "--priority-queues", "2"]);
    let started = Instant::now();
    let _running = Running(switch.stdout(Stdio::null()).spawn()?);
    while std::net::TcpStream::connect(("127.0.0.1", thrift_port)).is_err() {
        if started.elapsed() > Duration::from_secs(SETUP_SECONDS) {
            return Err("simple_switch does not start".into());
        }
        sleep(Duration::from_millis(50));
    }
    // The egress queues must have room for all packets, since a packet dropped there would be missing.
    let commands = setup.commands() + &format!("set_queue_depth {}\n", 2 * PACKETS);
    command_line(tools, thrift_port, &commands)?;
    if started.elapsed() > Duration::from_secs(SETUP_SECONDS - 1) {
        return Err("the machine is too busy: the switch was not set up when its packets came; try again".into());
    }
    let mut outcomes = HashMap::new();
    let mut last = (0, Instant::now());
    while outcomes.len() < packets.len() {
        sleep(Duration::from_millis(500));
        for port in 0..PORTS {
            let path = folder.join(format!("port{port}_out.pcap"));
            outcomes.extend(read_capture(&path).iter().map(|packet| outcome(packet)));
        }
        if outcomes.len() > last.0 {
            last = (outcomes.len(), Instant::now());
        } else if last.1.elapsed() > Duration::from_secs(SETUP_SECONDS) + SILENCE {
            return Err(format!("{} of {} packets came back", outcomes.len(), packets.len()).into());
        }
    }
    let packets = inputs.into_iter().enumerate().map(|(number, input)| (input, outcomes[&(number as u32)])).collect();
    Ok(Section { name: setup.name.into(), commands: setup.commands(), packets })
}

/// Records all setups in parallel, since each switch mostly waits.
fn record_all(tools: &Tools, json: &Path, folder: &Path, setups: &[Setup]) -> Result<Vec<Section>> {
    let record = |setup: &Setup| {
        let folder = folder.join(setup.name);
        fs::create_dir_all(&folder)
            .map_err(Into::into)
            .and_then(|()| record(tools, json, &folder, setup))
            .map_err(|error: Box<dyn Error>| format!("{}: {error}", setup.name))
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = setups.iter().map(|setup| scope.spawn(|| record(setup))).collect();
        running.into_iter().map(|thread| Ok(thread.join().expect("recording does not panic")?)).collect()
    })
}

/// Records the vectors of a scheme. Compiled programs and captures go into the folder.
fn vectors(tools: &Tools, folder: &Path, scheme: Scheme) -> Result<Vectors> {
    let (bmv2, p4c) = (version(&tools.simple_switch)?, version(&tools.p4c)?);
    let program = scheme.program();
    let hash = hash(&program)?;
    let json = folder.join("program.json");
    eprint!("{}", compile(&tools.p4c, &program, &["-DFAIRLANE_PROBE"], &json)?);
    let sections = record_all(tools, &json, folder, &scheme.setups())?;
    Ok(Vectors { scheme, bmv2, p4c, program: hash, sections })
}

fn run() -> Result<()> {
    let names: Vec<_> = env::args().skip(1).collect();
    if let Some(name) = names.iter().find(|name| !Scheme::ALL.iter().any(|scheme| scheme.name() == *name)) {
        return Err(format!("there is no program of {name}").into());
    }
    let tools = Tools::find()?;
    let is_meant = |scheme: &&Scheme| names.is_empty() || names.iter().any(|name| name == scheme.name());
    for &scheme in Scheme::ALL.iter().filter(is_meant) {
        let folder = env::temp_dir().join(format!("fairlane-p4-{}-{}", scheme.name(), std::process::id()));
        fs::create_dir_all(&folder)?;
        let recorded = vectors(&tools, &folder, scheme);
        fs::remove_dir_all(&folder)?;
        fs::write(project(&scheme.vectors()), recorded?.to_string())?;
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
