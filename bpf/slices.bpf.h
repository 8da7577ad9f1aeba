/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a task may run, and when the tick takes the CPU back early.
 */
#ifndef __PANDEMONIUM_SLICES_BPF_H
#define __PANDEMONIUM_SLICES_BPF_H

/* How many wait for the CPUs of the node, if as many waited for each of them alone as for this one. */
static __always_inline u64 nr_sharing(s32 cpu, u32 nr_cpus)
{
	u64 own = nr_queued(cpu_queue(cpu, QUEUE_BATCH)) +
		  nr_queued(cpu_queue(cpu, QUEUE_INTERACTIVE));

	return nr_queued(node_queue(cpu, QUEUE_BATCH)) +
	       nr_queued(node_queue(cpu, QUEUE_INTERACTIVE)) + own * nr_cpus;
}

static __always_inline u64 batch_slice(struct task_struct *p, const struct task_ctx *t, s32 cpu)
{
	u32 nr_cpus = nr_cpus_of(node_queue(cpu, QUEUE_BATCH));

	return slice_of_batch(knobs.batch_slice_ns, shared_weight(p->scx.weight, t->share),
			      nr_sharing(cpu, nr_cpus), nr_cpus);
}

/*
 * On its way offline a CPU no longer asks what to run, and with SCX_OPS_ENQ_LAST the kernel would leave
 * what ran there for good once its slice is over: the threads that take the CPU down.
 */
#define SLICE_ENDLESS (~0ULL)

static __always_inline u64 task_slice(struct task_struct *p, const struct task_ctx *t, s32 cpu,
				      u64 now)
{
	if (!cpu_ctx_of(cpu)->online)
		return SLICE_ENDLESS;
	if (queue_kind_of(t) == QUEUE_BATCH)
		return batch_slice(p, t, cpu);
	return slice_of_sleeper(t->tier, t->avg_runtime_ns, sleeper_slice_max(cpu, now));
}

/* A new one, or what was left of the last. */
static __always_inline u64 begin_slice(struct task_ctx *t, u64 slice_ns, u64 now)
{
	t->slice_ns = slice_ns;
	if (t->slice_left_ns && t->slice_left_ns < slice_ns)
		slice_ns = t->slice_left_ns;
	else
		t->slice_vtime = 0;
	t->slice_left_ns = 0;
	t->slice_began_ns = now;
	t->slice_end_ns = now + slice_ns;
	return slice_ns;
}

/*
 * What something else interrupted has not had its turn yet, and goes on with what is left. Batch work keeps the place
 * among the others that it had when the turn began, interactive work is the next: what stopped it needs a moment. A turn
 * that was protected is over with that, but for a launch: where other work leaves batch work little, those that wait would
 * have turns by slices of which each takes many of these.
 */
static __always_inline void interrupt_slice(struct task_ctx *t, const struct cpu_ctx *c, u64 now)
{
	u64 left = time_delta(t->slice_end_ns, now);
	bool had_turn = time_after(c->protected_until, t->slice_began_ns) && !is_young(t);
	bool is_over = had_turn || left < BATCH_SLICE_MIN_NS;

	t->slice_left_ns = queue_kind_of(t) == QUEUE_BATCH && is_over ? 0 : left;
}

/*
 * Whether what ran called sched_yield() shows in a slice that is gone before its end, though nobody took the CPU for a
 * wake-up. Then what is left of it is gone, or it would go on with that before those that it waits for. Batch work is behind
 * the next of its queue, even if that had more: those that give way to each other have turns in a row. More is not taken from
 * it, or what waits beside hogs like this would have moments between whole slices of theirs.
 */
VERIFIED_ONCE int note_yield(const struct task_struct *p __arg_trusted, struct task_ctx *t, s32 cpu,
			     u64 now)
{
	if (!t || p->scx.slice || cpu_ctx_of(cpu)->tier >= NR_TIERS ||
	    !time_before(now, t->slice_end_ns))
		return 0;
	t->slice_end_ns = now;
	if (t->queue & QUEUE_BATCH)
		t->vtime = vtime_later(t->vtime, head_vtime(t->queue, t->vtime));
	return 0;
}

/* However often somebody changes what runs, its slice ends when it should. */
static __always_inline void keep_slice(struct task_ctx *t, u64 now)
{
	t->slice_left_ns = time_delta(t->slice_end_ns, now) ?: 1;
}

/* Batch work of which nothing runs goes first after this, and what is woken where it waits is no longer next at once. */
#define BATCH_STALL_MAX_NS (4 * NSEC_PER_MSEC_)
/* Other work has had enough of a CPU for batch work to ask for its share; a few wake-ups are no burden to it. */
#define BATCH_DUE_AFTER_NS (1 * NSEC_PER_MSEC_)

static __always_inline bool batch_waits(s32 cpu)
{
	return nr_queued(node_queue(cpu, QUEUE_BATCH)) || nr_queued(cpu_queue(cpu, QUEUE_BATCH));
}

static __always_inline bool interactive_waits(s32 cpu)
{
	return nr_queued(node_queue(cpu, QUEUE_INTERACTIVE)) ||
	       nr_queued(cpu_queue(cpu, QUEUE_INTERACTIVE));
}

static __always_inline bool batch_overdue(s32 cpu, u64 now)
{
	return waits_longer(node_queue(cpu, QUEUE_BATCH), now, knobs.sojourn_thresh_ns) ||
	       waits_longer(cpu_queue(cpu, QUEUE_BATCH), now, knobs.sojourn_thresh_ns);
}

/* Whether the turn of batch work ends for what is younger, or for what is grown and had none for long. */
VERIFIED_ONCE bool ends_for_other_age(const struct task_struct *p __arg_trusted,
				      const struct task_ctx *t, s32 cpu, u64 now)
{
	if (!t || is_batch_sleeper(t) || is_being_launched(p, t))
		return false;
	if (launch_waits(cpu))
		return true;
	return is_grown(t) ? young_waits(cpu) :
			     is_young(t) && next_grown_turn(node_queue(cpu, QUEUE_BATCH), now);
}

/*
 * What has the slice of batch work yields to waiting interactive work, a launch to what is known, and to batch work that
 * has waited too long. Others may have come since its slice began: it has no more than if it began now. Batch sleepers
 * seldom have a turn that long: frames that take as much are drawn to the end.
 */
static __always_inline bool tick_should_preempt(struct task_struct *p, const struct task_ctx *t,
						s32 cpu, u64 now)
{
	u64 ran = time_delta(now, t->slice_began_ns);

	if (queue_kind_of(t) != QUEUE_BATCH || now < cpu_ctx_of(cpu)->protected_until)
		return false;
	if (ran > preempt_thresh(now) && interactive_waits(cpu) &&
	    !(is_being_launched(p, t) && is_next_unknown(cpu)))
		return true;
	if (batch_waits(cpu) && ran >= batch_slice(p, t, cpu))
		return true;
	if (ran >= YOUNG_TICK_NS && ends_for_other_age(p, t, cpu, now))
		return true;
	return ran > knobs.sojourn_thresh_ns && batch_overdue(cpu, now);
}

#endif /* __PANDEMONIUM_SLICES_BPF_H */
