/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kind of load the machine is under: a burst (a fork storm, noticed in two ways) or a longrun
 * (batch work that has been waiting for seconds). Both end by themselves.
 */
#ifndef __PANDEMONIUM_LOAD_BPF_H
#define __PANDEMONIUM_LOAD_BPF_H

/* A burst lasts this long after its last sign. */
#define BURST_HOLD_NS (20 * NSEC_PER_MSEC_)
#define SAMPLE_EVERY  64

static __always_inline bool is_burst(u64 now)
{
	return time_before(now, load_state.burst_until);
}

static __always_inline void note_burst(enum counter sign, u64 now)
{
	load_state.burst_until = now + BURST_HOLD_NS;
	count(sign);
}

/* Every so many enqueues on this CPU, the time they took is compared with what is usual here. */
VERIFIED_ONCE int sample_enqueue_rate(u64 now)
{
	struct cpu_ctx *c = cpu_ctx_of(bpf_get_smp_processor_id());
	u64 sampled = c->sampled_ns;

	if (++c->enqueues % SAMPLE_EVERY)
		return 0;
	c->sampled_ns = now;
	if (sampled && cusum_step(&c->enqueue_rate, time_delta(now, sampled)))
		note_burst(CNT_BURSTS_CUSUM, now);
	return 0;
}

static __always_inline void count_wakeup(void)
{
	cpu_ctx_of(bpf_get_smp_processor_id())->wakeups++;
}

/*
 * Ticks gather the wake-ups of their CPUs in a window of fixed length; whichever tick finds it over
 * judges it. What a CPU counted while it idled without ticks is too old to belong to a window.
 */
VERIFIED_ONCE int sample_wakeup_rate(s32 cpu, u64 now)
{
	struct cpu_ctx *c = cpu_ctx_of(cpu);
	u32 wakeups = c->wakeups;
	u64 start = load_state.window_start;
	u64 elapsed = time_delta(now, start);
	u64 sum;

	if (time_delta(now, c->gathered_ns) <= 2 * limits.burst_window_ns)
		__sync_fetch_and_add(&load_state.window_wakeups,
				     (u64)(wakeups - c->wakeups_gathered));
	c->wakeups_gathered = wakeups;
	c->gathered_ns = now;
	if (elapsed < limits.burst_window_ns ||
	    __sync_val_compare_and_swap(&load_state.window_start, start, now) != start)
		return 0;
	sum = __sync_lock_test_and_set(&load_state.window_wakeups, 0);
	if (sum * limits.burst_window_ns >= limits.burst_wakeups * elapsed)
		note_burst(CNT_BURSTS_WAKEUPS, now);
	return 0;
}

/* The node's batch queue has not been empty for long. */
static __always_inline bool is_longrun(s32 cpu, u64 now)
{
	u32 queue = node_queue(cpu, QUEUE_BATCH);

	return nr_queued(queue) &&
	       time_delta(now, queue_state_of(queue)->filled_ns) > limits.longrun_ns;
}

static __always_inline u32 deficit_budget(s32 cpu, u64 now)
{
	return is_longrun(cpu, now) ? limits.longrun_budget : limits.deficit_budget;
}

/* The longest slice of a sleeper: shorter in either state, so that what waits comes up sooner. */
static __always_inline u64 sleeper_slice_max(s32 cpu, u64 now)
{
	u64 slice = knobs.slice_ns;

	if (knobs.burst_slice_ns < slice && (is_burst(now) || is_longrun(cpu, now)))
		slice = knobs.burst_slice_ns;
	return slice;
}

static __always_inline u64 preempt_thresh(u64 now)
{
	return is_burst(now) ? 0 : knobs.preempt_thresh_ns;
}

/* A moving average of the scores of what runs, sampled by ticks: one writer at a time is enough. */
static __always_inline void sample_score(u32 score)
{
	load_state.score_average = moving_average(load_state.score_average, (u64)score << 8);
}

static __always_inline u64 interactive_threshold(void)
{
	return moving_threshold(load_state.score_average >> 8, knobs.lat_cri_thresh_low,
				knobs.lat_cri_thresh_high);
}

#endif /* __PANDEMONIUM_LOAD_BPF_H */
