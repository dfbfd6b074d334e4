//! The backend of edit predictions: the model, the project's rules and the counts of predictions.

use crate::PredictionModel;
use crate::atomic;
use crate::config::Config;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::paths;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use host::config::{ConfigLayer, LoadedConfig};
use host::permissions;
use host::trust::ProjectTrust;
use policy::{PathArea, Permissions};
use predict::answer::AnswerEnd;
use predict::prompt::PredictionPrompt;
use predict::{CursorText, DailyBudget, PromptFormat, RequestGate};
use serde::{Deserialize, Serialize};
use server::http::{CompletionQuery, TextCompletion};
use server::predict::{NamedDefinition, PredictionAnswer, PredictionBackend, PredictionError, PredictionEvent};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time for parsing a text.
const PARSE_LIMIT: Duration = Duration::from_millis(20);
const DAY_SECONDS: u64 = 24 * 60 * 60;

/// How many predictions were requested, shown, accepted and rejected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PredictionCounts {
    /// Requests to the model.
    pub requested: u64,
    /// Predictions that an editor showed.
    pub shown: u64,
    /// Accepted predictions.
    pub accepted: u64,
    /// Rejected predictions.
    pub rejected: u64,
    /// The day of the last request as days since 1970, and the requests of that day.
    day: u64,
    day_requests: u32,
}

impl PredictionCounts {
    /// Loads the counts; they start at 0 if the file is missing or damaged.
    pub fn load(env: &ProcessEnv) -> Result<Self> {
        Ok(Self::read(&Self::file(env)?))
    }

    fn file(env: &ProcessEnv) -> Result<PathBuf> {
        Ok(paths::data_dir(env)?.join("predictions.json"))
    }

    fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// The project of the editor.
struct ServedProject {
    root: PathBuf,
    permissions: Permissions,
}

/// The backend for one editor.
pub struct EditorBackend {
    model: PredictionModel,
    layers: Vec<ConfigLayer>,
    trust: ProjectTrust,
    env: ProcessEnv,
    project: Mutex<ServedProject>,
    config: Config,
    counts_file: PathBuf,
    counts: Mutex<PredictionCounts>,
    start: Instant,
}

impl EditorBackend {
    /// The backend for a project.
    pub fn new(model: PredictionModel, root: PathBuf, loaded: &LoadedConfig, env: &ProcessEnv) -> Result<Self> {
        let (permissions, _) = permissions::load(&loaded.layers, loaded.trust, &root, env);
        let counts_file = PredictionCounts::file(env)?;
        if let Some(folder) = counts_file.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| Failure::failed(format!("cannot create {}: {error}", folder.display())))?;
        }
        Ok(EditorBackend {
            model,
            layers: loaded.layers.clone(),
            trust: loaded.trust,
            env: env.clone(),
            project: Mutex::new(ServedProject { root, permissions }),
            config: loaded.config.clone(),
            counts: Mutex::new(PredictionCounts::read(&counts_file)),
            counts_file,
            start: Instant::now(),
        })
    }
}

impl EditorBackend {
    /// Completes text at a cursor, for editors that send their own prompt.
    pub(crate) async fn complete_text(&self, query: CompletionQuery) -> Result<TextCompletion> {
        let text = match query.suffix {
            Some(after) => CursorText {
                before: query.prompt,
                after,
            },
            None => CursorText::from_prompt(&query.prompt),
        };
        let format = self.model.format;
        let none = TextCompletion {
            model: self.model.name.clone(),
            text: String::new(),
            is_truncated: false,
        };
        let Some(mut prompt) = text.prompt(format) else {
            return Ok(none);
        };
        let mut budget = RequestGate::new(self.budget());
        if !budget.start(self.now().1) {
            return Err(
                Failure::failed("the daily limit of predictions is reached").hint("`predict.daily_requests` sets it")
            );
        }
        self.record(PredictionEvent::Requested, budget.usage());
        prompt.max_tokens = query.max_tokens.unwrap_or(prompt.max_tokens).min(prompt.max_tokens);
        let answer = self.model.complete(&prompt).await;
        let answer = answer.map_err(|error| Failure::failed(error.to_string()))?;
        Ok(TextCompletion {
            text: text.inserted(format, &prompt, (&answer.text, answer.end)),
            is_truncated: answer.end == AnswerEnd::Limit,
            ..none
        })
    }
}

impl PredictionBackend for EditorBackend {
    fn format(&self) -> &'static PromptFormat {
        self.model.format
    }

    fn complete(&self, prompt: PredictionPrompt) -> BoxFuture<'static, Result<PredictionAnswer, PredictionError>> {
        let model = self.model.clone();
        async move { model.complete(&prompt).await }.boxed()
    }

    fn allows(&self, path: &Path) -> bool {
        let served = self.project.lock().unwrap_or_else(PoisonError::into_inner);
        let (permissions, project) = (&served.permissions, &served.permissions.project);
        project.area_of(path) == PathArea::Inside
            && !permissions.ignore.hides(path, project)
            && !permissions.protected.covers(path, project)
            && !workspace::is_ignored(path)
    }

    fn set_folders(&self, folders: &[PathBuf]) {
        let Some(root) = folders.first().and_then(|folder| folder.canonicalize().ok()) else {
            return;
        };
        let (permissions, _) = permissions::load(&self.layers, self.trust, &root, &self.env);
        *self.project.lock().unwrap_or_else(PoisonError::into_inner) = ServedProject { root, permissions };
    }

    fn display_path(&self, path: &Path) -> String {
        let served = self.project.lock().unwrap_or_else(PoisonError::into_inner);
        path.strip_prefix(&served.root).unwrap_or(path).display().to_string()
    }

    fn definitions(&self, path: &Path, text: &str) -> Vec<NamedDefinition> {
        let Ok(outline) = index::outline(path, text, PARSE_LIMIT) else {
            return Vec::new();
        };
        let definitions = outline.definitions.into_iter().map(|definition| NamedDefinition {
            name: definition.name,
            lines: definition.first.saturating_sub(1)..definition.last,
        });
        definitions.collect()
    }

    fn budget(&self) -> DailyBudget {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        DailyBudget::new(self.config.predict.daily_requests, counts.day, counts.day_requests)
    }

    fn now(&self) -> (u64, u64) {
        let millis = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (millis, unix.as_secs() / DAY_SECONDS)
    }

    fn record(&self, event: PredictionEvent, usage: (u64, u32)) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        // Another editor may have counted in the meantime.
        *counts = PredictionCounts::read(&self.counts_file);
        match event {
            PredictionEvent::Requested => {
                counts.requested += 1;
                // Records of two requests may arrive in either order.
                (counts.day, counts.day_requests) = usage.max((counts.day, counts.day_requests));
            }
            PredictionEvent::Shown => counts.shown += 1,
            PredictionEvent::Accepted => counts.accepted += 1,
            PredictionEvent::Rejected => counts.rejected += 1,
        }
        if let Ok(text) = serde_json::to_string(&*counts)
            && let Err(error) = atomic::write(&self.counts_file, &text)
        {
            tracing::warn!("cannot store the counts of predictions: {error}");
        }
    }
}
