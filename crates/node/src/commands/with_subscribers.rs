//! Loads a configuration into the kernel together with the stored subscribers, for `attach` and later changes.

use super::{counted, warn};
use fairlane_node::config::NodeConfig;
use fairlane_node::kernel::{self, Attached};
use fairlane_node::subscribers::{self, store};
use std::error::Error;
use std::path::Path;

/// Number of attached ports, with the total if some are missing.
pub(super) fn ports_in_words(attached: &Attached) -> String {
    let (present, absent) = (attached.present.len(), attached.absent.len());
    match absent {
        0 => counted(present, "port"),
        _ => format!("{present} of {}", counted(present + absent, "port")),
    }
}

/// Attaches the configuration that was read from `path` with all subscribers, and locks the subscribers during this
/// time. Returns the ports, and the configuration with its subscribers.
pub(super) fn attach(config: &NodeConfig, path: &Path) -> Result<(Attached, NodeConfig), Box<dyn Error>> {
    let folder = config.state_folder();
    let held = store::hold(&folder)?;
    let (config, problems) = subscribers::with_kept(config.clone(), path)?;
    for problem in problems {
        warn(&problem);
    }
    let attached = kernel::attach(&config)?;
    if held.is_some() {
        store::next_generation(&folder)?;
        subscribers::unfinished::finish(&folder)?;
    }
    Ok((attached, config))
}
