//! The only file that touches a BPF map: raw kernel memory in, plain values out, uninterpreted.

use super::bpf::skel::{BpfSkel, OpenBpfSkel, types};
use crate::clock;
use anyhow::{Context, Result};
use libbpf_rs::{ErrorKind, MapCore, MapFlags};
use memmap2::{MmapOptions, MmapRaw};
use pandemonium_policy::idle_layout::IdleLayout;
use pandemonium_policy::knobs::Knobs;
use pandemonium_policy::limits::{BURST_WINDOW_NS, LONGRUN_NS, Limits};
use pandemonium_policy::pattern::Pattern;
use pandemonium_policy::predictions::Changes;
use pandemonium_policy::profile::{Observation, Prediction};
use pandemonium_policy::sample::{Counters, HIST_BUCKETS, Reading};
use pandemonium_policy::settings::Settings;
use pandemonium_policy::tier::Tier;
use pandemonium_policy::topology::Topology;
use std::os::fd::{AsFd, AsRawFd};

/// `enum counter` in `bpf/intf.h`, in its order.
const COUNTERS: usize = 26;
/// First node queue's index; `NODE_QUEUES` in `bpf/queues.bpf.h`.
const NODE_QUEUES: usize = 2 * 1024;

/// `MAX_NODES` in `bpf/intf.h`; nodes beyond share the last one's queues.
const MAX_NODES: u32 = 64;

/// Writes everything that is fixed for the life of the object.
pub fn write_constants(
    skel: &mut OpenBpfSkel<'_>,
    topology: &Topology,
    layout: &IdleLayout,
    drains_from_idle: bool,
) -> Result<()> {
    let rodata = skel
        .maps
        .rodata_data
        .as_deref_mut()
        .context("read-only data is not mapped")?;
    rodata.drains_from_idle = drains_from_idle;
    rodata.topology = types::topology {
        nr_cpu_ids: topology.nr_cpu_ids(),
        nr_nodes: topology.nr_nodes().min(MAX_NODES),
        nr_llcs: layout.nr_llcs,
    };
    for cpu in &topology.cpus {
        let id = cpu.id as usize;
        rodata.cpu_node[id] = cpu.node.min(MAX_NODES - 1) as u16;
        rodata.cpu_l2[id] = cpu.l2 as u16;
    }
    for (raw, cpu) in rodata.idle_cpus.iter_mut().zip(&layout.cpus) {
        raw.l2_mask = cpu.l2_mask;
        raw.llc = cpu.llc;
        raw.bit = u16::from(cpu.bit);
    }
    for (raw, llc) in rodata.idle_llcs.iter_mut().zip(&layout.llcs) {
        raw.single = llc.single;
        raw.pair = llc.pair;
        raw.node = llc.node;
        raw.cpus = llc.cpus;
    }
    Ok(())
}

/// The limits as the scheduler lays them out.
pub fn limits_of(limits: &Limits) -> types::limits {
    types::limits {
        overflow_rescue_ns: limits.overflow_rescue_ns,
        starvation_rescue_ns: limits.starvation_rescue_ns,
        vtime_ceiling_ns: limits.vtime_ceiling_ns,
        longrun_ns: LONGRUN_NS,
        burst_window_ns: BURST_WINDOW_NS,
        burst_wakeups: limits.burst_wakeups,
        deficit_budget: limits.deficit_budget,
        longrun_budget: limits.longrun_budget,
        interactive_max: limits.interactive_max,
        placement_depth: limits.placement_depth,
        ..types::limits::default()
    }
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

/// The settings as the scheduler lays them out. `generation` has to change with the compositors.
pub fn settings_of(settings: &Settings, layout: &IdleLayout, generation: u64) -> types::settings {
    let mut raw = types::settings {
        generation,
        idle_selector: settings.idle_selector.into(),
        local_kthreads: settings.local_kthreads.into(),
        slice_lag_ns: settings.slice_lag_ns,
        has_domain: settings.domain.is_some().into(),
        ..types::settings::default()
    };
    if let Some(domain) = &settings.domain {
        let words = layout.words_of(domain);
        for (raw, words) in raw.domain.iter_mut().zip(words) {
            *raw = words;
        }
    }
    for (raw, pattern) in raw.patterns.iter_mut().zip(&settings.compositors) {
        *raw = pattern_of(pattern);
    }
    raw.nr_patterns = settings.compositors.len().min(raw.patterns.len()) as u64;
    raw
}

/// An exact name has to agree up to the zero byte that ends it, a prefix up to its end.
fn pattern_of(pattern: &Pattern) -> types::pattern {
    let text = pattern.text();
    let compared = text.len() + usize::from(!pattern.is_prefix());
    let words = |byte: &dyn Fn(usize) -> u8| {
        [0, 8].map(|start| u64::from_ne_bytes(std::array::from_fn(|i| byte(start + i))))
    };
    types::pattern {
        text: words(&|i| text.get(i).copied().unwrap_or(0)),
        mask: words(&|i| if i < compared { 0xff } else { 0 }),
    }
}

/// Stores new settings while the scheduler runs.
pub fn write_settings(skel: &mut BpfSkel<'_>, settings: types::settings) -> Result<()> {
    let data = skel
        .maps
        .data_settings_data
        .as_deref_mut()
        .context("the settings are not mapped")?;
    // SAFETY: the memory is shared with the kernel, which only reads it and bears any mixture of old
    // and new: they are preferences.
    unsafe { std::ptr::write_volatile(&mut data.settings, settings) };
    Ok(())
}

/// Makes the map hold other predictions; all that are new in one call.
pub fn write_predictions(skel: &BpfSkel<'_>, news: &Changes) -> Result<()> {
    let map = &skel.maps.predictions;
    for comm in &news.gone {
        match map.delete(comm) {
            // As far as an attempt that failed came before.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            deleted => deleted?,
        }
    }
    if news.new.is_empty() {
        return Ok(());
    }
    let names: Vec<u8> = news.new.iter().flat_map(|p| p.comm).collect();
    let values: Vec<types::prediction> = news.new.iter().map(prediction_of).collect();
    // SAFETY: plain structs of words without padding, as bytes.
    let bytes = unsafe {
        std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values.as_slice()))
    };
    let count = u32::try_from(values.len())?;
    Ok(map.update_batch(&names, bytes, count, MapFlags::ANY, MapFlags::ANY)?)
}

/// A prediction as the scheduler lays it out.
fn prediction_of(prediction: &Prediction) -> types::prediction {
    types::prediction {
        avg_runtime_ns: prediction.avg_runtime_ns,
        runtime_dev_ns: prediction.runtime_dev_ns,
        wakeup_freq: prediction.wakeup_freq,
        csw_rate: prediction.csw_rate,
        tier: prediction.tier.index() as u32,
        pinned: prediction.is_pinned.into(),
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

/// Stores new limits while the scheduler runs.
pub fn write_limits(skel: &mut BpfSkel<'_>, limits: &Limits) -> Result<()> {
    let data = skel
        .maps
        .data_limits_data
        .as_deref_mut()
        .context("the limits are not mapped")?;
    // SAFETY: the memory is shared with the kernel, which only reads it and bears any mixture of old
    // and new: they are thresholds.
    unsafe { std::ptr::write_volatile(&mut data.limits, limits_of(limits)) };
    Ok(())
}

/// The statistics of every CPU, mapped: reading them takes no call, and copies nothing.
pub struct Stats {
    memory: MmapRaw,
    nr_cpus: usize,
}

impl Stats {
    /// Of a scheduler that was loaded with room for as many CPUs.
    pub fn of(skel: &BpfSkel<'_>, topology: &Topology) -> Result<Stats> {
        let nr_cpus = topology.nr_cpu_ids() as usize;
        let map = skel.maps.cpu_stats.as_fd().as_raw_fd();
        let memory = MmapOptions::new()
            .len(nr_cpus * size_of::<types::cpu_stats>())
            .map_raw_read_only(map)
            .context("the statistics cannot be mapped")?;
        Ok(Stats { memory, nr_cpus })
    }

    fn of_cpus(&self) -> &[types::cpu_stats] {
        // SAFETY: as long, and aligned to a page; any bit pattern is a valid value of this plain struct. The kernel
        // changes single words meanwhile: a sum is then that of before or after.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.nr_cpus) }
    }
}

/// Sums the per-CPU statistics and takes the gauges. Time, idle time and CPU count are the caller's.
pub fn read(skel: &BpfSkel<'_>, stats: &Stats, topology: &Topology) -> Result<Reading> {
    let mut reading = Reading::default();
    for stats in stats.of_cpus() {
        add_stats(&mut reading, stats);
    }
    add_gauges(&mut reading, skel, topology);
    Ok(reading)
}

fn add_stats(reading: &mut Reading, stats: &types::cpu_stats) {
    add_counters(&mut reading.counters, &stats.counters);
    for tier in 0..Tier::COUNT {
        reading.counters.l2_hits[tier] += stats.l2_hits[tier];
        reading.counters.l2_misses[tier] += stats.l2_misses[tier];
        let buckets = &stats.wake[tier * HIST_BUCKETS..(tier + 1) * HIST_BUCKETS];
        for (sum, n) in reading.wake[tier].buckets.iter_mut().zip(buckets) {
            *sum += n;
        }
    }
    reading.wake_sum_ns += stats.wake_sum_ns;
    reading.slice_sum_ns += stats.slice_sum_ns;
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
        &mut sums.warm_starts,
        &mut sums.boosts,
        &mut sums.boosts_spent,
        &mut sums.bursts_cusum,
        &mut sums.bursts_wakeups,
        &mut sums.guarded,
        &mut sums.domain_spills,
        &mut sums.local_kthreads,
        &mut sums.l2_placements,
        &mut sums.strong_waits,
    ];
    for (sum, n) in fields.into_iter().zip(raw) {
        *sum += n;
    }
}

fn add_gauges(reading: &mut Reading, skel: &BpfSkel<'_>, topology: &Topology) {
    let (Some(bss), Some(state)) = (
        skel.maps.bss_data.as_deref(),
        skel.maps.data_state_data.as_deref(),
    ) else {
        return;
    };
    let cpus = || topology.cpus.iter().map(|cpu| &bss.cpus[cpu.id as usize]);
    let now = clock::monotonic().as_nanos() as u64;
    let nr_nodes = topology.nr_nodes().min(MAX_NODES) as usize;
    for pair in bss.queues[NODE_QUEUES..].chunks_exact(2).take(nr_nodes) {
        let [interactive, batch] = pair else { continue };
        reading.interactive_queued += u64::from(interactive.pending);
        reading.batch_queued += u64::from(batch.pending);
        if batch.pending > 0 {
            let waited_ns = now.saturating_sub(batch.served_ns);
            reading.batch_wait_ns = reading.batch_wait_ns.max(waited_ns);
            reading.longrun |= now.saturating_sub(batch.filled_ns) > LONGRUN_NS;
        }
    }
    let is_interactive = |tier: u32| {
        (Tier::Interactive.index() as u32..=Tier::LatCritical.index() as u32).contains(&tier)
    };
    reading.nr_online = state.nr_online;
    reading.busy_ns = cpus().map(|cpu| cpu.busy_ns).sum();
    reading.interactive_running = cpus().filter(|cpu| is_interactive(cpu.tier)).count() as u32;
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

#[cfg(test)]
mod tests;
