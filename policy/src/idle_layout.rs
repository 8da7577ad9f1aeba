//! CPU numbers -> positions in the idle masks of the kernel half.
//!
//! Every last-level cache has two words of bits. CPUs that share more are closer together in them, so
//! that "an idle CPU of my second-level cache" and "an idle core" are each one mask and one count of
//! trailing zeros.

use std::collections::BTreeMap;

use crate::cpuset::CpuSet;
use crate::topology::{Cpu, Topology};

/// Words in the masks of one last-level cache.
pub const LLC_WORDS: usize = 2;
/// CPUs that the masks of one last-level cache have room for.
pub const LLC_CPUS: usize = LLC_WORDS * WORD_BITS;
/// Last-level caches that have masks.
pub const MAX_LLCS: usize = 64;
/// The index of a last-level cache without masks.
pub const NO_LLC: u16 = u16::MAX;
/// The CPU of a bit that stands for none.
pub const NO_CPU: u16 = u16::MAX;

const WORD_BITS: usize = u64::BITS as usize;

/// Where every CPU is in the idle masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleLayout {
    /// Number of last-level caches that have masks, 0..=[`MAX_LLCS`].
    pub nr_llcs: u32,
    /// One entry for each CPU number up to the highest possible one, at most 65535 of them.
    pub cpus: Vec<IdleCpu>,
    /// The last-level caches, ordered by node, then by their lowest CPU.
    pub llcs: Vec<IdleLlc>,
}

/// Where one CPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleCpu {
    /// Index of its last-level cache in [`IdleLayout::llcs`]. [`NO_LLC`] where the number is not that
    /// of a CPU, where the cache has more CPUs than fit, or beyond [`MAX_LLCS`] caches.
    pub llc: u16,
    /// Its bit in the masks of that cache, below [`LLC_CPUS`].
    pub bit: u8,
    /// The CPUs of its second-level cache, itself included, as bits of the word its own bit is in.
    pub l2_mask: u64,
}

/// The masks of one last-level cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleLlc {
    /// Its NUMA node.
    pub node: u32,
    /// The CPU of each bit, [`NO_CPU`] where there is none.
    pub cpus: [u16; LLC_CPUS],
    /// CPUs without an SMT sibling beside them.
    pub single: [u64; LLC_WORDS],
    /// The lower bit, always an even one, of each pair of SMT siblings.
    pub pair: [u64; LLC_WORDS],
}

impl IdleLayout {
    /// The layout of a machine.
    ///
    /// Bits are given by second-level cache, core and number. Two siblings of a core are adjacent,
    /// from an even bit on, and so never in different words; a core with more is cut into pairs, and
    /// one CPU alone if they are odd. A second-level cache that fits into a word is kept in one if
    /// that leaves room for all CPUs. A last-level cache that spans nodes counts once for each.
    ///
    /// Of more than [`MAX_LLCS`] caches, those with a CPU online come first: a machine may announce
    /// many CPUs that it does not have, and each of them looks like a cache of its own.
    pub fn of(topology: &Topology) -> IdleLayout {
        let mut llcs = placed_llcs(topology);
        llcs.sort_by_key(|llc| (!llc.is_online, llc.node, llc.lowest_cpu));
        llcs.truncate(MAX_LLCS);
        llcs.sort_by_key(|llc| (llc.node, llc.lowest_cpu));

        let nr_cpu_ids = topology.nr_cpu_ids().min(u32::from(NO_CPU));
        let mut layout = IdleLayout {
            nr_llcs: llcs.len() as u32,
            cpus: vec![IdleCpu::NOWHERE; nr_cpu_ids as usize],
            llcs: Vec::with_capacity(llcs.len()),
        };
        llcs.iter().for_each(|llc| layout.add(llc));
        layout
    }

    /// The CPUs of a set as masks, one entry for each of [`IdleLayout::llcs`]. CPUs without a place
    /// are left out.
    pub fn words_of(&self, set: &CpuSet) -> Vec<[u64; LLC_WORDS]> {
        let mut words = vec![[0; LLC_WORDS]; self.llcs.len()];
        for (cpu, place) in (0..).zip(&self.cpus) {
            if let Some(words) = words.get_mut(usize::from(place.llc))
                && set.contains(cpu)
            {
                set_bit(words, usize::from(place.bit));
            }
        }
        words
    }

    fn add(&mut self, llc: &PlacedLlc) {
        let index = self.llcs.len() as u16;
        let mut masks = IdleLlc {
            node: llc.node,
            cpus: [NO_CPU; LLC_CPUS],
            single: [0; LLC_WORDS],
            pair: [0; LLC_WORDS],
        };
        let mut l2_words: BTreeMap<u32, [u64; LLC_WORDS]> = BTreeMap::new();
        for seat in &llc.seats {
            match seat.cpus.len() {
                1 => set_bit(&mut masks.single, seat.bit),
                _ => set_bit(&mut masks.pair, seat.bit),
            }
            for (bit, cpu) in (seat.bit..).zip(&seat.cpus) {
                masks.cpus[bit] = cpu.id as u16;
                set_bit(l2_words.entry(cpu.l2).or_default(), bit);
            }
        }
        for (bit, cpu) in llc.bits() {
            self.cpus[cpu.id as usize] = IdleCpu {
                llc: index,
                bit: bit as u8,
                l2_mask: l2_words[&cpu.l2][bit / WORD_BITS],
            };
        }
        self.llcs.push(masks);
    }
}

impl IdleCpu {
    const NOWHERE: IdleCpu = IdleCpu {
        llc: NO_LLC,
        bit: 0,
        l2_mask: 0,
    };
}

/// A last-level cache whose CPUs have got their bits.
struct PlacedLlc {
    node: u32,
    lowest_cpu: u32,
    is_online: bool,
    seats: Vec<Seat>,
}

/// One CPU, or two siblings, from this bit on.
struct Seat {
    bit: usize,
    cpus: Vec<Cpu>,
}

impl PlacedLlc {
    fn bits(&self) -> impl Iterator<Item = (usize, &Cpu)> {
        let seats = self.seats.iter();
        seats.flat_map(|seat| (seat.bit..).zip(&seat.cpus))
    }
}

/// The last-level caches whose CPUs fit into the masks.
fn placed_llcs(topology: &Topology) -> Vec<PlacedLlc> {
    let mut by_cache: BTreeMap<(u32, u32), Vec<Cpu>> = BTreeMap::new();
    // A number that does not fit into 16 bits has no entry to hold its place.
    for cpu in topology
        .cpus
        .iter()
        .filter(|cpu| cpu.id < u32::from(NO_CPU))
    {
        by_cache.entry((cpu.node, cpu.l3)).or_default().push(*cpu);
    }
    let placed = by_cache.into_iter().filter_map(|((node, _), mut cpus)| {
        cpus.sort_by_key(|cpu| (cpu.l2, cpu.core, cpu.id));
        Some(PlacedLlc {
            node,
            lowest_cpu: cpus.iter().map(|cpu| cpu.id).min()?,
            is_online: cpus.iter().any(|cpu| cpu.online),
            seats: place(&cpus, true).or_else(|| place(&cpus, false))?,
        })
    });
    placed.collect()
}

/// Gives bits to the sorted CPUs of one last-level cache; `None` if there are not enough bits.
fn place(cpus: &[Cpu], keeps_l2_in_a_word: bool) -> Option<Vec<Seat>> {
    let mut seats = Vec::new();
    let mut next = 0;
    for l2 in cpus.chunk_by(|a, b| a.l2 == b.l2) {
        if keeps_l2_in_a_word && !is_in_a_word(l2, next) {
            let word = next.next_multiple_of(WORD_BITS);
            next = if is_in_a_word(l2, word) { word } else { next };
        }
        seats.extend(seats_from(l2, next));
        next = end_of(l2, next);
    }
    (next <= LLC_CPUS).then_some(seats)
}

/// The seats of one second-level cache, the first at bit `next` or one after it.
fn seats_from(l2: &[Cpu], mut next: usize) -> impl Iterator<Item = Seat> {
    let cores = l2.chunk_by(|a, b| a.core == b.core);
    cores.flat_map(|core| core.chunks(2)).map(move |siblings| {
        let bit = next.next_multiple_of(siblings.len());
        next = bit + siblings.len();
        Seat {
            bit,
            cpus: siblings.to_vec(),
        }
    })
}

/// One past the last bit of a second-level cache placed from bit `next` on.
fn end_of(l2: &[Cpu], next: usize) -> usize {
    let last = seats_from(l2, next).last();
    last.map_or(next, |seat| seat.bit + seat.cpus.len())
}

fn is_in_a_word(l2: &[Cpu], next: usize) -> bool {
    let first = seats_from(l2, next).next().map_or(next, |seat| seat.bit);
    first / WORD_BITS == (end_of(l2, next) - 1) / WORD_BITS
}

fn set_bit(words: &mut [u64; LLC_WORDS], bit: usize) {
    words[bit / WORD_BITS] |= 1 << (bit % WORD_BITS);
}
