/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From behaviour to tier. A wake-up notes when it was; the sleep after it updates rates, runtime and score,
 * and running on without sleeping demotes until the next sleep.
 */
#ifndef __PANDEMONIUM_CLASSIFY_BPF_H
#define __PANDEMONIUM_CLASSIFY_BPF_H

/* What a task is taken for before it has shown anything. */
#define INITIAL_WAKEUP_FREQ 20U
#define INITIAL_RUNTIME_NS  (100 * NSEC_PER_USEC_)

/* A waker that goes on for longer is as good as one that never sleeps: one such run is not to count for many others. */
#define WAKE_TAIL_MAX_NS (400 * NSEC_PER_USEC_)

/* As in include/linux/sched.h. */
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_NOLOAD	     0x0400

static __always_inline void learn_wake_tail(struct task_ctx *t, u64 tail_ns)
{
	if (tail_ns > WAKE_TAIL_MAX_NS)
		tail_ns = WAKE_TAIL_MAX_NS;
	t->wake_tail_ns = ewma(t->wake_tail_ns, tail_ns, AGE_SETTLED);
}

static __always_inline void classify_init(struct task_ctx *t)
{
	t->tier = TIER_INTERACTIVE;
	t->wakeup_freq = INITIAL_WAKEUP_FREQ << RATE_FRACTION_BITS;
	t->avg_runtime_ns = INITIAL_RUNTIME_NS;
	t->wake_tail_ns = WAKE_TAIL_MAX_NS;
	t->share = SHARE_ONE;
}

/* Workers complete other tasks' I/O: whatever their own average says, somebody waits for them. */
static __always_inline bool is_kworker(const struct task_struct *p)
{
	return p->flags & PF_WQ_WORKER;
}

static __always_inline u32 floor_tier(const struct task_struct *p, u32 tier)
{
	if (is_kworker(p))
		return tier == TIER_BATCH ? TIER_INTERACTIVE : tier;
	return is_idle_class(p) ? TIER_BATCH : tier;
}

static __always_inline u64 context_switches(const struct task_struct *p)
{
	return p->nvcsw + p->nivcsw;
}

/* A pin to latency-critical is a compositor's budget; beyond that, behaviour counts. */
static __always_inline u32 pinned_or(const struct task_ctx *t, u32 tier)
{
	if (!t->pinned || t->pinned == TIER_LAT_CRITICAL + 1)
		return tier;
	return t->pinned - 1;
}

/* It has slept often enough to be known by that, whatever it started from. */
static __always_inline bool has_behaved(const struct task_ctx *t)
{
	return t->wakes > AGE_CLASSIFIED;
}

static __always_inline void rescore(const struct task_struct *p, struct task_ctx *t)
{
	u32 tier = TIER_INTERACTIVE;

	if (is_boosted(t)) {
		t->tier = TIER_LAT_CRITICAL;
		return;
	}
	if (t->age >= AGE_CLASSIFIED || t->pinned) {
		t->lat_cri = lat_cri_score(t->wakeup_freq >> RATE_FRACTION_BITS,
					   t->csw_rate >> RATE_FRACTION_BITS, t->avg_runtime_ns,
					   t->runtime_dev_ns);
		tier = pinned_or(t, tier_of_score(t->lat_cri, knobs.lat_cri_thresh_high,
						  interactive_threshold()));
	}
	t->tier = floor_tier(p, tier);
}

/*
 * A wake-up only notes what it tells of the task, which counts when the task sleeps again: who waits for it is not to
 * wait for that as well.
 */
static __always_inline void note_interval(struct task_ctx *t, u64 now)
{
	t->interval_ns = t->last_wake_ns ? time_delta(now, t->last_wake_ns) : 0;
	t->sleep_ns = time_delta(now, t->slept_ns);
	t->last_wake_ns = now;
	t->wakes++;
}

/* What a compositor has earned while it slept. */
static __always_inline void refill_boost(struct task_ctx *t, u64 now)
{
	if (!t->is_compositor)
		return;
	t->boost_ns = boost_refill(t->boost_ns, time_delta(now, t->boosted_ns));
	t->boosted_ns = now;
	if (!is_boosted(t))
		return;
	t->tier = TIER_LAT_CRITICAL;
	count(CNT_BOOSTS);
}

/* How often it woke and switched, over the time between its last two wake-ups. */
static __always_inline void learn_rates(const struct task_struct *p, struct task_ctx *t)
{
	u64 csw = context_switches(p);
	u32 freq, rate;

	if (t->interval_ns) {
		freq = rate_per_window(1, t->interval_ns, WAKEUP_FREQ_MAX);
		rate = rate_per_window(csw - t->last_csw, t->interval_ns, CSW_RATE_MAX);
		t->wakeup_freq = ewma(t->wakeup_freq, freq << RATE_FRACTION_BITS, t->age);
		t->csw_rate = ewma(t->csw_rate, rate << RATE_FRACTION_BITS, t->age);
	}
	if (t->wakes && t->age < AGE_MAX)
		t->age++;
	t->last_csw = csw;
}

/*
 * How long others make it wait says nothing about a task. Counted as time between its wake-ups, it would make those batch
 * work that had less than others like them, and have even less.
 */
static __always_inline void leave_out_wait(struct task_ctx *t, u64 now)
{
	if (t->queued && t->last_wake_ns)
		t->last_wake_ns += time_delta(now, t->queued_ns);
}

/*
 * Its rates and its runtime are what it is from now on. The sleep also undoes a demotion, so that the next wake-up asks
 * for a CPU as what the task really is.
 */
static __always_inline void classify_sleep(const struct task_struct *p, struct task_ctx *t)
{
	u64 run = t->awake_run_ns;

	if (t->slept_ns)
		count_sleep(t->sleep_ns);
	learn_rates(p, t);
	t->runtime_dev_ns = ewma(t->runtime_dev_ns, abs_diff(run, t->avg_runtime_ns), t->age);
	t->avg_runtime_ns = ewma(t->avg_runtime_ns, run, t->age);
	t->awake_run_ns = 0;
	t->queued_ns = 0;
	rescore(p, t);
}

/*
 * Whether its launch is over when the task sleeps now. To wait for the kernel, as for a page or a lock, is part of it
 * until the task has run for as long as a launch may take: of threads that start together some have to, and others not.
 */
static __always_inline bool is_rest(const struct task_struct *p)
{
	return (p->__state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) != TASK_UNINTERRUPTIBLE ||
	       p->se.sum_exec_runtime > LAUNCH_CREDIT_NS;
}

/*
 * quiescent() would say this of tasks that are queued as well, but none of those sleeps, and to call it
 * costs as much as all that it has to do.
 */
VERIFIED_ONCE int begin_sleep(const struct task_struct *p __arg_trusted, struct task_ctx *t,
			      u64 now)
{
	if (!t)
		return 0;
	t->rests += is_rest(p);
	classify_sleep(p, t);
	t->slept_ns = now;
	observe_sleep(p, t, now);
	return 0;
}

/*
 * Called when a task goes on wanting the CPU, with all that it ran since it last slept. A compositor
 * may run on until its budget is used up.
 */
static __always_inline void demote_if_cpu_bound(const struct task_struct *p, struct task_ctx *t,
						u64 awake_run_ns, s64 boost_ns)
{
	if (t->tier == TIER_BATCH ||
	    awake_run_ns <= cpu_bound_after_ns(t->avg_runtime_ns, knobs.cpu_bound_thresh_ns))
		return;
	if (t->is_compositor && boost_ns > 0)
		return;
	if (t->is_compositor)
		count(CNT_BOOSTS_SPENT);
	t->tier = floor_tier(p, TIER_BATCH);
}

#endif /* __PANDEMONIUM_CLASSIFY_BPF_H */
