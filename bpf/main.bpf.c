/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PANDEMONIUM: a desktop scheduler on sched_ext that learns how every task behaves.
 *
 * This file is the table of callbacks; each only calls the mechanism it names. The daemon fills in
 * everything that is zero here: kernel constants, limits, topology and knobs.
 */
/*
 * The generated kernel types spell out what C23 made keywords, and their kfunc prototypes would
 * clash with the compatibility wrappers.
 */
#define BPF_NO_KFUNC_PROTOTYPES
#define bool  kernel_bool
#define true  kernel_true
#define false kernel_false
#include "vmlinux.h"
#undef bool
#undef true
#undef false

#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>

#include "intf.h"
#include "formulas.h"
#include "maps.bpf.h"
#include "observe.bpf.h"
#include "groups.bpf.h"
#include "identity.bpf.h"
#include "affinity.bpf.h"
#include "brevity.bpf.h"
#include "queues.bpf.h"
#include "order.bpf.h"
#include "crowd.bpf.h"
#include "load.bpf.h"
#include "answers.bpf.h"
#include "context.bpf.h"
#include "classify.bpf.h"
#include "launch.bpf.h"
#include "slices.bpf.h"
#include "idle.bpf.h"
#include "handover.bpf.h"
#include "victim.bpf.h"
#include "place.bpf.h"
#include "charge.bpf.h"
#include "rescue.bpf.h"
#include "due.bpf.h"
#include "dispatch.bpf.h"

char _license[] SEC("license") = "GPL";

/*
 * Where a task that wakes stands among the others. A callback of its own, runnable(), would come after the CPU is
 * chosen, and cost what it costs to call one.
 */
VERIFIED_ONCE int note_wake(struct task_ctx *t, u64 now)
{
	u64 credit;

	if (!t)
		return 0;

	count_wakeup();
	note_interval(t, now);
	refill_boost(t, now);
	if (t->tier == TIER_BATCH) {
		if (!(t->queue & QUEUE_BATCH))
			move_to(t, t->queue + QUEUE_BATCH);
		credit = !t->rests ? LAUNCH_CREDIT_NS : is_batch_sleeper(t) ? BATCH_CREDIT_NS : 0;
	} else {
		/* While it is being launched, its lead is not to end here. */
		if (!t->rests && t->queue & QUEUE_BATCH)
			move_to(t, t->queue - QUEUE_BATCH);
		credit = wake_credit_ns(t->wakeup_freq >> RATE_FRACTION_BITS, knobs.lag_scale,
					queued_per_cpu(t->queue), t->avg_runtime_ns) +
			 settings.slice_lag_ns;
	}
	t->vtime = vtime_clamp(t->vtime, queue_state_of(t->queue)->clock, credit,
			       limits.vtime_ceiling_ns);
	catch_up(t);
	forgive_batch_vtime(t);
	t->woken_ns = now;
	return 0;
}

s32 BPF_STRUCT_OPS(pandemonium_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_ctx *t = task_ctx_of(p);
	u64 now = bpf_ktime_get_ns();

	if (!t)
		return prev_cpu;
	if (wake_flags & SCX_WAKE_TTWU)
		note_wake(t, now);
	return choose_cpu(p, t, prev_cpu, wake_flags, now);
}

void BPF_STRUCT_OPS(pandemonium_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *t = task_ctx_of(p);
	bool wakeup = (enq_flags & (SCX_ENQ_WAKEUP | SCX_ENQ_REENQ)) == SCX_ENQ_WAKEUP;
	s32 cpu = scx_bpf_task_cpu(p);
	u64 now = bpf_ktime_get_ns();
	enum queue_kind kind;
	bool restricted;
	u32 queue;

	if (!t) {
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SLICE_UNDECIDED_NS, enq_flags);
		return;
	}
	count(wakeup ? CNT_WAKEUPS : CNT_REQUEUES);
	sample_enqueue_rate(now);
	if (enq_flags & SCX_ENQ_REENQ)
		count(CNT_DRAINED);

	leave_queue(t);
	restricted = is_restricted(p);
	if (t->better_cpu && !restricted) {
		place_on(p, t, t->better_cpu - 1, now);
		return;
	}
	/* The kernel asks select_cpu() only for tasks with a choice. */
	if (wakeup && (p->nr_cpus_allowed == 1 || !__COMPAT_is_enq_cpu_selected(enq_flags))) {
		note_wake(t, now);
		if (place_pinned_wakeup(p, t, cpu, now))
			return;
	}
	kind = queue_kind_of(t);
	if (!restricted)
		queue = node_queue(cpu, kind);
	else
		queue = cpu_queue(wakeup || kind == QUEUE_INTERACTIVE ? cpu : lighter_cpu(p, cpu),
				  kind);
	if (kind == QUEUE_INTERACTIVE &&
	    (t->awake_run_ns ? outstays(p, t, queue) : is_crowded_out(p, t, queue, now))) {
		queue += QUEUE_BATCH;
		count(CNT_GUARDED);
	}
	queue_enter(t, queue, now);
	if (place_on_idle(p, t, cpu, restricted, now))
		return;
	if (!wakeup && place_on_victim(p, t, cpu, restricted, now))
		return;
	queue_insert_entered(p, t, enq_flags);
	if (!restricted)
		count(CNT_SHARED);
}

void BPF_STRUCT_OPS(pandemonium_dispatch, s32 cpu, struct task_struct *prev)
{
	dispatch_cpu(cpu, prev);
}

void BPF_STRUCT_OPS(pandemonium_running, struct task_struct *p)
{
	struct task_ctx *t = task_ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *c = cpu_ctx_of(cpu);
	u64 now = bpf_ktime_get_ns();
	bool in_turn;
	u64 slice;

	if (!t)
		return;
	leave_out_wait(t, now);
	in_turn = t->queued & !t->waits_rare & !t->slice_left_ns;
	leave_queue(t);
	t->better_cpu = 0;
	t->leaves = false;
	c->hands_over = false;
	note_handover(c, now);
	c->woke_ns = 0;
	c->wake_tail_ns = t->wake_tail_ns;
	note_answer(c, now);
	advance_clock(t, in_turn, now);
	t->started_ns = now;
	c->started_ns = now;
	c->expected_end = now + usual_rest_ns(t->avg_runtime_ns, t->awake_run_ns);
	c->boosted = is_boosted(t);
	c->tier = tier_on_cpu(t);
	if (is_long_sleeper(t) || (t->queue & QUEUE_BATCH && is_one_of_many_young(p, t)))
		grown_state_of(c->node_queue)->passing_ns = now;
	if (!(t->queue & QUEUE_BATCH)) {
		c->since_batch++;
	} else {
		c->protected_until = now + protected_ns(t, cpu, now);
		begin_batch_run(c, t);
		note_growing(c, t);
		c->launch_until = 0;
	}
	slice = begin_slice(t, task_slice(p, t, cpu, now), now);
	count_start(t, cpu, now, slice != SLICE_ENDLESS ? slice : 0);
	t->last_cpu = cpu;
	t->woken_ns = 0;
	scx_bpf_task_set_slice(p, slice);
}

void BPF_STRUCT_OPS(pandemonium_stopping, struct task_struct *p, bool runnable)
{
	struct task_ctx *t = task_ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *c = cpu_ctx_of(cpu);
	u64 now = bpf_ktime_get_ns();
	bool sleeps;

	c->tier = NR_TIERS;
	/* Of what runs from here on and is not ours nobody knows. */
	c->wake_tail_ns = ~0ULL;
	charge_run(p, t, cpu, now);
	end_batch_run(c);
	if (!t)
		return;
	/* Without a state somebody changes what it is, or where it may run, and it goes on. */
	sleeps = !runnable && p->__state;
	if (c->woke_ns && (sleeps || runnable))
		learn_wake_tail(t, sleeps ? time_delta(now, c->woke_ns) : WAKE_TAIL_MAX_NS);
	if (is_time_to_look(t, sleeps))
		look_at(p, t);
	if (sleeps) {
		if (c->hands_over && batch_waits(cpu))
			c->left_ns = now;
		/* Its turn is over; one that was interrupted goes on. */
		if (t->queue & QUEUE_BATCH)
			c->protected_until = 0;
		leave_group(t);
		begin_sleep(p, t, now);
		return;
	}
	if (!runnable) {
		if (c->online)
			keep_slice(t, now);
		return;
	}
	take_back_hand_over(c);
	interrupt_slice(t, c, now);
	pause_launch(p, t, c, now);
	demote_if_cpu_bound(p, t, t->awake_run_ns, t->boost_ns);
}

void BPF_STRUCT_OPS(pandemonium_tick, struct task_struct *p)
{
	struct task_ctx *t = task_ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_ctx *c = cpu_ctx_of(cpu);
	u64 now = bpf_ktime_get_ns();

	if (!t)
		return;
	compare_answers(c, now);
	sample_wakeup_rate(cpu, now);
	sample_score(t->lat_cri);
	demote_if_cpu_bound(p, t, t->awake_run_ns + time_delta(now, t->started_ns),
			    boost_left(t, now));
	if (t->tier == TIER_BATCH) {
		update_share(p, t);
		run_as_batch(p, t, cpu, now);
	}
	if (!c->online) {
		scx_bpf_task_set_slice(p, SLICE_ENDLESS);
		return;
	}
	if (leaving_cpu)
		wake_leaving_cpu();
	/* The queue's clock is what others wake by: it is not to learn of a run only when that ends. */
	if (t->queue & QUEUE_BATCH) {
		charge_run(p, t, cpu, now);
		note_growing(c, t);
	}
	t->leaves = batch_waits(cpu) && !is_restricted(p) && better_for_launch(p, t, cpu, now) >= 0;
	if (!t->leaves && !tick_should_preempt(p, t, cpu, now))
		return;
	if (!t->leaves && is_being_launched(p, t))
		reserve_for_launch(cpu, now);
	t->slice_end_ns = now;
	scx_bpf_task_set_slice(p, 0);
	count(CNT_TICK_PREEMPTS);
}

/* Before 6.19: a higher class took the CPU, so its local queue goes back to where others serve it. */
void BPF_STRUCT_OPS(pandemonium_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	struct cpu_ctx *c = cpu_ctx_of(cpu);

	c->releasing = true;
	scx_bpf_reenqueue_local();
	c->releasing = false;
}

/* 6.19 and 7.0: the same by the scheduler's tracepoint. From 7.1 on SCX_ENQ_IMMED does it. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(drain_on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	/* Priorities below 100 belong to the deadline and realtime classes. */
	if (next->prio < 100)
		scx_bpf_reenqueue_local_from_anywhere();
	return 0;
}

void BPF_STRUCT_OPS(pandemonium_update_idle, s32 cpu, bool idle)
{
	/* The idle task never disables it. */
	if (!idle && !bpf_get_current_task_btf()->pid)
		learn_prologue();
	note_idle(cpu, idle);
}

void BPF_STRUCT_OPS(pandemonium_cpu_online, s32 cpu)
{
	leaving_cpu = 0;
	cpu_ctx_of(cpu)->online = true;
	count_online(cpu, 1);
}

/*
 * From now on the kernel no longer asks us what this CPU should run, but it still takes from the
 * global queue, and from there moves even pinned tasks away.
 */
static void flush_to_global(u32 queue)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, queue, 0)
		scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_GLOBAL, 0);
}

void BPF_STRUCT_OPS(pandemonium_cpu_offline, s32 cpu)
{
	count_online(cpu, -1);
	leaving_cpu = (u32)cpu + 1;
	cpu_ctx_of(cpu)->tier = NR_TIERS;
	cpu_ctx_of(cpu)->online = false;
	claim_idle(cpu);
	/* The thread that takes it down, which runs there at this moment. */
	scx_bpf_task_set_slice(bpf_get_current_task_btf(), SLICE_ENDLESS);
	flush_to_global(cpu_queue(cpu, QUEUE_INTERACTIVE));
	flush_to_global(cpu_queue(cpu, QUEUE_BATCH));
}

s32 BPF_STRUCT_OPS_SLEEPABLE(pandemonium_init_task, struct task_struct *p,
			     struct scx_init_task_args *args)
{
	struct task_ctx *t =
		bpf_task_storage_get(&task_ctxs, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct task_ctx *parent = task_ctx_of(bpf_get_current_task_btf());

	if (!t)
		return -ENOMEM;
	classify_init(t);
	if (args->fork && parent)
		pace_launch(t, parent, bpf_ktime_get_ns());
	return 0;
}

/*
 * A task that joins starts at the head of the batch queue: its launch should not wait a round. One that comes back from
 * another class, if only from a moment of priority inheritance, is what it was.
 */
void BPF_STRUCT_OPS(pandemonium_enable, struct task_struct *p)
{
	struct task_ctx *t = task_ctx_of(p);
	s32 cpu = scx_bpf_task_cpu(p);

	if (!t || t->boosted_ns)
		return;
	/* Whoever attaches the scheduler, forks or changes a policy may sleep. A busy machine may not idle for long. */
	learn_prologue();
	t->queue = node_queue(cpu, QUEUE_BATCH);
	t->vtime = queue_state_of(t->queue)->clock - LAUNCH_CREDIT_NS;
	t->last_cpu = cpu;
	t->last_csw = context_switches(p);
	t->boost_ns = BOOST_CREDIT_MAX_NS;
	t->boosted_ns = bpf_ktime_get_ns();
	look_at(p, t);
}

void BPF_STRUCT_OPS(pandemonium_disable, struct task_struct *p)
{
	struct task_ctx *t = task_ctx_of(p);

	if (!t)
		return;
	leave_queue(t);
	leave_group(t);
}

void BPF_STRUCT_OPS(pandemonium_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct task_ctx *t = task_ctx_of(p);

	/* A task that started from a profile and ended before it behaved would only repeat it. */
	if (t && !args->cancelled && has_behaved(t))
		send_observation(p, t, true);
}

static s32 create_queue_pair(u32 queue)
{
	s32 err = scx_bpf_create_dsq(queue + QUEUE_INTERACTIVE, -1);

	return err ?: scx_bpf_create_dsq(queue + QUEUE_BATCH, -1);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(pandemonium_init)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	s32 err = 0;
	u32 i;

	bpf_for(i, 0, topology.nr_cpu_ids) {
		cpu_ctx_of(i)->tier = NR_TIERS;
		cpu_ctx_of(i)->node_queue =
			queue_of_node(cpu_node[i & (MAX_CPUS - 1)], QUEUE_INTERACTIVE);
		cpu_ctx_of(i)->online = bpf_cpumask_test_cpu(i, online);
		count_online(i, cpu_ctx_of(i)->online);
		err = create_queue_pair(cpu_queue(i, QUEUE_INTERACTIVE));
		if (err)
			break;
	}
	scx_bpf_put_cpumask(online);
	if (err)
		return err;
	bpf_for(i, 0, topology.nr_nodes) {
		err = create_queue_pair(queue_of_node(i, QUEUE_INTERACTIVE));
		if (err)
			return err;
	}
	return 0;
}

void BPF_STRUCT_OPS(pandemonium_exit, struct scx_exit_info *ei)
{
	send_exit(ei);
}

void BPF_STRUCT_OPS(pandemonium_dump, struct scx_dump_ctx *dctx)
{
	u64 now = bpf_ktime_get_ns();
	u32 i;

	scx_bpf_dump("online=%u stealable=%d slice=%llu batch=%llu sojourn=%llu\n", nr_online,
		     nr_stealable, knobs.slice_ns, knobs.batch_slice_ns, knobs.sojourn_thresh_ns);
	bpf_for(i, 0, topology.nr_nodes) {
		u32 interactive = queue_of_node(i, QUEUE_INTERACTIVE);
		u32 batch = queue_of_node(i, QUEUE_BATCH);

		scx_bpf_dump(
			"node %u: interactive %llu waiting %llu ns, batch %llu waiting %llu ns\n",
			i, nr_queued(interactive), queue_wait_ns(interactive, now),
			nr_queued(batch), queue_wait_ns(batch, now));
	}
}

void BPF_STRUCT_OPS(pandemonium_dump_cpu, struct scx_dump_ctx *dctx, s32 cpu, bool idle)
{
	const struct cpu_ctx *c = cpu_ctx_of(cpu);
	u64 interactive = nr_queued(cpu_queue(cpu, QUEUE_INTERACTIVE));
	u64 batch = nr_queued(cpu_queue(cpu, QUEUE_BATCH));

	if (idle && !interactive && !batch)
		return;
	scx_bpf_dump("tier=%u since_batch=%u own interactive=%llu batch=%llu", c->tier,
		     c->since_batch, interactive, batch);
}

void BPF_STRUCT_OPS(pandemonium_dump_task, struct scx_dump_ctx *dctx, struct task_struct *p)
{
	const struct task_ctx *t = task_ctx_of(p);

	if (!t)
		return;
	scx_bpf_dump("tier=%u lat_cri=%u age=%u avg=%llu awake=%llu queue=%u lag=%lld", t->tier,
		     t->lat_cri, t->age, t->avg_runtime_ns, t->awake_run_ns, t->queue,
		     vtime_diff(t->vtime, queue_state_of(t->queue)->clock));
}

/* cpu_release is cleared and flags are masked by the loader where the running kernel differs. */
/* clang-format off */
SCX_OPS_DEFINE(pandemonium,
	       .select_cpu    = (void *)pandemonium_select_cpu,
	       .enqueue       = (void *)pandemonium_enqueue,
	       .dispatch      = (void *)pandemonium_dispatch,
	       .running       = (void *)pandemonium_running,
	       .stopping      = (void *)pandemonium_stopping,
	       .tick          = (void *)pandemonium_tick,
	       .update_idle   = (void *)pandemonium_update_idle,
	       .cpu_release   = (void *)pandemonium_cpu_release,
	       .cpu_online    = (void *)pandemonium_cpu_online,
	       .cpu_offline   = (void *)pandemonium_cpu_offline,
	       .init_task     = (void *)pandemonium_init_task,
	       .enable        = (void *)pandemonium_enable,
	       .disable       = (void *)pandemonium_disable,
	       .exit_task     = (void *)pandemonium_exit_task,
	       .init          = (void *)pandemonium_init,
	       .exit          = (void *)pandemonium_exit,
	       .dump          = (void *)pandemonium_dump,
	       .dump_cpu      = (void *)pandemonium_dump_cpu,
	       .dump_task     = (void *)pandemonium_dump_task,
	       .timeout_ms    = 20000,
	       .name          = "pandemonium");
/* clang-format on */
