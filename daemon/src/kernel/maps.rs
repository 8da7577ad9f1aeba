//! The only file that touches a BPF map: raw kernel memory in, plain values out, uninterpreted.

use super::bpf::skel::{BpfSkel, OpenBpfSkel, types};
use anyhow::{Context, Result};
use libbpf_rs::{MapCore, MapFlags};
use pandemonium_policy::knobs::Knobs;
use pandemonium_policy::limits::Limits;
use pandemonium_policy::profile::Observation;
use pandemonium_policy::sample::{Counters, HIST_BUCKETS, Histogram, Reading};
use pandemonium_policy::tier::Tier;
use pandemonium_policy::topology::Topology;

/// `enum counter` in `bpf/intf.h`, in its order.
const COUNTERS: usize = 16;
/// First node queue's index; `NODE_QUEUES` in `bpf/queues.bpf.h`.
const NODE_QUEUES: usize = 2 * 1024;

/// `MAX_NODES` in `bpf/intf.h`; nodes beyond share the last one's queues.
const MAX_NODES: u32 = 64;

/// Writes everything that is fixed for the life of the object.
pub fn write_constants(
    skel: &mut OpenBpfSkel<'_>,
    topology: &Topology,
    limits: &Limits,
    drains_from_idle: bool,
) -> Result<()> {
    let rodata = skel
        .maps
        .rodata_data
        .as_deref_mut()
        .context("read-only data is not mapped")?;
    rodata.drains_from_idle = drains_from_idle;
    rodata.limits = types::limits {
        overflow_rescue_ns: limits.overflow_rescue_ns,
        starvation_rescue_ns: limits.starvation_rescue_ns,
        deficit_budget: limits.deficit_budget,
        placement_depth: limits.placement_depth,
        nr_cpu_ids: topology.nr_cpu_ids(),
        nr_nodes: topology.nr_nodes().min(MAX_NODES),
    };
    for cpu in &topology.cpus {
        let id = cpu.id as usize;
        rodata.cpu_node[id] = cpu.node.min(MAX_NODES - 1) as u16;
        rodata.cpu_l2[id] = cpu.l2 as u16;
    }
    Ok(())
}

/// The knobs as the scheduler lays them out.
pub fn knobs_of(knobs: &Knobs) -> types::knobs {
    types::knobs {
        slice_ns: knobs.slice_ns,
        preempt_thresh_ns: knobs.preempt_thresh_ns,
        lag_scale: knobs.lag_scale,
        batch_slice_ns: knobs.batch_slice_ns,
        burst_slice_ns: knobs.burst_slice_ns,
        cpu_bound_thresh_ns: knobs.cpu_bound_thresh_ns,
        lat_cri_thresh_high: knobs.lat_cri_thresh_high,
        lat_cri_thresh_low: knobs.lat_cri_thresh_low,
        affinity_mode: knobs.affinity_mode,
        sojourn_thresh_ns: knobs.sojourn_thresh_ns,
    }
}

/// Stores new knobs while the scheduler runs; each is read anew at every decision.
pub fn write_knobs(skel: &mut BpfSkel<'_>, knobs: &Knobs) -> Result<()> {
    let data = skel
        .maps
        .data_knobs_data
        .as_deref_mut()
        .context("the knobs are not mapped")?;
    // SAFETY: the memory is shared with the kernel, which only reads it; every field is a word.
    unsafe { std::ptr::write_volatile(&mut data.knobs, knobs_of(knobs)) };
    Ok(())
}

/// Sums the per-CPU statistics and takes the gauges. Time, idle time and CPU count are the caller's.
pub fn read(skel: &BpfSkel<'_>, nr_nodes: usize) -> Result<Reading> {
    let mut reading = Reading::default();
    let per_cpu = skel
        .maps
        .cpu_stats
        .lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY)?
        .context("the statistics map is empty")?;
    for bytes in &per_cpu {
        anyhow::ensure!(
            bytes.len() >= size_of::<types::cpu_stats>(),
            "short statistics"
        );
        // SAFETY: long enough, and any bit pattern is a valid value of this plain struct.
        let stats = unsafe { bytes.as_ptr().cast::<types::cpu_stats>().read_unaligned() };
        add_stats(&mut reading, &stats);
    }
    add_gauges(&mut reading, skel, nr_nodes);
    Ok(reading)
}

fn add_stats(reading: &mut Reading, stats: &types::cpu_stats) {
    add_counters(&mut reading.counters, &stats.counters);
    for tier in 0..Tier::COUNT {
        reading.counters.l2_hits[tier] += stats.l2_hits[tier];
        reading.counters.l2_misses[tier] += stats.l2_misses[tier];
        let buckets = &stats.wake[tier * HIST_BUCKETS..(tier + 1) * HIST_BUCKETS];
        let mut histogram = Histogram::default();
        histogram.buckets.copy_from_slice(buckets);
        reading.wake[tier].merge(&histogram);
    }
    reading.wake_sum_ns += stats.wake_sum_ns;
    for (sum, n) in reading.sleep.iter_mut().zip(stats.sleep) {
        *sum += n;
    }
}

fn add_counters(sums: &mut Counters, raw: &[u64; COUNTERS]) {
    let fields: [&mut u64; COUNTERS] = [
        &mut sums.dispatches,
        &mut sums.idle_placements,
        &mut sums.shared,
        &mut sums.tick_preempts,
        &mut sums.keeps,
        &mut sums.kicks_hard,
        &mut sums.kicks_soft,
        &mut sums.wakeups,
        &mut sums.requeues,
        &mut sums.overflow_rescues,
        &mut sums.starvation_rescues,
        &mut sums.sojourn_rescues,
        &mut sums.deficit_forced,
        &mut sums.steals,
        &mut sums.drained,
        &mut sums.observations_lost,
    ];
    for (sum, n) in fields.into_iter().zip(raw) {
        *sum += n;
    }
}

fn add_gauges(reading: &mut Reading, skel: &BpfSkel<'_>, nr_nodes: usize) {
    let (Some(bss), Some(tick)) = (
        skel.maps.bss_data.as_deref(),
        skel.maps.data_tick_data.as_deref(),
    ) else {
        return;
    };
    let pairs = bss.queues[NODE_QUEUES..].chunks_exact(2).take(nr_nodes);
    for pair in pairs {
        let [interactive, batch] = pair else { continue };
        reading.interactive_queued += interactive.pending.max(0).unsigned_abs();
        reading.batch_queued += batch.pending.max(0).unsigned_abs();
        if batch.pending > 0 {
            let wait = tick.last_tick_ns.saturating_sub(batch.served_ns);
            reading.batch_wait_ns = reading.batch_wait_ns.max(wait);
        }
    }
}

/// Decodes one ring-buffer record; the exit record and anything malformed are nothing.
pub fn decode(bytes: &[u8]) -> Option<Observation> {
    if bytes.len() < size_of::<types::observation>() {
        return None;
    }
    // SAFETY: long enough, and any bit pattern is a valid value of this plain struct.
    let raw = unsafe { bytes.as_ptr().cast::<types::observation>().read_unaligned() };
    Some(Observation {
        comm: raw.comm,
        tier: Tier::from_index(raw.tier as usize)?,
        avg_runtime_ns: raw.avg_runtime_ns,
        runtime_dev_ns: raw.runtime_dev_ns,
        wakeup_freq: raw.wakeup_freq,
        csw_rate: raw.csw_rate,
        lat_cri: raw.lat_cri,
        exited: raw.exited != 0,
    })
}

/// The kernel's exit kind and code, its reason and its message, once it has ended the scheduler.
pub fn read_exit(skel: &BpfSkel<'_>) -> Option<(u64, i64, String, String)> {
    let info = &skel.maps.data_exit_data.as_deref()?.exit_info;
    // SAFETY: a plain word in memory that the kernel writes once, after everything else here.
    let kind = unsafe { std::ptr::read_volatile(&info.kind) };
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    (kind != 0).then(|| (kind, info.code, text(&info.reason), text(&info.msg)))
}
