/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the daemon gets to see: counters, histograms, and what tasks turned out to be.
 */
#ifndef __PANDEMONIUM_OBSERVE_BPF_H
#define __PANDEMONIUM_OBSERVE_BPF_H

/*
 * A living task is reported every so many sleeps, once its averages have settled, and a few times a second at most: of
 * what sleeps a hundred thousand times a second there is no more to say.
 */
#define OBSERVE_EVERY_SLEEPS 64
#define OBSERVE_APART_NS     (250 * NSEC_PER_MSEC_)

VERIFIED_ONCE int count(u32 what)
{
	struct cpu_stats *stats = this_stats();

	if (stats && what < NR_COUNTERS)
		stats->counters[what]++;
	return 0;
}

static __always_inline void count_sleep(u64 slept_ns)
{
	struct cpu_stats *stats = this_stats();

	if (stats)
		stats->sleep[sleep_bucket(slept_ns) & (SLEEP_BUCKETS - 1)]++;
}

/*
 * Every start of a task: after which wait for a wake-up, if it was one, close to the cache it used last or not, and for
 * which slice.
 */
static __always_inline void count_start(const struct task_ctx *t, s32 cpu, u64 now, u64 slice_ns)
{
	struct cpu_stats *stats = this_stats();
	u32 tier = t->tier;
	u64 latency;
	u32 bucket;

	if (!stats || tier >= NR_TIERS)
		return;
	stats->counters[CNT_DISPATCHES]++;
	if (cpu_l2[cpu & (MAX_CPUS - 1)] == cpu_l2[t->last_cpu & (MAX_CPUS - 1)])
		stats->l2_hits[tier]++;
	else
		stats->l2_misses[tier]++;
	stats->slice_sum_ns += slice_ns;
	if (!t->woken_ns)
		return;
	latency = time_delta(now, t->woken_ns);
	bucket = tier * HIST_BUCKETS + hist_bucket(latency);
	if (bucket >= NR_TIERS * HIST_BUCKETS)
		return;
	stats->wake[bucket]++;
	stats->wake_sum_ns += latency;
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

static __always_inline void observe_sleep(const struct task_struct *p, struct task_ctx *t, u64 now)
{
	if (t->age < AGE_SETTLED || t->wakes % OBSERVE_EVERY_SLEEPS ||
	    (t->observed_ns && time_delta(now, t->observed_ns) < OBSERVE_APART_NS))
		return;
	t->observed_ns = now;
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
