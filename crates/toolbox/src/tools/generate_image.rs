//! Generates an image with a provider's image model and saves it.

use std::sync::Arc;
use std::time::Instant;

use model::{Block, Media, Stop};
use policy::Action;
use providers::{ImageModel, ImageRequest};
use schemars::JsonSchema;
use serde::Deserialize;
use session::RequestEnd;
use tool::{CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, UsageReport, erase};
use workspace::ExpectedContent;

use crate::registry::{BuiltIn, ToolParts};
use crate::support::project::changes::change;
use crate::support::project::{Project, run_blocking, tool_error};
use crate::support::web::failed;

/// Maximum size of an input image.
const LARGEST_INPUT: u64 = 20 * 1024 * 1024;

pub(crate) struct GenerateImageTool {
    pub(crate) project: Project,
    pub(crate) painter: ImageModel,
}

/// Generates an image and saves it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// What to show, or what to change in `image`.
    prompt: String,
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
    /// Path of an image to edit.
    image: Option<String>,
    /// Such as `1024x1024`.
    size: Option<String>,
    /// Replace an existing file.
    overwrite: Option<bool>,
}

impl BuiltIn for GenerateImageTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(GenerateImageTool {
            project: parts.project.clone(),
            painter: parts.options.image_model.clone()?,
        }))
    }
}

impl Tool for GenerateImageTool {
    const NAME: &'static str = "generate_image";
    const ALIASES: &'static [&'static str] = &["create_image", "image_generation"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Edit,
        peers: &[(PeerAgent::RooCode, &["generate_image"])],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let image = input.image.as_deref().map(|image| self.project.read_actions(image));
        let mut actions = image.unwrap_or_default();
        actions.extend(self.project.write_actions(&input.path));
        actions
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let file = self.project.locate(&input.path)?;
        // The provider chooses the image format, and a path without an extension would hide it.
        if file.path().extension().is_none() {
            return Err(failed(format!("{} needs an ending, such as .png", file.shown())));
        }
        let expect = match (file.exists(), input.overwrite) {
            (false, _) => ExpectedContent::Absent,
            (true, Some(true)) => ExpectedContent::Content(file.fingerprint().map_err(tool_error)?),
            (true, Some(false) | None) => {
                return Err(failed(format!("{} exists; set overwrite to replace it", file.shown())));
            }
        };
        let image = match &input.image {
            Some(path) => Some(self.image(path).await?),
            None => None,
        };
        let painting = ImageRequest {
            prompt: &input.prompt,
            size: input.size.as_deref(),
            image: image.as_ref(),
        };
        let started = Instant::now();
        let painted = self.painter.generate(&painting).await;
        let (usage, cost) = painted
            .as_ref()
            .map(|picture| (picture.usage, picture.cost))
            .unwrap_or_default();
        context.usage.report(UsageReport {
            purpose: "image",
            model: self.painter.name(),
            usage,
            cost,
            duration: started.elapsed(),
            outcome: match &painted {
                Ok(_) => RequestEnd::Finished(Stop::End),
                Err(error) => RequestEnd::Failed {
                    error: error.to_string(),
                },
            },
            request: None,
        });
        let picture = painted.map_err(|error| failed(error.to_string()))?;
        let data = picture.data.clone();
        let (written, file) = run_blocking(move || {
            let written = file.write(&data, expect).map_err(tool_error)?;
            Ok((written, file))
        })
        .await?;
        let verb = match written.before {
            Some(_) => "replaced",
            None => "created",
        };
        let text = format!(
            "{verb} {} ({}, {} bytes)",
            file.shown(),
            picture.mime,
            picture.data.len()
        );
        let mut output =
            Output::text(&text)
                .with_summary(text)
                .with_change(change(&file, written.before, picture.data.to_vec()));
        if context.features.images {
            output.content.push(Block::Media(Media {
                mime: picture.mime.into(),
                name: Some(file.shown().into_owned()),
                data: picture.data,
            }));
        }
        Ok(output)
    }
}

impl GenerateImageTool {
    async fn image(&self, path: &str) -> Result<Media, Error> {
        let file = self.project.locate(path)?;
        let mime = match file.path().extension().and_then(|ending| ending.to_str()) {
            Some("png") => "image/png",
            Some("jpg" | "jpeg") => "image/jpeg",
            Some("webp") => "image/webp",
            Some(_) | None => return Err(failed(format!("{} is not a .png, .jpg or .webp image", file.shown()))),
        };
        run_blocking(move || {
            let data = file.read_bytes(LARGEST_INPUT).map_err(tool_error)?;
            Ok(Media {
                mime: mime.into(),
                name: None,
                data: data.into(),
            })
        })
        .await
    }
}
