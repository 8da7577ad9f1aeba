//! The machine as values: which CPU shares what with which. Filled by the daemon from sysfs.

/// One logical CPU. Domain ids are the lowest CPU number in that domain, so they are dense enough to
/// index with and mean the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Kernel CPU number.
    pub id: u32,
    /// Whether it was online when the topology was read.
    pub online: bool,
    /// Lowest CPU of the same core (SMT siblings share it).
    pub core: u32,
    /// Lowest CPU sharing the second-level cache.
    pub l2: u32,
    /// Lowest CPU sharing the last-level cache.
    pub l3: u32,
    /// NUMA node number.
    pub node: u32,
    /// Highest frequency in kHz, or, where no CPU shows one, its capacity as a rank; 0 where the kernel says
    /// neither.
    pub max_khz: u64,
}

/// Every possible CPU, ordered by number; holes in the numbering are allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The CPUs, ordered by `id`.
    pub cpus: Vec<Cpu>,
}

impl Topology {
    /// One past the highest possible CPU number, at least 1.
    pub fn nr_cpu_ids(&self) -> u32 {
        self.cpus
            .iter()
            .map(|cpu| cpu.id.saturating_add(1))
            .max()
            .unwrap_or(1)
    }

    /// Number of online CPUs, at least 1.
    pub fn nr_online(&self) -> u32 {
        (self.cpus.iter().filter(|cpu| cpu.online).count() as u32).max(1)
    }

    /// One past the highest NUMA node number, at least 1.
    pub fn nr_nodes(&self) -> u32 {
        self.cpus
            .iter()
            .map(|cpu| cpu.node.saturating_add(1))
            .max()
            .unwrap_or(1)
    }
}
