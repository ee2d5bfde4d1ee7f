//! Attaches to ports, reloads, and detaches.
//!
//! `attach` works from any state: no program attached, an earlier configuration, or leftovers of a killed tool. Maps
//! are changed entry by entry and programs are replaced atomically, so traffic continues and meters keep their state.

use super::far_end::{fall_silent, now_ns};
use super::links::{Framing, links};
use super::lock::Lock;
use super::programs::{
    Mode, PINNED, Programs, ZERO, check_pinned, is_half_there, is_there, open_pinned, read, read_ports,
};
use super::tcx::{self, Side};
use super::users::{UserTable, unfit};
use super::{KernelError, clsact, hook, qdisc};
use crate::config::{Arrivals, Carrier, Hook, MarkMask, NodeConfig, NodeScheme, Port, UserIs};
use crate::records::{NodeRecord, Places, PortRecord, PortState, QdiscState, RuleRecord, UserKey, UserState};
use libbpf_rs::MapCore;
use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use zerocopy::IntoBytes;

/// `BPF_FS_MAGIC` of linux/magic.h.
const BPF_FS: i64 = 0xcafe_4a11;

/// A frame for test runs of programs that do not parse it.
const BLANK_FRAME: [u8; 64] = [0; 64];
/// Number of retries to start the timer. The kernel allocates the timer without waiting, which may fail for a short
/// time on a busy machine.
const START_RETRIES: u32 = 20;
const START_PAUSE: Duration = Duration::from_millis(10);

/// Result of `attach`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// True if something was attached before.
    pub was_attached: bool,
    /// Interfaces with their indices, in the order of the configuration.
    pub present: Vec<(String, u32)>,
    /// Interfaces of the configuration that do not exist.
    pub absent: Vec<String>,
}

/// Attaches to all ports whose interfaces exist, or reloads the configuration.
///
/// # Errors
/// The pin path is not on a permanent BPF file system, another attach or detach is running, a change needs a detach, or
/// a system call fails. After an error, ports that were not attached before are still not attached.
pub fn attach(config: &NodeConfig) -> Result<Attached, KernelError> {
    let folder = Path::new(&config.node.pin_path);
    let Ports { present, absent } = ports_of(config)?;
    same_place(&present).map_or(Ok(()), Err)?;
    check_pin_path(folder)?;
    let mut config = config.clone();
    config.ports.retain(|port| !absent.contains(&port.interface));
    let config = &config;
    let interfaces: Vec<u32> = present.iter().map(|(_, index)| *index).collect();
    // The folder may already exist. If it cannot be created, locking it fails below.
    let _ = fs::create_dir(folder);
    let _lock = Lock::take(folder)?;
    if is_half_there(folder) {
        remove_pins(folder)?;
    }
    let was_attached = is_there(folder);
    let places = if was_attached { places_there(config, folder)? } else { Places::of(config) };
    let has_tcx = config.node.hook == Hook::Auto && tcx::is_there();
    let outcome = Programs::load(Mode::Pinned(folder), places).and_then(|programs| {
        let own_qdisc = qdisc::prepare(&programs, config, &interfaces, folder)?;
        fall_silent(folder, &going(&programs.ports()?, config, &interfaces), &|_| ())?;
        let mut records = fill(&programs, config, &interfaces, has_tcx)?;
        hook_all(&programs, &records, folder, has_tcx)?;
        qdisc::enter(&records, own_qdisc.as_deref(), folder)?;
        announce(&programs, &mut records)?;
        // Detaches the programs of an earlier attach at another hook.
        records.iter().try_for_each(|record| leave_other_hook(&programs, record, folder, has_tcx))
    });
    if let Err(error) = outcome {
        if !was_attached {
            // The caller gets the first error.
            let _ = remove_all(folder);
        }
        return Err(error);
    }
    Ok(Attached { was_attached, present, absent })
}

/// Returns true if anything is attached with the pins of this configuration.
#[must_use]
pub fn is_attached(config: &NodeConfig) -> bool {
    is_there(Path::new(&config.node.pin_path))
}

/// Handling of labels that still arrive at a detach.
#[derive(Clone, Copy)]
pub enum Leaving<'a> {
    /// Waits until the far ends stop writing labels. First calls the function for each port whose far end still writes
    /// labels.
    Quietly(&'a dyn Fn(&str)),
    /// Does not wait, so packets with labels are lost.
    AtOnce,
}

/// Removes the programs and the pins. Removes a qdisc if the tool created it and no other program uses it. Returns the
/// number of ports that had programs. Without attached programs, returns 0.
///
/// # Errors
/// Another attach or detach is running, labels still arrive, or a system call fails.
pub fn detach(folder: &Path, leaving: Leaving<'_>) -> Result<usize, KernelError> {
    if !folder.exists() {
        return Ok(0);
    }
    let _lock = Lock::take(folder)?;
    if let Leaving::Quietly(tell) = leaving
        && folder.join("ports").exists()
    {
        let readers: Vec<_> =
            read_ports(&open_pinned(folder, "ports")?)?.into_iter().filter(PortRecord::reads).collect();
        fall_silent(folder, &readers, tell)?;
    }
    remove_all(folder)
}

/// Ports that read labels now but not after the reload.
fn going(before: &[PortRecord], config: &NodeConfig, interfaces: &[u32]) -> Vec<PortRecord> {
    let stays = |record: &PortRecord| {
        let of = config.ports.iter().zip(interfaces).find(|(_, index)| **index == record.ifindex);
        of.is_some_and(|(port, _)| {
            port.params.arrivals == Arrivals::Trusted && port.params.carrier as u32 == record.carrier
        })
    };
    before.iter().filter(|record| record.reads() && !stays(record)).copied().collect()
}

/// Makes the ports announce that they read labels. Call it last, when all programs that strip labels are attached.
fn announce(programs: &Programs, records: &mut [PortRecord]) -> Result<(), KernelError> {
    records.iter_mut().try_for_each(|record| {
        record.quiet_until_ns = 0;
        programs.write("ports", &PortRecord::place(record.ifindex), record)
    })
}

fn remove_all(folder: &Path) -> Result<usize, KernelError> {
    let ports = remove_pins(folder)?;
    // Fails if the folder is not empty; other programs may use it.
    let _ = fs::remove_dir(folder);
    Ok(ports)
}

fn remove_pins(folder: &Path) -> Result<usize, KernelError> {
    let mut ports = 0;
    qdisc::leave_all(folder)?;
    hook::unlink_all(folder)?;
    if folder.join("ports").exists() {
        let map = open_pinned(folder, "ports")?;
        for record in read_ports(&map)? {
            hook::leave_clsact(map.as_fd(), &record);
            ports += 1;
        }
    }
    for name in PINNED {
        hook::remove(&folder.join(name))?;
    }
    Ok(ports)
}

/// Inode of this thread's network namespace.
pub(super) fn netns() -> Result<u64, KernelError> {
    let file = "/proc/thread-self/ns/net";
    Ok(fs::metadata(file).map_err(KernelError::system(format!("reading {file}")))?.ino())
}

/// Ports of a configuration whose interfaces exist, and those whose interfaces do not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Interfaces with their indices.
    pub present: Vec<(String, u32)>,
    /// Missing interfaces.
    pub absent: Vec<String>,
}

/// Looks up the interfaces of a configuration.
///
/// # Errors
/// The kernel cannot be queried.
pub fn ports_of(config: &NodeConfig) -> Result<Ports, KernelError> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)
        .map_err(|error| KernelError::system("opening a socket")(error.into()))?;
    let mut ports = Ports { present: Vec::new(), absent: Vec::new() };
    for port in &config.ports {
        match netdevice::name_to_index(&socket, &port.interface) {
            Ok(index) => ports.present.push((port.interface.clone(), index)),
            Err(_) => ports.absent.push(port.interface.clone()),
        }
    }
    Ok(ports)
}

/// Error if two interfaces would use the same slot in the map of ports.
pub(super) fn same_place(interfaces: &[(String, u32)]) -> Option<KernelError> {
    interfaces.iter().enumerate().find_map(|(i, (name, index))| {
        let same = |other: &&(String, u32)| PortRecord::place(other.1) == PortRecord::place(*index);
        let (other, _) = interfaces[..i].iter().find(same)?;
        Some(KernelError::SamePlace(other.clone(), name.clone(), PortRecord::PLACES))
    })
}

/// Checks that the folder of pins, or its first existing parent, is on a BPF file system that outlives the tool.
pub(super) fn check_pin_path(folder: &Path) -> Result<(), KernelError> {
    let wrong = |problem: &str| Err(KernelError::PinPath { path: folder.into(), problem: problem.into() });
    let existing = if folder.exists() { Some(folder) } else { folder.parent().filter(|parent| parent.exists()) };
    let Some(existing) = existing else { return wrong("there is no such folder, nor the one above it") };
    if !existing.is_dir() {
        return wrong("is no folder");
    }
    let is_private = is_private_mount(existing).unwrap_or(false);
    let way_out = "run it as `nsenter --net=/run/netns/NAME fairlane-node ...` instead of `ip netns exec`";
    match rustix::fs::statfs(existing).map(|stat| stat.f_type) {
        Ok(BPF_FS) if is_private => {
            wrong(&format!("is a mount that goes away with this mount namespace, and all pins with it; {way_out}"))
        }
        Ok(BPF_FS) => Ok(()),
        Ok(_) if is_private => wrong(&format!("is not on the BPF file system of this machine; {way_out}")),
        Ok(_) => wrong("is not on a BPF file system; `mount -t bpf bpf /sys/fs/bpf` makes one"),
        Err(error) => wrong(&error.to_string()),
    }
}

/// Returns true if the file system of a folder is not mounted in the mount namespace of process 1. It then disappears
/// with the namespace of this process. Returns `None` if the mounts cannot be read.
fn is_private_mount(folder: &Path) -> Option<bool> {
    let device = fs::metadata(folder).ok()?.dev();
    let wanted = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = fs::read_to_string("/proc/1/mountinfo").ok()?;
    // proc_pid_mountinfo(5): the third field is the device.
    Some(!mounts.lines().any(|line| line.split(' ').nth(2) == Some(wanted.as_str())))
}

/// Returns the sizes of the existing tables, or an error if `config` requires other sizes.
pub(super) fn places_there(config: &NodeConfig, folder: &Path) -> Result<Places, KernelError> {
    if !folder.join("addresses").exists() {
        return Err(KernelError::OtherVersion("users".into()));
    }
    check_pinned(folder)?;
    let addresses = open_pinned(folder, "addresses")?.max_entries();
    let there = Places::of_table(open_pinned(folder, "users")?.max_entries(), addresses);
    let changed =
        |key, from: u32, to: u32| Err(KernelError::NeedsDetach { key, from: from.to_string(), to: to.to_string() });
    let wanted = config.users_table.configured.unwrap_or(there.configured).max(config.users.len() as u32);
    if addresses != config.users_table.limit {
        changed("users_table.limit", addresses, config.users_table.limit)
    } else if there.configured != wanted {
        changed("users_table.configured", there.configured, wanted)
    } else {
        Ok(there)
    }
}

/// Writes a configuration into the maps of programs that receive no packets, for tests and benchmarks. `interfaces` are
/// the indices of its ports. `start_ns` is t0 of its meters, above 0.
///
/// # Errors
/// A system call fails.
pub fn configure(
    programs: &Programs,
    config: &NodeConfig,
    interfaces: &[u32],
    start_ns: u64,
) -> Result<(), KernelError> {
    let is_new = fill_node(programs, config, start_ns)?;
    fill_users(programs, config, is_new)?;
    let mut records = fill_ports(programs, config, interfaces, |_, _| Ok(false))?;
    announce(programs, &mut records)
}

/// Writes the configuration into the maps. Returns the records of the ports to attach.
fn fill(
    programs: &Programs,
    config: &NodeConfig,
    interfaces: &[u32],
    has_tcx: bool,
) -> Result<Vec<PortRecord>, KernelError> {
    // This step comes first, since it fails if the state belongs to another node, for example one in another network
    // namespace.
    let is_new = fill_node(programs, config, now_ns())?;
    let folder = Path::new(&config.node.pin_path);
    for record in programs.ports()?.iter().filter(|record| !interfaces.contains(&record.ifindex)) {
        for side in [Side::Ingress, Side::Egress, Side::Unwrap] {
            hook::unlink(folder, record.ifindex, side)?;
        }
    }
    fill_users(programs, config, is_new)?;
    fill_ports(programs, config, interfaces, |name, index| {
        if has_tcx {
            return Ok(false);
        }
        clsact::create(index).map_err(KernelError::system(format!("{name}: making clsact")))
    })
}

/// Writes the record of the node. If the meters have not started yet, they start at `start_ns`, the table of users is
/// empty, and the function returns true.
fn fill_node(programs: &Programs, config: &NodeConfig, start_ns: u64) -> Result<bool, KernelError> {
    let before = programs.read::<NodeRecord>("config", &ZERO)?.unwrap_or_default();
    let is_new = before.start_ns == 0;
    let start_ns = if is_new { start_ns } else { before.start_ns };
    let places = Places::of_table(programs.handle("users")?.max_entries(), programs.handle("addresses")?.max_entries());
    let mut record = NodeRecord::new(config, start_ns, netns()?, places).map_err(|error| unfit("marker", &error))?;
    record.generation = before.next_generation();
    if !is_new {
        keeps_node(config, &before, &record)?;
    }
    programs.write("config", &ZERO, &record)?;
    Ok(is_new)
}

/// Checks that the attached node can be changed to this configuration. Succeeds if nothing is attached.
pub(super) fn check_node(config: &NodeConfig, folder: &Path) -> Result<(), KernelError> {
    let record = NodeRecord::new(config, 1, netns()?, Places::of(config)).map_err(|error| unfit("marker", &error))?;
    if !folder.join("config").exists() {
        return Ok(());
    }
    check_pinned(folder)?;
    let before: NodeRecord = read(&open_pinned(folder, "config")?, "config", ZERO.as_bytes())?.unwrap_or_default();
    if before.start_ns == 0 { Ok(()) } else { keeps_node(config, &before, &record) }
}

/// Checks that the attached node is in this network namespace, and that the format of its labels does not change.
fn keeps_node(config: &NodeConfig, before: &NodeRecord, record: &NodeRecord) -> Result<(), KernelError> {
    if before.netns != record.netns {
        let problem = "belongs to another network namespace; give each its own".into();
        return Err(KernelError::PinPath { path: config.node.pin_path.clone().into(), problem });
    }
    if before.scheme != record.scheme {
        let (from, to) = (before.scheme().into(), record.scheme().into());
        return Err(KernelError::NeedsDetach { key: "marker.scheme", from, to });
    }
    if before.mark_bits != record.mark_bits {
        let [from, to] = [before, record].map(|node| MarkMask(node.mark_bits.mask).to_string());
        return Err(KernelError::NeedsDetach { key: "node.mark_mask", from, to });
    }
    if before.log2_memory != record.log2_memory {
        let from = memory_in_words(before.log2_memory);
        let (key, to) = match config.scheme {
            NodeScheme::Abc => ("marker.memory", config.abc_marker.memory),
            NodeScheme::Csfq => ("marker.rate_constant", config.csfq_marker.rate_constant),
        };
        return Err(KernelError::NeedsDetach { key, from, to: to.to_string() });
    }
    Ok(())
}

/// Formats a time constant, given as log2 of nanoseconds in Q31, in milliseconds.
fn memory_in_words(log2_q31: i64) -> String {
    format!("{:.0} ms", (log2_q31 as f64 / (1u64 << 31) as f64).exp2() / 1e6)
}

fn fill_users(programs: &Programs, config: &NodeConfig, is_new: bool) -> Result<(), KernelError> {
    for (place, key) in UserKey::fixed() {
        let before = programs.read::<UserState>("users", &place)?.unwrap_or_default();
        if before.key != key {
            programs.write("users", &place, &UserState { key, ..UserState::default() })?;
            let received = UserState { key: key.as_a(UserIs::Destination), ..UserState::default() };
            programs.write("users", &(place + 1), &received)?;
        }
    }
    let default = default_rule(config)?;
    programs.write("default_rule", &ZERO, &default)?;
    UserTable::of(programs, is_new)?.fill(config)
}

/// Rule for packets without a user.
pub(super) fn default_rule(config: &NodeConfig) -> Result<RuleRecord, KernelError> {
    RuleRecord::new(0, &config.default_user, config).map_err(|error| unfit("default_user", &error))
}

fn fill_ports(
    programs: &Programs,
    config: &NodeConfig,
    interfaces: &[u32],
    make_clsact: impl Fn(&str, u32) -> Result<bool, KernelError>,
) -> Result<Vec<PortRecord>, KernelError> {
    let before = programs.ports()?;
    let links = links().map_err(KernelError::system("asking for interfaces"))?;
    for record in before.iter().filter(|record| !interfaces.contains(&record.ifindex)) {
        programs.with_fd("fairlane_egress", |fd| hook::leave_clsact(fd, record));
        programs.write("ports", &PortRecord::place(record.ifindex), &PortRecord::default())?;
    }
    let mut records = Vec::new();
    for (port, index) in config.ports.iter().zip(interfaces) {
        let known = before.iter().find(|record| record.ifindex == *index);
        let made = make_clsact(&port.interface, *index)?;
        let made_clsact = made || known.is_some_and(|record| record.made_clsact != 0);
        let framing = links.iter().find(|link| link.index == *index).map_or(Framing::Ethernet, |link| link.framing);
        let mut record = record_of(config, port, *index, framing, made_clsact)?;
        // A port that already reads labels continues to announce this. A new port starts to announce it once its
        // programs are attached.
        if let Some(known) = known.filter(|known| (known.ingress, known.carrier) == (record.ingress, record.carrier)) {
            record.quiet_until_ns = known.quiet_until_ns;
        }
        let place = PortRecord::place(*index);
        if !known.is_some_and(|known| record.keeps_state_of(known)) {
            programs.write("port_states", &place, &PortState::initial())?;
            programs.write("qdisc_states", &place, &QdiscState::default())?;
        }
        programs.write("ports", &place, &record)?;
        records.push(record);
    }
    Ok(records)
}

/// Record of a port whose packets begin with `framing`.
pub(super) fn record_of(
    config: &NodeConfig,
    port: &Port,
    index: u32,
    framing: Framing,
    made_clsact: bool,
) -> Result<PortRecord, KernelError> {
    let record = PortRecord::new(config, port, index, made_clsact).map_err(|error| unfit(&port.interface, &error))?;
    Ok(PortRecord { is_layer3: is_layer3(port, framing)?.into(), ..record })
}

fn is_layer3(port: &Port, framing: Framing) -> Result<bool, KernelError> {
    let wrong = |problem: String| Err(KernelError::Framing { interface: port.interface.clone(), problem });
    match framing {
        Framing::Ethernet => Ok(false),
        Framing::Layer3 if port.params.carrier == Carrier::None => Ok(true),
        Framing::Layer3 => {
            let carrier = port.params.carrier.name();
            wrong(format!("has no Ethernet header, its carrier can be \"none\" only, not \"{carrier}\""))
        }
        Framing::Other(kind) => wrong(format!("has neither Ethernet nor IP in front (it is {kind:?})")),
    }
}

/// Starts the search for idle users, then attaches the programs: through links with pins in `folder`, or through
/// clsact.
fn hook_all(programs: &Programs, records: &[PortRecord], folder: &Path, has_tcx: bool) -> Result<(), KernelError> {
    let start = || programs.run("fairlane_start", &BLANK_FRAME, 1, 0, 1).map(|run| run.verdict);
    let mut started = start()?;
    for _ in 0..START_RETRIES {
        if started == 0 {
            break;
        }
        std::thread::sleep(START_PAUSE);
        started = start()?;
    }
    if started != 0 {
        return Err(KernelError::System {
            doing: "starting the timer of the user table".into(),
            source: std::io::Error::other(format!("step {started} was refused")),
        });
    }
    records.iter().try_for_each(|record| hook_port(programs, record, folder, has_tcx))
}

fn hook_port(programs: &Programs, record: &PortRecord, folder: &Path, has_tcx: bool) -> Result<(), KernelError> {
    // The program that strips shims comes first, since ingress drops packets with a shim.
    let sides = [
        ("fairlane_unwrap", Side::Unwrap, record.has_unwrap()),
        ("fairlane_ingress", Side::Ingress, record.has_ingress()),
        ("fairlane_egress", Side::Egress, record.has_egress()),
    ];
    for (program, side, wanted) in sides {
        programs.with_fd(program, |fd| match (has_tcx || side == Side::Unwrap, wanted) {
            (true, true) => hook::link(folder, fd, record.ifindex, side),
            (true, false) => hook::unlink(folder, record.ifindex, side),
            (false, true) => hook::filter(fd, record.ifindex, side),
            (false, false) => {
                hook::unfilter(fd, record.ifindex, side);
                Ok(())
            }
        })?;
    }
    Ok(())
}

/// Detaches the programs of a port from the hook that is no longer used: clsact if there is TCX, otherwise the links.
/// Until then, packets may be processed twice, but none is missed.
fn leave_other_hook(programs: &Programs, record: &PortRecord, folder: &Path, has_tcx: bool) -> Result<(), KernelError> {
    if !has_tcx {
        return [Side::Ingress, Side::Egress].iter().try_for_each(|side| hook::unlink(folder, record.ifindex, *side));
    }
    programs.with_fd("fairlane_egress", |fd| hook::leave_clsact(fd, record));
    let mut without = *record;
    without.made_clsact = 0;
    programs.write("ports", &PortRecord::place(record.ifindex), &without)
}
