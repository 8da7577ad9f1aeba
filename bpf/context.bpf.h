/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is waking: another task, or the outside world through an interrupt, and how late that is.
 */
#ifndef __PANDEMONIUM_CONTEXT_BPF_H
#define __PANDEMONIUM_CONTEXT_BPF_H

/* include/linux/preempt.h: interrupt and NMI counts, and the bit of a softirq being served. */
#define IN_INTERRUPT_MASK 0x00ff0100
#define HARDIRQ_MASK	  0x000f0000
#define SOFTIRQ_MASK	  0x0000ff00

#ifdef __TARGET_ARCH_x86
extern const int __preempt_count __ksym __weak;

/* Until 6.14 the count was a member of this. */
struct pcpu_hot___count {
	int preempt_count;
} __attribute__((preserve_access_index));

extern const struct pcpu_hot___count pcpu_hot __ksym __weak;
#endif

static __always_inline u32 preempt_count(void)
{
#if defined(__TARGET_ARCH_x86)
	if (bpf_ksym_exists(&__preempt_count))
		return *(const int *)bpf_this_cpu_ptr(&__preempt_count);
	if (bpf_ksym_exists(&pcpu_hot))
		return ((const struct pcpu_hot___count *)bpf_this_cpu_ptr(&pcpu_hot))
			->preempt_count;
#elif defined(__TARGET_ARCH_arm64)
	return bpf_get_current_task_btf()->thread_info.preempt.count;
#endif
	return 0;
}

/* On other architectures every wake-up counts as one by a task. */
static __always_inline bool is_in_interrupt(void)
{
	return preempt_count() & IN_INTERRUPT_MASK;
}

/* Whether it is an interrupt that has stopped a softirq, or what keeps such out: until that is over the CPU switches to nobody. */
static __always_inline bool has_interrupted_softirq(void)
{
	u32 count = preempt_count();

	return count & HARDIRQ_MASK && count & SOFTIRQ_MASK;
}

extern const struct hrtimer_cpu_base hrtimer_bases __ksym __weak;

/* When the timer was due that is served here; now if there is none, or if it came with others before it had to. */
static __always_inline u64 timer_due_ns(u64 now)
{
	const struct hrtimer_cpu_base *here;
	const struct hrtimer *timer;

	if (!bpf_ksym_exists(&hrtimer_bases))
		return now;
	here = bpf_this_cpu_ptr(&hrtimer_bases);
	/* The clock that bpf_ktime_get_ns() reads. */
	timer = here->clock_base[HRTIMER_BASE_MONOTONIC].running;
	return timer ? vtime_earlier(timer->node.expires, now) : now;
}

#endif /* __PANDEMONIUM_CONTEXT_BPF_H */
