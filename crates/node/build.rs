//! Compiles the kernel programs with clang if the feature `ebpf` is enabled.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const PROGRAMS: [&str; 4] = ["node", "empty", "redirect", "flood"];
/// The own qdisc needs a recent clang: before 16, clang drops the tag of pointers in maps.
const QDISC: &str = "qdisc";
const LEAST_FOR_QDISC: u32 = 16;
const RECENT: &str = "clang-19";

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../planes/bpf");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-env-changed=CLANG");
    if env::var_os("CARGO_FEATURE_EBPF").is_none() {
        return;
    }
    // Set by cargo for every build script.
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let of = |program: &str| (folder.join(program).with_extension("bpf.c"), out.join(program).with_extension("bpf.o"));
    for program in PROGRAMS {
        let (source, object) = of(program);
        compile(&clang, &source, &object);
    }
    let (source, object) = of(QDISC);
    match [clang.as_str(), RECENT].into_iter().find(|clang| major_version(clang) >= Some(LEAST_FOR_QDISC)) {
        Some(clang) => compile(clang, &source, &object),
        None => {
            // The node also says so.
            println!("cargo::warning=no clang {LEAST_FOR_QDISC} or later: the node has no BPF qdisc");
            fs::write(&object, []).expect("OUT_DIR can be written");
        }
    }
}

fn major_version(clang: &str) -> Option<u32> {
    let output = Command::new(clang).arg("-dumpversion").output().ok()?;
    String::from_utf8(output.stdout).ok()?.split('.').next()?.parse().ok()
}

fn compile(clang: &str, source: &Path, object: &Path) {
    let mut command = Command::new(clang);
    command.args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror"]);
    // The crate that builds libbpf provides its headers. On Debian, asm/types.h is in an architecture-specific folder.
    if let Some(include) = env::var_os("DEP_BPF_INCLUDE") {
        command.arg("-I").arg(include);
    }
    if let Some(include) = architecture_headers() {
        command.arg("-I").arg(include);
    }
    match command.arg("-c").arg(source).arg("-o").arg(object).status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{clang} {}: {status}", source.display()),
        Err(error) => panic!("{clang}: {error}; the feature ebpf needs clang"),
    }
}

fn architecture_headers() -> Option<PathBuf> {
    let entries = fs::read_dir("/usr/include").ok()?;
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").ok()?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.join("asm/types.h").exists() && path.to_string_lossy().contains(&architecture))
}
