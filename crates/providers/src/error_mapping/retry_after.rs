//! Parses the retry delay that a provider requests.

use http::HeaderMap;
use jiff::Timestamp;
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// From headers: `retry-after-ms`, `retry-after` (seconds or a date), or the reset time of an exhausted limit.
pub(super) fn from_headers(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let get = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(after) = get("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return from_seconds(after / 1000.0);
    }
    if let Some(text) = get("retry-after") {
        return match text.parse::<f64>() {
            Ok(after) => from_seconds(after),
            Err(_) => duration_until(jiff::fmt::rfc2822::parse(text).ok()?.timestamp(), now),
        };
    }
    // If several limits are exhausted, the last reset decides.
    let resets = ["requests", "tokens", "input-tokens", "output-tokens"]
        .iter()
        .flat_map(|limit| {
            [
                (
                    format!("x-ratelimit-remaining-{limit}"),
                    format!("x-ratelimit-reset-{limit}"),
                ),
                (
                    format!("anthropic-ratelimit-{limit}-remaining"),
                    format!("anthropic-ratelimit-{limit}-reset"),
                ),
            ]
        });
    let resets = resets.chain([("x-ratelimit-remaining".to_string(), "x-ratelimit-reset".to_string())]);
    resets
        .filter(|(remaining, _)| get(remaining).is_some_and(|left| left.parse::<f64>().is_ok_and(|left| left <= 0.0)))
        .filter_map(|(_, reset)| time_until(get(&reset)?, now))
        .max()
}

/// From an error body: Google's `RetryInfo`.
pub(super) fn from_body(body: &Value) -> Option<Duration> {
    let details = body.get("error")?.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay"))?;
    parse_duration(delay.as_str()?)
}

/// From a message: "Please try again in 7.66s".
pub(super) fn from_text(text: &str) -> Option<Duration> {
    let lower = text.to_lowercase();
    let after = ["try again in ", "retry in ", "retry after "]
        .iter()
        .find_map(|phrase| lower.split_once(phrase).map(|(_, rest)| rest))?;
    let mut words = after.split_whitespace();
    let first = words.next()?.trim_end_matches(['.', ',']);
    if let Some(found) = parse_duration(first) {
        return Some(found);
    }
    let amount = first.parse::<f64>().ok()?;
    match words.next()?.trim_end_matches(['.', ',']) {
        "s" | "second" | "seconds" => from_seconds(amount),
        "ms" | "milliseconds" => from_seconds(amount / 1000.0),
        "minute" | "minutes" => from_seconds(amount * 60.0),
        _ => None,
    }
}

/// A reset time: a duration (`6m0s`), a date, seconds from now, or a Unix time in seconds or milliseconds.
fn time_until(text: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(number) = text.parse::<f64>() {
        return match number {
            _ if number > 1e11 => duration_until(Timestamp::from_millisecond(number as i64).ok()?, now),
            _ if number > 1e8 => duration_until(Timestamp::from_second(number as i64).ok()?, now),
            _ => from_seconds(number),
        };
    }
    parse_duration(text).or_else(|| duration_until(text.parse::<Timestamp>().ok()?, now))
}

/// A duration such as `17s`, `6m0s`, `1h2m3.5s`, `20ms`.
fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let amount = rest[..digits].parse::<f64>().ok()?;
        rest = &rest[digits..];
        let unit_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += amount
            * match &rest[..unit_end] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86400.0,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    from_seconds(total)
}

fn duration_until(then: Timestamp, now: SystemTime) -> Option<Duration> {
    let now = Timestamp::try_from(now).ok()?;
    let left = then.duration_since(now);
    // A time that has already passed means now.
    Some(Duration::try_from(left).unwrap_or(Duration::ZERO))
}

fn from_seconds(amount: f64) -> Option<Duration> {
    if amount < 0.0 {
        None
    } else {
        Duration::try_from_secs_f64(amount).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn every_format_of_a_retry_delay_is_parsed() {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        type Headers<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Headers<'_>, Option<f64>); 12] = [
            (&[("retry-after-ms", "1500"), ("retry-after", "9")], Some(1.5)),
            (&[("retry-after", "20")], Some(20.0)),
            (&[("retry-after", "0.5")], Some(0.5)),
            (&[("retry-after", "Tue, 14 Nov 2023 22:13:50 GMT")], Some(30.0)),
            (&[("retry-after", "Tue, 14 Nov 2023 22:13:10 GMT")], Some(0.0)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-3")], None),
            (
                &[
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                ],
                Some(360.0),
            ),
            (
                &[
                    ("x-ratelimit-remaining-tokens", "5"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                ],
                None,
            ),
            (
                &[
                    ("anthropic-ratelimit-input-tokens-remaining", "0"),
                    ("anthropic-ratelimit-input-tokens-reset", "2023-11-14T22:14:00Z"),
                ],
                Some(40.0),
            ),
            (
                &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1700000012000")],
                Some(12.0),
            ),
            (&[], None),
        ];
        for (pairs, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(
                from_headers(&headers, now).map(|d| d.as_secs_f64()),
                expected,
                "{pairs:?}"
            );
        }
        let sentences = [
            ("Please try again in 7.66s. Visit", Some(7.66)),
            ("Please try again in 120ms.", Some(0.12)),
            ("please try again in 6m0s", Some(360.0)),
            ("Retry after 30 seconds", Some(30.0)),
            ("try again in a while", None),
        ];
        for (text, expected) in sentences {
            assert_eq!(from_text(text).map(|d| d.as_secs_f64()), expected, "{text}");
        }
        let body = serde_json::json!({"error": {"details": [{"@type": "x"}, {"retryDelay": "17s"}]}});
        assert_eq!(from_body(&body), Some(Duration::from_secs(17)));
    }
}
