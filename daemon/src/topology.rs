//! Reads the machine's shape from sysfs. The root is an argument, so captured trees can be tested.

use anyhow::{Context, Result};
use pandemonium_policy::topology::{Cpu, Topology};
use std::fs;
use std::path::Path;

/// Highest CPU number the scheduler has room for; `MAX_CPUS` in `bpf/intf.h`.
const MAX_CPUS: u32 = 1024;

/// Reads every possible CPU below `root` (usually `/sys`).
///
/// What a kernel does not say is taken as "shared with nobody": a CPU without cache information is
/// its own cache domain, a machine without nodes has node 0.
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
    let cpus = possible
        .iter()
        .map(|&id| read_cpu(&cpu_root, id, online.contains(&id), &nodes))
        .collect();
    Ok(Topology { cpus })
}

fn read_cpu(cpu_root: &Path, id: u32, online: bool, nodes: &[(u32, Vec<u32>)]) -> Cpu {
    let dir = cpu_root.join(format!("cpu{id}"));
    let first_of = |file: &str| {
        read_list(&dir.join(file))
            .ok()
            .and_then(|list| list.first().copied())
            .unwrap_or(id)
    };
    let (l2, l3) = read_caches(&dir.join("cache"), id);
    Cpu {
        id,
        online,
        core: first_of("topology/thread_siblings_list"),
        l2,
        l3: l3.unwrap_or(l2),
        node: nodes
            .iter()
            .find(|(_, cpus)| cpus.contains(&id))
            .map_or(0, |&(node, _)| node),
        max_khz: read_number(&dir.join("cpufreq/cpuinfo_max_freq")).unwrap_or(0),
    }
}

/// Lowest CPU sharing the second-level cache, and the third-level one where there is any.
fn read_caches(dir: &Path, id: u32) -> (u32, Option<u32>) {
    let (mut l2, mut l3) = (id, None);
    for index in 0..8 {
        let cache = dir.join(format!("index{index}"));
        let Some(level) = read_number(&cache.join("level")) else {
            continue;
        };
        let shared = read_list(&cache.join("shared_cpu_list")).ok();
        let Some(first) = shared.and_then(|list| list.first().copied()) else {
            continue;
        };
        match level {
            2 => l2 = first,
            3 => l3 = Some(first),
            _ => {}
        }
    }
    (l2, l3)
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

fn read_number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join("devices/system").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_list_with_ranges_and_holes_is_parsed() {
        assert_eq!(parse_list("0-2,5,7-8\n").unwrap(), [0, 1, 2, 5, 7, 8]);
        assert!(parse_list("\n").unwrap().is_empty());
        assert!(parse_list("3-1").is_err());
        assert!(parse_list("0-99999999").is_err());
        assert!(parse_list("x").is_err());
    }

    #[test]
    fn a_bare_machine_without_caches_or_nodes_is_one_domain_per_cpu() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "cpu/possible", "0-1\n");
        write(dir.path(), "cpu/online", "0\n");
        let topology = read(dir.path()).unwrap();
        assert_eq!(topology.cpus.len(), 2);
        assert!(topology.cpus[0].online && !topology.cpus[1].online);
        assert_eq!((topology.cpus[1].l2, topology.cpus[1].node), (1, 0));
        assert_eq!(
            (
                topology.nr_cpu_ids(),
                topology.nr_online(),
                topology.nr_nodes()
            ),
            (2, 1, 1)
        );
    }

    #[test]
    fn siblings_caches_nodes_and_frequencies_are_read() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "cpu/possible", "0-3\n");
        write(dir.path(), "cpu/online", "0-3\n");
        write(dir.path(), "node/possible", "0-1\n");
        write(dir.path(), "node/node0/cpulist", "0-1\n");
        write(dir.path(), "node/node1/cpulist", "2-3\n");
        write(
            dir.path(),
            "cpu/cpu3/topology/thread_siblings_list",
            "2-3\n",
        );
        write(dir.path(), "cpu/cpu3/cache/index2/level", "2\n");
        write(dir.path(), "cpu/cpu3/cache/index2/shared_cpu_list", "2-3\n");
        write(dir.path(), "cpu/cpu3/cache/index3/level", "3\n");
        write(dir.path(), "cpu/cpu3/cache/index3/shared_cpu_list", "0-3\n");
        write(dir.path(), "cpu/cpu3/cpufreq/cpuinfo_max_freq", "4200000\n");
        let cpu = read(dir.path()).unwrap().cpus[3];
        assert_eq!(
            (cpu.core, cpu.l2, cpu.l3, cpu.node, cpu.max_khz),
            (2, 2, 0, 1, 4_200_000)
        );
    }

    #[test]
    fn more_cpus_than_the_scheduler_holds_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "cpu/possible", "0-2047\n");
        assert!(read(dir.path()).unwrap_err().to_string().contains("1024"));
    }
}
