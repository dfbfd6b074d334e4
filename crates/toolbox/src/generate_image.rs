//! Makes a picture through a provider that offers it, and saves it.

use std::time::Instant;

use model::{Block, Media};
use policy::Action;
use providers::{Painter, Painting};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Spent, Tool};
use workspace::Expect;

use crate::project::{Project, aside, explain};
use crate::web::failed;
use crate::write_file::change;

/// The largest picture that is given to be changed.
const LARGEST_INPUT: u64 = 20 * 1024 * 1024;

pub(crate) struct GenerateImage {
    pub(crate) project: Project,
    pub(crate) painter: Painter,
}

/// Makes an image and saves it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// What it shows, or what to change in `image`.
    prompt: String,
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
    /// Path of an image to change.
    image: Option<String>,
    /// Such as `1024x1024`.
    size: Option<String>,
    /// Whether an existing file may be replaced.
    overwrite: Option<bool>,
}

impl Tool for GenerateImage {
    const NAME: &'static str = "generate_image";
    const ALIASES: &'static [&'static str] = &["create_image", "image_generation"];
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.path.clone()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        let image = input.image.as_deref().map(|image| self.project.reading(image));
        let mut actions = image.unwrap_or_default();
        actions.extend(self.project.writing(&input.path));
        actions
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let file = self.project.locate(&input.path)?;
        // The provider decides what kind of picture it makes, and a name without a kind would hide it.
        if file.path().extension().is_none() {
            return Err(failed(format!("{} needs an ending, such as .png", file.shown())));
        }
        let expect = match (file.exists(), input.overwrite) {
            (false, _) => Expect::Absent,
            (true, Some(true)) => Expect::Content(file.snapshot().map_err(explain)?),
            (true, Some(false) | None) => {
                return Err(failed(format!("{} exists; set overwrite to replace it", file.shown())));
            }
        };
        let image = match &input.image {
            Some(path) => Some(self.image(path).await?),
            None => None,
        };
        let painting = Painting {
            prompt: &input.prompt,
            size: input.size.as_deref(),
            image: image.as_ref(),
        };
        let began = Instant::now();
        let painted = self.painter.paint(&painting).await;
        let (usage, cost) = painted
            .as_ref()
            .map(|picture| (picture.usage, picture.cost))
            .unwrap_or_default();
        context.spending.add(Spent {
            purpose: "image",
            model: self.painter.name(),
            usage,
            cost,
            took: began.elapsed(),
            outcome: painted.as_ref().map_or_else(ToString::to_string, |_| "done".into()),
            request: None,
        });
        let picture = painted.map_err(|error| failed(error.to_string()))?;
        let data = picture.data.clone();
        let (written, file) = aside(move || {
            let written = file.write(&data, expect).map_err(explain)?;
            Ok((written, file))
        })
        .await?;
        let verb = match written.before {
            Some(_) => "replaced",
            None => "created",
        };
        let told = format!(
            "{verb} {} ({}, {} bytes)",
            file.shown(),
            picture.mime,
            picture.data.len()
        );
        let mut output =
            Output::text(&told)
                .summary(told)
                .changed(change(&file, written.before, picture.data.to_vec()));
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

impl GenerateImage {
    async fn image(&self, path: &str) -> Result<Media, Error> {
        let file = self.project.locate(path)?;
        let mime = match file.path().extension().and_then(|ending| ending.to_str()) {
            Some("png") => "image/png",
            Some("jpg" | "jpeg") => "image/jpeg",
            Some("webp") => "image/webp",
            Some(_) | None => return Err(failed(format!("{} is not a .png, .jpg or .webp image", file.shown()))),
        };
        aside(move || {
            let data = file.read_bytes(LARGEST_INPUT).map_err(explain)?;
            Ok(Media {
                mime: mime.into(),
                name: None,
                data: data.into(),
            })
        })
        .await
    }
}
