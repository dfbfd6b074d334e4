//! Paths that nobody is to see: neither listed, found, searched nor suggested.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::WalkBuilder;

use crate::Workspace;
use crate::walk::INTERNAL;

/// Says of a canonical path whether nobody is to see it.
type Hides = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// What is hidden in a project. It is the same for all locations of one, and so no part of what makes them equal.
#[derive(Clone, Default)]
pub(crate) struct Hiding(Option<Hides>);

impl Hiding {
    /// Whether nobody is to see this path.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        self.0.as_ref().is_some_and(|hides| hides(path))
    }
}

impl fmt::Debug for Hiding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Hiding" } else { "Nothing" })
    }
}

impl PartialEq for Hiding {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Hiding {}

impl Hash for Hiding {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Workspace {
    /// The same project, with some paths hidden.
    pub fn hiding(mut self, hides: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        self.hiding = Hiding(Some(Arc::new(hides)));
        self
    }

    /// What is hidden and there at the moment, at most so many paths; of a hidden folder only the folder.
    pub fn hidden(&self, most: usize) -> Vec<PathBuf> {
        if self.hiding.0.is_none() {
            return Vec::new();
        }
        let found = Arc::new(Mutex::new(Vec::new()));
        let (hiding, sink) = (self.hiding.clone(), Arc::clone(&found));
        let walk = WalkBuilder::new(self.root())
            .standard_filters(false)
            .follow_links(false)
            .filter_entry(move |entry| {
                if entry.depth() > 0 && hiding.hides(entry.path()) {
                    let mut found = sink.lock().unwrap_or_else(PoisonError::into_inner);
                    found.push(entry.path().to_owned());
                    return false;
                }
                entry.depth() == 0 || !INTERNAL.iter().any(|name| entry.file_name() == *name)
            })
            .build();
        for _ in walk {
            if found.lock().unwrap_or_else(PoisonError::into_inner).len() >= most {
                break;
            }
        }
        let mut found = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        found.truncate(most);
        found
    }
}
