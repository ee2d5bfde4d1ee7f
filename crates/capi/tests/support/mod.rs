//! Shared parts of tests that compile programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the compiler that the environment variable `variable` names, or else `usual`. If it is not installed, prints
/// a message and returns `None`.
pub fn compiler(variable: &str, usual: &str) -> Option<Command> {
    let name = std::env::var_os(variable).unwrap_or_else(|| usual.into());
    let is_there = Command::new(&name).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("skipped: no compiler {}", name.display());
    }
    is_there.then(|| Command::new(name))
}

/// Compiles a program that uses the library, from a file in `tests`. Calls `run` with the program's path and returns
/// its result.
pub fn with_host<T>(mut compiler: Command, source: &str, run: impl FnOnce(&Path) -> T) -> T {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = std::env::temp_dir().join(format!("fairlane-capi-{source}-{}", std::process::id()));
    for folder in ["include", "tests/stub"] {
        compiler.arg("-I").arg(here.join(folder));
    }
    compiler.args(["-O1", "-Wall", "-Wextra", "-Werror"]).arg(here.join("tests").join(source)).arg(library());
    assert!(compiler.args(["-lm", "-lpthread", "-ldl", "-o"]).arg(&program).status().unwrap().success());
    let result = run(&program);
    std::fs::remove_file(&program).unwrap();
    result
}

/// Returns the path of the static library, which cargo puts next to the tests that need it.
fn library() -> PathBuf {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let found = std::fs::read_dir(&deps).unwrap().map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libfairlane_capi") && name.ends_with(".a")
    });
    found.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).expect("cargo has built the static library")
}
