/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * idle.bpf.h as it is, with just enough around it to run on the host: the maps it reads, and nothing
 * waiting in the queues.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

#include "intf.h"
#include "formulas.h"

#ifndef __always_inline
#define __always_inline __attribute__((always_inline)) inline
#endif
#define __noinline __attribute__((noinline))
#define __weak	   __attribute__((weak))
#define __ksym
#define bpf_for(i, start, end)	for (i = (start); i < (end); i++)
#define bpf_ksym_exists(symbol) false
#define PF_KTHREAD		1
#define SCX_KICK_IDLE		0

typedef struct {
	u64 unused;
} cpumask_t;

struct task_struct {
	u32 flags;
};

struct task_ctx {
	u32 tier;
};

struct cpu_ctx {
	bool online;
};

struct idle_mask {
	u64 words[LLC_WORDS];
};

enum queue_kind {
	QUEUE_INTERACTIVE,
	QUEUE_BATCH,
};

static struct cpu_ctx cpus[MAX_CPUS];
static struct idle_mask idle_masks[MAX_LLCS];
static struct idle_cpu idle_cpus[MAX_CPUS];
static struct idle_llc idle_llcs[MAX_LLCS];
static struct settings settings;
static struct knobs knobs;
static struct topology topology;
static u64 counters[NR_COUNTERS];

static inline struct cpu_ctx *cpu_ctx_of(s32 cpu)
{
	return &cpus[cpu & (MAX_CPUS - 1)];
}

static inline void count(enum counter what)
{
	counters[what]++;
}

static inline u32 node_queue(s32 cpu, enum queue_kind kind)
{
	(void)cpu;
	return kind;
}

static inline u64 nr_queued(u32 queue)
{
	(void)queue;
	return 0;
}

#include "idle.bpf.h"

void scx_bpf_kick_cpu___optional(s32 cpu, u64 flags)
{
	(void)cpu;
	(void)flags;
}

/* Every CPU online and busy, no domain, the selector on. */
void host_idle_reset(u32 nr_llcs)
{
	u32 cpu;

	memset(idle_masks, 0, sizeof(idle_masks));
	memset(idle_llcs, 0, sizeof(idle_llcs));
	memset(&settings, 0, sizeof(settings));
	memset(counters, 0, sizeof(counters));
	settings.idle_selector = true;
	topology.nr_llcs = nr_llcs;
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		cpus[cpu].online = true;
		idle_cpus[cpu].llc = NO_LLC;
	}
}

void host_idle_set_cpu(u32 cpu, u16 llc, u16 bit, u64 l2_mask)
{
	idle_cpus[cpu].llc = llc;
	idle_cpus[cpu].bit = bit;
	idle_cpus[cpu].l2_mask = l2_mask;
}

void host_idle_set_llc(u32 llc, u32 node, const u64 *single, const u64 *pair, const u16 *cpu_of_bit)
{
	idle_llcs[llc].node = node;
	memcpy(idle_llcs[llc].single, single, sizeof(idle_llcs[llc].single));
	memcpy(idle_llcs[llc].pair, pair, sizeof(idle_llcs[llc].pair));
	memcpy(idle_llcs[llc].cpus, cpu_of_bit, sizeof(idle_llcs[llc].cpus));
}

void host_idle_set_domain(u32 llc, const u64 *words)
{
	settings.has_domain = true;
	memcpy(settings.domain[llc], words, sizeof(settings.domain[llc]));
}

void host_idle_set_online(u32 cpu, bool online)
{
	cpus[cpu].online = online;
}

/* The CPU goes idle or comes back, as update_idle() says. */
void host_idle_note(u32 cpu, bool idle)
{
	note_idle(cpu, idle);
}

bool host_idle_is_marked(u32 cpu)
{
	return has_idle_bit(cpu) && *idle_word_of(cpu) & idle_bit_of(cpu);
}

s32 host_idle_claim(s32 prev, u32 tier, bool is_kthread, u64 affinity_mode)
{
	struct task_struct p = { .flags = is_kthread ? PF_KTHREAD : 0 };
	struct task_ctx t = { .tier = tier };

	knobs.affinity_mode = affinity_mode;
	return claim_for(&p, &t, prev);
}

s32 host_idle_claim_better(s32 cpu)
{
	return claim_better(cpu);
}

bool host_idle_is_near(s32 cpu)
{
	return has_idle_near(cpu);
}

u64 host_idle_counter(u32 what)
{
	return counters[what];
}
