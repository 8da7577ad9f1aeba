//! A set of CPUs, and its text: a hexadecimal mask.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

const WORDS: usize = 16;
const WORD_BITS: u32 = u64::BITS;

/// A set of CPU numbers below [`CpuSet::MAX`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct CpuSet([u64; WORDS]);

/// Why a text is not a CPU mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CpuSetError {
    /// It has no digit.
    #[error("a CPU mask needs at least one hexadecimal digit")]
    Empty,
    /// It has a character that is neither a digit nor a separator.
    #[error("{0:?} is not a hexadecimal digit of a CPU mask")]
    NotHex(char),
    /// It names a CPU that the set has no room for.
    #[error("a CPU mask may name the CPUs 0 to 1023 only")]
    TooHigh,
}

impl CpuSet {
    /// One past the highest CPU number a set can hold.
    pub const MAX: u32 = WORDS as u32 * WORD_BITS;

    /// A set without CPUs.
    pub fn empty() -> CpuSet {
        CpuSet::default()
    }

    /// Adds a CPU; a number from [`CpuSet::MAX`] on is ignored.
    pub fn insert(&mut self, cpu: u32) {
        if let Some(word) = self.0.get_mut((cpu / WORD_BITS) as usize) {
            *word |= 1 << (cpu % WORD_BITS);
        }
    }

    /// Whether the CPU is in the set; never for a number from [`CpuSet::MAX`] on.
    pub fn contains(&self, cpu: u32) -> bool {
        let word = self.0.get((cpu / WORD_BITS) as usize);
        word.is_some_and(|word| word >> (cpu % WORD_BITS) & 1 == 1)
    }

    /// Number of CPUs in the set, 0..=[`CpuSet::MAX`].
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether there are no CPUs in the set.
    pub fn is_empty(&self) -> bool {
        *self == CpuSet::empty()
    }

    /// The CPU numbers, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..CpuSet::MAX).filter(|cpu| self.contains(*cpu))
    }

    /// The CPUs that are in both sets.
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        CpuSet(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    /// The mask: CPU `n` is bit `n % 64` of word `n / 64`.
    pub fn words(&self) -> &[u64; WORDS] {
        &self.0
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> CpuSet {
        let mut set = CpuSet::empty();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let highest = self.0.iter().rposition(|word| *word != 0).unwrap_or(0);
        write!(f, "{:#x}", self.0[highest])?;
        for word in self.0[..highest].iter().rev() {
            write!(f, "{word:016x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    /// Reads a mask of any length, with or without `0x`. The `,` of the kernel's own masks and `_`
    /// are skipped.
    fn from_str(text: &str) -> Result<CpuSet, CpuSetError> {
        let prefixed = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let digits = prefixed.unwrap_or(text).chars().rev();
        let mut set = CpuSet::empty();
        let mut lowest_bit = 0u32;
        for c in digits.filter(|c| !matches!(c, '_' | ',')) {
            let digit = c.to_digit(16).ok_or(CpuSetError::NotHex(c))?;
            for bit in (0..4).filter(|bit| digit >> bit & 1 == 1) {
                let cpu = lowest_bit.saturating_add(bit);
                if cpu >= CpuSet::MAX {
                    return Err(CpuSetError::TooHigh);
                }
                set.insert(cpu);
            }
            lowest_bit = lowest_bit.saturating_add(4);
        }
        if lowest_bit == 0 {
            return Err(CpuSetError::Empty);
        }
        Ok(set)
    }
}
