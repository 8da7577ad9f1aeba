/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a test asks of the machine, and what the machine asks of the scheduler.
 */
#ifndef __HOST_KERNEL_H
#define __HOST_KERNEL_H

s32 pandemonium_select_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
void pandemonium_enqueue(struct task_struct *p, u64 enq_flags);
void pandemonium_dispatch(s32 cpu, struct task_struct *prev);
void pandemonium_running(struct task_struct *p);
void pandemonium_stopping(struct task_struct *p, bool runnable);
void pandemonium_tick(struct task_struct *p);
void pandemonium_update_idle(s32 cpu, bool idle);
void pandemonium_cpu_release(s32 cpu, struct scx_cpu_release_args *args);
void pandemonium_cpu_online(s32 cpu);
void pandemonium_cpu_offline(s32 cpu);
s32 pandemonium_init_task(struct task_struct *p, struct scx_init_task_args *args);
void pandemonium_enable(struct task_struct *p);
void pandemonium_disable(struct task_struct *p);
void pandemonium_exit_task(struct task_struct *p, struct scx_exit_task_args *args);
s32 pandemonium_init(void);

/* The scheduler's own state back to zero, as after a load. */
void scheduler_reset(void);
/* A task's storage, zeroed when it is created. */
void *scheduler_storage_of(const struct task_struct *p);

void kernel_reset(u32 nr_cpus);
s32 kernel_start(void);
const char *kernel_error(void);
void kernel_set_online(u32 cpu, bool online);
void kernel_advance(u64 ns);

struct task_struct *kernel_task(const char *comm);
void kernel_allow(struct task_struct *p, u32 cpu, bool allowed);
void kernel_set_executable(struct task_struct *p, const char *name, u32 uid, u32 mode, u64 magic);

void kernel_enter(struct task_struct *p, s32 cpu);
void kernel_raise(struct task_struct *p, s32 cpu);

/* Each brings the machine to where no CPU has anything to decide. */
void kernel_fork(struct task_struct *p, s32 cpu);
void kernel_wake(struct task_struct *p, s32 waker, bool sync, bool by_interrupt);
void kernel_sleep(s32 cpu, unsigned int state);
void kernel_exit(s32 cpu);
void kernel_yield(s32 cpu);
void kernel_tick(s32 cpu);
void kernel_set_interrupts(s32 cpu, bool enabled);
void kernel_set_softirq(s32 cpu, bool serving);
void kernel_set_timer(u64 due_ns);
void kernel_hold(s32 cpu);
void kernel_unhold(s32 cpu);
void kernel_change(struct task_struct *p, s32 changer);
void kernel_rebind(struct task_struct *p);
void kernel_begin_offline(s32 cpu);
bool kernel_is_left(s32 cpu);
void kernel_offline(s32 cpu);
void kernel_online(s32 cpu);

struct task_struct *kernel_task_of(u32 index);
u32 kernel_index_of(const struct task_struct *p);
u64 kernel_longest_wait(const struct task_struct *p);
struct task_struct *kernel_current(s32 cpu);
u64 kernel_nr_in(u64 queue);
u64 kernel_now(void);

#endif /* __HOST_KERNEL_H */
