//! generate_image, with servers that speak as the providers do.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Block, Cost, Usage, Wire};
use policy::{Action, Place};
use providers::{Painter, Secret, Settings};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tool::{Change, Context, Spending};
use toolbox::Options;

use crate::desk::{Desk, context};
use crate::site::{Site, Visit, page, serving};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

fn desk(provider: &str, wire: Wire, base: String, model: &str) -> Desk {
    let mut settings = Settings::new(provider, wire, base);
    settings.key = Some(Secret::new("the-key"));
    let painter = Painter::new(settings, model).unwrap();
    Desk::fitted(
        &[],
        Options {
            painter,
            ..Options::default()
        },
    )
}

async fn answering(answer: Value) -> Site {
    serving("127.0.0.1", move |_| {
        page("200 OK", "application/json", answer.to_string())
    })
    .await
}

fn json_of(seen: &Visit) -> Value {
    serde_json::from_str(&seen.body).unwrap()
}

#[tokio::test]
async fn an_image_is_made_by_every_dialect_saved_and_shown() {
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
        let desk = desk(provider, wire, site.url(base), model);
        let (sender, mut spent) = mpsc::unbounded_channel();
        let mut seeing: Context = context();
        seeing.features.images = true;
        seeing.spending = Spending::new(sender);
        let input = json!({"prompt": "a red cat", "path": "art/cat.png"});
        let output = desk.call("generate_image", input, seeing).await.unwrap();
        let [Block::Text { text }, Block::Media(image)] = output.content.as_slice() else {
            panic!("{output:?}")
        };
        assert_eq!(text, "created art/cat.png (image/png, 18 bytes)");
        assert_eq!((image.mime.as_str(), &image.data[..]), ("image/png", PNG));
        let after = Some(PNG.to_vec().into());
        let change = Change {
            path: "art/cat.png".into(),
            before: None,
            after,
        };
        assert_eq!(output.changes, [change]);
        assert_eq!(std::fs::read(desk.root.join("art/cat.png")).unwrap(), PNG);
        let spent = spent.try_recv().unwrap();
        let usage = Usage {
            input: 7,
            output: 90,
            ..Usage::default()
        };
        let cost = (provider == "openrouter").then(|| Cost::from_usd(0.04));
        assert_eq!(
            (spent.purpose, spent.model, spent.usage, spent.cost),
            ("image", format!("{provider}/{model}"), usage, cost)
        );
        let [seen] = site.visits().try_into().unwrap();
        assert_eq!(seen.line, line);
        assert!(seen.head.contains(proof) && seen.body.contains("a red cat"), "{seen:?}");
    }
}

#[tokio::test]
async fn an_image_can_be_changed() {
    let site = answering(json!({"data": [{"b64_json": STANDARD.encode(PNG)}]})).await;
    let openai = desk("openai", Wire::OpenaiChat, site.url("/v1"), "gpt-image-1");
    openai.put("old.png", b"\x89PNG old");
    let input = json!({"prompt": "make it blue", "path": "new.png", "image": "old.png", "size": "1024x1024"});
    let told = openai.run("generate_image", input.clone()).await;
    assert_eq!(told, "created new.png (image/png, 18 bytes)");
    let [seen] = site.visits().try_into().unwrap();
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
        place: Place::Inside,
    };
    let writes = Action::Write {
        path: openai.root.join("new.png"),
        place: Place::Inside,
    };
    assert_eq!(openai.actions("create_image", input), [reads, writes]);

    let gemini = desk("gemini", Wire::Gemini, site.url(""), "m");
    gemini.put("old.jpg", b"old");
    gemini
        .run(
            "generate_image",
            json!({"prompt": "x", "path": "new.png", "image": "old.jpg"}),
        )
        .await;
    let part = &json_of(&site.visits()[1])["contents"][0]["parts"][1];
    assert_eq!(
        *part,
        json!({"inlineData": {"mimeType": "image/jpeg", "data": STANDARD.encode("old")}})
    );
}

#[tokio::test]
async fn what_goes_wrong_is_told_and_nothing_is_written() {
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
                json!({"data": [{"b64_json": STANDARD.encode("no picture")}]}).to_string(),
            ),
            _ => page("200 OK", "text/html", "<html>"),
        }
    })
    .await;
    let desk = desk("openai", Wire::OpenaiChat, site.url(""), "dall-e-3");
    desk.put("old.png", "x");
    for (input, why) in [
        (
            json!({"prompt": "forbidden", "path": "a.png"}),
            "rejected by the safety system, key",
        ),
        (json!({"prompt": "empty", "path": "a.png"}), "no picture"),
        (json!({"prompt": "text", "path": "a.png"}), "bytes that are no picture"),
        (
            json!({"prompt": "other", "path": "a.png"}),
            "an answer that is not JSON: <html>",
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
        let told = desk.run("generate_image", input.clone()).await;
        assert!(
            told.starts_with("error: ") && told.contains(why) && !told.contains("the-key"),
            "{input}: {told}"
        );
        assert!(!desk.root.join("a.png").exists());
    }
    assert_eq!(json_of(&site.visits()[0])["response_format"], "b64_json");
}

#[test]
fn there_is_no_painter_where_the_provider_has_none() {
    let painter = |provider, wire| Painter::new(Settings::new(provider, wire, "http://127.0.0.1:1"), "m").unwrap();
    assert!(painter("anthropic", Wire::AnthropicMessages).is_none());
    assert!(painter("openai", Wire::OpenaiChat).is_some());
    assert!(Desk::with(&[]).tools.get("generate_image").is_none());
}
