/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every piece of shared state: who writes it and who reads it. Times are those of bpf_ktime_get_ns(), which stand still
 * while the machine is suspended. scx_bpf_now() is not asked: in select_cpu() it may be milliseconds old.
 */
#ifndef __PANDEMONIUM_MAPS_BPF_H
#define __PANDEMONIUM_MAPS_BPF_H

/*
 * A function that the verifier looks at by itself, once, for any arguments; what it finds in others it
 * looks at again in every state in which they are reached. On 6.12 such a function has to return a number.
 */
#define VERIFIED_ONCE __attribute__((noinline))

#define RATE_FRACTION_BITS 8

/* Daemon writes (memory-mapped, at any time), scheduler reads. */
volatile struct knobs knobs SEC(".data.knobs");

volatile struct settings settings SEC(".data.settings");

volatile struct limits limits SEC(".data.limits");

/* Daemon writes before load, nobody afterwards. */
const volatile struct topology topology;
const volatile struct idle_cpu idle_cpus[MAX_CPUS];
const volatile struct idle_llc idle_llcs[MAX_LLCS];
/* Whether a local queue is drained when a higher class takes its CPU, also from idle. */
const volatile bool drains_from_idle;
const volatile u16 cpu_node[MAX_CPUS];
const volatile u16 cpu_l2[MAX_CPUS];
/* Never read: its presence gives the daemon the record's layout. */
const volatile struct observation observation_layout;

/* The exit callback writes, the daemon reads after its exit record arrived. */
struct exit_info exit_info SEC(".data.exit");

/* Of all nodes and of each. cpu_online() and cpu_offline() write; everybody reads. Zero until init() counted. */
u32 nr_online SEC(".data.state");
u32 node_online[MAX_NODES] SEC(".data.state");
/* One more than the id of the CPU that is going offline, until it is; zero if there is none. */
u32 leaving_cpu SEC(".data.state");
/* By how much the prologue of a program disables migration of current; enable() and update_idle() learn it. */
u32 prologue_depth SEC(".data.state");
/*
 * Ticks and enqueues write; what wake-ups and dispatches read has a line that these seldom write.
 * @score_average has eight bits of fraction.
 * @quickest_answer is how long the CPU takes for a wake-up that is quickest at that, @nr_answering how many
 * have ever been asked.
 */
struct load_state {
	u64 window_start;
	u64 window_wakeups;
	u64 score_average;
	u64 quickest_answer;
	u32 nr_answering;
	u64 burst_until __attribute__((aligned(CACHE_LINE)));
} load_state SEC(".data.load");

/* Tasks in per-CPU queues that another CPU could take; a hint, so that idle CPUs skip the search. */
s32 nr_stealable SEC(".data.stealable") __attribute__((aligned(CACHE_LINE)));

/*
 * One per dispatch queue, indexed by its id. Whoever inserts or takes a task updates it.
 * @clock is the latest virtual time that started running from this queue.
 * @front is that of the last task that started after it woke; of interactive queues only.
 * @had is what each of its tasks has had, on average, in virtual time; of batch queues only.
 * @served_ns is when a task was last taken from it, or came into it while it was empty.
 * @filled_ns is when work last came into it while it was empty.
 * @turn_ns is when the last run of a turn's length from it began, or new work came into it while it was empty; earlier, if
 * what ran was no turn of all (see turn_of_all()). Of interactive queues it is when one last began that was neither short
 * and rare nor interrupted, or it was last empty.
 * @scan_after is when the starvation rescue next looks at its single tasks.
 * @pending counts its tasks; see nr_queued().
 * @stealable counts those of them that other CPUs may take.
 * @running counts the CPUs that run one of its tasks; of batch queues only.
 * @rare counts those of its tasks that are short and rare; of interactive queues only.
 */
struct queue_state {
	u64 clock;
	union {
		u64 front;
		u64 had;
	};
	u64 served_ns;
	u64 filled_ns;
	u64 turn_ns;
	u64 scan_after;
	u32 pending;
	s32 stealable;
	union {
		s32 running;
		s32 rare;
	};
} __attribute__((aligned(CACHE_LINE)));

/* Room for 2 * (MAX_CPUS + MAX_NODES), as a power of two: a mask is one path for the verifier, a test two. */
#define NR_QUEUES 4096
struct queue_state queues[NR_QUEUES];

/*
 * One per node, of the tasks of its batch queue that are grown: no young programs, which begin with a lead.
 * @turn_ns is when the last run of a turn's length of one of them began, until when they have had their turns before young
 * programs, or when new work of them came while none waited.
 * @turn_vtime is where the turn of the last one that began to run did so, unless it sleeps between its runs.
 * @waiting counts those that wait, @running the CPUs that run one.
 * @launching counts those that wait and are being launched.
 * @young_due_ns is what young programs are to run for before another goes before them, if only one may at a time.
 * @young_ns is when one of the queue's grown tasks last began while young programs waited or ran.
 * @claimed_ns is when a CPU last took of the whole queue what was due, young or grown.
 * @owed_ns is how much CPU time the whole queue has had less than its part of, or more if negative; see note_part().
 * @passing_ns is when what goes before others, since it woke for a long run or is young, last began to run on a CPU of the node.
 * @behind_after is when those that have waited for more than a round are looked for again.
 */
struct grown_state {
	u64 turn_ns;
	u64 turn_vtime;
	s32 waiting;
	s32 running;
	s32 launching;
	s64 young_due_ns;
	u64 young_ns;
	u64 claimed_ns;
	s64 owed_ns;
	u64 passing_ns;
	u64 behind_after;
} __attribute__((aligned(CACHE_LINE)));

struct grown_state grown[MAX_NODES];

/* A CPU writes its own bit, whoever selects it clears it; see idle.bpf.h. */
struct idle_mask {
	u64 words[LLC_WORDS];
} __attribute__((aligned(CACHE_LINE)));

struct idle_mask idle_masks[MAX_LLCS];

/* One per CPU, written by that CPU; wakers elsewhere read it to choose whom to preempt. */
struct cpu_ctx {
	u64 started_ns;
	/* How long tasks ran here since it was loaded: up to the last end of a slice, tick of batch work, or switch. */
	u64 busy_ns;
	/* No wake-up preempts before this time: batch work whose turn is overdue may progress. */
	u64 protected_until;
	/* When what runs now is done, if it needs what it usually does. */
	u64 expected_end;
	/* Tier of what runs now; NR_TIERS while it is idle, taken for a wake-up, or a higher class has the CPU. */
	u32 tier;
	/*
	 * Runs from elsewhere since the batch queues last got a fair turn here, how long those took together, and
	 * what the batch queues got of their next turn.
	 */
	u64 other_ran_ns;
	u32 since_batch;
	u32 batch_ran_ns;
	/* What runs here came from this batch queue, and where its turn stands there; 0 if from none. */
	u32 batch_queue;
	bool runs_grown;
	/* What runs is a compositor with budget left. */
	bool boosted;
	u64 turn_vtime;
	/* How far what its own batch queue had is above what the node's had where both are even. */
	u64 own_offset;
	/* In cpu_release(), whose nested enqueue() adds a second prologue. */
	bool releasing;
	bool online;
	/* It takes much longer than others to stop for a wake-up; see answers.bpf.h. */
	bool is_late;
	/* The first that the running task woke on its way to sleep waits in the local queue. */
	bool hands_over;
	/* Until when a program that is being launched goes before unknown work here; see launch.bpf.h. */
	u64 launch_until;
	/* When a turn of batch work began to wait for what is short and rare, last. */
	u64 postponed_ns;
	/* When what runs first woke somebody, or 0, and how long after that it usually sleeps. */
	u64 woke_ns;
	u64 wake_tail_ns;
	/* When an interrupt was due that has woken somebody who stops what runs, until that is so, and how long it usually takes. */
	u64 asked_ns;
	u64 answer_ns;
	/* When it last was, and of how many times that is the average. */
	u64 answered_ns;
	u32 answers;
	/* How long it takes to hand the CPU over, or 0 if nobody knows, and when that was last measured. */
	u32 handover_ns;
	u64 handover_known_ns;
	/* When a task that has handed it over went to sleep, until the other one runs; and what is being measured. */
	u64 left_ns;
	u32 handovers_ns;
	u32 handovers;
	/* That was measured just now: the next one to be handed over may find a CPU that takes less. */
	bool looks_away;
	u32 help_cursor;
	u32 node_cursor;
	/* The first queue of its node; fixed at load. */
	u32 node_queue;
	/* Events that this CPU caused, and how far they went into the load estimate; of no use to others. */
	u32 enqueues __attribute__((aligned(CACHE_LINE)));
	u32 wakeups;
	u32 wakeups_gathered;
	u64 gathered_ns;
	u64 sampled_ns;
	struct cusum enqueue_rate;
} __attribute__((aligned(CACHE_LINE)));

struct cpu_ctx cpus[MAX_CPUS];

/* Callbacks on the task's CPU write; wakers read tier and vtime. */
struct task_ctx {
	/* Virtual time, relative to the clock of @queue. */
	u64 vtime;
	/* The same among batch work while @queue is not: relative to the clock of @batch_queue, its last one. */
	u64 batch_vtime;
	/* From when on it queues among launches, then from when on the next that it forks does. */
	u64 launch_ns;
	u64 woken_ns;
	/* When it last came into a queue; 0 if it has not since it slept, or since this is its batch queue. */
	u64 queued_ns;
	u64 started_ns;
	u64 slept_ns;
	/* How long its last sleep was. */
	u64 sleep_ns;
	/* When it last woke, and as much later as it has waited since. */
	u64 last_wake_ns;
	/* From the wake-up before that until then, without waits; 0 if there was none. */
	u64 interval_ns;
	u64 last_csw;
	/* When the daemon was last told of it; 0 if it never was. */
	u64 observed_ns;
	/* Service since the last sleep, across slices. */
	u64 awake_run_ns;
	u64 avg_runtime_ns;
	u64 runtime_dev_ns;
	/* Moving average of the time from when it first wakes somebody to its sleep, at most WAKE_TAIL_MAX_NS. */
	u64 wake_tail_ns;
	/* How long a slice it has, when that began on this CPU, when it ends, and what it had of that in virtual time. */
	u64 slice_ns;
	u64 slice_began_ns;
	u64 slice_end_ns;
	u64 slice_vtime;
	/* What was left of a slice that others interrupted, while it waits to go on; otherwise 0. */
	u64 slice_left_ns;
	/* Rates per 100 ms with RATE_FRACTION_BITS of fraction, so that small ones can average. */
	u32 wakeup_freq;
	u32 csw_rate;
	u32 lat_cri;
	u32 queue;
	u32 batch_queue;
	u32 last_cpu;
	u32 age;
	u32 wakes;
	/* Sleeps but those that are part of its launch. */
	u32 rests;
	u8 tier;
	bool queued;
	bool stealable;
	/* Waits as one of its node's grown tasks. */
	bool waits_grown;
	/* Waits as a program that is being launched. */
	bool waits_launch;
	/* Waits as interactive work that is short and rare. */
	bool waits_rare;
	bool is_compositor;
	/* One more than the tier that somebody decided on, or 0. */
	u8 pinned;
	/* The last wake-up came from an interrupt, not from another task. */
	bool is_external;
	bool is_rescued;
	/* At its last tick there was a CPU where it would be done sooner. */
	bool leaves;
	/* It has run without a rest for as long as a launch has a lead, which is over. */
	bool has_grown;
	/* One more than the idle CPU claimed for it to move to, or 0. */
	u32 better_cpu;
	/* Its control group while it counts there, and as how much. */
	u32 group;
	u32 group_load;
	/* The part of its weight that its groups leave, in SHARE_ONE. */
	u32 share;
	/* What was left of a compositor's budget, perhaps overdrawn, and when. */
	s64 boost_ns;
	u64 boosted_ns;
	u64 seen_settings;
	u64 name[COMM_LEN / 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} task_ctxs SEC(".maps");

/* Scheduler writes on the CPU concerned, daemon reads. The loader makes room for every CPU, and maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_stats);
} cpu_stats SEC(".maps");

/* Scheduler writes observations and the exit record, daemon drains. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} records SEC(".maps");

static __always_inline struct task_ctx *task_ctx_of(struct task_struct *p)
{
	return bpf_task_storage_get(&task_ctxs, p, NULL, 0);
}

static __always_inline struct cpu_ctx *cpu_ctx_of(s32 cpu)
{
	return &cpus[cpu & (MAX_CPUS - 1)];
}

static __always_inline struct cpu_stats *this_stats(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpu_stats, &cpu);
}

/* The CPU that comes @steps after @cpu, where the first comes after the last. */
static __always_inline u32 cpu_after(s32 cpu, u32 steps)
{
	u32 other = (u32)cpu + steps;

	return other >= topology.nr_cpu_ids ? other - topology.nr_cpu_ids : other;
}

#endif /* __PANDEMONIUM_MAPS_BPF_H */
