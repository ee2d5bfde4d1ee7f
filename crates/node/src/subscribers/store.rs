//! The file of subscribers: a change a line, the last one of a name counts. Changes are appended; now and then the file is
//! written anew with what counts. One process changes it at a time; who finds that another one did reads it again.

use super::subscriber::{Change, Subscriber};
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Name of the file.
const FILE: &str = "subscribers.jsonl";

/// Name of the file that says how often the maps were made anew or filled by `attach`.
const GENERATION: &str = "attached";

/// Lines that count for nothing before the file is written anew, besides as many as there are subscribers.
const MOST_STALE: usize = 10_000;

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refuses.
    #[error("{path}: {source}")]
    System {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is none of ours.
    #[error("{path}: line {line}: {problem}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
}

/// All subscribers, by name.
pub type Subscribers = BTreeMap<String, Subscriber>;

/// What is kept in `folder`; nobody if there is no file.
///
/// # Errors
/// The file cannot be read.
pub fn read(folder: &Path) -> Result<Subscribers, StoreError> {
    let path = folder.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(parse(&path, &text)?.0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Subscribers::new()),
        Err(source) => Err(StoreError::System { path, source }),
    }
}

/// Keeps subscribers from being changed as long as the result is there. Nothing if there is no folder, hence no subscriber.
///
/// # Errors
/// The system refuses.
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

/// How often `attach` has filled the maps; whoever knows what is in them has to look again when this is another.
#[must_use]
pub fn generation(folder: &Path) -> u64 {
    fs::read_to_string(folder.join(GENERATION)).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// `attach` has filled the maps. To be called while the folder is held.
///
/// # Errors
/// The system refuses.
pub fn next_generation(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(GENERATION);
    fs::write(&path, format!("{}\n", generation(folder) + 1)).map_err(|source| StoreError::System { path, source })
}

/// Subscribers, number of lines, bytes of whole lines.
fn parse(path: &Path, text: &str) -> Result<(Subscribers, usize, usize), StoreError> {
    // What follows on the last line end was not written to its end: the change was not confirmed to anybody.
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let mut subscribers = Subscribers::new();
    let mut lines = 0;
    for (number, line) in text[..whole].lines().enumerate() {
        let change = serde_json::from_str(line).map_err(|error| StoreError::Line {
            path: path.into(),
            line: number + 1,
            problem: error.to_string(),
        })?;
        apply(&mut subscribers, change);
        lines += 1;
    }
    Ok((subscribers, lines, whole))
}

fn apply(subscribers: &mut Subscribers, change: Change) {
    match change {
        Change::Put(subscriber) => drop(subscribers.insert(subscriber.name.clone(), subscriber)),
        Change::Remove(name) => drop(subscribers.remove(&name)),
    }
}

/// The file, open to be changed.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    /// Bytes of it that are in `subscribers`.
    bytes: u64,
    lines: usize,
    subscribers: Subscribers,
}

/// Nobody else changes the file as long as this is there.
#[derive(Debug)]
pub struct Locked {
    _folder: File,
    /// Whether somebody else had changed it, so that it was read again.
    pub was_changed: bool,
}

impl Store {
    /// Opens the file in `folder`, which is made if need be.
    ///
    /// # Errors
    /// The system refuses, or a line is none of ours.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let system = |source| StoreError::System { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(system)?;
        let file = open(&path).map_err(system)?;
        let mut store = Self { path, file, bytes: 0, lines: 0, subscribers: Subscribers::new() };
        store.lock()?;
        Ok(store)
    }

    /// Who is there.
    #[must_use]
    pub fn subscribers(&self) -> &Subscribers {
        &self.subscribers
    }

    /// Waits until nobody else changes the file, and reads it again if somebody has.
    ///
    /// # Errors
    /// The system refuses, or a line is none of ours.
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
            self.file = open(&self.path).map_err(system)?;
            let text = fs::read_to_string(&self.path).map_err(system)?;
            let (subscribers, lines, whole) = parse(&self.path, &text)?;
            self.file.set_len(whole as u64).map_err(system)?;
            (self.subscribers, self.lines, self.bytes) = (subscribers, lines, whole as u64);
        }
        Ok(Locked { _folder: folder, was_changed })
    }

    /// Keeps changes; when this returns they outlive the process.
    ///
    /// # Errors
    /// The system refuses: nothing is changed.
    pub fn append(&mut self, changes: &[Change], _lock: &Locked) -> Result<(), StoreError> {
        let system = |path: &Path, source| StoreError::System { path: path.into(), source };
        let mut text = Vec::new();
        for change in changes {
            serde_json::to_writer(&mut text, change).map_err(|error| system(&self.path, error.into()))?;
            text.push(b'\n');
        }
        if let Err(error) = self.file.write_all(&text) {
            // Half a change is none.
            let _ = self.file.set_len(self.bytes);
            return Err(system(&self.path, error));
        }
        self.bytes += text.len() as u64;
        self.lines += changes.len();
        changes.iter().for_each(|change| apply(&mut self.subscribers, change.clone()));
        if self.lines > 2 * self.subscribers.len() + MOST_STALE {
            self.write_anew().map_err(|error| system(&self.path, error))?;
        }
        Ok(())
    }

    /// The file with what counts only, in place of the old one in one step.
    fn write_anew(&mut self) -> io::Result<()> {
        let aside = self.path.with_extension("part");
        let mut text = Vec::new();
        for subscriber in self.subscribers.values() {
            serde_json::to_writer(&mut text, &Change::Put(subscriber.clone()))?;
            text.push(b'\n');
        }
        // What an earlier process left half done.
        let mut file = open(&aside)?;
        file.set_len(0)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&aside, &self.path)?;
        self.file = open(&self.path)?;
        (self.bytes, self.lines) = (text.len() as u64, self.subscribers.len());
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    // Names and addresses of people are nobody else's business.
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
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
    }

    #[test]
    fn the_last_change_of_a_name_counts_and_a_half_written_one_does_not() {
        let folder = Folder::new("last");
        assert_eq!(read(&folder.0).unwrap(), Subscribers::new());
        let mut store = Store::open(&folder.0).unwrap();
        change(&mut store, &[put("a", "10.0.0.1"), put("b", "10.0.0.2"), put("a", "10.0.0.3")]);
        change(&mut store, &[Change::Remove("b".into())]);
        let path = folder.0.join(FILE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{{\"put\":{{\"na")).unwrap();
        let kept = read(&folder.0).unwrap();
        assert_eq!(kept.len(), 1);
        assert_eq!(kept["a"].user["prefix"], json!(["10.0.0.3"]));
        // The rest of the line is taken away before the next one comes.
        let mut store = Store::open(&folder.0).unwrap();
        change(&mut store, &[put("c", "10.0.0.4")]);
        assert_eq!(read(&folder.0).unwrap().len(), 2);
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
        let lines = fs::read_to_string(folder.0.join(FILE)).unwrap().lines().count();
        assert!(lines <= 2 + MOST_STALE, "{lines}");
        assert!(two.lock().unwrap().was_changed);
        assert_eq!(two.subscribers(), one.subscribers());
    }

    #[test]
    fn a_line_of_somebody_else_is_named() {
        let folder = Folder::new("line");
        fs::write(folder.0.join(FILE), "{\"remove\":\"a\"}\nnonsense\n").unwrap();
        let error = read(&folder.0).unwrap_err().to_string();
        assert!(error.contains("subscribers.jsonl: line 2: "), "{error}");
    }
}
