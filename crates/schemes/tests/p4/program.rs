//! The source of a P4 program, and paths in the project.

use super::switch::fnv1a;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// A path in the project.
pub fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Returns a P4 program and all files that it includes, in the order of first inclusion.
///
/// # Errors
///
/// If a file does not exist.
pub fn sources(folder: &Path, name: &str) -> io::Result<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open = vec![name.to_owned()];
    while let Some(name) = open.pop() {
        if found.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let text = fs::read_to_string(folder.join(&name))?;
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix("#include \"")?.strip_suffix('"'));
        open.extend(lines.map(str::to_owned).collect::<Vec<_>>().into_iter().rev());
        found.push((name, text));
    }
    Ok(found)
}

/// FNV-1a of the names and texts of all files of a program in `planes/p4/`.
///
/// # Errors
///
/// If a file does not exist.
pub fn hash(name: &str) -> io::Result<String> {
    let sources = sources(&project("planes/p4"), name)?;
    let bytes = sources.iter().flat_map(|(name, text)| name.bytes().chain([0]).chain(text.bytes()).chain([0]));
    Ok(format!("{:016x}", fnv1a(bytes)))
}

/// Finds a tool by an environment variable or on the PATH.
pub fn find(name: &str, variable: &str) -> Option<PathBuf> {
    let named = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_file());
    let folders = env::var_os("PATH").unwrap_or_default();
    named.or_else(|| env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file()))
}

/// Compiles a program of `planes/p4/` and returns the warnings. Warnings are not errors, because they depend on the
/// compiler. The present warnings concern included code that only another program of the folder uses.
///
/// # Errors
///
/// If the compiler cannot be run or rejects the program. The error contains the compiler's output.
pub fn compile(p4c: &Path, name: &str, options: &[&str], json: &Path) -> Result<String, String> {
    let mut command = Command::new(p4c);
    if let Some(include) = env::var_os("FAIRLANE_P4INCLUDE") {
        command.arg("-I").arg(include);
    }
    let output = command.args(options).arg(project("planes/p4").join(name)).arg("-o").arg(json).output();
    let output = output.map_err(|error| format!("{}: {error}", p4c.display()))?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("p4c on planes/p4/{name}: {text}")) }
}
