//! Machines of every kind from `tests/topologies`, and what damaged or missing files do.
#![allow(clippy::unwrap_used)]

use super::*;
use std::collections::BTreeMap;
use tempfile::TempDir;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/topologies");

/// A tree below a temporary directory, as `/sys` would be.
struct Tree(TempDir);

impl Tree {
    fn empty() -> Self {
        Tree(tempfile::tempdir().unwrap())
    }

    fn of(machine: &str) -> Self {
        let tree = Self::empty();
        let text = fs::read_to_string(format!("{FIXTURES}/{machine}.sysfs")).unwrap();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (path, value) = line.split_once('=').unwrap();
            for path in expand(path) {
                tree.write(&path, value);
            }
        }
        tree
    }

    fn write(&self, path: &str, value: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{value}\n")).unwrap();
    }

    fn cpu(&self, path: &str, value: &str) {
        self.write(&format!("devices/system/cpu/{path}"), value);
    }

    fn node(&self, path: &str, value: &str) {
        self.write(&format!("devices/system/node/{path}"), value);
    }

    fn remove(&self, path: &str) {
        fs::remove_dir_all(self.0.path().join("devices/system").join(path)).unwrap();
    }

    fn read(&self) -> Topology {
        read(self.0.path()).unwrap()
    }
}

/// `cpu[0-2,8]` in a path stands for `cpu0`, `cpu1`, `cpu2` and `cpu8`.
fn expand(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('[') else {
        return vec![path.to_owned()];
    };
    let (list, after) = rest.split_once(']').unwrap();
    let each = parse_list(list).unwrap().into_iter();
    each.map(|id| format!("{before}{id}{after}")).collect()
}

fn lists(groups: &[&str]) -> Vec<Vec<u32>> {
    groups.iter().map(|g| parse_list(g).unwrap()).collect()
}

fn grouped<K: Ord>(topology: &Topology, key: impl Fn(&Cpu) -> K) -> BTreeMap<K, Vec<u32>> {
    let mut groups: BTreeMap<K, Vec<u32>> = BTreeMap::new();
    for cpu in &topology.cpus {
        groups.entry(key(cpu)).or_default().push(cpu.id);
    }
    groups
}

/// The members of each domain; its number must be that of its lowest member.
fn domains(topology: &Topology, key: impl Fn(&Cpu) -> u32) -> Vec<Vec<u32>> {
    let groups = grouped(topology, key);
    assert!(groups.iter().all(|(&number, cpus)| cpus[0] == number));
    groups.into_values().collect()
}

fn frequencies(topology: &Topology) -> Vec<(u64, Vec<u32>)> {
    let groups = grouped(topology, |cpu| cpu.max_khz);
    groups.into_iter().collect()
}

fn nodes(topology: &Topology) -> Vec<(u32, Vec<u32>)> {
    let groups = grouped(topology, |cpu| cpu.node);
    groups.into_iter().collect()
}

fn ids(list: &str) -> Vec<u32> {
    parse_list(list).unwrap()
}

fn singles(list: &str) -> Vec<Vec<u32>> {
    ids(list).into_iter().map(|id| vec![id]).collect()
}

/// The two threads of each core, numbered `apart` from each other.
fn pairs(cores: u32, apart: u32) -> Vec<Vec<u32>> {
    (0..cores).map(|id| vec![id, id + apart]).collect()
}

#[test]
fn every_fixture_is_read_here() {
    let mut found: Vec<String> = fs::read_dir(FIXTURES)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".sysfs").map(str::to_owned)
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "big-little-arm",
            "big-little-no-caches",
            "hybrid-laptop",
            "hybrid-laptop-low-power",
            "hybrid-laptop-two-domains",
            "offline-cpus",
            "one-cpu",
            "two-ccx-desktop",
            "two-socket-many-nodes",
            "two-socket-server",
        ]
    );
}

#[test]
fn hybrid_laptop() {
    let topology = Tree::of("hybrid-laptop").read();
    let fast_cores = lists(&["0-1", "2-3", "4-5", "6-7", "8-9", "10-11"]);
    let clusters = lists(&["12-15", "16-19"]);
    assert_eq!((topology.cpus.len(), topology.nr_online()), (20, 20));
    assert_eq!(
        domains(&topology, |cpu| cpu.core),
        [fast_cores.clone(), singles("12-19")].concat()
    );
    assert_eq!(
        domains(&topology, |cpu| cpu.l2),
        [fast_cores, clusters].concat()
    );
    assert_eq!(domains(&topology, |cpu| cpu.l3), [ids("0-19")]);
    assert_eq!(nodes(&topology), [(0, ids("0-19"))]);
    assert_eq!(
        frequencies(&topology),
        [(3_900_000, ids("12-19")), (5_000_000, ids("0-11"))]
    );
}

#[test]
fn low_power_cores_without_a_third_level_cache_are_a_domain_of_their_own() {
    let topology = Tree::of("hybrid-laptop-low-power").read();
    let fast_cores = lists(&["0,5", "1-2", "3-4", "6-7", "8-9", "10-11"]);
    let clusters = lists(&["12-15", "16-19", "20-21"]);
    assert_eq!((topology.cpus.len(), topology.nr_online()), (22, 22));
    assert_eq!(
        domains(&topology, |cpu| cpu.core),
        [fast_cores.clone(), singles("12-21")].concat()
    );
    assert_eq!(
        domains(&topology, |cpu| cpu.l2),
        [fast_cores, clusters].concat()
    );
    assert_eq!(domains(&topology, |cpu| cpu.l3), lists(&["0-19", "20-21"]));
    assert_eq!(
        frequencies(&topology),
        [
            (2_500_000, ids("20-21")),
            (3_800_000, ids("12-19")),
            (5_100_000, ids("0-11")),
        ]
    );
}

#[test]
fn efficiency_cores_that_share_only_a_second_level_cache_have_that_as_their_last() {
    let topology = Tree::of("hybrid-laptop-two-domains").read();
    assert_eq!(domains(&topology, |cpu| cpu.core), singles("0-7"));
    assert_eq!(
        domains(&topology, |cpu| cpu.l2),
        lists(&["0", "1", "2", "3", "4-7"])
    );
    assert_eq!(domains(&topology, |cpu| cpu.l3), lists(&["0-3", "4-7"]));
    // Only the frequency tells the two favoured cores from the other big ones.
    assert_eq!(
        frequencies(&topology),
        [
            (3_700_000, ids("4-7")),
            (4_700_000, ids("2-3")),
            (4_800_000, ids("0-1")),
        ]
    );
}

#[test]
fn two_ccx_desktop() {
    let topology = Tree::of("two-ccx-desktop").read();
    assert_eq!((topology.cpus.len(), topology.nr_online()), (32, 32));
    assert_eq!(domains(&topology, |cpu| cpu.core), pairs(16, 16));
    assert_eq!(domains(&topology, |cpu| cpu.l2), pairs(16, 16));
    assert_eq!(
        domains(&topology, |cpu| cpu.l3),
        lists(&["0-7,16-23", "8-15,24-31"])
    );
    assert_eq!(nodes(&topology), [(0, ids("0-31"))]);
    assert_eq!(frequencies(&topology), [(5_083_398, ids("0-31"))]);
}

#[test]
fn two_socket_server() {
    let topology = Tree::of("two-socket-server").read();
    let sockets = lists(&["0-7,16-23", "8-15,24-31"]);
    assert_eq!((topology.cpus.len(), topology.nr_online()), (32, 32));
    assert_eq!(domains(&topology, |cpu| cpu.core), pairs(16, 16));
    assert_eq!(domains(&topology, |cpu| cpu.l2), pairs(16, 16));
    assert_eq!(domains(&topology, |cpu| cpu.l3), sockets);
    assert_eq!(topology.nr_nodes(), 2);
    assert_eq!(
        nodes(&topology),
        [(0, sockets[0].clone()), (1, sockets[1].clone())]
    );
    assert_eq!(frequencies(&topology), [(0, ids("0-31"))]);
}

#[test]
fn a_package_with_several_nodes_and_caches_keeps_them_apart() {
    let topology = Tree::of("two-socket-many-nodes").read();
    assert_eq!((topology.cpus.len(), topology.nr_nodes()), (96, 8));
    assert_eq!(domains(&topology, |cpu| cpu.core), pairs(48, 48));
    let caches = domains(&topology, |cpu| cpu.l3);
    assert_eq!(caches.len(), 16);
    assert_eq!(caches[1], ids("3-5,51-53"));
    assert_eq!(nodes(&topology)[7], (7, ids("42-47,90-95")));
    assert_eq!(frequencies(&topology), [(2_300_000, ids("0-95"))]);
}

#[test]
fn one_cpu() {
    let topology = Tree::of("one-cpu").read();
    let expected = Cpu {
        id: 0,
        online: true,
        core: 0,
        l2: 0,
        l3: 0,
        node: 0,
        max_khz: 0,
    };
    assert_eq!(topology.cpus, [expected]);
    assert_eq!((topology.nr_cpu_ids(), topology.nr_nodes()), (1, 1));
}

#[test]
fn offline_cpus_belong_to_nobody() {
    let topology = Tree::of("offline-cpus").read();
    assert_eq!((topology.cpus.len(), topology.nr_online()), (24, 17));
    assert_eq!(
        grouped(&topology, |cpu| cpu.online)[&false],
        ids("0-3,21-23")
    );
    assert_eq!(domains(&topology, |cpu| cpu.l2), singles("0-23"));
    let mut caches = singles("0-3");
    caches.extend(lists(&["4,6,8,10,12,14,16,18,20", "5,7,9,11,13,15,17,19"]));
    caches.extend(singles("21-23"));
    assert_eq!(domains(&topology, |cpu| cpu.l3), caches);
    // The node that is offline shows no list; its CPUs and the offline ones count as node 0.
    assert_eq!(nodes(&topology)[1], (1, ids("5,7,9,11,13,15,17,19")));
    assert_eq!(topology.nr_nodes(), 2);
}

#[test]
fn big_little_arm() {
    let topology = Tree::of("big-little-arm").read();
    assert_eq!(domains(&topology, |cpu| cpu.core), singles("0-7"));
    assert_eq!(
        domains(&topology, |cpu| cpu.l2),
        lists(&["0", "1-2", "3", "4", "5", "6", "7"])
    );
    // One cache over three packages.
    assert_eq!(domains(&topology, |cpu| cpu.l3), [ids("0-7")]);
    assert_eq!(nodes(&topology), [(0, ids("0-7"))]);
    assert_eq!(
        frequencies(&topology),
        [
            (2_016_000, ids("0-2")),
            (2_803_200, ids("3-6")),
            (3_187_200, ids("7")),
        ]
    );
}

#[test]
fn a_package_without_any_cache_information_is_one_last_level_domain() {
    let topology = Tree::of("big-little-no-caches").read();
    assert_eq!(domains(&topology, |cpu| cpu.l2), singles("0-11"));
    assert_eq!(domains(&topology, |cpu| cpu.l3), [ids("0-11")]);
    assert_eq!(
        frequencies(&topology),
        [
            (1_799_998, ids("1-4")),
            (2_599_994, ids("5-8")),
            (2_699_995, ids("9-10")),
            (2_999_992, ids("0,11")),
        ]
    );
}

#[test]
fn caches_missing_everywhere_leave_one_domain_for_each_package() {
    let tree = Tree::of("two-socket-server");
    for id in 0..32 {
        tree.remove(&format!("cpu/cpu{id}/cache"));
    }
    let topology = tree.read();
    // The threads of one core share its caches in any case.
    assert_eq!(domains(&topology, |cpu| cpu.l2), pairs(16, 16));
    assert_eq!(
        domains(&topology, |cpu| cpu.l3),
        lists(&["0-7,16-23", "8-15,24-31"])
    );
}

#[test]
fn a_cache_directory_missing_for_one_cpu_is_that_of_its_sibling() {
    let tree = Tree::of("two-ccx-desktop");
    let before = tree.read();
    tree.remove("cpu/cpu17/cache");
    assert_eq!(tree.read(), before);
}

#[test]
fn siblings_share_their_caches_though_each_shows_its_own() {
    let tree = Tree::of("two-ccx-desktop");
    let before = tree.read();
    for id in 0..32 {
        for index in [2, 3] {
            tree.cpu(
                &format!("cpu{id}/cache/index{index}/shared_cpu_list"),
                &id.to_string(),
            );
        }
    }
    let topology = tree.read();
    let cores = domains(&before, |cpu| cpu.core);
    assert_eq!(domains(&topology, |cpu| cpu.l2), cores);
    assert_eq!(domains(&topology, |cpu| cpu.l3), cores);
}

#[test]
fn without_a_third_level_cache_the_second_level_is_the_last() {
    let tree = Tree::of("hybrid-laptop");
    for id in 0..20 {
        tree.remove(&format!("cpu/cpu{id}/cache/index3"));
    }
    let topology = tree.read();
    assert_eq!(
        domains(&topology, |cpu| cpu.l3),
        domains(&topology, |cpu| cpu.l2)
    );
}

#[test]
fn a_bare_machine_is_one_domain() {
    let tree = Tree::empty();
    tree.cpu("possible", "0-1");
    tree.cpu("online", "0");
    let topology = tree.read();
    assert!(topology.cpus[0].online && !topology.cpus[1].online);
    assert_eq!(domains(&topology, |cpu| cpu.core), singles("0-1"));
    assert_eq!(domains(&topology, |cpu| cpu.l2), singles("0-1"));
    assert_eq!(domains(&topology, |cpu| cpu.l3), [ids("0-1")]);
    let counts = (topology.nr_cpu_ids(), topology.nr_online());
    assert_eq!((counts, topology.nr_nodes()), ((2, 1), 1));
}

#[test]
fn numbers_with_holes_are_kept() {
    let tree = Tree::empty();
    tree.cpu("possible", "0,2-3,9");
    tree.cpu("online", "0,9");
    tree.node("possible", "0,4");
    tree.node("node0/cpulist", "0,2");
    tree.node("node4/cpulist", "3,9");
    let topology = tree.read();
    let found: Vec<u32> = topology.cpus.iter().map(|cpu| cpu.id).collect();
    assert_eq!(found, [0, 2, 3, 9]);
    assert_eq!(nodes(&topology), [(0, vec![0, 2]), (4, vec![3, 9])]);
    assert_eq!((topology.nr_cpu_ids(), topology.nr_nodes()), (10, 5));
}

#[test]
fn a_node_without_cpus_takes_none() {
    let tree = Tree::of("two-socket-server");
    tree.node("possible", "0-2");
    tree.node("node2/cpulist", "");
    let topology = tree.read();
    assert_eq!(topology.nr_nodes(), 2);
    tree.node("node1/cpulist", "");
    assert_eq!(nodes(&tree.read()), [(0, ids("0-31"))]);
}

/// Whatever one file says, everything else is still read, and no number leaves its range.
#[test]
fn damage_stays_in_its_file() {
    let text = fs::read_to_string(format!("{FIXTURES}/hybrid-laptop.sysfs")).unwrap();
    let tree = Tree::of("hybrid-laptop");
    let whole = tree.read();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (paths, value) = line.split_once('=').unwrap();
        if paths.ends_with("cpu/possible") {
            continue;
        }
        for path in expand(paths) {
            for garbage in [
                "",
                "x",
                "-1",
                "9-3",
                "4000",
                "0-99999999",
                "18446744073709551616",
            ] {
                tree.write(&path, garbage);
                let damaged = tree.read();
                assert_eq!(damaged.cpus.len(), whole.cpus.len());
                for (cpu, before) in damaged.cpus.iter().zip(&whole.cpus) {
                    assert!(
                        cpu.core.max(cpu.l2).max(cpu.l3) <= cpu.id,
                        "{path}: {garbage}"
                    );
                    let is_its_own = path.contains(&format!("/cpu{}/", cpu.id));
                    assert!(
                        is_its_own || cpu.online != before.online || cpu == before,
                        "{path}: {garbage} changed CPU {}",
                        cpu.id
                    );
                }
            }
            tree.write(&path, value);
        }
    }
    assert_eq!(tree.read(), whole);
}

#[test]
fn an_unreadable_list_of_possible_cpus_is_an_error() {
    let tree = Tree::of("hybrid-laptop");
    tree.cpu("possible", "many");
    assert!(read(tree.0.path()).is_err());
    tree.cpu("possible", "0-2047");
    let error = read(tree.0.path()).unwrap_err().to_string();
    assert!(error.contains("1024"), "{error}");
    assert!(read(&tree.0.path().join("none")).is_err());
}

#[test]
fn capacities_rank_cpus_where_no_frequency_is_known() {
    let tree = Tree::of("big-little-no-caches");
    for id in 0..12 {
        let capacity = if (1..5).contains(&id) { "286" } else { "1024" };
        tree.cpu(&format!("cpu{id}/cpu_capacity"), capacity);
    }
    assert_eq!(tree.read(), Tree::of("big-little-no-caches").read());
    for id in 0..12 {
        tree.remove(&format!("cpu/cpu{id}/cpufreq"));
    }
    assert_eq!(
        frequencies(&tree.read()),
        [(286, ids("1-4")), (1024, ids("0,5-11"))]
    );
    for id in 1..5 {
        tree.cpu(&format!("cpu{id}/cpu_capacity"), "1024");
    }
    assert_eq!(frequencies(&tree.read()), [(0, ids("0-11"))]);
}

#[test]
fn a_list_with_ranges_and_holes_is_parsed() {
    assert_eq!(parse_list("0-2,5,7-8\n").unwrap(), [0, 1, 2, 5, 7, 8]);
    assert!(parse_list("\n").unwrap().is_empty());
    assert!(parse_list("3-1").is_err());
    assert!(parse_list("0-99999999").is_err());
    assert!(parse_list("x").is_err());
}
