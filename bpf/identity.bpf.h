/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who a task is, as far as that says how to treat it: the name under which behaviour was learned, and
 * whether it is a compositor. There is no callback for a new name, so it is looked at now and then.
 */
#ifndef __PANDEMONIUM_IDENTITY_BPF_H
#define __PANDEMONIUM_IDENTITY_BPF_H

#define FUSE_MAGIC    0x65735546
#define WRITABLE_MODE 022

struct name {
	u64 words[COMM_LEN / 8];
};

/* Daemon writes, a task that starts or changes its name reads. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROFILES);
	__type(key, struct name);
	__type(value, struct prediction);
} predictions SEC(".maps");

/*
 * For a task that goes to sleep: often in its youth, when it becomes what it is, and once in a while later. A program
 * that has not slept since it was launched is looked at whenever it loses its CPU.
 */
static __always_inline bool is_time_to_look(const struct task_ctx *t, bool sleeps)
{
	if (!sleeps)
		return !t->wakes && t->awake_run_ns < CHARGE_MAX_NS;
	return !(t->wakes & (t->wakes - 1)) || !(t->wakes & 63) ||
	       t->seen_settings != settings.generation;
}

/* Whether the two words of a name are that of a compositor. */
VERIFIED_ONCE bool matches_any(u64 first, u64 second)
{
	u32 i;

	bpf_for(i, 0, settings.nr_patterns) {
		const volatile struct pattern *pattern = &settings.patterns[i & (MAX_PATTERNS - 1)];

		if (!((first ^ pattern->text[0]) & pattern->mask[0]) &&
		    !((second ^ pattern->text[1]) & pattern->mask[1]))
			return true;
	}
	return false;
}

/*
 * A name is for anybody to take. The executable counts as well: it has to have such a name and be the
 * system's, which nobody else can write or replace.
 */
static __always_inline bool has_trusted_executable(struct task_struct *p)
{
	struct mm_struct *mm = BPF_CORE_READ(p, mm);
	struct file *file;
	struct inode *inode;
	struct name name = {};

	if (!mm)
		return false;
	file = BPF_CORE_READ(mm, exe_file);
	if (!file)
		return false;
	inode = BPF_CORE_READ(file, f_inode);
	if (BPF_CORE_READ(inode, i_uid.val) || BPF_CORE_READ(inode, i_mode) & WRITABLE_MODE ||
	    BPF_CORE_READ(inode, i_sb, s_magic) == FUSE_MAGIC)
		return false;
	bpf_probe_read_kernel_str(&name, sizeof(name),
				  BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return matches_any(name.words[0], name.words[1]);
}

static __always_inline void start_from(struct task_ctx *t, const struct prediction *known)
{
	t->avg_runtime_ns = known->avg_runtime_ns;
	t->runtime_dev_ns = known->runtime_dev_ns;
	t->wakeup_freq = known->wakeup_freq << RATE_FRACTION_BITS;
	t->csw_rate = known->csw_rate << RATE_FRACTION_BITS;
	t->lat_cri = lat_cri_score(known->wakeup_freq, known->csw_rate, known->avg_runtime_ns,
				   known->runtime_dev_ns);
	t->tier = known->tier < NR_TIERS ? known->tier : TIER_INTERACTIVE;
	/* A launch is no more urgent than any other, and whoever forks leaves its name to the child. */
	if (t->tier == TIER_LAT_CRITICAL && !t->wakes && !t->pinned && !t->is_compositor)
		t->tier = TIER_INTERACTIVE;
	t->age = AGE_CLASSIFIED;
	count(CNT_WARM_STARTS);
}

/*
 * The decision of an administrator comes before the names of compositors. One for latency-critical work
 * makes a task a compositor: only their budget keeps a program harmless that runs all the time.
 */
static __always_inline void obey_pin(struct task_struct *p, struct task_ctx *t,
				     const struct name *name, const struct prediction *known)
{
	t->pinned = known && known->pinned && known->tier < NR_TIERS ? known->tier + 1 : 0;
	if (t->pinned)
		t->is_compositor = t->pinned == TIER_LAT_CRITICAL + 1;
	else
		t->is_compositor =
			matches_any(name->words[0], name->words[1]) && has_trusted_executable(p);
}

/*
 * What was learned under this name is where a task starts from; its own behaviour takes over with the
 * next sleep. One that has settled under another name is known better from that.
 */
VERIFIED_ONCE int look_at(struct task_struct *p __arg_trusted, struct task_ctx *t)
{
	struct name name = {};
	struct prediction *known;

	if (!t)
		return 0;
	t->seen_settings = settings.generation;
	bpf_probe_read_kernel_str(&name, sizeof(name), p->comm);
	known = bpf_map_lookup_elem(&predictions, &name);
	obey_pin(p, t, &name, known);
	if (name.words[0] == t->name[0] && name.words[1] == t->name[1])
		return 0;
	t->name[0] = name.words[0];
	t->name[1] = name.words[1];
	if (t->age >= AGE_SETTLED || !known)
		return 0;
	start_from(t, known);
	if (is_idle_class(p))
		t->tier = TIER_BATCH;
	return 0;
}

/* The budget of a compositor that runs now: what it earned and spent since it was last settled. */
static __always_inline s64 boost_left(const struct task_ctx *t, u64 now)
{
	return boost_spend(boost_refill(t->boost_ns, time_delta(now, t->boosted_ns)),
			   time_delta(now, t->started_ns));
}

/* Whether a compositor may go before everything else now; its budget is what keeps that harmless. */
static __always_inline bool is_boosted(const struct task_ctx *t)
{
	return t->is_compositor && t->boost_ns > 0;
}

#endif /* __PANDEMONIUM_IDENTITY_BPF_H */
