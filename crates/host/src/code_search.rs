//! The code search index of a project.

use crate::config::Config;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::models::ModelRegistry;
use crate::paths;
use model::Info;
use providers::EmbeddingModel;
use search::CodeIndex;
use workspace::Workspace;

/// The index of the project, in the cache directory, with the configured embedding model. Nothing is read yet.
pub async fn code_index(workspace: Workspace, config: &Config, env: &ProcessEnv) -> Result<CodeIndex> {
    let model = match &config.embedding_model {
        Some(name) => Some(embedding_model(name, config, env).await?),
        None => None,
    };
    Ok(CodeIndex::with_embedding(workspace, &paths::cache_dir(env)?, model))
}

/// The index of the project, to show its state.
pub fn index_state(workspace: Workspace, env: &ProcessEnv) -> Result<CodeIndex> {
    Ok(CodeIndex::new(workspace, &paths::cache_dir(env)?))
}

async fn embedding_model(name: &str, config: &Config, env: &ProcessEnv) -> Result<EmbeddingModel> {
    let models = ModelRegistry::new(config, env);
    let Some((provider, id)) = name.split_once('/') else {
        return Err(Failure::usage(format!("embedding_model: `{name}` has no provider"))
            .hint("write it like openai/text-embedding-3-small or ollama/nomic-embed-text"));
    };
    let Some(known) = models.provider(provider) else {
        return Err(Failure::usage(format!(
            "embedding_model: there is no provider `{provider}`"
        )));
    };
    let info = Info {
        id: id.into(),
        ..models.representative(&known)
    };
    let settings = models.settings(&info).await?;
    EmbeddingModel::new(settings, id)?.ok_or_else(|| {
        Failure::usage(format!(
            "embedding_model: {provider} has no supported API for embeddings"
        ))
        .hint("OpenAI-compatible servers, Ollama and Gemini have one")
    })
}
