//! The number of CPUs that the control loop computes its bounds for.

use pandemonium_api::state;

use crate::harness::{World, stays, until};

const MS: u64 = 1_000_000;
/// Half idle, so MIXED. Few dispatches pull the sojourn threshold to its ceiling, many to its floor.
const FEW: &str = "[[step]]\nidle_permille = 400\ndispatches = 1000\n";
const MANY: &str = "[[step]]\nidle_permille = 400\ndispatches = 900000\n";

/// A machine of so many CPUs under this load.
fn machine(world: &World, nr_cpus: u32, load: &str) -> String {
    format!(
        "record = {:?}\nnr_cpus = {nr_cpus}\n{load}",
        world.path("record")
    )
}

/// CPUs online, the sojourn threshold and the batch slice that are in force.
async fn in_force(world: &World) -> (u32, u64, u64) {
    let snapshot = world.metrics().await.get_snapshot().await.unwrap();
    let knob = |name: &str| snapshot.knobs.get(name).copied().unwrap_or_default();
    (
        snapshot.online_cpus,
        knob("sojourn_thresh_ns"),
        knob("batch_slice_ns"),
    )
}

/// The number of CPUs whose limits the kernel half was told, at the attach and later.
fn told_limits(world: &World) -> Vec<String> {
    let record = std::fs::read_to_string(world.path("record")).unwrap();
    let told = record.lines().filter_map(|l| l.strip_prefix("limits of "));
    told.map(str::to_owned).collect()
}

/// A limit that grows with every CPU.
async fn longrun_budget(world: &World) -> u64 {
    let snapshot = world.metrics().await.get_snapshot().await.unwrap();
    snapshot
        .limits
        .get("longrun_budget")
        .copied()
        .unwrap_or_default()
}

async fn until_in_force(world: &World, what: &str, expected: (u32, u64, u64)) {
    until(what, async || in_force(world).await == expected).await;
}

#[tokio::test]
async fn the_count_of_the_command_line_wins_over_the_machine_and_its_hotplug() {
    let mut world = World::prepare("").await;
    world.script(&machine(&world, 8, FEW));
    world.launch(&["--nr-cpus", "2"]).await;
    until_in_force(&world, "the ceiling of 2 CPUs", (8, 4 * MS, 10 * MS)).await;
    stays("the ceiling of 2 CPUs", async || {
        in_force(&world).await == (8, 4 * MS, 10 * MS)
    })
    .await;
    world.script(&machine(&world, 8, MANY));
    until_in_force(&world, "the floor of 2 CPUs", (8, 2 * MS, 10 * MS)).await;
    world.script(&machine(&world, 6, FEW));
    until_in_force(&world, "the ceiling of 2 CPUs again", (6, 4 * MS, 10 * MS)).await;
    stays("the ceiling of 2 CPUs", async || {
        in_force(&world).await == (6, 4 * MS, 10 * MS)
    })
    .await;
    assert_eq!(told_limits(&world), ["2 CPUs"]);
}

#[tokio::test]
async fn the_control_loop_follows_hotplug_without_loading_anything_anew() {
    let mut world = World::prepare("").await;
    world.script(&machine(&world, 8, FEW));
    world.launch(&[]).await;
    until_in_force(&world, "the ceiling of 8 CPUs", (8, 12 * MS, 20 * MS)).await;
    assert_eq!(longrun_budget(&world).await, 8);
    world.script(&machine(&world, 2, FEW));
    until_in_force(&world, "the ceiling of 2 CPUs", (2, 4 * MS, 10 * MS)).await;
    assert_eq!(longrun_budget(&world).await, 2);
    world.script(&machine(&world, 8, MANY));
    until_in_force(&world, "the floor of 8 CPUs", (8, 6 * MS, 20 * MS)).await;
    assert_eq!(world.state().await, state::RUNNING);
    let record = std::fs::read_to_string(world.path("record")).unwrap();
    let attaches = record.lines().filter(|line| *line == "attach").count();
    assert_eq!(attaches, 1, "{record}");
    assert_eq!(told_limits(&world), ["8 CPUs", "2 CPUs", "8 CPUs"]);
}

#[tokio::test]
async fn limits_that_the_kernel_half_did_not_take_are_not_shown() {
    let mut world = World::prepare("").await;
    world.script(&machine(&world, 8, FEW));
    world.launch(&[]).await;
    until("8 CPUs", async || longrun_budget(&world).await == 8).await;
    world.script(&format!("write_error = true\n{}", machine(&world, 2, FEW)));
    until("2 CPUs", async || in_force(&world).await.0 == 2).await;
    stays("the limits of 8 CPUs", async || {
        longrun_budget(&world).await == 8
    })
    .await;
    world.script(&machine(&world, 2, FEW));
    world.scheduler().await.restart().await.unwrap();
    until("the limits of 2 CPUs", async || {
        longrun_budget(&world).await == 2
    })
    .await;
}
