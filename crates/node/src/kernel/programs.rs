//! The programs and maps of `planes/bpf/node.bpf.c`, after loading.

use super::{KernelError, hook, messages};
use crate::records::{
    IngressStats, NodeRecord, Places, PoolRecord, PortRecord, PortState, Record, ReplayInput, UserKey, UserState,
};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenMapMut, OpenObject, ProgramInput};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use zerocopy::IntoBytes;

/// ELF objects must be aligned to 8 bytes.
#[repr(align(8))]
pub(super) struct Aligned<T: ?Sized>(pub(super) T);

static NODE: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/node.bpf.o")));
static EMPTY: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/empty.bpf.o")));

pub(super) fn open_pinned(folder: &Path, name: &str) -> Result<MapHandle, KernelError> {
    messages::keep();
    let path = folder.join(name);
    MapHandle::from_pinned_path(&path).map_err(KernelError::refused(format!("opening {}", path.display())))
}

/// Maps that outlive the tool.
pub(super) const PINNED: [&str; 17] = [
    "config",
    "rules",
    "number_rules",
    "mark_rules",
    "default_rule",
    "users",
    "addresses",
    "free_places",
    "pools",
    "port_addresses",
    "ports",
    "port_states",
    "qdisc_states",
    "link_states",
    "neighbours",
    "stats",
    "sweepers",
];

/// Returns true if `folder` has the pins of an attached program.
pub(super) fn is_there(folder: &Path) -> bool {
    folder.join("ports").exists() && !is_half_there(folder)
}

/// Returns true if some pins exist but none of a program, because an attach or detach was killed.
pub(super) fn is_half_there(folder: &Path) -> bool {
    let there = PINNED.iter().filter(|name| folder.join(name).exists()).count();
    (1..PINNED.len()).contains(&there) && !hook::has_links(folder)
}

/// Checks that the maps pinned in `folder` have this build's key and record sizes.
pub(super) fn check_pinned(folder: &Path) -> Result<(), KernelError> {
    messages::keep();
    let mut builder = ObjectBuilder::default();
    let own = builder.open_memory(&NODE.0).map_err(KernelError::refused("reading the kernel programs"))?;
    for map in own.maps() {
        let name = map.name().to_string_lossy();
        if !PINNED.contains(&name.as_ref()) || !folder.join(name.as_ref()).exists() {
            continue;
        }
        let there = open_pinned(folder, &name)?;
        if (there.key_size(), there.value_size()) != (map.key_size(), map.value_size()) {
            return Err(KernelError::OtherVersion(name.into()));
        }
    }
    Ok(())
}

/// Purpose of loading programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode<'a> {
    /// Operation: maps are pinned in this folder, and existing maps are reused.
    Pinned(&'a Path),
    /// Tests: nothing is pinned, and the test sets clock and queue length.
    Replay,
    /// Benchmarks: nothing is pinned.
    Unpinned,
}

/// Result of a program run on a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Return value of the program: `TC_ACT_UNSPEC` is -1, `TC_ACT_SHOT` 2.
    pub verdict: i32,
    /// `skb->mark` afterwards.
    pub mark: u32,
    /// `skb->priority` afterwards.
    pub priority: u32,
    /// Mean time of a run in ns.
    pub duration_ns: u64,
}

/// Result of the XDP program on a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwrapped {
    /// Metadata for the tc program; 0 without a label.
    pub label: u32,
    /// The frame without its shim.
    pub frame: Vec<u8>,
    /// Time of the run in ns.
    pub duration_ns: u64,
}

/// The loaded programs.
#[derive(Debug)]
pub struct Programs {
    object: Object,
    is_replay: bool,
}

impl Programs {
    /// Loads the programs, with tables of these sizes.
    ///
    /// # Errors
    /// The kernel lacks a feature or rejects the programs, or the process lacks a capability.
    pub fn load(mode: Mode<'_>, places: Places) -> Result<Self, KernelError> {
        messages::keep();
        let doing = "loading the kernel programs";
        let mut open = ObjectBuilder::default().open_memory(&NODE.0).map_err(KernelError::refused(doing))?;
        prepare(&mut open, mode, places).map_err(KernelError::refused(doing))?;
        let object = open.load().map_err(KernelError::refused(doing))?;
        Ok(Self { object, is_replay: mode == Mode::Replay })
    }

    fn map(&self, name: &str) -> libbpf_rs::Map<'_> {
        self.object.maps().find(|map| map.name() == name).expect("the object has all maps")
    }

    /// The map with this name, which another object can use; `None` if there is none.
    pub(super) fn shared(&self, name: &str) -> Option<libbpf_rs::Map<'_>> {
        self.object.maps().find(|map| map.name() == name && !name.starts_with('.'))
    }

    /// Sets the mode of these programs in a map of another object, if it is the map of the mode.
    pub(super) fn set_mode(&self, map: &mut OpenMapMut<'_>) {
        if self.is_replay {
            set_replay_mode(map);
        }
    }

    fn program(&self, name: &str) -> libbpf_rs::ProgramMut<'_> {
        self.object.progs_mut().find(|program| program.name() == name).expect("the object has all programs")
    }

    /// Records of all ports.
    ///
    /// # Errors
    /// A system call fails.
    pub(super) fn ports(&self) -> Result<Vec<PortRecord>, KernelError> {
        read_ports(&self.map("ports"))
    }

    /// State of the port of the interface with `index`.
    ///
    /// # Errors
    /// A system call fails.
    pub fn port_state(&self, index: u32) -> Result<PortState, KernelError> {
        Ok(self.read("port_states", &PortRecord::place(index))?.unwrap_or_default())
    }

    /// State of the meter with `key`, if it exists. An address is looked up directly; other keys need a search.
    ///
    /// # Errors
    /// A system call fails.
    pub fn user_state(&self, key: &UserKey) -> Result<Option<UserState>, KernelError> {
        if let Some(place) = self.read::<u32>("addresses", key)? {
            return Ok(self.read("users", &place)?.map(UserState::settled));
        }
        let first_address = self.read::<NodeRecord>("config", &ZERO)?.unwrap_or_default().first_address;
        for place in 0..first_address {
            let user: Option<UserState> = self.read("users", &place)?;
            if user.is_some_and(|user| user.key == *key) {
                return Ok(user.map(UserState::settled));
            }
        }
        Ok(None)
    }

    /// State of the search for idle users.
    ///
    /// # Errors
    /// A system call fails.
    pub fn pool(&self) -> Result<PoolRecord, KernelError> {
        Ok(self.read("pools", &ZERO)?.unwrap_or_default())
    }

    /// Opens another handle of a map.
    pub(super) fn handle(&self, name: &str) -> Result<MapHandle, KernelError> {
        MapHandle::try_from(&self.map(name)).map_err(KernelError::refused(format!("opening map {name}")))
    }

    /// Counters of ingress.
    ///
    /// # Errors
    /// A system call fails.
    pub fn ingress_stats(&self) -> Result<IngressStats, KernelError> {
        read_ingress_stats(&self.map("stats"))
    }

    /// Calls `with` with the file descriptor of a program.
    pub(super) fn with_fd<T>(&self, program: &str, with: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
        with(self.program(program).as_fd())
    }

    /// Writes the entry `value` of `key` to the map with the name `map`.
    ///
    /// # Errors
    /// The map is full, or sizes do not match.
    pub fn write(&self, map: &str, key: &impl Record, value: &impl Record) -> Result<(), KernelError> {
        let written = self.map(map).update(key.as_bytes(), value.as_bytes(), MapFlags::ANY);
        written.map_err(KernelError::refused(format!("writing map {map}")))
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// A system call fails.
    pub fn read<T: Record>(&self, map: &str, key: &impl Record) -> Result<Option<T>, KernelError> {
        read(&self.map(map), map, key.as_bytes())
    }

    /// Removes an entry, if it exists.
    pub fn remove(&self, map: &str, key: &[u8]) {
        // A missing entry is no error.
        let _ = self.map(map).delete(key);
    }

    /// Keys of a map.
    #[must_use]
    pub fn keys(&self, map: &str) -> Vec<Vec<u8>> {
        self.map(map).keys().collect()
    }

    /// Sets clock and queue of a replay.
    ///
    /// # Errors
    /// A system call fails.
    pub fn set_replay(&self, input: &ReplayInput) -> Result<(), KernelError> {
        self.write("replay_input", &ZERO, input)
    }

    /// Runs a program `repeat` times on a frame that arrives at or leaves interface `ifindex`.
    ///
    /// # Errors
    /// The kernel rejects the frame or the context.
    pub fn run(
        &self,
        program: &str,
        frame: &[u8],
        ifindex: u32,
        mark: u32,
        repeat: u32,
    ) -> Result<Outcome, KernelError> {
        run(&self.program(program), frame, None, ifindex, mark, repeat)
    }

    /// Runs the program at XDP on a frame.
    ///
    /// # Errors
    /// The kernel rejects the frame.
    pub fn unwrap(&self, frame: &[u8]) -> Result<Unwrapped, KernelError> {
        let (mut label, duration_ns) = run_xdp(&self.program("fairlane_unwrap"), frame)?;
        let frame = label.split_off(size_of::<u32>().min(label.len()));
        Ok(Unwrapped { label: label.try_into().map_or(0, u32::from_ne_bytes), frame, duration_ns })
    }

    /// Runs a program once; also returns the resulting frame.
    ///
    /// # Errors
    /// The kernel rejects the frame or the context.
    pub fn pass(
        &self,
        program: &str,
        frame: &[u8],
        ifindex: u32,
        mark: u32,
    ) -> Result<(Outcome, Vec<u8>), KernelError> {
        // Headroom for the headers that programs add.
        let mut after = vec![0; frame.len() + 64];
        let outcome = run(&self.program(program), frame, Some(&mut after), ifindex, mark, 1)?;
        Ok((outcome, after))
    }
}

pub(super) const ZERO: u32 = 0;

/// Reads the entry of a key in the map `name`.
pub(super) fn read<T: Record>(map: &impl MapCore, name: &str, key: &[u8]) -> Result<Option<T>, KernelError> {
    let value = map.lookup(key, MapFlags::ANY).map_err(KernelError::refused(format!("reading map {name}")))?;
    value.map(|value| record_of(name, &value)).transpose()
}

fn record_of<T: Record>(map: &str, bytes: &[u8]) -> Result<T, KernelError> {
    T::read_from_bytes(bytes).map_err(|_| KernelError::OtherVersion(map.into()))
}

pub(super) fn read_ingress_stats(map: &impl MapCore) -> Result<IngressStats, KernelError> {
    Ok(IngressStats::sum(&read_percpu(map, "stats")?))
}

/// Returns the entries of all processors in the map `name`.
pub(super) fn read_percpu<T: Record>(map: &impl MapCore, name: &str) -> Result<Vec<T>, KernelError> {
    let values = map.lookup_percpu(ZERO.as_bytes(), MapFlags::ANY);
    let values = values.map_err(KernelError::refused(format!("reading map {name}")))?;
    values.iter().flatten().map(|value| record_of(name, value)).collect()
}

pub(super) fn read_ports(map: &impl MapCore) -> Result<Vec<PortRecord>, KernelError> {
    let mut records = Vec::new();
    for place in 0..PortRecord::PLACES {
        records.push(read::<PortRecord>(map, "ports", place.as_bytes())?.unwrap_or_default());
    }
    records.retain(|record| record.ifindex != 0);
    Ok(records)
}

/// Runs `program` on a frame and writes the result to `frame_after`.
fn run(
    program: &libbpf_rs::ProgramMut<'_>,
    frame: &[u8],
    mut frame_after: Option<&mut Vec<u8>>,
    ifindex: u32,
    mark: u32,
    repeat: u32,
) -> Result<Outcome, KernelError> {
    // Offsets in struct __sk_buff (linux/bpf.h): mark 8, priority 32, ingress_ifindex 36, ifindex 40.
    let mut context = [0u8; 192];
    context[8..12].copy_from_slice(&mark.to_ne_bytes());
    // A packet without an ingress interface originates from the node.
    context[36..40].copy_from_slice(&ifindex.to_ne_bytes());
    context[40..44].copy_from_slice(&ifindex.to_ne_bytes());
    let mut after = [0u8; 192];
    let input = ProgramInput {
        context_in: Some(&mut context),
        context_out: Some(&mut after),
        data_in: Some(frame),
        data_out: frame_after.as_mut().map(|after| after.as_mut_slice()),
        repeat,
        ..Default::default()
    };
    let output = program.test_run(input).map_err(KernelError::refused("running a program"))?;
    let (verdict, duration_ns) = (output.return_value.cast_signed(), output.duration.as_nanos() as u64);
    let bytes = output.data.map_or(0, |data| data.len());
    if let Some(after) = frame_after {
        after.truncate(bytes);
    }
    let word = |at: usize| u32::from_ne_bytes([after[at], after[at + 1], after[at + 2], after[at + 3]]);
    Ok(Outcome { verdict, mark: word(8), priority: word(32), duration_ns })
}

/// Runs an XDP program once. Returns its output, including metadata before the data, and its time in ns.
fn run_xdp(program: &libbpf_rs::ProgramMut<'_>, frame: &[u8]) -> Result<(Vec<u8>, u64), KernelError> {
    // Headroom for metadata.
    let mut after = vec![0; frame.len() + 64];
    let input = ProgramInput { data_in: Some(frame), data_out: Some(&mut after), ..Default::default() };
    let output = program.test_run(input).map_err(KernelError::refused("running a program"))?;
    let (bytes, duration_ns) = (output.data.map_or(0, |data| data.len()), output.duration.as_nanos() as u64);
    after.truncate(bytes);
    Ok((after, duration_ns))
}

/// Mean time in ns of an empty program.
///
/// # Errors
/// The kernel rejects the program.
pub fn empty_ns(frame: &[u8], repeat: u32) -> Result<u64, KernelError> {
    with_empty("fairlane_empty", |program| Ok(run(program, frame, None, 1, 0, repeat)?.duration_ns))
}

/// Minimum time in ns over `runs` runs of an empty XDP program.
///
/// # Errors
/// The kernel rejects the program.
pub fn empty_unwrap_ns(frame: &[u8], runs: u32) -> Result<u64, KernelError> {
    with_empty("fairlane_empty_xdp", |program| {
        (0..runs).try_fold(u64::MAX, |least, _| Ok(run_xdp(program, frame)?.1.min(least)))
    })
}

fn with_empty<T>(
    name: &str,
    with: impl FnOnce(&libbpf_rs::ProgramMut<'_>) -> Result<T, KernelError>,
) -> Result<T, KernelError> {
    let doing = "loading the empty programs";
    let mut builder = ObjectBuilder::default();
    let open = builder.open_memory(&EMPTY.0).map_err(KernelError::refused(doing))?;
    let object = open.load().map_err(KernelError::refused(doing))?;
    let program = object.progs_mut().find(|program| program.name() == name).expect("the object has both programs");
    with(&program)
}

fn set_replay_mode(map: &mut OpenMapMut<'_>) {
    if map.name().to_string_lossy().ends_with(".rodata.mode")
        && let Some(flag) = map.initial_value_mut()
    {
        flag.copy_from_slice(&1u32.to_ne_bytes());
    }
}

fn prepare(open: &mut OpenObject, mode: Mode<'_>, places: Places) -> libbpf_rs::Result<()> {
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        match name.as_str() {
            "users" => map.set_max_entries(places.all())?,
            "addresses" | "free_places" => map.set_max_entries(places.addresses)?,
            _ => {}
        }
        if mode == Mode::Replay {
            set_replay_mode(&mut map);
        }
        if let Mode::Pinned(folder) = mode
            && PINNED.contains(&name.as_str())
        {
            map.set_pin_path(folder.join(&name))?;
        }
    }
    Ok(())
}
