//! Loads a library of schemes.
//!
//! The identity of a library (name, version and hash of its file) is a part of the configuration of every run with one
//! of its schemes, so results of two builds are never confused. A library stays loaded until the process ends.
//!
//! Every error is one line that begins with the path.

mod scheme;

use crate::abi::{ENTRY, Entry, LibraryTable, SchemeTable, VERSION};
use crate::text;
use fairlane_schemes::registry::external::ExternalScheme;
use scheme::PluginFactory;
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_char;
#[cfg(unix)]
use std::ffi::c_int;
use std::fmt::Write;
use std::path::Path;
#[cfg(unix)]
use std::sync::Once;
use std::sync::{Arc, Mutex, PoisonError};

/// A scheme of a library.
#[derive(Clone, Debug)]
pub struct LoadedScheme {
    /// The scheme, with default parameters.
    pub scheme: ExternalScheme,
    /// Summary, in one sentence.
    pub summary: String,
}

/// All loaded schemes, of every build.
static EVERY_BUILD: Mutex<Vec<ExternalScheme>> = Mutex::new(Vec::new());

/// Returns the scheme with this name in a loaded build.
fn loaded(name: &str, library: &str) -> Option<ExternalScheme> {
    let every = EVERY_BUILD.lock().unwrap_or_else(PoisonError::into_inner);
    every.iter().find(|one| *one.name == *name && one.factory.library() == Some(library)).cloned()
}

/// Loads the library in the file `path` and returns its schemes.
///
/// # Errors
/// If the file cannot be read, is not a library of schemes, or has another version of the interface. The error is one
/// line with the reason.
pub fn load(path: &Path) -> Result<Vec<LoadedScheme>, String> {
    load_file(path).map_err(|problem| format!("{}: {problem}", path.display()))
}

fn load_file(path: &Path) -> Result<Vec<LoadedScheme>, String> {
    // Adds the folder to the path, because the system would search its own folders for a bare file name.
    let path = path.canonicalize().map_err(|error| told(&error))?;
    let content = std::fs::read(&path).map_err(|error| told(&error))?;
    check_machine(&content)?;
    let hash = hash_of(&content);
    check_unchanged(&path, &hash)?;
    #[cfg(unix)]
    watch_exits();
    // SAFETY: the user requested to run this library's code, including its initialisation.
    let library =
        guarded(|| unsafe { open(&path) }).map_err(|error| format!("cannot be loaded: {}", root_of(&error)))?;
    // SAFETY: the symbol has this type in every version of the interface.
    let entry = unsafe { library.get::<Entry>(ENTRY) };
    let entry = *entry.map_err(|_| format!("is no library of schemes: it has no function {ENTRY}"))?;
    // SAFETY: a function of the library, with the argument that the header declares.
    let table = guarded(|| unsafe { entry(VERSION) });
    // SAFETY: the library returns null, or a table that lives as long as the process.
    let table = unsafe { checked(table) }?;
    // SAFETY: a library of this version returns data as described in the header.
    let schemes = unsafe { of_table(table, &format!("sha256:{hash}")) }?;
    // Tables and functions are used until the process ends.
    std::mem::forget(library);
    Ok(schemes)
}

/// Returns the schemes in a library's table; `build` identifies the build.
///
/// # Errors
/// If a field is wrong. The error is one line that names the field.
///
/// # Safety
/// All pointers of the table must be valid, as described in the header, for the life of the process.
pub unsafe fn of_table(table: &'static LibraryTable, build: &str) -> Result<Vec<LoadedScheme>, String> {
    let of = |text, what| {
        // SAFETY: texts of a table are null or end with a zero, and live as long as the process.
        let text = unsafe { text::read(text) }.filter(|text| is_word(text));
        text.ok_or_else(|| format!("{what} of the library: must be a word of ASCII characters without spaces"))
    };
    let identity = format!("{} {} {build}", of(table.name, "name")?, of(table.release, "release")?);
    let schemes = schemes_of(table, &identity)?;
    for LoadedScheme { scheme, .. } in &schemes {
        if loaded(&scheme.name, &identity).is_none() {
            EVERY_BUILD.lock().unwrap_or_else(PoisonError::into_inner).push(scheme.clone());
        }
    }
    Ok(schemes)
}

/// Loads the code and all its dependencies, so that a missing symbol is an error here and not during a run.
///
/// # Safety
/// See [`libloading::Library::new`].
unsafe fn open(path: &Path) -> Result<libloading::Library, libloading::Error> {
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
        // SAFETY: guaranteed by the caller.
        unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
    }
    #[cfg(not(unix))]
    // SAFETY: guaranteed by the caller.
    unsafe {
        libloading::Library::new(path)
    }
}

/// Returns the table of a library if it has this version.
///
/// # Safety
/// `table` must be null or point to a table that lives as long as the process.
unsafe fn checked(table: *const LibraryTable) -> Result<&'static LibraryTable, String> {
    if table.is_null() {
        return Err(format!("offers nothing for version {VERSION} of the interface, that of this Fairlane"));
    }
    // SAFETY: guaranteed by the caller; the version is the first field in every version.
    let version = unsafe { table.cast::<u32>().read() };
    if version != VERSION {
        let advice = if version < VERSION { "build it again with the present header" } else { "update Fairlane" };
        return Err(format!("has version {version} of the interface, this Fairlane has version {VERSION}: {advice}"));
    }
    // SAFETY: tables of this version have their size at this offset.
    let size = unsafe { (*table).size };
    if size < size_of::<LibraryTable>() {
        return Err(format!("size of the library's table: {size} must be at least {}", size_of::<LibraryTable>()));
    }
    // SAFETY: the library's table is at least as long as ours.
    Ok(unsafe { &*table })
}

fn schemes_of(table: &'static LibraryTable, identity: &str) -> Result<Vec<LoadedScheme>, String> {
    if table.scheme_count == 0 || table.schemes.is_null() {
        return Err("has no schemes".into());
    }
    let mut found: Vec<LoadedScheme> = Vec::new();
    for place in 0..table.scheme_count {
        // SAFETY: there are `scheme_count` pointers.
        let scheme = unsafe { *table.schemes.add(place) };
        // SAFETY: each of these pointers is null or points to a table that lives as long as the process.
        let (name, factory) =
            unsafe { scheme_of(scheme, identity) }.map_err(|problem| format!("schemes[{place}].{problem}"))?;
        if found.iter().any(|other| *other.scheme.name == *name) {
            return Err(format!("schemes[{place}].name: {name} is there twice"));
        }
        let summary = factory.summary().to_owned();
        found.push(LoadedScheme { scheme: ExternalScheme::new(name, Arc::new(factory)), summary });
    }
    Ok(found)
}

/// # Safety
/// `scheme` must be null or point to a table that lives as long as the process.
unsafe fn scheme_of(scheme: *const SchemeTable, identity: &str) -> Result<(&'static str, PluginFactory), String> {
    if scheme.is_null() {
        return Err("table: null".into());
    }
    // SAFETY: the size is the first field.
    let size = unsafe { (*scheme).size };
    if size < size_of::<SchemeTable>() {
        return Err(format!("size: {size} must be at least {}", size_of::<SchemeTable>()));
    }
    // SAFETY: the scheme's table is at least as long as ours.
    unsafe { PluginFactory::new(&*scheme, identity) }
}

thread_local! {
    /// True while this thread runs foreign code.
    static IN_LIBRARY: Cell<bool> = const { Cell::new(false) };
}

/// Calls foreign code. If it unwinds, for example by a C++ exception, the process ends, because the state it has left
/// is undefined. A call of `exit` also ends the process with an error; otherwise it would look like success.
#[inline]
fn guarded<T>(body: impl FnOnce() -> T) -> T {
    struct EndsProcess;
    impl Drop for EndsProcess {
        fn drop(&mut self) {
            eprintln!("error: an exception left a function of a scheme library");
            std::process::abort();
        }
    }
    let guard = EndsProcess;
    IN_LIBRARY.set(true);
    let answer = body();
    IN_LIBRARY.set(false);
    std::mem::forget(guard);
    answer
}

/// Registers [`report_exit`] for the exit of the process, once for each thread that may run foreign code. `exit`
/// removes functions from its list before it calls them, so a second thread that finds an empty list would end the
/// process before the first can report.
#[cfg(unix)]
fn watch_exits() {
    const MOST_THREADS: usize = 1024;
    unsafe extern "C" {
        /// Function of the C library: `exit` calls `function` on the calling thread.
        fn atexit(function: extern "C" fn()) -> c_int;
    }
    static WATCHED: Once = Once::new();
    // SAFETY: the function stays valid. If a registration fails, `exit` behaves as without it.
    WATCHED.call_once(|| (0..MOST_THREADS).for_each(|_| _ = unsafe { atexit(report_exit) }));
}

#[cfg(unix)]
extern "C" fn report_exit() {
    if IN_LIBRARY.try_with(Cell::get).unwrap_or(false) {
        eprintln!("error: a function of a scheme library called exit");
        std::process::abort();
    }
}

/// Returns the text that foreign code writes into a buffer for one line.
fn message_of<T>(body: impl FnOnce(*mut c_char, usize) -> T) -> (T, String) {
    let mut room = [0u8; 512];
    // The last byte stays zero, regardless of what the code writes.
    let answer = body(room.as_mut_ptr().cast(), room.len() - 1);
    let text = String::from_utf8_lossy(room.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned();
    (answer, text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Rejects an ELF file for another machine. The loader would only report "No such file or directory".
fn check_machine(content: &[u8]) -> Result<(), String> {
    /// Numbers of the ELF specification, `e_machine`.
    const OURS: Option<u16> = if cfg!(target_arch = "x86_64") {
        Some(62)
    } else if cfg!(target_arch = "aarch64") {
        Some(183)
    } else {
        None
    };
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    if !content.starts_with(b"\x7fELF") {
        return Err("is not a library (no ELF file)".into());
    }
    let machine = content.get(18..20).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    match (machine, OURS) {
        (Some(found), Some(ours)) if found != ours => {
            Err(format!("is for another machine: its ELF number is {found}, that of this machine {ours}"))
        }
        _ => Ok(()),
    }
}

/// Rejects a file that was loaded and then overwritten in place: the old code would run under the new hash.
fn check_unchanged(path: &Path, hash: &str) -> Result<(), String> {
    static LOADED: Mutex<Option<HashMap<(u64, u64), String>>> = Mutex::new(None);
    #[cfg(unix)]
    let file = {
        use std::os::unix::fs::MetadataExt;
        let about = path.metadata().map_err(|error| told(&error))?;
        (about.dev(), about.ino())
    };
    #[cfg(not(unix))]
    let file = {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        (0, hasher.finish())
    };
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = loaded.get_or_insert_default().entry(file).or_insert_with(|| hash.to_owned());
    if known == hash {
        return Ok(());
    }
    Err("was overwritten since it was loaded: start again, or give the new build another file".into())
}

fn hash_of(content: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(content) {
        write!(text, "{byte:02x}").expect("a String takes everything");
    }
    text
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 80 && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Formats an error of the system without its number.
fn told(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Formats an error of the loader as one line.
fn root_of(error: &libloading::Error) -> String {
    let cause = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    cause.split_whitespace().collect::<Vec<_>>().join(" ")
}
