/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the scheduler needs to know of the kernel, as far as it uses it: types, constants and functions.
 * Included where the kernel's generated types would be; kfuncs.c is what stands behind it.
 */
#ifndef __HOST_VMLINUX_H
#define __HOST_VMLINUX_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

#define HOST_CPUS  1024
#define HOST_TASKS 8192

enum hrtimer_base_type {
	HRTIMER_BASE_MONOTONIC = 0,
	HRTIMER_MAX_CLOCK_BASES = 8,
};

/* A timer, and those of a CPU: of each clock the one that is served. */
struct timerqueue_node {
	s64 expires;
};

struct hrtimer {
	struct timerqueue_node node;
};

struct hrtimer_clock_base {
	struct hrtimer *running;
};

struct hrtimer_cpu_base {
	struct hrtimer_clock_base clock_base[HRTIMER_MAX_CLOCK_BASES];
};

struct cpumask {
	u64 words[HOST_CPUS / 64];
};

typedef struct cpumask cpumask_t;

/* A dispatch queue of the kernel: ordered by virtual time, or first in, first out. */
struct dispatch_queue {
	struct task_struct *first;
	struct task_struct *last;
	u64 nr;
	_Bool exists;
	s32 cpu; /* of a local queue, or -1 */
};

/* Where an insertion from select_cpu() or enqueue() is to go once the callback has returned. */
struct insertion {
	u64 queue;
	u64 slice;
	u64 vtime;
	u64 flags;
	_Bool has_vtime;
};

struct sched_ext_entity {
	u32 flags;
	u32 weight;
	u64 slice;
	u64 dsq_vtime;
};

struct cgroup_subsys_state {
	s32 id;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct task_group *parent;
	u64 shares;
	s32 idle;
};

struct super_block {
	u64 s_magic;
};

struct inode {
	struct {
		u32 val;
	} i_uid;
	u16 i_mode;
	struct super_block *i_sb;
};

struct dentry {
	struct {
		const char *name;
	} d_name;
};

struct file {
	struct inode *f_inode;
	struct {
		struct dentry *dentry;
	} f_path;
};

struct mm_struct {
	struct file *exe_file;
};

struct sched_entity {
	/* What it ran for since it was forked, ns. */
	u64 sum_exec_runtime;
};

struct task_struct {
	s32 pid;
	u32 flags;
	u32 policy;
	s32 prio;
	s32 nr_cpus_allowed;
	cpumask_t *cpus_ptr;
	/* 0 unless it sleeps or is about to. */
	unsigned int __state;
	/* It is what a CPU runs, until that has switched away. */
	u32 migration_disabled;
	u64 nvcsw;
	u64 nivcsw;
	char comm[16];
	struct mm_struct *mm;
	struct task_group *sched_task_group;
	struct sched_entity se;
	struct sched_ext_entity scx;

	/* From here on nobody but the machine and the tests look. */
	cpumask_t cpus_mask;
	s32 cpu;
	_Bool is_used;
	struct dispatch_queue *on;
	struct task_struct *next;
	struct task_struct *prev;
	struct insertion insertion;
	u64 waits_since;
	u64 longest_wait_ns;
	struct mm_struct own_mm;
	struct file own_file;
	struct inode own_inode;
	struct super_block own_super_block;
	struct dentry own_dentry;
};

struct scx_cpu_release_args {
	u64 unused;
};

struct scx_init_task_args {
	_Bool fork;
};

struct scx_exit_task_args {
	_Bool cancelled;
};

struct scx_dump_ctx {
	u64 unused;
};

struct scx_exit_info {
	u64 kind;
	s64 exit_code;
	const char *reason;
	char *msg;
};

enum {
	PF_WQ_WORKER = 0x20,
	PF_KTHREAD = 0x200000,
	SCX_TASK_QUEUED = 1,
};

#define SCX_DSQ_GLOBAL	 (1ULL << 63 | 1)
#define SCX_DSQ_LOCAL	 (1ULL << 63 | 2)
#define SCX_DSQ_LOCAL_ON (1ULL << 63 | 1ULL << 62)
#define SCX_DSQ_ITER_REV (1ULL << 16)

#define SCX_ENQ_WAKEUP	     (1ULL << 0)
#define SCX_ENQ_HEAD	     (1ULL << 4)
#define SCX_ENQ_CPU_SELECTED (1ULL << 10)
#define SCX_ENQ_PREEMPT	     (1ULL << 32)
#define SCX_ENQ_IMMED	     (1ULL << 33)
#define SCX_ENQ_REENQ	     (1ULL << 40)
#define SCX_ENQ_LAST	     (1ULL << 41)
#define SCX_DEQ_SLEEP	     (1ULL << 0)
#define SCX_WAKE_FORK	     (1ULL << 2)
#define SCX_WAKE_TTWU	     (1ULL << 3)
#define SCX_WAKE_SYNC	     (1ULL << 4)
#define SCX_KICK_IDLE	     (1ULL << 0)

#endif /* __HOST_VMLINUX_H */
