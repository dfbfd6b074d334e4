//! Local dates, and times given as a date or a duration.

use crate::failure::{Failure, Result};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use session::Time;

/// The local date of a time.
pub(crate) fn day(at: Time) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    match Timestamp::from_millisecond(millis) {
        Ok(at) => at.to_zoned(TimeZone::system()).date().to_string(),
        Err(_) => "unknown".into(),
    }
}

/// A day, or so many hours, days or weeks ago.
pub fn parse_since(text: &str, now: Time) -> Result<Time> {
    let wrong = || {
        Failure::usage(format!("`{text}` is not a date or a duration"))
            .hint("write a date such as 2026-11-01, or a duration such as 12h, 7d or 4w")
    };
    if let Ok(date) = text.parse::<Date>() {
        let start = date.to_zoned(TimeZone::system()).map_err(|_| wrong())?;
        return Ok(Time(u64::try_from(start.timestamp().as_millisecond()).unwrap_or(0)));
    }
    let unit = text.chars().last().ok_or_else(wrong)?;
    let count: i64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 24 * 7,
        _ => return Err(wrong()),
    };
    let hours = count
        .checked_mul(hours)
        .filter(|hours| (0..1_000_000).contains(hours))
        .ok_or_else(wrong)?;
    let now = Timestamp::from_millisecond(i64::try_from(now.0).unwrap_or(i64::MAX)).map_err(|_| wrong())?;
    let then = now.checked_sub(hours.hours()).map_err(|_| wrong())?;
    Ok(Time(u64::try_from(then.as_millisecond()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_day_or_a_span_of_time() {
        let now = Time(1_000_000_000_000);
        assert_eq!(parse_since("2h", now).unwrap(), Time(now.0 - 2 * 3_600_000));
        assert_eq!(parse_since("7d", now).unwrap(), Time(now.0 - 7 * 86_400_000));
        assert_eq!(parse_since("1w", now).unwrap(), parse_since("7d", now).unwrap());
        assert!(parse_since("2001-09-01", now).unwrap() < now);
        for wrong in ["", "x", "d", "-3d", "7y", "2001-13-01", "99999999999999999999h", "ä"] {
            assert!(parse_since(wrong, now).is_err(), "{wrong}");
        }
    }
}
