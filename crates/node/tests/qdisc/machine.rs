//! Runs the tests of the qdisc in a virtual machine whose kernel has BPF qdiscs. QEMU counts instructions as
//! nanoseconds, so results do not depend on the load of the host. The machine's files are an archive in memory
//! (initramfs, newc format of cpio(5)) with this test binary as its first process.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the test that is the first process of the machine.
const INIT: &str = "qdisc::machine::init";

/// Variable that selects tests of the machine, by default all of the qdisc.
const FILTER: &str = "FAIRLANE_MACHINE_TESTS";

/// Programs of the host that the tests need, with their libraries.
const PROGRAMS: [&str; 10] = ["ip", "mount", "nsenter", "setpriv", "sh", "sleep", "sysctl", "tc", "timeout", "umount"];

/// Kernel modules, in the order of loading.
const MODULES: [&str; 2] = ["drivers/net/veth.ko.xz", "net/sched/sch_netem.ko.xz"];

const MEMORY: &str = "1024";
const BOOT: &str = "console=ttyS0 quiet panic=-1 rdinit=/init";

/// Time limit of the machine, in seconds of the host.
const MOST_SECONDS: &str = "3000";

#[test]
#[ignore = "takes minutes"]
fn qdisc_passes_its_tests_in_a_virtual_machine() {
    if fairlane_node::kernel::own_qdisc_missing().is_some_and(|reason| reason.contains("clang")) {
        println!("skipped: {}", fairlane_node::kernel::own_qdisc_missing().unwrap());
        return;
    }
    let qemu = "qemu-system-x86_64";
    if Command::new(qemu).arg("--version").output().is_err() {
        println!("skipped: there is no {qemu}");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/qdisc/kernel.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    // Exit codes of apt-get that cannot download, and of a shell without apt-get.
    if matches!(output.status.code(), Some(100 | 127)) {
        println!("skipped: there is no kernel with BPF qdiscs, and it cannot be downloaded");
        return;
    }
    assert!(output.status.success(), "kernel.sh: {}", output.status);
    let kernel = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let archive = std::env::temp_dir().join(format!("fairlane-machine-{}", std::process::id()));
    fs::write(&archive, files(&kernel)).unwrap();
    let image = first_entry(&kernel.join("boot"), "vmlinuz");
    // A value in front of the dashes becomes a variable of the first process.
    let filter = std::env::var(FILTER).unwrap_or_else(|_| "qdisc::".into());
    let append = format!("{BOOT} {FILTER}={filter} -- {INIT} --exact --ignored --nocapture");
    let mut command = Command::new("timeout");
    command.args([MOST_SECONDS, qemu, "-M", "q35", "-cpu", "max", "-m", MEMORY, "-nodefaults", "-no-reboot"]);
    command.args(["-display", "none", "-serial", "stdio", "-icount", "shift=0,sleep=off", "-seed", "1"]);
    let output = command.arg("-kernel").arg(image).arg("-initrd").arg(&archive).args(["-append", &append]).output();
    fs::remove_file(&archive).unwrap();
    let text = String::from_utf8_lossy(&output.unwrap().stdout).replace('\r', "");
    println!("{text}");
    assert!(text.contains("all tests of the qdisc passed"), "see the output of the machine");
    // In this kernel no test may be skipped.
    assert!(!text.contains("skipped: "), "see the output of the machine");
}

/// Mounts what the tests need, runs them, and ends the machine.
#[test]
#[ignore = "only in the virtual machine"]
fn init() {
    if std::process::id() != 1 {
        println!("skipped: not in the virtual machine");
        return;
    }
    let mounts = [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp"), ("tmpfs", "/run")];
    for (kind, at) in mounts.into_iter().chain([("bpf", "/sys/fs/bpf")]) {
        assert!(Command::new("/bin/mount").args(["-t", kind, kind, at]).status().unwrap().success(), "{at}");
    }
    for module in MODULES {
        let name = Path::new(module).file_name().unwrap();
        let file = fs::File::open(Path::new("/modules").join(name)).unwrap();
        // MODULE_INIT_COMPRESSED_FILE of linux/module.h.
        rustix::system::finit_module(&file, c"", 4).unwrap();
    }
    let filter = std::env::var(FILTER).unwrap();
    let tests = Command::new("/init").args([&filter, "--nocapture", "--test-threads", "1"]).status().unwrap();
    if tests.success() {
        println!("all tests of the qdisc passed");
    }
    std::io::stdout().flush().unwrap();
    rustix::system::reboot(rustix::system::RebootCommand::PowerOff).unwrap();
}

/// The machine's files.
fn files(kernel: &Path) -> Vec<u8> {
    let mut archive = Archive::default();
    for folder in ["dev", "proc", "sys", "tmp", "run"] {
        archive.add_folder(Path::new(folder));
    }
    let init = std::env::current_exe().unwrap();
    archive.add(Path::new("init"), &init);
    let node = Path::new(env!("CARGO_BIN_EXE_fairlane-node"));
    archive.add(node, node);
    let mut linked = vec![init, node.to_owned()];
    for program in PROGRAMS {
        let file = ["/bin", "/sbin", "/usr/bin", "/usr/sbin"].map(|folder| Path::new(folder).join(program));
        let file = file.into_iter().find(|file| file.exists()).unwrap_or_else(|| panic!("there is no {program}"));
        archive.add(&Path::new("bin").join(program), &file);
        linked.push(file);
    }
    for library in linked.iter().flat_map(|file| libraries(file)).collect::<BTreeSet<_>>() {
        archive.add(&library, &library);
    }
    let modules = first_entry(&kernel.join("usr/lib/modules"), "").join("kernel");
    for module in MODULES {
        archive.add(&Path::new("modules").join(Path::new(module).file_name().unwrap()), &modules.join(module));
    }
    archive.end()
}

/// Entry of a folder whose name begins with `prefix`.
fn first_entry(folder: &Path, prefix: &str) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix)).unwrap()
}

/// Shared libraries of a program, and its loader.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

/// A cpio archive, format newc.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<PathBuf>,
}

impl Archive {
    const FOLDER: u32 = 0o040_755;
    const PROGRAM: u32 = 0o100_755;

    fn add_folder(&mut self, folder: &Path) {
        if folder.as_os_str().is_empty() || !self.folders.insert(folder.to_owned()) {
            return;
        }
        self.add_folder(folder.parent().unwrap());
        self.write(folder.to_str().unwrap(), Self::FOLDER, &[]);
    }

    fn add(&mut self, at: &Path, file: &Path) {
        let at = at.strip_prefix("/").unwrap_or(at);
        self.add_folder(at.parent().unwrap());
        self.write(at.to_str().unwrap(), Self::PROGRAM, &fs::read(file).unwrap());
    }

    fn write(&mut self, name: &str, mode: u32, data: &[u8]) {
        // Magic, inode, mode, uid, gid, links, time, size, four device numbers, length of the name, checksum.
        let fields = [0, mode, 0, 0, 1, 0, data.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn end(mut self) -> Vec<u8> {
        self.write("TRAILER!!!", 0, &[]);
        self.bytes
    }
}
