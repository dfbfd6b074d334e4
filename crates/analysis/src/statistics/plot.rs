//! Plots as inline SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 60.0;
const BOTTOM: f64 = 40.0;
/// The colours of series.
const COLOURS: [&str; 4] = ["#3b6ea5", "#d9822b", "#5a9b5a", "#a34a4a"];
/// The maximum number of labels below a plot.
const MAX_LABELS: usize = 12;

/// A bar per label, stacked from several series.
pub(super) fn bars(title: &str, series: &[&str], bars: &[(String, Vec<f64>)], format: fn(f64) -> String) -> String {
    let top = bars
        .iter()
        .map(|(_, values)| values.iter().sum::<f64>())
        .fold(0.0, f64::max);
    let mut svg = open(title, series);
    axis(&mut svg, top, format);
    let step = (WIDTH - LEFT) / bars.len().max(1) as f64;
    let every = bars.len().div_ceil(MAX_LABELS).max(1);
    for (place, (label, values)) in bars.iter().enumerate() {
        let x = LEFT + step * place as f64;
        let mut y = HEIGHT - BOTTOM;
        for (value, colour) in values.iter().zip(COLOURS) {
            let height = if top > 0.0 {
                value / top * (HEIGHT - BOTTOM - 10.0)
            } else {
                0.0
            };
            y -= height;
            write!(
                svg,
                r#"<rect x="{:.1}" y="{y:.1}" width="{:.1}" height="{height:.1}" fill="{colour}"><title>{}: {}</title></rect>"#,
                x + step * 0.1,
                step * 0.8,
                escape(label),
                escape(&format(*value)),
            )
            .unwrap_or_default();
        }
        if place.is_multiple_of(every) {
            let end: String = label
                .chars()
                .rev()
                .take(14)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect();
            write!(
                svg,
                r#"<text x="{:.1}" y="{:.1}" text-anchor="middle" class="l">{}</text>"#,
                x + step / 2.0,
                HEIGHT - BOTTOM + 14.0,
                escape(&end),
            )
            .unwrap_or_default();
        }
    }
    svg.push_str("</svg></figure>");
    svg
}

/// The number of values between powers of two.
pub(super) fn histogram(title: &str, values: &[u64], label: fn(u64) -> String) -> String {
    let mut counts: Vec<(String, Vec<f64>)> = Vec::new();
    let most = values.iter().copied().max().unwrap_or(0);
    let mut low = values.iter().copied().min().unwrap_or(1).max(1);
    low = 1 << (63 - low.leading_zeros());
    while !values.is_empty() && low <= most.max(1) {
        let is_first = counts.is_empty();
        let count = values
            .iter()
            .filter(|value| (is_first || **value >= low) && **value < low * 2)
            .count();
        counts.push((label(low), vec![count as f64]));
        low *= 2;
    }
    bars(title, &[], &counts, |count| format!("{count:.0}"))
}

fn open(title: &str, series: &[&str]) -> String {
    let names: Vec<String> = series
        .iter()
        .zip(COLOURS)
        .map(|(name, colour)| format!(r#"<span style="color:{colour}">■</span> {}"#, escape(name)))
        .collect();
    format!(
        r#"<figure><figcaption>{} {}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#,
        escape(title),
        names.join(" "),
        escape(title),
    )
}

fn axis(svg: &mut String, top: f64, format: fn(f64) -> String) {
    for part in 0..=4 {
        let value = top * f64::from(part) / 4.0;
        let y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 10.0) * f64::from(part) / 4.0;
        write!(
            svg,
            r##"<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1}" y2="{y:.1}" stroke="#ddd"/><text x="{:.1}" y="{:.1}" text-anchor="end" class="l">{}</text>"##,
            LEFT - 6.0,
            y + 3.0,
            escape(&format(value)),
        )
        .unwrap_or_default();
    }
}

/// Text in HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_are_escaped_and_contain_each_value() {
        let values = vec![("<a>".to_owned(), vec![1.0, 2.0]), ("b".to_owned(), vec![3.0, 0.0])];
        let svg = bars("x & y", &["one", "two"], &values, |value| value.to_string());
        assert_eq!(svg.matches("<rect").count(), 4);
        assert!(
            svg.contains("x &amp; y") && svg.contains("&lt;a&gt;: 2") && !svg.contains("<a>"),
            "{svg}"
        );
    }

    #[test]
    fn histograms_count_every_value_once() {
        let svg = histogram("h", &[0, 1, 3, 4, 100], |low| low.to_string());
        let counts: Vec<&str> = svg
            .split("<title>")
            .skip(1)
            .map(|text| text.split('<').next().unwrap())
            .collect();
        assert_eq!(counts, ["1: 2", "2: 1", "4: 1", "8: 0", "16: 0", "32: 0", "64: 1"]);
        assert_eq!(histogram("h", &[], |low| low.to_string()).matches("<rect").count(), 0);
    }
}
