/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the daemon gets to see: counters, histograms, and what tasks turned out to be.
 */
#ifndef __PANDEMONIUM_OBSERVE_BPF_H
#define __PANDEMONIUM_OBSERVE_BPF_H

/* A living task is reported every so many wake-ups, and only once its averages have settled. */
#define OBSERVE_EVERY_WAKES 64

static __always_inline void count(enum counter what)
{
	struct cpu_stats *stats = this_stats();

	if (stats)
		stats->counters[what]++;
}

static __always_inline void count_wake_latency(u32 tier, u64 latency_ns)
{
	struct cpu_stats *stats = this_stats();
	u32 bucket = tier * HIST_BUCKETS + hist_bucket(latency_ns);

	if (!stats || bucket >= NR_TIERS * HIST_BUCKETS)
		return;
	stats->wake[bucket]++;
	stats->wake_sum_ns += latency_ns;
}

static __always_inline void count_sleep(u64 slept_ns)
{
	struct cpu_stats *stats = this_stats();

	if (stats)
		stats->sleep[sleep_bucket(slept_ns) & (SLEEP_BUCKETS - 1)]++;
}

/* Every start of a task: was it close to the cache it used last? */
static __always_inline void count_start(const struct task_ctx *t, s32 cpu)
{
	struct cpu_stats *stats = this_stats();
	u32 tier = t->tier;

	if (!stats || tier >= NR_TIERS)
		return;
	stats->counters[CNT_DISPATCHES]++;
	if (cpu_l2[cpu & (MAX_CPUS - 1)] == cpu_l2[t->last_cpu & (MAX_CPUS - 1)])
		stats->l2_hits[tier]++;
	else
		stats->l2_misses[tier]++;
}

/* The slice that a start was granted. */
static __always_inline void count_slice(u64 slice_ns)
{
	struct cpu_stats *stats = this_stats();

	if (stats)
		stats->slice_sum_ns += slice_ns;
}

static __always_inline void send_observation(const struct task_struct *p, const struct task_ctx *t,
					     bool exited)
{
	struct observation *o = bpf_ringbuf_reserve(&records, sizeof(*o), 0);

	if (!o) {
		count(CNT_OBSERVATIONS_LOST);
		return;
	}
	o->kind = RECORD_OBSERVATION;
	o->tier = t->tier;
	o->avg_runtime_ns = t->avg_runtime_ns;
	o->runtime_dev_ns = t->runtime_dev_ns;
	o->wakeup_freq = t->wakeup_freq >> RATE_FRACTION_BITS;
	o->csw_rate = t->csw_rate >> RATE_FRACTION_BITS;
	o->lat_cri = t->lat_cri;
	o->exited = exited;
	__builtin_memcpy(o->comm, p->comm, COMM_LEN);
	bpf_ringbuf_submit(o, BPF_RB_NO_WAKEUP);
}

static __always_inline void observe_wake(const struct task_struct *p, struct task_ctx *t)
{
	if (t->age >= AGE_SETTLED && t->wakes % OBSERVE_EVERY_WAKES == 0)
		send_observation(p, t, false);
}

/* Keeps the kernel's reason and wakes the daemon at once. */
static __always_inline void send_exit(const struct scx_exit_info *ei)
{
	u32 *kind;

	if (bpf_core_field_exists(ei->exit_code))
		exit_info.code = ei->exit_code;
	bpf_probe_read_kernel_str(exit_info.reason, sizeof(exit_info.reason), ei->reason);
	bpf_probe_read_kernel_str(exit_info.msg, sizeof(exit_info.msg), ei->msg);
	/* Last, because this is what the daemon looks at: the record below may find the ring full. */
	barrier();
	exit_info.kind = ei->kind;

	kind = bpf_ringbuf_reserve(&records, sizeof(*kind), 0);
	if (!kind)
		return;
	*kind = RECORD_EXIT;
	bpf_ringbuf_submit(kind, BPF_RB_FORCE_WAKEUP);
}

#endif /* __PANDEMONIUM_OBSERVE_BPF_H */
