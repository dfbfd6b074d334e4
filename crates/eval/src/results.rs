//! The results of an evaluation: a file of JSON lines that only grows.

use crate::configuration::Configuration;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Identifies an attempt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptKey {
    /// The task.
    pub task: String,
    /// The configuration.
    pub configuration: String,
    /// The repetition, from 1.
    pub repetition: u32,
}

/// A finished attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The identity of the attempt.
    #[serde(flatten)]
    pub key: AttemptKey,
    /// The result of the check.
    pub outcome: AttemptOutcome,
    /// Why the agent failed, or the end of the check's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The session, for `hew sessions show`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The measurements.
    pub metrics: AttemptMetrics,
    /// When it ended, in seconds since 1970.
    #[serde(default)]
    pub ended: u64,
}

/// The result of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttemptOutcome {
    /// The check succeeded.
    Solved,
    /// The check failed.
    Unsolved,
    /// The check failed after the agent had failed, such as without a connection to its model.
    Error,
}

/// Measurements of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AttemptMetrics {
    /// Requests to the model.
    pub steps: u64,
    /// Tokens of all prompts, including cached ones.
    pub input_tokens: u64,
    /// The part of them that was cached.
    pub cached_tokens: u64,
    /// Tokens of all replies.
    pub output_tokens: u64,
    /// The price, if it is known.
    pub cost_usd: Option<f64>,
    /// The time of the agent.
    pub duration_ms: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Tool calls that failed.
    pub tool_errors: u64,
    /// Edits that were refused.
    pub refused_edits: u64,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ResultLine {
    Configuration { name: String, settings: Vec<String> },
    Attempt(Attempt),
}

/// The file with the results, open for appending.
#[derive(Debug)]
pub struct ResultsFile {
    path: PathBuf,
    file: File,
    settings: BTreeMap<String, Vec<String>>,
    attempts: BTreeMap<AttemptKey, Attempt>,
}

impl ResultsFile {
    /// Opens or creates a file. A last line that was not written completely is removed.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::file(folder))?;
        }
        let mut options = OpenOptions::new();
        let file = options
            .create(true)
            .append(true)
            .open(path)
            .map_err(Error::file(path))?;
        if file.try_lock().is_err() {
            return Err(Error::InUse { path: path.to_owned() });
        }
        let text = fs::read(path).map_err(Error::file(path))?;
        let complete = complete_lines(&text);
        if complete.len() < text.len() {
            file.set_len(complete.len() as u64).map_err(Error::file(path))?;
        }
        let (settings, attempts) = parse(path, complete)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            settings,
            attempts,
        })
    }

    /// Reads the attempts of an existing file.
    pub fn read(path: &Path) -> Result<Vec<Attempt>, Error> {
        let text = fs::read(path).map_err(Error::file(path))?;
        Ok(parse(path, complete_lines(&text))?.1.into_values().collect())
    }

    /// The attempts by task, configuration and repetition.
    pub fn attempts(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.values()
    }

    /// The result of an attempt.
    pub fn get(&self, key: &AttemptKey) -> Option<&Attempt> {
        self.attempts.get(key)
    }

    /// Records a configuration. The settings of a name must not change.
    pub fn declare(&mut self, configuration: &Configuration) -> Result<(), Error> {
        let (name, settings) = (configuration.name.clone(), configuration.agent.settings());
        match self.settings.get(&name) {
            Some(known) if *known == settings => Ok(()),
            Some(_) => Err(Error::OtherSettings {
                path: self.path.clone(),
                name,
            }),
            None => {
                self.settings.insert(name.clone(), settings.clone());
                self.write(&ResultLine::Configuration { name, settings })
            }
        }
    }

    /// Appends an attempt; when this returns, it survives a crash.
    pub fn append(&mut self, attempt: Attempt) -> Result<(), Error> {
        self.attempts.insert(attempt.key.clone(), attempt.clone());
        self.write(&ResultLine::Attempt(attempt))
    }

    fn write(&mut self, line: &ResultLine) -> Result<(), Error> {
        let mut text = serde_json::to_vec(line).map_err(|error| Error::InvalidResults {
            path: self.path.clone(),
            line: 0,
            reason: error.to_string(),
        })?;
        text.push(b'\n');
        let written = self.file.write_all(&text).and_then(|()| self.file.sync_data());
        written.map_err(Error::file(&self.path))
    }
}

fn complete_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &text[..end]
}

type ParsedResults = (BTreeMap<String, Vec<String>>, BTreeMap<AttemptKey, Attempt>);

fn parse(path: &Path, text: &[u8]) -> Result<ParsedResults, Error> {
    let (mut configurations, mut attempts) = (BTreeMap::new(), BTreeMap::new());
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(ResultLine::Configuration { name, settings }) => drop(configurations.insert(name, settings)),
            // The latest result counts: an attempt may have been repeated.
            Ok(ResultLine::Attempt(attempt)) => drop(attempts.insert(attempt.key.clone(), attempt)),
            Err(error) => {
                return Err(Error::InvalidResults {
                    path: path.to_owned(),
                    line: number + 1,
                    reason: error.to_string(),
                });
            }
        }
    }
    Ok((configurations, attempts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(task: &str, outcome: AttemptOutcome) -> Attempt {
        Attempt {
            key: AttemptKey {
                task: task.into(),
                configuration: "a".into(),
                repetition: 1,
            },
            outcome,
            detail: None,
            session: None,
            metrics: AttemptMetrics::default(),
            ended: 0,
        }
    }

    #[test]
    fn a_torn_last_line_is_removed_and_the_latest_result_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut results = ResultsFile::open(&path).unwrap();
        results.append(attempt("one", AttemptOutcome::Error)).unwrap();
        results.append(attempt("one", AttemptOutcome::Solved)).unwrap();
        let complete = fs::read(&path).unwrap();
        fs::write(&path, [&complete[..], b"{\"type\":\"attempt\",\"ta"].concat()).unwrap();
        drop(results);
        let mut results = ResultsFile::open(&path).unwrap();
        assert!(matches!(ResultsFile::open(&path), Err(Error::InUse { .. })));
        assert_eq!(fs::read(&path).unwrap(), complete);
        let outcomes: Vec<AttemptOutcome> = results.attempts().map(|attempt| attempt.outcome).collect();
        assert_eq!(outcomes, [AttemptOutcome::Solved]);
        results.append(attempt("two", AttemptOutcome::Unsolved)).unwrap();
        assert_eq!(ResultsFile::read(&path).unwrap().len(), 2);
    }
}
