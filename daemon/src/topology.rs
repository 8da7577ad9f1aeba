//! Reads the machine's shape from sysfs. The root is an argument, so captured trees can be tested.

use anyhow::{Context, Result};
use pandemonium_policy::topology::{Cpu, Topology};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;

/// Highest CPU number the scheduler has room for; `MAX_CPUS` in `bpf/intf.h`.
const MAX_CPUS: u32 = 1024;

/// What one CPU's own files say; `None` is what the kernel does not say.
struct Shown {
    id: u32,
    /// Lowest CPU of the same core.
    core: Option<u32>,
    /// Lowest CPU sharing the second-level cache.
    l2: Option<u32>,
    /// Lowest CPU sharing the third-level cache.
    l3: Option<u32>,
    package: Option<u32>,
    max_khz: Option<u64>,
    /// Relative speed, 1024 for the fastest kind of core.
    capacity: Option<u64>,
}

/// Reads every possible CPU below `root` (usually `/sys`).
///
/// What a kernel does not say is mostly taken as "shared with nobody": a CPU without cache information
/// shares caches with the siblings of its core only, a machine without nodes has node 0. The last-level
/// cache of a CPU without a third-level one is its second-level one. Siblings share the caches of either, though
/// virtual machines may show each a cache of its own. A package that shows neither for any
/// CPU, as many virtual machines do, counts as one last-level domain, or nothing would ever be shared.
///
/// Where no CPU tells a frequency but capacities differ, `max_khz` ranks CPUs by capacity instead.
///
/// # Errors
/// When the list of possible CPUs is missing, cannot be parsed, or exceeds what the scheduler holds.
pub fn read(root: &Path) -> Result<Topology> {
    let cpu_root = root.join("devices/system/cpu");
    let possible = read_list(&cpu_root.join("possible")).context("reading the possible CPUs")?;
    let online = read_list(&cpu_root.join("online")).unwrap_or_else(|_| possible.clone());
    if let Some(&last) = possible.last().filter(|&&last| last >= MAX_CPUS) {
        anyhow::bail!("CPU {last} is beyond the {MAX_CPUS} CPUs this scheduler supports");
    }
    let nodes = read_nodes(&root.join("devices/system/node"));
    let all: Vec<Shown> = possible
        .iter()
        .map(|&id| read_cpu(&cpu_root.join(format!("cpu{id}")), id))
        .collect();
    let by_capacity = ranked_by_capacity(&all);
    let cpus: Vec<Cpu> = all
        .iter()
        .map(|cpu| {
            let core = cpu.core.unwrap_or(cpu.id);
            Cpu {
                id: cpu.id,
                online: online.contains(&cpu.id),
                core,
                l2: cpu.l2.unwrap_or(core),
                l3: last_level(cpu, &all),
                node: node_of(cpu.id, &nodes),
                max_khz: if by_capacity {
                    cpu.capacity
                } else {
                    cpu.max_khz
                }
                .unwrap_or(0),
            }
        })
        .collect();
    Ok(Topology {
        cpus: shared_by_cores(&cpus),
    })
}

/// A core's CPUs share its caches, whatever each of them shows.
fn shared_by_cores(cpus: &[Cpu]) -> Vec<Cpu> {
    let mut cores: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for cpu in cpus {
        let (l2, l3) = cores.entry(cpu.core).or_insert((cpu.l2, cpu.l3));
        (*l2, *l3) = (cpu.l2.min(*l2), cpu.l3.min(*l3));
    }
    let shared = cpus.iter().map(|cpu| {
        let (l2, l3) = cores[&cpu.core];
        Cpu { l2, l3, ..*cpu }
    });
    shared.collect()
}

fn read_cpu(dir: &Path, id: u32) -> Shown {
    let (l2, l3) = read_caches(&dir.join("cache"), id);
    Shown {
        id,
        core: lowest_sharer(&dir.join("topology/thread_siblings_list"), id),
        l2,
        l3,
        package: read_number(&dir.join("topology/physical_package_id")),
        max_khz: read_number(&dir.join("cpufreq/cpuinfo_max_freq")),
        capacity: read_number(&dir.join("cpu_capacity")),
    }
}

/// Lowest CPU sharing the second-level cache, and the third-level one.
fn read_caches(dir: &Path, id: u32) -> (Option<u32>, Option<u32>) {
    let (mut l2, mut l3) = (None, None);
    for index in 0..8 {
        let cache = dir.join(format!("index{index}"));
        let level: Option<u32> = read_number(&cache.join("level"));
        let shared = || lowest_sharer(&cache.join("shared_cpu_list"), id);
        match level {
            Some(2) => l2 = shared().or(l2),
            Some(3) => l3 = shared().or(l3),
            _ => {}
        }
    }
    (l2, l3)
}

/// Lowest CPU of the last-level domain.
fn last_level(cpu: &Shown, all: &[Shown]) -> u32 {
    if let Some(shared) = cpu.l3.or(cpu.l2) {
        return shared;
    }
    let mut package = all.iter().filter(|other| other.package == cpu.package);
    // Where others show a package, a CPU without one is offline, and nothing is known about it.
    let is_unknown = cpu.package.is_none() && all.iter().any(|other| other.package.is_some());
    let others_have_caches = package.clone().any(|other| other.l2.or(other.l3).is_some());
    match package.next() {
        Some(first) if !is_unknown && !others_have_caches => first.id,
        _ => cpu.core.unwrap_or(cpu.id),
    }
}

fn ranked_by_capacity(all: &[Shown]) -> bool {
    let mut capacities = all.iter().filter_map(|cpu| cpu.capacity);
    let first = capacities.next();
    all.iter().all(|cpu| cpu.max_khz.is_none()) && capacities.any(|other| Some(other) != first)
}

fn node_of(id: u32, nodes: &[(u32, Vec<u32>)]) -> u32 {
    nodes
        .iter()
        .find(|(_, cpus)| cpus.contains(&id))
        .map_or(0, |&(node, _)| node)
}

fn read_nodes(dir: &Path) -> Vec<(u32, Vec<u32>)> {
    let nodes = read_list(&dir.join("possible")).unwrap_or_default();
    nodes
        .into_iter()
        .filter_map(|node| {
            Some((
                node,
                read_list(&dir.join(format!("node{node}/cpulist"))).ok()?,
            ))
        })
        .collect()
}

fn read_number<T: FromStr>(path: &Path) -> Option<T> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// First of a list of CPUs that share something with CPU `id`. A list without `id` itself is damaged, and
/// with it the answer never exceeds `id`, so it is safe as an index.
fn lowest_sharer(path: &Path, id: u32) -> Option<u32> {
    let list = read_list(path).ok()?;
    list.first().copied().filter(|_| list.contains(&id))
}

fn read_list(path: &Path) -> Result<Vec<u32>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse_list(&text).with_context(|| format!("{}: {:?}", path.display(), text.trim()))
}

/// Parses the kernel's list format, for example `0-3,8`. An empty list is empty.
fn parse_list(text: &str) -> Result<Vec<u32>> {
    let mut list = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse()?, last.trim().parse()?);
        anyhow::ensure!(first <= last && last < 1 << 16, "not a CPU range");
        list.extend(first..=last);
    }
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

#[cfg(test)]
mod tests;
