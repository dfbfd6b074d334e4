//! Connects the models of a session.

use crate::config::Config;
use crate::environment::ProcessEnv;
use crate::failure::Result;
use crate::images;
use crate::models::ModelRegistry;
use model::{Info, Model};
use providers::{ImageModel, ProviderSettings};
use std::sync::Arc;

/// The value of `edit_model` and `summary_model` for the main model.
const SAME_MODEL: &str = "same";

/// The models of a session.
pub(crate) struct SessionModels {
    /// Does the work.
    pub(crate) main: Arc<dyn Model>,
    /// Writes titles.
    pub(crate) small: Option<Arc<dyn Model>>,
    /// Writes edits that the main model only describes.
    pub(crate) edit: Option<Arc<dyn Model>>,
    /// Summarizes, if it is not the main model.
    pub(crate) summary: Option<Arc<dyn Model>>,
    /// Generates images.
    pub(crate) image: Option<ImageModel>,
    /// Tells the user which model was detected.
    pub(crate) notice: Option<String>,
}

/// Connects the configured models, or the default main model.
pub(crate) async fn connect_models(models: &ModelRegistry<'_>, config: &Config) -> Result<SessionModels> {
    let main = models.main_model().await?;
    let notice = main.notice();
    let info = main.info;
    let find_other = |name: &Option<String>| match name.as_deref() {
        Some(SAME_MODEL) | None => Ok(None),
        Some(name) => models.find(name).map(Some),
    };
    let small = match &config.small_model {
        Some(name) => Some(models.find(name)?),
        // The provider's small model is optional; without it, titles are made without a model.
        None => models.small_name(&info).and_then(|name| models.find(&name).ok()),
    };
    let edit = find_other(&config.edit_model)?;
    let summary = find_other(&config.summary_model)?;
    let settings = models.settings(&info).await?;
    let image = images::image_model(models, config, &info, &settings).await?;
    let main = providers::connect(info, settings.clone())?;
    let edit = match connect_auxiliary(models, edit, &settings).await? {
        Some(edit) => Some(edit),
        None => config.edit_model.as_ref().map(|_| Arc::clone(&main)),
    };
    Ok(SessionModels {
        main,
        small: connect_auxiliary(models, small, &settings).await?,
        edit,
        summary: connect_auxiliary(models, summary, &settings).await?,
        image,
        notice,
    })
}

/// Connects another model. If it has the provider of the main model, they share connections, and the key is not looked
/// up again.
async fn connect_auxiliary(
    models: &ModelRegistry<'_>,
    info: Option<Info>,
    main: &ProviderSettings,
) -> Result<Option<Arc<dyn Model>>> {
    let Some(info) = info else { return Ok(None) };
    if info.provider != main.provider {
        return models.connect(info).await.map(Some);
    }
    let mut same = main.clone();
    same.wire = info.wire;
    same.model_options = models.model_options(&info);
    Ok(Some(providers::connect(info, same)?))
}

/// Connects models while a session runs. Only keys that are immediately available are used: no program may ask the
/// user.
pub(crate) fn model_source(config: Config, env: ProcessEnv) -> agent::ModelSource {
    Arc::new(move |name| {
        let models = ModelRegistry::new(&config, &env);
        let found = models.find(name).and_then(|info| {
            let settings = models.immediate_settings(&info)?;
            Ok(providers::connect(info, settings)?)
        });
        found.map_err(|failure| failure.with_hint())
    })
}
