//! Comparison with the real tokenizers.

use super::*;
use serde_json::Value;

fn samples() -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("samples.json")).unwrap();
    all.as_array().unwrap().clone()
}

#[test]
fn a_model_belongs_to_the_family_of_its_prefix() {
    for (id, family) in [
        ("gpt-5.1-codex", TokenizerFamily::O200k),
        ("gpt-4o-mini", TokenizerFamily::O200k),
        ("gpt-4.1", TokenizerFamily::O200k),
        ("openai/gpt-4-turbo", TokenizerFamily::Cl100k),
        ("o4-mini", TokenizerFamily::O200k),
        ("claude-sonnet-4-5", TokenizerFamily::Claude),
        ("us.anthropic.claude-opus-4-6-v1:0", TokenizerFamily::Claude),
        ("google/gemini-3-pro", TokenizerFamily::Gemini),
        ("deepseek-chat", TokenizerFamily::Other),
        ("", TokenizerFamily::Other),
    ] {
        assert_eq!(TokenizerFamily::of_id(id), family, "{id}");
    }
}

#[test]
fn openai_texts_are_counted_exactly_on_demand() {
    for (family, name) in [(TokenizerFamily::O200k, "o200k"), (TokenizerFamily::Cl100k, "cl100k")] {
        let exact = ExactTokenizer::load(family).unwrap();
        for sample in samples() {
            let text = sample["text"].as_str().unwrap();
            assert_eq!(exact.count(text), sample[name].as_u64().unwrap(), "{name}: {text}");
        }
        assert_eq!(exact.count(""), 0);
        assert_eq!(exact.count("  \n\n   x   "), 4);
    }
    assert!(ExactTokenizer::load(TokenizerFamily::Claude).is_none());
}

/// Average and maximum error of the estimates for these samples, in percent.
fn errors(family: TokenizerFamily, name: &str) -> (f64, f64) {
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
        (TokenizerFamily::O200k, "o200k", 8.0, 25.0),
        (TokenizerFamily::Cl100k, "cl100k", 8.0, 25.0),
        (TokenizerFamily::Claude, "claude", 10.0, 25.0),
        (TokenizerFamily::Gemini, "gemini", 12.0, 25.0),
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
        let now = TokenizerFamily::Claude.estimate(&text[..end]);
        assert!(now + 1 >= before, "{end}: {now} after {before}");
        before = now;
    }
    assert_eq!(TokenizerFamily::O200k.estimate(""), 0);
}

#[test]
fn estimates_are_corrected_by_what_the_provider_reports() {
    let mut rate = EstimateCorrection::default();
    assert_eq!(rate.correct(1_000), 1_000);
    for _ in 0..6 {
        rate.learn(1_000, 1_300);
    }
    assert!((1_290..=1_300).contains(&rate.correct(1_000)), "{rate:?}");
    assert!((995..=1_005).contains(&rate.estimated(1_300)), "{rate:?}");
    // A factor of ten indicates a different cause.
    rate.learn(1_000, 10_000);
    assert!(rate.correct(1_000) <= 1_650, "{rate:?}");
    let before = rate;
    rate.learn(10, 40);
    assert_eq!(rate, before, "short requests say little");
}
