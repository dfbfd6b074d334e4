//! Counts against the real tokenizers.

use super::*;
use serde_json::Value;

fn samples() -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("samples.json")).unwrap();
    all.as_array().unwrap().clone()
}

#[test]
fn a_model_belongs_to_the_family_that_its_name_begins_with() {
    for (id, family) in [
        ("gpt-5.1-codex", Family::O200k),
        ("gpt-4o-mini", Family::O200k),
        ("gpt-4.1", Family::O200k),
        ("openai/gpt-4-turbo", Family::Cl100k),
        ("o4-mini", Family::O200k),
        ("claude-sonnet-4-5", Family::Claude),
        ("us.anthropic.claude-opus-4-6-v1:0", Family::Claude),
        ("google/gemini-3-pro", Family::Gemini),
        ("deepseek-chat", Family::Other),
        ("", Family::Other),
    ] {
        assert_eq!(Family::of_id(id), family, "{id}");
    }
}

#[test]
fn openai_texts_are_counted_exactly_when_somebody_asks() {
    for (family, name) in [(Family::O200k, "o200k"), (Family::Cl100k, "cl100k")] {
        let exact = Exact::load(family).unwrap();
        for sample in samples() {
            let text = sample["text"].as_str().unwrap();
            assert_eq!(exact.count(text), sample[name].as_u64().unwrap(), "{name}: {text}");
        }
        assert_eq!(exact.count(""), 0);
        assert_eq!(exact.count("  \n\n   x   "), 4);
    }
    assert!(Exact::load(Family::Claude).is_none());
}

/// The share by which estimates of these samples are off, on average and at most, in percent.
fn errors(family: Family, name: &str) -> (f64, f64) {
    let samples = samples();
    let counted = samples.iter().filter(|sample| sample[name].is_u64());
    let errors: Vec<f64> = counted
        .map(|sample| {
            let real = sample[name].as_u64().unwrap() as f64;
            let estimated = family.estimate(sample["text"].as_str().unwrap()) as f64;
            ((estimated - real) / real * 100.0).abs()
        })
        .collect();
    assert!(errors.len() >= 5, "{name}");
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    (mean, errors.iter().copied().fold(0.0, f64::max))
}

#[test]
fn estimates_are_near_the_real_counts_for_every_family_and_class_of_text() {
    for (family, name, most_mean, most) in [
        (Family::O200k, "o200k", 8.0, 25.0),
        (Family::Cl100k, "cl100k", 8.0, 25.0),
        (Family::Claude, "claude", 10.0, 25.0),
        (Family::Gemini, "gemini", 12.0, 25.0),
    ] {
        let (mean, worst) = errors(family, name);
        println!("{name}: {mean:.1} % on average, {worst:.1} % at most");
        assert!(
            mean <= most_mean && worst <= most,
            "{name}: {mean:.1} % on average, {worst:.1} % at most"
        );
    }
}

#[test]
fn any_text_has_an_estimate_and_more_text_has_no_smaller_one() {
    let text = "fn main() { println!(\"héllo — 你好 🦀\"); }\n\t\tx += 1;\r\n";
    let mut before = 0;
    for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        let now = Family::Claude.estimate(&text[..end]);
        assert!(now + 1 >= before, "{end}: {now} after {before}");
        before = now;
    }
    assert_eq!(Family::O200k.estimate(""), 0);
}

#[test]
fn estimates_are_corrected_by_what_the_provider_reports() {
    let mut rate = Rate::default();
    assert_eq!(rate.correct(1_000), 1_000);
    for _ in 0..6 {
        rate.learn(1_000, 1_300);
    }
    assert!((1_290..=1_300).contains(&rate.correct(1_000)), "{rate:?}");
    assert!((995..=1_005).contains(&rate.estimated(1_300)), "{rate:?}");
    // Nobody is off by a factor of ten: that is something else.
    rate.learn(1_000, 10_000);
    assert!(rate.correct(1_000) <= 1_650, "{rate:?}");
    let before = rate;
    rate.learn(10, 40);
    assert_eq!(rate, before, "short requests say little");
}
