/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sched_ext and the BPF library give a scheduler, as plain C.
 */
#ifndef __HOST_SCX_COMMON_BPF_H
#define __HOST_SCX_COMMON_BPF_H

#define __TARGET_ARCH_x86
#undef __always_inline
#define __always_inline __attribute__((always_inline)) inline
#define __noinline	__attribute__((noinline))
#define __weak		__attribute__((weak))
#define __ksym
#define __arg_trusted
#define preserve_access_index unused
#define SEC(name)
#define barrier() __asm__ volatile("" ::: "memory")

#define BPF_STRUCT_OPS(name, ...)	    name(__VA_ARGS__)
#define BPF_STRUCT_OPS_SLEEPABLE(name, ...) name(__VA_ARGS__)
#define BPF_PROG(name, ...)		    name(__VA_ARGS__)
#define SCX_OPS_DEFINE(name, ...)

#define __uint(name, val)	       int(*name)[val]
#define __type(name, val)	       __typeof__(val) *name
#define BPF_MAP_TYPE_HASH	       1
#define BPF_MAP_TYPE_ARRAY	       2
#define BPF_MAP_TYPE_RINGBUF	       27
#define BPF_MAP_TYPE_TASK_STORAGE      29
#define BPF_F_NO_PREALLOC	       1
#define BPF_F_MMAPABLE		       1024
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_RB_NO_WAKEUP	       1
#define BPF_RB_FORCE_WAKEUP	       2

#define bpf_for(i, start, end) for (i = (start); i < (__typeof__(i))(end); i++)
/* What the verifier needs to know that a loop ends. */
#define can_loop		   true
#define bpf_ksym_exists(symbol)	   true
#define bpf_core_field_exists(...) true
#define bpf_this_cpu_ptr(symbol)   (symbol)

/* BPF_CORE_READ() of up to three members. */
#define HOST_READ_1(a, b)		   ((a)->b)
#define HOST_READ_2(a, b, c)		   ((a)->b->c)
#define HOST_READ_N(_1, _2, _3, name, ...) name
#define BPF_CORE_READ(...)		   HOST_READ_N(__VA_ARGS__, HOST_READ_2, HOST_READ_1)(__VA_ARGS__)

struct host_iterator {
	struct task_struct *next;
	bool backwards;
};

#define bpf_for_each(type, cur, queue, flags)                             \
	for (struct host_iterator ___it = host_iterate((queue), (flags)); \
	     ((cur) = host_iterator_next(&___it));)
#define BPF_FOR_EACH_ITER (&___it)

static inline s64 time_delta(u64 after, u64 before)
{
	return (s64)(after - before) > 0 ? (s64)(after - before) : 0;
}

static inline bool time_after(u64 a, u64 b)
{
	return (s64)(b - a) < 0;
}

static inline bool time_before(u64 a, u64 b)
{
	return time_after(b, a);
}

void host_dump(const char *format, ...);

struct host_iterator host_iterate(u64 queue, u64 flags);
struct task_struct *host_iterator_next(struct host_iterator *it);

struct task_struct *bpf_get_current_task_btf(void);
s32 bpf_get_smp_processor_id(void);
void *bpf_task_storage_get(void *map, const struct task_struct *p, void *value, u64 flags);
void *bpf_map_lookup_elem(void *map, const void *key);
void *bpf_ringbuf_reserve(void *map, u64 size, u64 flags);
void bpf_ringbuf_submit(void *record, u64 flags);
s64 bpf_probe_read_kernel_str(void *to, u32 size, const void *from);
u32 bpf_cpumask_any_distribute(const struct cpumask *mask);
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask);
bool bpf_cpumask_subset(const struct cpumask *a, const struct cpumask *b);
u32 bpf_cpumask_weight(const struct cpumask *mask);

u64 bpf_ktime_get_ns(void);
s32 scx_bpf_task_cpu(const struct task_struct *p);
s32 scx_bpf_create_dsq(u64 queue, s32 node);
void scx_bpf_dsq_insert(struct task_struct *p, u64 queue, u64 slice, u64 flags);
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 queue, u64 slice, u64 vtime, u64 flags);
bool scx_bpf_dsq_move_to_local(u64 queue, u64 flags);
bool scx_bpf_dsq_move(struct host_iterator *it, struct task_struct *p, u64 queue, u64 flags);
void scx_bpf_task_set_slice(struct task_struct *p, u64 slice);
void scx_bpf_reenqueue_local(void);
struct cpumask *scx_bpf_get_online_cpumask(void);
void scx_bpf_put_cpumask(const struct cpumask *mask);
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *is_idle);
bool scx_bpf_test_and_clear_cpu_idle(s32 cpu);

int scx_bpf_reenqueue_local_from_anywhere(void);
#define scx_bpf_dump(...) host_dump(__VA_ARGS__)

#endif /* __HOST_SCX_COMMON_BPF_H */
