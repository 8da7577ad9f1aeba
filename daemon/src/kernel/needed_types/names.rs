//! Names that are asked for among very many others.

use super::first_name;
use std::collections::HashSet;

/// The names of types or those of functions. Nearly all that a kernel has are told by their beginning not to be here.
pub struct Names<'a> {
    names: HashSet<&'a [u8]>,
    /// By a hash of their beginning: whether any name begins so.
    beginnings: [bool; 1 << BEGINNING_BITS],
    /// Which of the first eight bytes are the beginning.
    mask: u64,
    have_flavors: bool,
}

impl<'a> Names<'a> {
    /// Four bytes are the beginning: with more of them, variants of a type with a short name would begin otherwise.
    pub fn of_types() -> Names<'a> {
        Names::new(0xffff_ffff, true)
    }

    /// Names that are taken as a whole.
    pub fn of_functions() -> Names<'a> {
        Names::new(u64::MAX, false)
    }

    fn new(mask: u64, have_flavors: bool) -> Names<'a> {
        Names {
            names: HashSet::new(),
            beginnings: [false; 1 << BEGINNING_BITS],
            mask,
            have_flavors,
        }
    }

    /// Adds a name that is not empty.
    pub fn add(&mut self, name: &'a [u8]) {
        if name.is_empty() || !self.names.insert(name) {
            return;
        }
        self.beginnings[beginning_of(name, self.mask)] = true;
        if self.have_flavors {
            let variant = [name, b"___"].concat();
            self.beginnings[beginning_of(&variant, self.mask)] = true;
        }
    }

    /// Whether the name that `text` begins with is here.
    pub fn has(&self, text: &[u8]) -> bool {
        self.beginnings[beginning_of(text, self.mask)] && self.has_whole(text)
    }

    #[cold]
    fn has_whole(&self, text: &[u8]) -> bool {
        let name = first_name(text);
        self.names.contains(if self.have_flavors {
            without_flavor(name)
        } else {
            name
        })
    }
}

const BEGINNING_BITS: u32 = 13;

/// A hash of those of the first eight bytes of a name that `mask` has, in the order of memory.
fn beginning_of(text: &[u8], mask: u64) -> usize {
    let bytes = text.first_chunk().copied().unwrap_or_else(|| {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text);
        bytes
    });
    let word = u64::from_le_bytes(bytes);
    // The highest bit of the first byte that is zero, if any; further ones may be wrong.
    let zeros = word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080;
    let before = ((zeros & zeros.wrapping_neg()) >> 7).wrapping_sub(1);
    let hash = (word & before & mask).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (u64::BITS - BEGINNING_BITS)) as usize
}

/// The name up to a last `___`, after which relocations put what tells variants of a type apart.
pub fn without_flavor(name: &[u8]) -> &[u8] {
    let is_flavor = |w: &[u8]| w[0] != b'_' && w[1..4].iter().all(|&b| b == b'_') && w[4] != b'_';
    match name.windows(5).rposition(is_flavor) {
        Some(at) => &name[..=at],
        None => name,
    }
}
