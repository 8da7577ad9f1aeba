//! A log-linear latency histogram: eight sub-buckets an octave.

/// Number of buckets; the last one has no upper bound.
pub const HIST_BUCKETS: usize = 160;

/// Values are counted in units of 256 ns.
const UNIT_SHIFT: u32 = 8;
/// Eight sub-buckets in an octave, as a power of two.
const SUB_SHIFT: u32 = 3;
const SUBS: u64 = 1 << SUB_SHIFT;

/// Latency counts. `bpf/formulas.h` chooses buckets the same way.
///
/// With `v = ns >> 8`, values `v < 8` have a bucket each; above, with `o = floor(log2 v)`, the
/// bucket is `(o - 2) * 8 + ((v >> (o - 3)) & 7)`. The last bucket starts at about one second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// How many values fell into each bucket.
    pub buckets: [u64; HIST_BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            buckets: [0; HIST_BUCKETS],
        }
    }
}

impl Histogram {
    /// The bucket of a latency, always below [`HIST_BUCKETS`].
    pub fn bucket_of(ns: u64) -> usize {
        let v = ns >> UNIT_SHIFT;
        let Some(octave) = v.checked_ilog2().filter(|octave| *octave >= SUB_SHIFT) else {
            return v as usize;
        };
        let sub = (v >> (octave - SUB_SHIFT)) & (SUBS - 1);
        let bucket = u64::from(octave - SUB_SHIFT + 1) * SUBS + sub;
        (bucket as usize).min(HIST_BUCKETS - 1)
    }

    /// The latencies of a bucket: from the first number inclusive to the second exclusive, ns. The
    /// last bucket (and any index beyond) ends at `u64::MAX`.
    pub fn bounds_ns(bucket: usize) -> (u64, u64) {
        let bucket = bucket.min(HIST_BUCKETS - 1);
        let upper = if bucket == HIST_BUCKETS - 1 {
            u64::MAX
        } else {
            lower_ns(bucket + 1)
        };
        (lower_ns(bucket), upper)
    }

    /// Counts one latency.
    pub fn record(&mut self, ns: u64) {
        let bucket = &mut self.buckets[Self::bucket_of(ns)];
        *bucket = bucket.saturating_add(1);
    }
}

/// The latencies that histograms counted from one reading to the next. Few buckets grow in a tick, so only those are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    count: u64,
    /// Bucket and number of values, in the order of buckets; never without values.
    buckets: Vec<(usize, u64)>,
}

impl Latencies {
    /// Those of each histogram, and those of all of them. `None` if a bucket holds less than it did, so that `later` did not
    /// come after `earlier`.
    pub fn between<const N: usize>(
        earlier: &[Histogram; N],
        later: &[Histogram; N],
    ) -> Option<([Latencies; N], Latencies)> {
        let mut each: [Latencies; N] = std::array::from_fn(|_| Latencies::default());
        let mut all = Latencies::default();
        for bucket in 0..HIST_BUCKETS {
            let mut sum = 0u64;
            for i in 0..N {
                let (before, now) = (earlier[i].buckets[bucket], later[i].buckets[bucket]);
                if now != before {
                    let n = now.checked_sub(before)?;
                    each[i].add(bucket, n);
                    sum = sum.saturating_add(n);
                }
            }
            if sum > 0 {
                all.add(bucket, sum);
            }
        }
        Some((each, all))
    }

    fn add(&mut self, bucket: usize, n: u64) {
        self.count = self.count.saturating_add(n);
        self.buckets.push((bucket, n));
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The latency that `permille` of all values do not exceed (nearest rank), ns; `None` when
    /// empty. Within 10 % of the exact value, or 256 ns below 2 us; values in the last bucket are
    /// given by its lower bound.
    pub fn percentile_ns(&self, permille: u32) -> Option<u64> {
        let rank = (u128::from(self.count) * u128::from(permille.min(1000))).div_ceil(1000);
        let rank = u64::try_from(rank).unwrap_or(u64::MAX).max(1);
        let mut below = 0u64;
        for (bucket, n) in &self.buckets {
            if *n >= rank.saturating_sub(below) {
                return Some(interpolate_ns(*bucket, (rank - below).into(), (*n).into()));
            }
            below = below.saturating_add(*n);
        }
        None
    }
}

fn lower_ns(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let v = match bucket / SUBS {
        0 => bucket,
        octave => (SUBS + bucket % SUBS) << (octave - 1),
    };
    v << UNIT_SHIFT
}

/// The `rank`-th of `n` values spread over the middle half of a bucket. A bucket is up to an eighth
/// of its value wide, so keeping a quarter away from both edges bounds the error at 9.4 %.
fn interpolate_ns(bucket: usize, rank: u128, n: u128) -> u64 {
    let (lower, upper) = Histogram::bounds_ns(bucket);
    if upper == u64::MAX {
        return lower;
    }
    let half = u128::from(upper - lower) / 2;
    let offset = half / 2 + half * rank / n.max(1);
    lower.saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
}

/// `part / whole` in permille, at most 1000; 0 when `whole` is 0.
pub(crate) fn per_mille(part: u128, whole: u128) -> u32 {
    let share = part.saturating_mul(1000).checked_div(whole).unwrap_or(0);
    share.min(1000) as u32
}
