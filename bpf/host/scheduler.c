/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The whole scheduler as it is, on the machine of kernel.c, and what tests may see and set of it.
 */
#include "vmlinux.h"

#include <scx/common.bpf.h>
#include <scx/compat.bpf.h>

#include "kernel.h"

/* What the daemon fills in before the load, tests fill in as they go. */
#define const
#define volatile
#include "../main.bpf.c"
#undef volatile
#undef const

static struct task_ctx storage[HOST_TASKS];
static struct cpu_stats stats[MAX_CPUS];
static struct prediction prediction;
static struct name predicted;
static struct observation sent;
static u64 nr_sent;
static bool records_full;

void scheduler_reset(void)
{
	memset(&knobs, 0, sizeof(knobs));
	memset(&settings, 0, sizeof(settings));
	memset(&limits, 0, sizeof(limits));
	memset(&topology, 0, sizeof(topology));
	memset(idle_cpus, 0, sizeof(idle_cpus));
	memset(idle_llcs, 0, sizeof(idle_llcs));
	memset(cpu_node, 0, sizeof(cpu_node));
	memset(cpu_l2, 0, sizeof(cpu_l2));
	memset(&load_state, 0, sizeof(load_state));
	memset(queues, 0, sizeof(queues));
	memset(grown, 0, sizeof(grown));
	memset(idle_masks, 0, sizeof(idle_masks));
	memset(cpus, 0, sizeof(cpus));
	memset(groups, 0, sizeof(groups));
	memset(storage, 0, sizeof(storage));
	memset(stats, 0, sizeof(stats));
	memset(&predicted, 0, sizeof(predicted));
	memset(&sent, 0, sizeof(sent));
	nr_online = 0;
	memset(node_online, 0, sizeof(node_online));
	leaving_cpu = 0;
	prologue_depth = 0;
	nr_stealable = 0;
	nr_sent = 0;
	records_full = false;
	drains_from_idle = true;
}

/* For the scheduler */

void *scheduler_storage_of(const struct task_struct *p)
{
	return &storage[kernel_index_of(p)];
}

void *bpf_map_lookup_elem(void *map, const void *key)
{
	if (map == &cpu_stats)
		return &stats[*(const u32 *)key & (MAX_CPUS - 1)];
	if (map == &predictions && !memcmp(key, &predicted, sizeof(predicted)))
		return &prediction;
	return NULL;
}

/* Room for one record; the last observation is kept. */
void *bpf_ringbuf_reserve(void *map, u64 size, u64 flags)
{
	(void)map;
	(void)flags;
	return !records_full && size <= sizeof(sent) ? &sent : NULL;
}

void bpf_ringbuf_submit(void *record, u64 flags)
{
	(void)record;
	(void)flags;
	nr_sent++;
}

/* For tests: what the daemon writes */

void host_set_knobs(const u64 *values, u64 size)
{
	memcpy(&knobs, values, size < sizeof(knobs) ? size : sizeof(knobs));
}

void host_set_machine(u32 nr_cpu_ids, u32 nr_nodes, u32 nr_llcs)
{
	topology.nr_cpu_ids = nr_cpu_ids;
	topology.nr_nodes = nr_nodes;
	topology.nr_llcs = nr_llcs;
}

void host_set_waits(u64 overflow_rescue_ns, u64 starvation_rescue_ns, u64 vtime_ceiling_ns,
		    u64 longrun_ns)
{
	limits.overflow_rescue_ns = overflow_rescue_ns;
	limits.starvation_rescue_ns = starvation_rescue_ns;
	limits.vtime_ceiling_ns = vtime_ceiling_ns;
	limits.longrun_ns = longrun_ns;
}

void host_set_budgets(u32 deficit_budget, u32 longrun_budget, u32 interactive_max,
		      u32 placement_depth)
{
	limits.deficit_budget = deficit_budget;
	limits.longrun_budget = longrun_budget;
	limits.interactive_max = interactive_max;
	limits.placement_depth = placement_depth;
}

void host_set_burst(u64 window_ns, u32 wakeups)
{
	limits.burst_window_ns = window_ns;
	limits.burst_wakeups = wakeups;
}

void host_set_choices(bool idle_selector, bool local_kthreads, s64 slice_lag_ns)
{
	settings.idle_selector = idle_selector;
	settings.local_kthreads = local_kthreads;
	settings.slice_lag_ns = slice_lag_ns;
}

void host_set_domain(u32 llc, const u64 *words)
{
	settings.has_domain = true;
	memcpy(settings.domain[llc], words, sizeof(settings.domain[llc]));
}

void host_add_pattern(const u64 *text, const u64 *mask)
{
	struct pattern *pattern = &settings.patterns[settings.nr_patterns++ % MAX_PATTERNS];

	memcpy(pattern->text, text, sizeof(pattern->text));
	memcpy(pattern->mask, mask, sizeof(pattern->mask));
	settings.generation++;
}

void host_set_drains(bool drains)
{
	drains_from_idle = drains;
}

void host_set_cpu(u32 cpu, u32 node, u32 l2, u16 llc, u16 bit, u64 l2_mask)
{
	cpu_node[cpu] = node;
	cpu_l2[cpu] = l2;
	idle_cpus[cpu].llc = llc;
	idle_cpus[cpu].bit = bit;
	idle_cpus[cpu].l2_mask = l2_mask;
}

void host_set_llc(u32 llc, u32 node, const u64 *single, const u64 *pair, const u16 *cpu_of_bit)
{
	idle_llcs[llc].node = node;
	memcpy(idle_llcs[llc].single, single, sizeof(idle_llcs[llc].single));
	memcpy(idle_llcs[llc].pair, pair, sizeof(idle_llcs[llc].pair));
	memcpy(idle_llcs[llc].cpus, cpu_of_bit, sizeof(idle_llcs[llc].cpus));
}

/* What is known of tasks of this name; one name at a time. */
void host_predict(const char *comm, u32 tier, u32 wakeup_freq, u32 csw_rate, u64 avg_runtime_ns)
{
	memset(&predicted, 0, sizeof(predicted));
	bpf_probe_read_kernel_str(&predicted, sizeof(predicted), comm);
	prediction = (struct prediction){ .avg_runtime_ns = avg_runtime_ns,
					  .wakeup_freq = wakeup_freq,
					  .csw_rate = csw_rate,
					  .tier = tier };
}

/* Somebody decided that tasks of the predicted name are of its tier. */
void host_pin(bool pinned)
{
	prediction.pinned = pinned;
}

/* For tests: what the daemon reads */

u64 host_counter(u32 what)
{
	u64 sum = 0;
	u32 cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		sum += stats[cpu].counters[what];
	return sum;
}

u64 host_nr_sent(void)
{
	return nr_sent;
}

void host_fill_records(void)
{
	records_full = true;
}

u64 host_sleeps(u32 class)
{
	u64 sum = 0;
	u32 cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		sum += stats[cpu].sleep[class % SLEEP_BUCKETS];
	return sum;
}

u64 host_wakes(u32 tier)
{
	u64 sum = 0;
	u32 cpu, bucket;

	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		for (bucket = 0; bucket < HIST_BUCKETS; bucket++)
			sum += stats[cpu].wake[tier % NR_TIERS * HIST_BUCKETS + bucket];
	return sum;
}

u64 host_wake_sum_ns(void)
{
	u64 sum = 0;
	u32 cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		sum += stats[cpu].wake_sum_ns;
	return sum;
}

/* The last observation. */
void host_read_sent(struct observation *out)
{
	*out = sent;
}

/* For tests: tasks, by their number */

struct host_task {
	u64 slice_ns;
	u64 vtime;
	u64 clock;
	u64 avg_runtime_ns;
	u64 longest_wait_ns;
	u64 ran_ns;
	u32 tier;
	u32 age;
	u32 lat_cri;
	u32 queue;
	s32 cpu;
	bool waits;
	u32 wakeup_freq;
	u32 csw_rate;
	u64 deadline;
};

void host_read_task(u32 task, struct host_task *out)
{
	struct task_struct *p = kernel_task_of(task);
	struct task_ctx *t = &storage[task];

	*out = (struct host_task){
		.slice_ns = p->scx.slice,
		.vtime = t->vtime,
		.clock = queue_state_of(t->queue)->clock,
		.avg_runtime_ns = t->avg_runtime_ns,
		.longest_wait_ns = kernel_longest_wait(p),
		.ran_ns = p->se.sum_exec_runtime,
		.tier = t->tier,
		.age = t->age,
		.lat_cri = t->lat_cri,
		.queue = t->queue,
		.cpu = p->cpu,
		.waits = p->on,
		.wakeup_freq = t->wakeup_freq >> RATE_FRACTION_BITS,
		.csw_rate = t->csw_rate >> RATE_FRACTION_BITS,
		.deadline = p->scx.dsq_vtime,
	};
}

/* A task with a past: behaviour that it has settled in. */
void host_set_history(u32 task, u32 wakeup_freq, u32 csw_rate, u64 avg_runtime_ns)
{
	struct task_ctx *t = &storage[task];

	t->wakeup_freq = wakeup_freq << RATE_FRACTION_BITS;
	t->csw_rate = csw_rate << RATE_FRACTION_BITS;
	t->avg_runtime_ns = avg_runtime_ns;
	t->runtime_dev_ns = 0;
	t->age = AGE_MAX;
	t->wakes = AGE_MAX;
	t->rests = AGE_MAX;
	rescore(kernel_task_of(task), t);
}

void host_forget_wait(u32 task)
{
	kernel_task_of(task)->longest_wait_ns = 0;
}

void host_set_vtime(u32 task, s64 ahead_of_clock)
{
	storage[task].vtime = queue_state_of(storage[task].queue)->clock + ahead_of_clock;
}

/* U32_MAX if there is no room for one more. */
u32 host_new_task(const char *comm)
{
	const struct task_struct *p = kernel_task(comm);

	return p ? kernel_index_of(p) : ~0U;
}

void host_set_flags(u32 task, u32 flags)
{
	kernel_task_of(task)->flags = flags;
}

void host_set_policy(u32 task, u32 policy)
{
	kernel_task_of(task)->policy = policy;
}

void host_set_weight(u32 task, u32 weight)
{
	kernel_task_of(task)->scx.weight = weight;
}

void host_set_comm(u32 task, const char *comm)
{
	bpf_probe_read_kernel_str(kernel_task_of(task)->comm, COMM_LEN, comm);
}

void host_set_executable(u32 task, const char *name, u32 uid, u32 mode, u64 magic)
{
	kernel_set_executable(kernel_task_of(task), name, uid, mode, magic);
}

void host_set_migration_disabled(u32 task, bool disabled)
{
	kernel_task_of(task)->migration_disabled = disabled;
}

void host_allow(u32 task, u32 cpu, bool allowed)
{
	kernel_allow(kernel_task_of(task), cpu, allowed);
}

void host_change(u32 task, s32 changer)
{
	kernel_change(kernel_task_of(task), changer);
}

void host_rebind(u32 task)
{
	kernel_rebind(kernel_task_of(task));
}

void host_enter(u32 task, s32 cpu)
{
	kernel_enter(kernel_task_of(task), cpu);
}

void host_raise(u32 task, s32 cpu)
{
	kernel_raise(kernel_task_of(task), cpu);
}

void host_fork(u32 task, s32 cpu)
{
	kernel_fork(kernel_task_of(task), cpu);
}

void host_wake(u32 task, s32 waker, bool sync, bool by_interrupt)
{
	kernel_wake(kernel_task_of(task), waker, sync, by_interrupt);
}

/* A control group that is idle (cpu.idle), or one that is not. */
void host_join_group(u32 task, bool is_idle)
{
	static struct task_group group = { .css.id = 2, .shares = NICE_0_LOAD << 10 };
	static struct task_group idle_group = { .css.id = 3, .shares = 3 << 10, .idle = 1 };

	kernel_task_of(task)->sched_task_group = is_idle ? &idle_group : &group;
}

/* The task's number, or -1. */
s64 host_current(s32 cpu)
{
	const struct task_struct *p = kernel_current(cpu);

	return p ? (s64)kernel_index_of(p) : -1;
}

/* For tests: queues and CPUs */

u32 host_cpu_queue(s32 cpu, u32 kind)
{
	return cpu_queue(cpu, kind);
}

u32 host_node_queue(u32 node, u32 kind)
{
	return queue_of_node(node, kind);
}

u64 host_nr_waiting(u32 queue)
{
	return nr_queued(queue);
}

/* Whether what the queues count of their tasks is what the tasks say of themselves. */
bool host_counts_agree(void)
{
	s64 rare = 0, grown_ones = 0;
	u32 i;

	for (i = 0; i < HOST_TASKS; i++) {
		rare += storage[i].waits_rare;
		grown_ones += storage[i].waits_grown;
	}
	for (i = 0; i < NR_QUEUES; i++)
		rare -= i & QUEUE_BATCH ? 0 : queues[i].rare;
	for (i = 0; i < MAX_NODES; i++)
		grown_ones -= grown[i].waiting;
	return !rare && !grown_ones;
}

u64 host_queue_clock(u32 queue)
{
	return queue_state_of(queue)->clock;
}

u32 host_tier_on(s32 cpu)
{
	return cpus[cpu].tier;
}

bool host_is_burst(void)
{
	return is_burst(bpf_ktime_get_ns());
}

bool host_is_longrun(s32 cpu)
{
	return is_longrun(cpu, bpf_ktime_get_ns());
}

/* For tests: the idle selection alone, over masks that are not the machine's */

void host_note_idle(u32 cpu, bool idle)
{
	note_idle(cpu, idle);
}

bool host_is_marked_idle(u32 cpu)
{
	return has_idle_bit(cpu) && *idle_word_of(cpu) & idle_bit_of(cpu);
}

void host_set_online(u32 cpu, bool online)
{
	cpus[cpu].online = online;
}

s32 host_claim(s32 prev, u32 tier, bool is_kthread, u64 affinity_mode)
{
	struct task_struct p = { .flags = is_kthread ? PF_KTHREAD : 0 };
	struct task_ctx t = { .tier = tier };

	knobs.affinity_mode = affinity_mode;
	return claim_for(&p, &t, prev);
}

s32 host_claim_better(s32 cpu)
{
	return claim_better(cpu);
}

bool host_is_idle_near(s32 cpu)
{
	return has_idle_near(cpu);
}
