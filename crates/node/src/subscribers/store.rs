//! The file of subscribers is a journal: for each name, the last change is valid. Changes are appended. Occasionally a
//! new file with only the current subscribers replaces the old one. One process changes the file at a time, and first
//! reads the changes of other processes.
//!
//! A step is one line: `{"put": ...}`, `{"remove": ...}`, or `{"all": [...]}` for several changes. A line truncated by
//! a kill or a power failure is not valid JSON. So a step is valid as a whole or not at all, and needs no commit
//! record.
//!
//! A line that is not a change, for example one from an editor, is skipped with a warning; the subscribers of the other
//! lines are metered. Before the next change such a file is backed up.

use super::subscriber::{Change, Subscriber};
use crate::config::in_words;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FILE: &str = "subscribers.jsonl";

/// Name of the file that counts how often the maps were recreated or refilled.
const GENERATION: &str = "attached";

/// The file is compacted if its superseded bytes exceed this number plus the bytes of the current subscribers.
const MOST_STALE: u64 = 1 << 20;

/// Name of the backups that are made before imports with --replace. A number follows the name; 1 is the newest backup.
const BACKUP: &str = "subscribers.before";

const BACKUPS: u32 = 3;

/// Name of the copy of a file with invalid lines. The copy is made before the file is compacted.
const ASIDE: &str = "subscribers.damaged";

/// Maximum number of invalid lines that are reported.
const MOST_TOLD: usize = 5;

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A system call fails.
    #[error("{path}: {}", in_words(.source))]
    System {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// A write fails, and the partial write cannot be undone.
    #[error("{path}: {}; taking away what was written of it: {}; it may be there in part", in_words(.source),
        in_words(.problem))]
    Partly {
        /// Path of the file.
        path: PathBuf,
        /// Reason why the write was incomplete.
        source: io::Error,
        /// Reason why the partial write remains.
        problem: io::Error,
    },
}

/// All subscribers, by name.
pub type Subscribers = BTreeMap<String, Subscriber>;

/// Reads the subscribers stored in `folder`, none if there is no file. Also returns a message for each unreadable line.
///
/// # Errors
/// The file cannot be read.
pub fn read(folder: &Path) -> Result<(Subscribers, Vec<String>), StoreError> {
    let path = folder.join(FILE);
    match fs::read(&path) {
        Ok(bytes) => {
            let contents = Contents::parse(&bytes);
            let problems = contents.problems(&path);
            Ok((contents.subscribers, problems))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((Subscribers::new(), Vec::new())),
        Err(source) => Err(StoreError::System { path, source }),
    }
}

/// Locks the subscribers until the result is dropped. Returns `None` if there is no folder and therefore no
/// subscriber.
///
/// # Errors
/// A system call fails.
pub fn hold(folder: &Path) -> Result<Option<File>, StoreError> {
    let system = |source| StoreError::System { path: folder.into(), source };
    match File::open(folder) {
        Ok(file) => {
            flock(&file, FlockOperation::LockExclusive).map_err(|error| system(error.into()))?;
            Ok(Some(file))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(system(error)),
    }
}

/// Returns how often the maps were refilled. If the number has changed, cached contents of the maps are invalid.
#[must_use]
pub fn generation(folder: &Path) -> u64 {
    fs::read_to_string(folder.join(GENERATION)).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Counts a refill of the maps. The caller must hold the lock.
///
/// # Errors
/// A system call fails.
pub fn next_generation(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(GENERATION);
    fs::write(&path, format!("{}\n", generation(folder) + 1)).map_err(|source| StoreError::System { path, source })
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Put(Subscriber),
    Remove(String),
    All(Vec<Change>),
}

/// Several changes as one line.
#[derive(Serialize)]
struct All<'a> {
    all: &'a [Change],
}

#[derive(Default)]
struct Contents {
    subscribers: Subscribers,
    lines: usize,
    /// Bytes up to the end of the last complete line.
    whole: usize,
    /// True if the last complete line has no line break.
    is_open: bool,
    /// Invalid lines, with their numbers.
    broken: Vec<(usize, String)>,
    /// Number of bytes after the last complete line: a partial or damaged line.
    cut_off: usize,
    damaged_tail: usize,
}

impl Contents {
    fn parse(bytes: &[u8]) -> Self {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (lines, tail) = bytes.split_at(whole);
        let mut contents = Self { whole, ..Self::default() };
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            contents.lines += 1;
            if let Err(error) = contents.read_line(line) {
                contents.broken.push((contents.lines, problem_of(&error)));
            }
        }
        match contents.read_line(tail) {
            // Some editors write no line break after the last line.
            Ok(()) => (contents.whole, contents.is_open) = (bytes.len(), true),
            // The writing process was killed, so the change was not confirmed.
            Err(error) if error.is_eof() => contents.cut_off = tail.len(),
            Err(_) if tail.contains(&0) => contents.damaged_tail = tail.len(),
            Err(error) => contents.broken.push((contents.lines + 1, problem_of(&error))),
        }
        contents
    }

    fn read_line(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let one = match serde_json::from_slice(line)? {
            Line::Put(subscriber) => Change::Put(subscriber),
            Line::Remove(name) => Change::Remove(name),
            Line::All(changes) => {
                changes.into_iter().for_each(|change| apply(&mut self.subscribers, change));
                return Ok(());
            }
        };
        apply(&mut self.subscribers, one);
        Ok(())
    }

    /// Returns true if the file contains anything but changes.
    fn is_damaged(&self) -> bool {
        !self.broken.is_empty() || self.damaged_tail > 0
    }

    fn problems(&self, path: &Path) -> Vec<String> {
        let path = path.display();
        let told = self.broken.iter().take(MOST_TOLD);
        let told = told.map(|(line, problem)| format!("{path}: line {line}: {problem}; it is left out"));
        let rest = self.broken.len().saturating_sub(MOST_TOLD);
        let rest = (rest > 0).then(|| format!("{path}: {rest} more lines are left out"));
        let tail = (self.damaged_tail > 0).then(|| {
            let bytes = self.damaged_tail;
            format!("{path}: the last {bytes} bytes are no text, as after a power cut: changes may be lost")
        });
        let cut_off = (self.cut_off > 0).then(|| {
            let bytes = self.cut_off;
            format!("{path}: the last {bytes} bytes are a change that was not finished: nothing of it counts")
        });
        told.chain(rest).chain(tail).chain(cut_off).collect()
    }
}

/// Returns the text of an error of `serde_json` with its column. The line number is omitted, since the text parsed was
/// a single line.
#[must_use]
pub fn problem_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let problem = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem);
    if error.column() == 0 { problem.into() } else { format!("column {}: {problem}", error.column()) }
}

fn apply(subscribers: &mut Subscribers, change: Change) {
    match change {
        Change::Put(subscriber) => drop(subscribers.insert(subscriber.name.clone(), subscriber)),
        Change::Remove(name) => drop(subscribers.remove(&name)),
    }
}

/// The file, open for changes.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    /// Number of bytes of the file that `subscribers` reflects.
    bytes: u64,
    /// Estimated size in bytes of a file that contains only the current subscribers.
    needed: u64,
    subscribers: Subscribers,
    /// Unreadable lines, not reported yet.
    problems: Vec<String>,
}

/// State of the file before a change.
#[derive(Clone, Copy, Debug)]
pub struct Before(u64);

/// Exclusive access to the file until this value is dropped.
#[derive(Debug)]
pub struct Locked {
    _folder: File,
    /// True if another process had changed the file, so it was read again.
    pub was_changed: bool,
}

impl Store {
    /// Opens the file in `folder`, which is created if necessary.
    ///
    /// # Errors
    /// A system call fails.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let system = |source| StoreError::System { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(system)?;
        let file = open(&path).map_err(system)?;
        // Makes the name of a new file durable.
        sync_folder(&path).map_err(system)?;
        let (subscribers, problems) = (Subscribers::new(), Vec::new());
        let mut store = Self { path, file, bytes: 0, needed: 0, subscribers, problems };
        let _lock = store.lock()?;
        // Left by a killed process.
        let _ = fs::remove_file(store.part());
        Ok(store)
    }

    /// Messages about unreadable lines since the last call.
    pub fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    /// Current subscribers.
    #[must_use]
    pub fn subscribers(&self) -> &Subscribers {
        &self.subscribers
    }

    /// Waits for exclusive access, and reads the file again if another process changed it.
    ///
    /// # Errors
    /// A system call fails.
    pub fn lock(&mut self) -> Result<Locked, StoreError> {
        let system = |source| StoreError::System { path: self.path.clone(), source };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let folder = File::open(folder).map_err(system)?;
        flock(&folder, FlockOperation::LockExclusive).map_err(|error| system(error.into()))?;
        let is_same =
            |ours: &fs::Metadata, theirs: &fs::Metadata| ours.ino() == theirs.ino() && ours.dev() == theirs.dev();
        let ours = self.file.metadata().map_err(system)?;
        let was_replaced = fs::metadata(&self.path).map_or(true, |theirs| !is_same(&ours, &theirs));
        let was_changed = was_replaced || ours.len() != self.bytes;
        if was_changed {
            self.read_again().map_err(|source| StoreError::System { path: self.path.clone(), source })?;
        }
        Ok(Locked { _folder: folder, was_changed })
    }

    fn read_again(&mut self) -> io::Result<()> {
        self.file = open(&self.path)?;
        let contents = Contents::parse(&fs::read(&self.path)?);
        self.problems.extend(contents.problems(&self.path));
        let is_damaged = contents.is_damaged();
        (self.subscribers, self.bytes) = (contents.subscribers, contents.whole as u64);
        // Another process may have replaced the file.
        self.needed = self.needed.min(self.bytes);
        if !is_damaged {
            self.file.set_len(self.bytes)?;
            if contents.is_open {
                self.file.write_all(b"\n")?;
                self.bytes += 1;
            }
            return Ok(());
        }
        let aside = self.keep_aside()?;
        self.problems.push(format!(
            "{}: kept as {}, and written anew without that",
            self.path.display(),
            aside.display()
        ));
        self.replace(&self.text()?)
    }

    fn keep_aside(&self) -> io::Result<PathBuf> {
        let mut names = (1..).map(|number| self.path.with_file_name(format!("{ASIDE}-{number}")));
        let aside = names.find(|path| !path.exists()).ok_or(io::ErrorKind::AlreadyExists)?;
        fs::hard_link(&self.path, &aside)?;
        Ok(aside)
    }

    /// Stores changes, which are durable on return. To undo them, pass the result to [`Self::take_back`].
    ///
    /// # Errors
    /// A write fails. The file is unchanged, except for [`StoreError::Partly`].
    pub fn append(&mut self, changes: &[Change], _lock: &Locked) -> Result<Before, StoreError> {
        let before = Before(self.bytes);
        if changes.is_empty() {
            return Ok(before);
        }
        let system = |source| StoreError::System { path: self.path.clone(), source };
        let text = line(changes).map_err(system)?;
        if let Err(error) = self.file.write_all(&text).and_then(|()| self.file.sync_data()) {
            return Err(self.shorten(error));
        }
        self.bytes += text.len() as u64;
        changes.iter().for_each(|change| apply(&mut self.subscribers, change.clone()));
        Ok(before)
    }

    /// Removes a partially written change. Returns the error to report.
    fn shorten(&self, source: io::Error) -> StoreError {
        let path = self.path.clone();
        match self.file.set_len(self.bytes) {
            Ok(()) => StoreError::System { path, source },
            Err(problem) => StoreError::Partly { path, source, problem },
        }
    }

    /// Reverts what was stored since `before`.
    ///
    /// # Errors
    /// A system call fails.
    pub fn take_back(&mut self, before: Before, _lock: &Locked) -> Result<(), StoreError> {
        let shortened = self.file.set_len(before.0).and_then(|()| self.file.sync_data());
        let read = shortened.and_then(|()| self.read_again());
        read.map_err(|source| StoreError::System { path: self.path.clone(), source })
    }

    /// Makes a backup of the list. Earlier backups are kept.
    ///
    /// # Errors
    /// A write fails; the list is unchanged.
    pub fn back_up(&self, _lock: &Locked) -> Result<(), StoreError> {
        let name = |number: u32| self.path.with_file_name(format!("{BACKUP}-{number}"));
        let write = || {
            let part = self.write_part(&self.text()?)?;
            for number in (1..BACKUPS).rev().filter(|number| name(*number).exists()) {
                fs::rename(name(number), name(number + 1))?;
            }
            fs::rename(part, name(1))?;
            sync_folder(&self.path)
        };
        write().map_err(|source| StoreError::System { path: name(1), source })
    }

    /// Compacts the file if most of it is superseded. A failure is only a warning, since all changes are stored. The
    /// next attempt follows after [`MOST_STALE`] further bytes.
    pub fn tidy(&mut self, _lock: &Locked) {
        if self.is_tidy() {
            return;
        }
        let written = self.text().and_then(|text| {
            self.needed = text.len() as u64;
            if self.is_tidy() { Ok(()) } else { self.replace(&text) }
        });
        if let Err(error) = written {
            self.needed = self.bytes / 2;
            let (path, problem) = (self.path.display(), in_words(&error));
            self.problems.push(format!("{path}: cannot be written anew, and grows: {problem}"));
        }
    }

    fn is_tidy(&self) -> bool {
        self.bytes <= 2 * self.needed + MOST_STALE
    }

    /// Current subscribers, one per line.
    fn text(&self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        for subscriber in self.subscribers.values() {
            text.extend(line(&[Change::Put(subscriber.clone())])?);
        }
        Ok(text)
    }

    /// Replaces the file atomically.
    fn replace(&mut self, text: &[u8]) -> io::Result<()> {
        fs::rename(self.write_part(text)?, &self.path)?;
        sync_folder(&self.path)?;
        self.file = open(&self.path)?;
        (self.bytes, self.needed) = (text.len() as u64, text.len() as u64);
        Ok(())
    }

    /// A temporary file, to be renamed.
    fn part(&self) -> PathBuf {
        self.path.with_extension("part")
    }

    fn write_part(&self, text: &[u8]) -> io::Result<PathBuf> {
        let part = self.part();
        match write_all(&part, text) {
            Ok(()) => Ok(part),
            Err(error) => {
                // The temporary file would waste disk space.
                let _ = fs::remove_file(&part);
                Err(error)
            }
        }
    }
}

fn line(changes: &[Change]) -> io::Result<Vec<u8>> {
    let mut text = match changes {
        [one] => serde_json::to_vec(one)?,
        all => serde_json::to_vec(&All { all })?,
    };
    text.push(b'\n');
    Ok(text)
}

/// Creates a file with this content. Replaces leftover files of earlier processes.
fn write_all(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = open(path)?;
    file.set_len(0)?;
    file.write_all(text)?;
    file.sync_all()
}

/// Makes the directory entry of a file durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

fn open(path: &Path) -> io::Result<File> {
    // Only the owner may read names and addresses of people.
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::super::session::{Session, SessionState};
    use super::*;
    use serde_json::json;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("fairlane-store-{}-{name}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn put(name: &str, prefix: &str) -> Change {
        let user = json!({"prefix": [prefix]}).as_object().unwrap().clone();
        Change::Put(Subscriber { name: name.into(), user, ..Subscriber::default() })
    }

    fn change(store: &mut Store, changes: &[Change]) {
        let lock = store.lock().unwrap();
        store.append(changes, &lock).unwrap();
        store.tidy(&lock);
    }

    #[test]
    fn the_last_change_of_a_name_counts_and_a_half_written_one_does_not() {
        let folder = Folder::new("last");
        assert_eq!(read(&folder.0).unwrap().0, Subscribers::new());
        let mut store = Store::open(&folder.0).unwrap();
        change(&mut store, &[put("a", "10.0.0.1"), put("b", "10.0.0.2"), put("a", "10.0.0.3")]);
        change(&mut store, &[Change::Remove("b".into())]);
        let path = folder.0.join(FILE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{{\"put\":{{\"na")).unwrap();
        let (kept, problems) = read(&folder.0).unwrap();
        assert_eq!(problems.len(), 1);
        assert!(problems[0].ends_with(": the last 11 bytes are a change that was not finished: nothing of it counts"));
        assert_eq!(kept.len(), 1);
        assert_eq!(kept["a"].user["prefix"], json!(["10.0.0.3"]));
        // The partial line is removed before the next one is appended.
        let mut store = Store::open(&folder.0).unwrap();
        change(&mut store, &[put("c", "10.0.0.4")]);
        assert_eq!(read(&folder.0).unwrap().0.len(), 2);
    }

    #[test]
    fn a_change_of_several_lines_that_is_cut_off_anywhere_is_none() {
        let folder = Folder::new("cut");
        let mut store = Store::open(&folder.0).unwrap();
        change(&mut store, &[put("a", "10.0.0.1"), put("b", "10.0.0.2")]);
        let path = folder.0.join(FILE);
        let (old, kept) = (fs::read(&path).unwrap(), store.subscribers().clone());
        change(&mut store, &[Change::Remove("a".into()), put("\u{e9}\n", "10.0.0.3"), put("d", "10.0.0.4")]);
        let (new, last) = (fs::read(&path).unwrap(), store.subscribers().clone());
        for length in old.len()..=new.len() {
            fs::write(&path, &new[..length]).unwrap();
            // A change without its line break is complete.
            let expected = if length + 1 < new.len() { &kept } else { &last };
            assert_eq!(&read(&folder.0).unwrap().0, expected, "{length}");
            let mut store = Store::open(&folder.0).unwrap();
            assert_eq!(store.subscribers(), expected, "{length}");
            change(&mut store, &[put("e", "10.0.0.5")]);
            let (after, problems) = read(&folder.0).unwrap();
            assert_eq!((after.len(), problems.len()), (expected.len() + 1, 0), "{length}");
        }
    }

    #[test]
    fn a_last_line_without_a_line_end_stays() {
        let folder = Folder::new("open");
        let line = lines_of(&[put("last", "10.8.0.2")]);
        let [(names, problems), (kept, told)] = both(&folder, &line[..line.len() - 1]);
        assert_eq!((&names, &kept, problems.len(), told.len()), (&vec!["last".into()], &names, 0, 0));
        let mut store = Store::open(&folder.0).unwrap();
        change(&mut store, &[put("next", "10.8.0.3")]);
        assert_eq!(read(&folder.0).unwrap().0.len(), 2);
        // An invalid line is not reported as truncated.
        let [(_, problems), _] = both(&folder, b"nonsense");
        assert!(problems[0].contains("line 1: column 1: expected value"), "{problems:?}");
    }

    #[test]
    fn the_lists_before_the_last_three_replacements_are_there() {
        let folder = Folder::new("backup");
        let mut store = Store::open(&folder.0).unwrap();
        for number in 0..5 {
            let lock = store.lock().unwrap();
            store.back_up(&lock).unwrap();
            store.append(&[put(&number.to_string(), "10.0.0.1")], &lock).unwrap();
        }
        let lines = |number: u32| {
            let text = fs::read_to_string(folder.0.join(format!("subscribers.before-{number}")));
            text.map(|text| text.lines().count()).ok()
        };
        assert_eq!([1, 2, 3, 4].map(lines), [Some(4), Some(3), Some(2), None]);
        assert!(!store.part().exists());
    }

    #[test]
    fn two_writers_see_what_the_other_did() {
        let folder = Folder::new("two");
        let (mut one, mut two) = (Store::open(&folder.0).unwrap(), Store::open(&folder.0).unwrap());
        change(&mut one, &[put("a", "10.0.0.1")]);
        assert!(two.lock().unwrap().was_changed);
        assert!(!two.lock().unwrap().was_changed);
        change(&mut two, &[put("b", "10.0.0.2")]);
        assert!(one.lock().unwrap().was_changed);
        assert_eq!(one.subscribers().len(), 2);
    }

    #[test]
    fn the_file_stays_in_proportion_to_what_it_holds() {
        let folder = Folder::new("size");
        let (mut one, mut two) = (Store::open(&folder.0).unwrap(), Store::open(&folder.0).unwrap());
        for turn in 0..30 {
            let changes: Vec<_> = (0..1000).map(|i| put("a", &format!("10.0.{turn}.{}", i % 256))).collect();
            change(&mut one, &changes);
        }
        let bytes = fs::metadata(folder.0.join(FILE)).unwrap().len();
        assert!(bytes <= 200 + MOST_STALE, "{bytes}");
        assert!(two.lock().unwrap().was_changed);
        assert_eq!(two.subscribers(), one.subscribers());
    }

    #[test]
    fn a_user_with_many_sessions_does_not_make_the_file_grow_without_bound() {
        let folder = Folder::new("sessions");
        let mut store = Store::open(&folder.0).unwrap();
        let Change::Put(mut subscriber) = put("a", "10.0.0.1") else { unreachable!() };
        for session in 0..3000 {
            let key = Session { server: "bng".into(), id: session.to_string() };
            subscriber.sessions.insert(key, SessionState::default());
            if session > 2900 {
                change(&mut store, &[Change::Put(subscriber.clone())]);
                let needed = store.text().unwrap().len() as u64;
                assert!(store.bytes <= 2 * needed + MOST_STALE, "{} of {needed} bytes", store.bytes);
            }
        }
        assert_eq!(read(&folder.0).unwrap().0["a"].sessions.keys().count(), 3000);
    }

    #[test]
    fn a_change_that_may_be_there_in_part_is_not_called_none() {
        let folder = Folder::new("partly");
        let mut store = Store::open(&folder.0).unwrap();
        change(&mut store, &[put("a", "10.0.0.1")]);
        let lock = store.lock().unwrap();
        // Appending and truncating both fail.
        store.file = File::open(&store.path).unwrap();
        let error = store.append(&[put("b", "10.0.0.2")], &lock).unwrap_err();
        assert!(matches!(error, StoreError::Partly { .. }), "{error}");
        let told = error.to_string();
        assert!(told.contains("subscribers.jsonl: ") && told.ends_with("; it may be there in part"), "{told}");
        assert_eq!(store.subscribers().len(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_written_anew_is_not_tried_at_each_change() {
        let folder = Folder::new("untidy");
        let mut store = Store::open(&folder.0).unwrap();
        // A folder with this name blocks the new file.
        fs::create_dir(folder.0.join("subscribers.part")).unwrap();
        let few = vec![put("a", "10.0.0.1"); 1000];
        let turns = 3 * MOST_STALE as usize / line(&few).unwrap().len();
        let told: Vec<usize> = (0..turns)
            .map(|_| {
                change(&mut store, &few);
                store.take_problems().len()
            })
            .collect();
        assert_eq!((told.iter().sum::<usize>(), told[0]), (2, 0), "{told:?}");
        fs::remove_dir(folder.0.join("subscribers.part")).unwrap();
        (0..turns).for_each(|_| change(&mut store, &few));
        assert!(store.bytes <= 200 + MOST_STALE && store.take_problems().is_empty(), "{}", store.bytes);
    }

    /// Reads a file with these bytes, then opens it for writing. Returns the names and problems of both steps.
    fn both(folder: &Folder, bytes: &[u8]) -> [(Vec<String>, Vec<String>); 2] {
        fs::write(folder.0.join(FILE), bytes).unwrap();
        let names = |subscribers: &Subscribers| subscribers.keys().cloned().collect();
        let (subscribers, problems) = read(&folder.0).unwrap();
        let mut store = Store::open(&folder.0).unwrap();
        let told = store.take_problems();
        [(names(&subscribers), problems), (names(store.subscribers()), told)]
    }

    fn lines_of(changes: &[Change]) -> Vec<u8> {
        changes.iter().flat_map(|change| serde_json::to_vec(change).unwrap().into_iter().chain([b'\n'])).collect()
    }

    #[test]
    fn a_line_of_somebody_else_is_left_out_told_and_kept_aside() {
        let folder = Folder::new("line");
        let bytes =
            [&lines_of(&[put("a", "10.0.0.1")])[..], b"nonsense\n", &lines_of(&[put("b", "10.0.0.2")])].concat();
        let [(read_names, problems), (names, told)] = both(&folder, &bytes);
        assert_eq!((&read_names, &names), (&vec!["a".into(), "b".into()], &read_names));
        assert_eq!((problems.len(), told.len()), (1, 2), "{told:?}");
        assert!(problems[0].contains("subscribers.jsonl: line 2: column 1: expected value"), "{problems:?}");
        // The writer continues with the valid lines, and the operator finds a copy of the original file.
        assert_eq!(fs::read(folder.0.join("subscribers.damaged-1")).unwrap(), bytes);
        assert_eq!(read(&folder.0).unwrap().1, Vec::<String>::new());
        // The second copy gets another name. Only some of the invalid lines are reported.
        let [(_, problems), (_, told)] = both(&folder, &b"\xff\n".repeat(20));
        assert_eq!((problems.len(), told.len()), (MOST_TOLD + 1, MOST_TOLD + 2), "{told:?}");
        assert!(problems[MOST_TOLD].ends_with("15 more lines are left out"), "{problems:?}");
        assert_eq!(fs::read(folder.0.join("subscribers.damaged-1")).unwrap(), bytes);
    }

    #[test]
    fn zeros_of_a_power_cut_are_told_and_not_taken_for_nobody() {
        let folder = Folder::new("zeros");
        let [(names, problems), (_, told)] = both(&folder, &[0; 4096]);
        assert_eq!((names.len(), problems.len(), told.len()), (0, 1, 2));
        assert!(problems[0].ends_with("the last 4096 bytes are no text, as after a power cut: changes may be lost"));
        assert_eq!(fs::read(folder.0.join("subscribers.damaged-1")).unwrap(), [0; 4096]);
        // After the valid lines.
        let bytes = [&lines_of(&[put("a", "10.0.0.1")])[..], &[0; 10]].concat();
        let [(names, problems), (kept, _)] = both(&folder, &bytes);
        assert_eq!((&names, &kept, problems.len()), (&vec!["a".into()], &names, 1));
    }
}
