/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu.weight and cpu.idle. The kernel keeps both as the shares of a task group whoever schedules, so
 * they are read where they are needed and no callback follows them.
 *
 * A group gets its weight's part of the CPU time however many tasks run in it, which takes the sum of
 * what runs inside. Only CPU-bound work is counted: it is what a share limits, and what sleeps most
 * of the time would pay for the counting at every wake-up.
 */
#ifndef __PANDEMONIUM_GROUPS_BPF_H
#define __PANDEMONIUM_GROUPS_BPF_H

/* Ids are small: the kernel gives the lowest that is free. Groups beyond are as good as the root. */
#define MAX_GROUPS	4096
#define MAX_GROUP_DEPTH 16
/* Autogroups have no id, 0; the root's is 1. Tasks in either share with nobody in between. */
#define ROOT_GROUP	  1
#define SCHED_IDLE_POLICY 5

/*
 * @load is the sum of the loads of CPU-bound tasks and active groups directly inside, @nr their
 * number. @counted is the load that the parent's sum holds for this group, @parent 0 below the root.
 */
struct group_state {
	s64 load;
	s64 nr;
	u64 counted;
	u32 parent;
} __attribute__((aligned(CACHE_LINE)));

struct group_state groups[MAX_GROUPS];

static __always_inline struct group_state *group_state_of(u32 group)
{
	return &groups[group & (MAX_GROUPS - 1)];
}

/* 0 for groups that are not counted. */
static __always_inline u32 group_of(const struct task_group *tg)
{
	u32 id = tg ? tg->css.id : 0;

	return id > ROOT_GROUP && id < MAX_GROUPS ? id : 0;
}

/* 1024 for cpu.weight 100; 3 for cpu.idle, as the kernel sets it. */
static __always_inline u64 group_load(const struct task_group *tg)
{
	u64 load;

	if (!bpf_core_field_exists(tg->shares))
		return NICE_0_LOAD;
	load = tg->shares >> 10;
	return load ? load : 1;
}

static __always_inline u64 task_load(const struct task_struct *p)
{
	return (u64)p->scx.weight * NICE_0_LOAD / WEIGHT_DEFAULT;
}

VERIFIED_ONCE bool is_in_idle_group(const struct task_struct *p __arg_trusted)
{
	const struct task_group *tg = p->sched_task_group;

	return tg && bpf_core_field_exists(tg->idle) && tg->idle > 0;
}

/* Work nobody should notice: such a task is batch whatever it does. */
static __always_inline bool is_idle_class(const struct task_struct *p)
{
	return p->policy == SCHED_IDLE_POLICY || is_in_idle_group(p);
}

VERIFIED_ONCE u32 group_of_task(const struct task_struct *p __arg_trusted)
{
	return group_of(p->sched_task_group);
}

/* The task counts in its group from now on, and the group in those above it. */
VERIFIED_ONCE int enter_groups(struct task_struct *p __arg_trusted, u32 group, s64 load)
{
	struct task_group *tg = p->sched_task_group;
	u32 i;

	bpf_for(i, 0, MAX_GROUP_DEPTH) {
		struct group_state *g = group_state_of(group);
		u64 counted;

		__sync_fetch_and_add(&g->load, load);
		if (__sync_fetch_and_add(&g->nr, 1) > 0 || !tg)
			return 0;
		counted = group_load(tg);
		tg = tg->parent;
		group = group_of(tg);
		g->parent = group;
		if (!group)
			return 0;
		load = counted - __sync_lock_test_and_set(&g->counted, counted);
	}
	return 0;
}

VERIFIED_ONCE int leave_groups(u32 group, s64 load)
{
	u32 i;

	bpf_for(i, 0, MAX_GROUP_DEPTH) {
		struct group_state *g = group_state_of(group);

		__sync_fetch_and_add(&g->load, -load);
		if (__sync_fetch_and_add(&g->nr, -1) != 1)
			return 0;
		group = g->parent;
		if (!group)
			return 0;
		load = __sync_lock_test_and_set(&g->counted, 0);
	}
	return 0;
}

static __always_inline void leave_group(struct task_ctx *t)
{
	if (!t->group)
		return;
	leave_groups(t->group, t->group_load);
	t->group = 0;
	t->share = SHARE_ONE;
}

/* For CPU-bound work that a tick finds running on; cheap to repeat. */
static __always_inline void join_group(struct task_struct *p, struct task_ctx *t)
{
	u32 load = task_load(p);
	u32 group = group_of_task(p);

	if (t->group && (t->group != group || t->group_load != load))
		leave_group(t);
	if (t->group)
		return;
	t->group = group;
	if (!t->group)
		return;
	t->group_load = load;
	enter_groups(p, t->group, load);
}

/* The group's weight may have changed since the parent counted it. */
static __always_inline void recount_group(struct group_state *g, u64 load)
{
	s64 change;

	if (g->counted == load)
		return;
	change = load - __sync_lock_test_and_set(&g->counted, load);
	__sync_fetch_and_add(&group_state_of(g->parent)->load, change);
}

/* What the groups above leave of the task's own weight, in SHARE_ONE. */
VERIFIED_ONCE u64 share_in_groups(struct task_struct *p __arg_trusted, u32 group)
{
	struct task_group *tg = p->sched_task_group;
	u64 share = SHARE_ONE;
	u32 i;

	bpf_for(i, 0, MAX_GROUP_DEPTH) {
		struct group_state *g;
		u64 load;

		if (!tg || group_of(tg) != group)
			break;
		g = group_state_of(group);
		load = group_load(tg);
		share = share_in_group(share, load, g->load);
		group = g->parent;
		if (!group)
			break;
		recount_group(g, load);
		tg = tg->parent;
	}
	return share;
}

/* The share of CPU-bound work follows its groups from tick to tick. */
static __always_inline void update_share(struct task_struct *p, struct task_ctx *t)
{
	join_group(p, t);
	if (t->group)
		t->share = share_in_groups(p, t->group);
}

#endif /* __PANDEMONIUM_GROUPS_BPF_H */
