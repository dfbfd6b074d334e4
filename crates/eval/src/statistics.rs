//! Intervals and tests for rates and paired samples.

/// The quantile of the standard normal distribution for 95 % intervals.
const Z95: f64 = 1.959_963_984_540_054;
/// The number of resamples of a bootstrap.
const RESAMPLES: usize = 10_000;

/// An interval of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceInterval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// The 95 % Wilson interval of a rate.
pub fn wilson(successes: u64, trials: u64) -> ConfidenceInterval {
    if trials == 0 {
        return ConfidenceInterval { low: 0.0, high: 1.0 };
    }
    let n = trials as f64;
    let rate = successes as f64 / n;
    let z2 = Z95 * Z95;
    let centre = (rate + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z95 * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n)).sqrt() / (1.0 + z2 / n);
    ConfidenceInterval {
        low: (centre - half).max(0.0),
        high: (centre + half).min(1.0),
    }
}

/// The unbiased estimate of the probability that at least one of `k` attempts succeeds, from `successes` of `trials`.
/// `None` if there are fewer than `k` trials.
pub fn pass_at_k(trials: u64, successes: u64, k: u64) -> Option<f64> {
    if k == 0 || k > trials {
        return None;
    }
    let failures = trials.saturating_sub(successes);
    if failures < k {
        return Some(1.0);
    }
    let all_fail: f64 = (0..k).map(|i| (failures - i) as f64 / (trials - i) as f64).product();
    Some(1.0 - all_fail)
}

/// The two-sided exact McNemar test: the probability of a difference at least as large if both are equally good.
/// `gained` and `lost` count the pairs in which only one of the two succeeded.
pub fn mcnemar_exact(gained: u64, lost: u64) -> f64 {
    let n = gained + lost;
    if n == 0 {
        return 1.0;
    }
    let tail = binomial_tail(n, gained.min(lost));
    (2.0 * tail).min(1.0)
}

/// The probability of at most `most` successes in `n` fair trials.
fn binomial_tail(n: u64, most: u64) -> f64 {
    let half = (n as f64) * 0.5_f64.ln();
    (0..=most).map(|k| (ln_choose(n, k) + half).exp()).sum()
}

fn ln_choose(n: u64, k: u64) -> f64 {
    let k = k.min(n - k);
    (0..k).map(|i| ((n - i) as f64).ln() - ((i + 1) as f64).ln()).sum()
}

/// The 95 % bootstrap interval of the mean of paired differences. Deterministic.
pub fn paired_bootstrap(differences: &[f64]) -> ConfidenceInterval {
    if differences.is_empty() {
        return ConfidenceInterval { low: 0.0, high: 0.0 };
    }
    let n = differences.len();
    let mut random = SplitMix(0x5eed);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| (0..n).map(|_| differences[random.below(n)]).sum::<f64>() / n as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |quantile: f64| means[((RESAMPLES - 1) as f64 * quantile).round() as usize];
    ConfidenceInterval {
        low: at(0.025),
        high: at(0.975),
    }
}

/// The upper tail of the standard normal distribution.
pub fn normal_tail(z: f64) -> f64 {
    0.5 * erfc(z / std::f64::consts::SQRT_2)
}

/// The complementary error function, with a relative error below 1.2e-7 (Chebyshev approximation).
fn erfc(x: f64) -> f64 {
    const C: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let sum = C.iter().rev().fold(0.0, |sum, c| sum * t + c);
    let value = t * (-x * x + sum).exp();
    if x >= 0.0 { value } else { 2.0 - value }
}

/// Successes and trials of one task before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateStratum {
    /// Successes and trials of the reference.
    pub before: (u64, u64),
    /// Successes and trials of the new runs.
    pub after: (u64, u64),
}

/// The Cochran-Mantel-Haenszel statistic of a change of success rates, with tasks as strata: its sign is that of the change,
/// and it is normally distributed if there is none. `None` if there is too little data.
pub fn stratified_rate_z(strata: &[RateStratum]) -> Option<f64> {
    let (mut sum, mut variance) = (0.0, 0.0);
    for RateStratum { before, after } in strata {
        let (n0, n1) = (before.1 as f64, after.1 as f64);
        let n = n0 + n1;
        if n0 == 0.0 || n1 == 0.0 || n < 2.0 {
            continue;
        }
        let solved = (before.0 + after.0) as f64;
        sum += after.0 as f64 - n1 * solved / n;
        variance += n0 * n1 * solved * (n - solved) / (n * n * (n - 1.0));
    }
    (variance > 0.0).then(|| sum / variance.sqrt())
}

/// Positive measurements of one task before and after, such as tokens.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ValueStratum {
    /// Values of the reference.
    pub before: Vec<f64>,
    /// Values of the new runs.
    pub after: Vec<f64>,
}

/// The change of a positive quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioEstimate {
    /// The geometric mean of new values divided by old ones.
    pub ratio: f64,
    /// Normally distributed if there is no change.
    pub z: f64,
}

/// The ratio of values before and after, with tasks as strata. `None` if there is too little data.
pub fn stratified_ratio(strata: &[ValueStratum]) -> Option<RatioEstimate> {
    let logs = |values: &[f64]| -> Vec<f64> { values.iter().filter(|v| **v > 0.0).map(|v| v.ln()).collect() };
    let samples: Vec<(Vec<f64>, Vec<f64>)> = strata.iter().map(|s| (logs(&s.before), logs(&s.after))).collect();
    // The variance is shared by all tasks: few repetitions of one task estimate it badly.
    let (mut squares, mut freedom) = (0.0, 0.0);
    for sample in samples.iter().flat_map(|(before, after)| [before, after]) {
        if let Some(mean) = mean(sample) {
            squares += sample.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
            freedom += sample.len() as f64 - 1.0;
        }
    }
    if freedom < 1.0 {
        return None;
    }
    let variance = (squares / freedom).max(1e-12);
    let (mut weighted, mut weights) = (0.0, 0.0);
    for (before, after) in &samples {
        if let (Some(old), Some(new)) = (mean(before), mean(after)) {
            let weight = 1.0 / (variance / before.len() as f64 + variance / after.len() as f64);
            weighted += weight * (new - old);
            weights += weight;
        }
    }
    (weights > 0.0).then(|| RatioEstimate {
        ratio: (weighted / weights).exp(),
        z: weighted / weights.sqrt(),
    })
}

/// The arithmetic mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The significance level of one of several looks at growing data, such that the probability of any false alarm stays below
/// `alpha` for every number of looks (counted from 1).
pub fn look_level(alpha: f64, look: u32) -> f64 {
    let look = f64::from(look.max(1));
    // The reciprocals of n(n+1) sum up to 1.
    alpha / (look * (look + 1.0))
}

/// A small generator of random numbers for resampling.
#[derive(Debug, Clone)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }

    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 5e-4, "{value} is not {expected}");
    }

    #[test]
    fn wilson_intervals_equal_published_values() {
        // R: prop.test(x, n, correct = FALSE)$conf.int
        for (successes, trials, low, high) in [
            (0, 10, 0.0, 0.2775),
            (5, 10, 0.2366, 0.7634),
            (10, 10, 0.7225, 1.0),
            (1, 29, 0.0061, 0.1718),
            (81, 263, 0.2553, 0.3662),
        ] {
            let interval = wilson(successes, trials);
            close(interval.low, low);
            close(interval.high, high);
        }
        assert_eq!(wilson(0, 0), ConfidenceInterval { low: 0.0, high: 1.0 });
    }

    #[test]
    fn pass_at_k_is_the_share_of_samples_with_a_success() {
        assert_eq!(pass_at_k(5, 0, 1), Some(0.0));
        close(pass_at_k(5, 2, 1).unwrap(), 0.4);
        // 1 - C(3,2)/C(5,2) = 1 - 3/10
        close(pass_at_k(5, 2, 2).unwrap(), 0.7);
        assert_eq!(pass_at_k(5, 4, 3), Some(1.0));
        assert_eq!(pass_at_k(2, 1, 3), None);
    }

    #[test]
    fn mcnemar_equals_the_exact_binomial_test() {
        // R: binom.test(b, b + c)$p.value
        for (gained, lost, p) in [
            (0, 0, 1.0),
            (1, 0, 1.0),
            (5, 0, 0.0625),
            (10, 2, 0.0386),
            (6, 16, 0.0525),
            (7, 7, 1.0),
        ] {
            close(mcnemar_exact(gained, lost), p);
            close(mcnemar_exact(lost, gained), p);
        }
    }

    #[test]
    fn the_bootstrap_interval_of_a_mean_is_that_of_its_normal_approximation() {
        let differences: Vec<f64> = (0..400).map(|n| f64::from(n % 2)).collect();
        let interval = paired_bootstrap(&differences);
        // 0.5 ± 1.96 · 0.5 / 20
        assert!(
            (interval.low - 0.451).abs() < 0.006 && (interval.high - 0.549).abs() < 0.006,
            "{interval:?}"
        );
        assert_eq!(
            paired_bootstrap(&[0.25; 7]),
            ConfidenceInterval { low: 0.25, high: 0.25 }
        );
    }

    #[test]
    fn the_normal_tail_has_its_known_quantiles() {
        for (z, p) in [
            (0.0, 0.5),
            (1.644_854, 0.05),
            (1.959_964, 0.025),
            (-1.0, 0.8413),
            (3.0, 0.00135),
        ] {
            close(normal_tail(z), p);
        }
    }

    #[test]
    fn the_stratified_test_equals_the_published_statistic() {
        // Agresti, Categorical Data Analysis, smoking and lung cancer in eight cities: CMH = 280.1375 without correction.
        let cities = [
            ((126, 226), (35, 96)),
            ((908, 1596), (497, 1304)),
            ((913, 1660), (336, 934)),
            ((235, 407), (58, 179)),
            ((402, 710), (121, 336)),
            ((182, 338), (72, 170)),
            ((60, 159), (11, 54)),
            ((104, 193), (21, 57)),
        ];
        let strata: Vec<RateStratum> = cities
            .iter()
            .map(|(before, after)| RateStratum {
                before: *before,
                after: *after,
            })
            .collect();
        let z = stratified_rate_z(&strata).unwrap();
        assert!(z < 0.0 && (z * z - 280.1375).abs() < 0.01, "{}", z * z);
    }

    #[test]
    fn a_doubled_quantity_is_found_with_its_ratio() {
        let strata: Vec<ValueStratum> = (1..6)
            .map(|task| ValueStratum {
                before: (0..4).map(|n| f64::from(task * 100 + n)).collect(),
                after: (0..4).map(|n| f64::from(2 * (task * 100 + n))).collect(),
            })
            .collect();
        let found = stratified_ratio(&strata).unwrap();
        close(found.ratio, 2.0);
        assert!(found.z > 10.0);
        assert_eq!(stratified_ratio(&[]), None);
    }

    #[test]
    fn the_levels_of_all_looks_stay_below_the_total() {
        let sum: f64 = (1..10_000).map(|look| look_level(0.05, look)).sum();
        assert!(sum < 0.05 && sum > 0.0499, "{sum}");
    }
}
