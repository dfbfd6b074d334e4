//! Tests of generate_image, with servers that imitate the providers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Block, Cost, Usage, Wire};
use policy::{Action, PathArea};
use providers::{ImageModel, ProviderSettings, Secret};
use serde_json::{Value, json};
use tool::{CallContext, UnsavedChange, UsageReporter};
use toolbox::Options;

use crate::project::{TestProject, context};
use crate::web_server::{SiteRequest, StubSite, page, serving};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

fn project(provider: &str, wire: Wire, base: String, model: &str) -> TestProject {
    let mut settings = ProviderSettings::new(provider, wire, base);
    settings.key = Some(Secret::new("the-key"));
    let painter = ImageModel::new(settings, model).unwrap();
    TestProject::with_options(
        &[],
        Options {
            image_model: painter,
            ..Options::default()
        },
    )
}

async fn answering(answer: Value) -> StubSite {
    serving("127.0.0.1", move |_| {
        page("200 OK", "application/json", answer.to_string())
    })
    .await
}

fn json_of(seen: &SiteRequest) -> Value {
    serde_json::from_str(&seen.body).unwrap()
}

#[tokio::test]
async fn an_image_is_generated_saved_and_shown_with_every_wire() {
    let data = STANDARD.encode(PNG);
    let openai = json!({"data": [{"b64_json": data}], "usage": {"input_tokens": 7, "output_tokens": 90}});
    let gemini = json!({"candidates": [{"content": {"parts": [
        {"text": "Here it is."}, {"inlineData": {"mimeType": "image/png", "data": data}}]}}],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 90}});
    let router = json!({"choices": [{"message": {"content": "", "images": [
        {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}}]}}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 90, "cost": 0.04}});
    for (provider, wire, base, model, answer, line, proof) in [
        (
            "openai",
            Wire::OpenaiResponses,
            "/v1",
            "gpt-image-1",
            openai,
            "POST /v1/images/generations",
            "authorization: bearer the-key",
        ),
        (
            "gemini",
            Wire::Gemini,
            "",
            "some-image",
            gemini,
            "POST /v1beta/models/some-image:generateContent",
            "x-goog-api-key: the-key",
        ),
        (
            "openrouter",
            Wire::OpenaiChat,
            "/api/v1",
            "a/b",
            router,
            "POST /api/v1/chat/completions",
            "authorization: bearer the-key",
        ),
    ] {
        let site = answering(answer).await;
        let project = project(provider, wire, site.url(base), model);
        let usage = UsageReporter::new();
        let mut with_images: CallContext = context();
        with_images.features.images = true;
        with_images.usage = usage.clone();
        let input = json!({"prompt": "a red cat", "path": "art/cat.png"});
        let output = project.call("generate_image", input, with_images).await.unwrap();
        let [Block::Text { text }, Block::Media(image)] = output.content.as_slice() else {
            panic!("{output:?}")
        };
        assert_eq!(text, "created art/cat.png (image/png, 18 bytes)");
        assert_eq!((image.mime.as_str(), &image.data[..]), ("image/png", PNG));
        let after = Some(PNG.to_vec().into());
        let change = UnsavedChange {
            path: "art/cat.png".into(),
            before: None,
            after,
        };
        assert_eq!(output.changes, [change]);
        assert_eq!(std::fs::read(project.root.join("art/cat.png")).unwrap(), PNG);
        let spent = usage.take().remove(0);
        let usage = Usage {
            input: 7,
            output: 90,
            ..Usage::default()
        };
        // OpenRouter reports the cost; that of a known model follows from its price.
        let cost = match provider {
            "openrouter" => Some(Cost::from_usd(0.04)),
            "openai" => Some(Cost::from_usd(0.003_635)),
            _ => None,
        };
        assert_eq!(
            (spent.purpose, spent.model, spent.usage, spent.cost),
            ("image", format!("{provider}/{model}"), usage, cost)
        );
        let [seen] = site.requests().try_into().unwrap();
        assert_eq!(seen.line, line);
        assert!(seen.head.contains(proof) && seen.body.contains("a red cat"), "{seen:?}");
    }
}

#[tokio::test]
async fn an_image_can_be_edited() {
    let site = answering(json!({"data": [{"b64_json": STANDARD.encode(PNG)}]})).await;
    let openai = project("openai", Wire::OpenaiChat, site.url("/v1"), "gpt-image-1");
    openai.put("old.png", b"\x89PNG old");
    let input = json!({"prompt": "make it blue", "path": "new.png", "image": "old.png", "size": "1024x1024"});
    let result = openai.run("generate_image", input.clone()).await;
    assert_eq!(result, "created new.png (image/png, 18 bytes)");
    let [seen] = site.requests().try_into().unwrap();
    assert_eq!(seen.line, "POST /v1/images/edits");
    assert!(
        seen.head.contains("content-type: multipart/form-data; boundary=hew-"),
        "{seen:?}"
    );
    for part in [
        "name=\"model\"\r\n\r\ngpt-image-1\r\n",
        "name=\"size\"\r\n\r\n1024x1024\r\n",
        "content-type: image/png\r\n\r\n",
        "PNG old\r\n--hew-",
    ] {
        assert!(seen.body.contains(part), "{part}: {}", seen.body);
    }
    let reads = Action::Read {
        path: openai.root.join("old.png"),
        place: PathArea::Inside,
    };
    let writes = Action::Write {
        path: openai.root.join("new.png"),
        place: PathArea::Inside,
    };
    assert_eq!(openai.actions("create_image", input), [reads, writes]);

    let gemini = project("gemini", Wire::Gemini, site.url(""), "m");
    gemini.put("old.jpg", b"old");
    gemini
        .run(
            "generate_image",
            json!({"prompt": "x", "path": "new.png", "image": "old.jpg"}),
        )
        .await;
    let part = &json_of(&site.requests()[1])["contents"][0]["parts"][1];
    assert_eq!(
        *part,
        json!({"inlineData": {"mimeType": "image/jpeg", "data": STANDARD.encode("old")}})
    );
}

#[tokio::test]
async fn a_failed_generation_is_reported_and_writes_nothing() {
    let site = serving("127.0.0.1", |seen| {
        let body = json_of(seen);
        match body["prompt"].as_str().unwrap() {
            "forbidden" => page(
                "400 Bad Request",
                "application/json",
                json!({"error": {"message": "rejected by the safety system, key the-key"}}).to_string(),
            ),
            "empty" => page("200 OK", "application/json", "{\"data\": []}"),
            "text" => page(
                "200 OK",
                "application/json",
                json!({"data": [{"b64_json": STANDARD.encode("no image")}]}).to_string(),
            ),
            _ => page("200 OK", "text/html", "<html>"),
        }
    })
    .await;
    let project = project("openai", Wire::OpenaiChat, site.url(""), "dall-e-3");
    project.put("old.png", "x");
    for (input, why) in [
        (
            json!({"prompt": "forbidden", "path": "a.png"}),
            "rejected by the safety system, key",
        ),
        (json!({"prompt": "empty", "path": "a.png"}), "no image"),
        (json!({"prompt": "text", "path": "a.png"}), "the data is not an image"),
        (
            json!({"prompt": "other", "path": "a.png"}),
            "the response is not JSON: <html>",
        ),
        (
            json!({"prompt": "x", "path": "old.png"}),
            "old.png exists; set overwrite to replace it",
        ),
        (
            json!({"prompt": "x", "path": "bare"}),
            "bare needs an ending, such as .png",
        ),
        (
            json!({"prompt": "x", "path": "a.png", "image": "none.png"}),
            "none.png does not exist",
        ),
        (
            json!({"prompt": "x", "path": "a.png", "image": "a.txt"}),
            "a.txt is not a .png, .jpg or .webp image",
        ),
    ] {
        let result = project.run("generate_image", input.clone()).await;
        assert!(
            result.starts_with("error: ") && result.contains(why) && !result.contains("the-key"),
            "{input}: {result}"
        );
        assert!(!project.root.join("a.png").exists());
    }
    assert_eq!(json_of(&site.requests()[0])["response_format"], "b64_json");
}

#[test]
fn providers_without_image_models_are_rejected() {
    let painter =
        |provider, wire| ImageModel::new(ProviderSettings::new(provider, wire, "http://127.0.0.1:1"), "m").unwrap();
    assert!(painter("anthropic", Wire::AnthropicMessages).is_none());
    assert!(painter("openai", Wire::OpenaiChat).is_some());
    assert!(TestProject::with(&[]).tools.get("generate_image").is_none());
}
