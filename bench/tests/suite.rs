//! The whole set through the binary: every row gets its figures, results become reports, and nothing is left behind.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use pandemonium_bench::results::{Place, Results};
use pandemonium_bench::suite::{self, Goal, ROWS};

fn workload(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pandemonium-workload"));
    command.args(args);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn run(args: &[&str]) -> Output {
    workload(args).output().unwrap()
}

#[test]
fn every_workload_gives_the_figures_of_its_rows() {
    // How cost grows takes thousands of tasks, which belong into a machine of their own.
    let all = suite::WORKLOADS
        .iter()
        .chain(&suite::PARALLEL_WORKLOADS)
        .chain(&suite::CROWD_WORKLOADS);
    let names: Vec<&str> = all.map(|workload| workload.name).collect();
    let args = [
        "suite",
        "--seconds",
        "1",
        "--round",
        "3",
        "--rows",
        &names.join(","),
    ];
    let output = run(&args);
    assert!(output.status.success(), "{output:?}");
    let results = Results::from_text(&text(&output.stdout));
    let places = results.places();
    let [(time, cpus)] = places.as_slice() else {
        panic!("{places:?}");
    };
    let here = Place { time, cpus: *cpus };
    assert!(results.values.iter().all(|value| value.label.round == 3));
    for row in ROWS.iter().filter(|row| names.contains(&row.workload)) {
        let value = |figure| results.get(&here, "eevdf", row.workload, figure);
        let found = value(row.figure);
        assert!(found.is_some_and(|value| value >= 0.0), "{}", row.words);
        if matches!(row.goal, Goal::MediansOfEevdf(_)) {
            assert!(value("p50_us").is_some(), "{}", row.words);
        }
    }
    // Progress, a line each.
    let told = text(&output.stderr);
    assert_eq!(told.lines().count(), names.len(), "{told}");
    let first = format!("1 of {}, eevdf, ", names.len());
    assert!(told.starts_with(&first), "{told}");
}

/// The script of the tree with these arguments.
fn dev(args: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dev");
    Command::new(script).args(args).output().unwrap()
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_built() {
    let names: Vec<&str> = suite::all().map(|workload| workload.name).collect();
    let output = dev(&["bench", "--rows", "pipe,nothing"]);
    let told = format!(
        "dev: bench knows no rows 'nothing'; it knows {}\n",
        names.join(" ")
    );
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(1), told)
    );
    for args in [
        ["--rows", ""],
        ["--schedulers", "eevdf,cfs"],
        ["--cpus", "2,none"],
        ["--rounds", "0"],
        ["--seconds", "1s"],
        ["--kernel", "/nowhere"],
    ] {
        let output = dev(&["bench", args[0], args[1]]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.starts_with("dev: "), "{told}");
    }
}

#[test]
fn what_the_set_measured_becomes_a_report_an_archive_and_a_gate() {
    let dir = Scratch::new("report");
    let output = run(&[
        "suite",
        "--seconds",
        "1",
        "--rows",
        "floor,pipe",
        "--time",
        "virtual",
        "--rounds",
        "2",
    ]);
    assert!(text(&output.stdout).contains("round=\"2\""), "{output:?}");
    let console = dir.0.join("console.log");
    let ours = text(&output.stdout).replace("eevdf", "bpf");
    fs::write(&console, format!("booting\n{}{ours}", text(&output.stdout))).unwrap();
    let (console, archive) = (path(&console), path(&dir.0));

    let report = run(&["report", &console, "--dir", &archive]);
    assert!(report.status.success(), "{report:?}");
    assert!(text(&report.stdout).contains("pipe round trip, idle machine p50"));
    for name in ["results.prom", "report.txt", "report.md", "virtual.svg"] {
        assert!(dir.0.join(name).exists(), "{name}");
    }
    assert!(!dir.0.join("real.svg").exists());

    let baseline = path(&dir.0.join("baseline"));
    let missing = run(&["gate", &baseline, &archive]);
    assert_eq!(missing.status.code(), Some(1), "a typo makes no baseline");
    assert!(
        run(&["gate", "--renew", &baseline, &archive])
            .status
            .success()
    );
    assert!(run(&["gate", &baseline, &archive]).status.success());
    let stricter = fs::read_to_string(&baseline).unwrap();
    fs::write(
        &baseline,
        stricter.replace("pipe p50_us 1.000", "pipe p50_us 0.500"),
    )
    .unwrap();
    let held = run(&["gate", &baseline, &archive]);
    assert_eq!(held.status.code(), Some(1));
    let sentence = text(&held.stderr);
    assert!(
        sentence.contains("bpf pipe p50_us: 1.00 times"),
        "{sentence}"
    );
}

#[test]
fn a_scheduler_that_cannot_be_started_is_one_failure_and_no_results() {
    let output = run(&[
        "suite",
        "--rows",
        "pipe",
        "--scheduler",
        "bpf",
        "--start",
        "/nonexistent/scheduler",
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let told = text(&output.stderr);
    // Where the kernel cannot load any, that comes first.
    assert!(
        told.contains("/nonexistent/scheduler cannot be started")
            || told.contains("or none can be"),
        "{told}"
    );
}

#[test]
fn what_means_nothing_in_virtual_time_is_not_measured_there() {
    let output = run(&["suite", "--rows", "floor,build", "--time", "virtual"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let told = text(&output.stderr);
    assert!(
        told.contains("build means nothing in virtual time"),
        "{told}"
    );
}

#[test]
fn a_result_that_something_else_came_between_is_named_and_not_passed_over() {
    let dir = Scratch::new("damaged");
    let console = dir.0.join("console.log");
    let whole = run(&["suite", "--seconds", "1", "--rows", "floor"]).stdout;
    let mut log = b"booting \xff\n".to_vec();
    log.extend(&whole);
    fs::write(&console, &log).unwrap();
    let report = run(&["report", &path(&console)]);
    assert!(report.status.success(), "{report:?}");
    log.extend(b"pandemonium_bench{cpus=\"2\",time=[ 12.3] a kernel message\n");
    fs::write(&console, &log).unwrap();
    let report = run(&["report", &path(&console)]);
    assert_eq!(report.status.code(), Some(1));
    let lines = log.iter().filter(|byte| **byte == b'\n').count();
    assert!(
        text(&report.stderr).contains(&format!("line {lines} of ")),
        "{report:?}"
    );
}

#[test]
fn rounds_before_an_interruption_are_results_and_it_still_fails() {
    let mut command = workload(&["suite", "--rows", "floor", "--seconds", "1"]);
    command.args(["--rounds", "100"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = progress.next().unwrap().unwrap();
    assert!(first.contains("round 1, floor: "), "{first}");
    let asked = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(asked.unwrap().success());
    let last = progress.map(Result::unwrap).last();
    assert_eq!(last.as_deref(), Some("pandemonium-workload: stopped"));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let results = Results::from_text(&text(&output.stdout));
    let mut values = results.values.iter();
    assert!(values.any(|value| value.label.round == 1 && value.figure == "p99_us"));
}

#[test]
fn a_process_that_starts_programs_for_the_suite_says_how_long_each_took() {
    let launcher = run(&["--child", "launches", "50", "2000000000"]);
    assert!(launcher.status.success(), "{launcher:?}");
    let (launches, rest) = launcher.stdout.as_chunks::<8>();
    assert!(!launches.is_empty() && rest.is_empty(), "{launcher:?}");
    assert!(launches.iter().all(|ns| u64::from_ne_bytes(*ns) > 0));
}

#[test]
fn a_suite_that_starts_programs_stops_whenever_it_is_asked_to() {
    // While its load begins, and once it waits for what starts the programs.
    for at_work in ["wl-spin", "wl-launches"] {
        let mut child = workload(&["suite", "--rows", "launch", "--seconds", "600"])
            .spawn()
            .unwrap();
        let name = |pid| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let is_at_work = || {
            let mut children = children_of(child.id()).into_iter();
            children
                .any(|pid| name(pid).trim() == at_work)
                .then_some(())
        };
        let began = wait_for(is_at_work);
        let asked = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status();
        let ended = wait_for(|| child.try_wait().unwrap());
        let _ = child.kill();
        assert!(began.is_some() && asked.unwrap().success(), "{at_work}");
        assert!(ended.is_some(), "{at_work}");
    }
}

#[test]
fn children_of_a_benchmark_cannot_outlive_it() {
    for args in [
        &["suite", "--rows", "mixed", "--seconds", "600"][..],
        &["mixed", "--seconds", "600"],
        &[
            "share",
            "--group",
            "a:2",
            "--group",
            "b:1",
            "--seconds",
            "600",
        ],
    ] {
        let scratch = Scratch::new("outlive");
        let mut parent = workload(args);
        parent.env("TMPDIR", &scratch.0);
        let mut parent = parent
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let children = wait_for(|| Some(children_of(parent.id())).filter(|all| all.len() >= 2));
        // One that still waits for its beginning would end with its pipe.
        std::thread::sleep(Duration::from_millis(700));
        parent.kill().unwrap();
        parent.wait().unwrap();
        let children = children.unwrap_or_else(|| panic!("{args:?} has no children"));
        let all_gone = wait_for(|| {
            let mut children = children.iter();
            children.all(|pid| !is_alive(*pid)).then_some(())
        });
        assert!(all_gone.is_some(), "children of {args:?} are still there");
    }
}

/// The processes that this one started.
fn children_of(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(
            children
                .split_whitespace()
                .filter_map(|word| word.parse::<u32>().ok()),
        );
    }
    found
}

/// Whether it is there, and more than a record for its parent.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// A directory that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("bench-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).unwrap();
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
