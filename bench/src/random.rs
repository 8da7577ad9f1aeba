//! A small generator: workloads must vary, and must be the same every time.

/// xorshift64* (Marsaglia 2003, Vigna 2016).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number of `low..=high`; `low` where that is empty.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low).saturating_add(1);
        low.saturating_add((self.next() >> 11) % span)
    }

    /// A random, never empty choice from `items`.
    pub fn subset(&mut self, items: &[usize]) -> Vec<usize> {
        let mut chosen: Vec<usize> = items
            .iter()
            .copied()
            .filter(|_| self.between(0, 1) == 1)
            .collect();
        if chosen.is_empty() {
            let index = self.between(0, items.len().saturating_sub(1) as u64) as usize;
            chosen.extend(items.get(index));
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range_and_repeat_with_the_seed() {
        let (mut a, mut b) = (Random::new(7), Random::new(7));
        for _ in 0..1000 {
            let value = a.between(5, 50);
            assert!((5..=50).contains(&value));
            assert_eq!(value, b.between(5, 50));
        }
        assert_eq!(a.between(3, 3), 3);
    }

    #[test]
    fn a_subset_is_never_empty() {
        let mut random = Random::new(1);
        for _ in 0..200 {
            let chosen = random.subset(&[2, 5, 9]);
            assert!(!chosen.is_empty() && chosen.iter().all(|cpu| [2, 5, 9].contains(cpu)));
        }
    }
}
