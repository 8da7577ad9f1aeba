/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a task may run: its allowed CPUs, and whether it may migrate just now.
 */
#ifndef __PANDEMONIUM_AFFINITY_BPF_H
#define __PANDEMONIUM_AFFINITY_BPF_H

/*
 * For callbacks during which current has not disabled its own migration: what is counted there is our prologue.
 */
static __always_inline void learn_prologue(void)
{
	const struct task_struct *current = bpf_get_current_task_btf();

	if (prologue_depth != current->migration_disabled)
		prologue_depth = current->migration_disabled;
}

/*
 * Whether the task itself disabled its migration. The prologue of our own programs does the same to
 * current on some kernels, once for each level; counted too low, a task only waits in a queue of its
 * CPU, counted too high, another CPU's local queue would refuse it and end the scheduler.
 */
static __always_inline bool cannot_migrate(const struct task_struct *p)
{
	u32 ours = 0;

	if (bpf_get_current_task_btf() == p)
		ours = prologue_depth << cpu_ctx_of(scx_bpf_task_cpu(p))->releasing;
	return p->migration_disabled > ours;
}

/*
 * A task that may not run on every CPU that is online. The count of allowed CPUs tells the usual
 * cases; in between, offline CPUs may be among the allowed ones.
 */
VERIFIED_ONCE bool is_restricted(const struct task_struct *p __arg_trusted)
{
	const struct cpumask *online;
	bool restricted;

	if (cannot_migrate(p) || (u32)p->nr_cpus_allowed < nr_online)
		return true;
	if ((u32)p->nr_cpus_allowed >= topology.nr_cpu_ids)
		return false;
	online = scx_bpf_get_online_cpumask();
	restricted = !bpf_cpumask_subset(online, p->cpus_ptr);
	scx_bpf_put_cpumask(online);
	return restricted;
}

/* On 6.12 each place that reads a pointer out of a task costs the verifier milliseconds, so there is one. */
VERIFIED_ONCE bool mask_allows(const struct task_struct *p __arg_trusted, s32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* Whether a task that has not disabled its migration may run on the CPU; most may run on any. */
static __always_inline bool is_allowed(const struct task_struct *p, s32 cpu)
{
	return (u32)p->nr_cpus_allowed >= topology.nr_cpu_ids || mask_allows(p, cpu);
}

#endif /* __PANDEMONIUM_AFFINITY_BPF_H */
