/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels: here it is always there.
 */
#ifndef __HOST_SCX_COMPAT_BPF_H
#define __HOST_SCX_COMPAT_BPF_H

#define __COMPAT_is_enq_cpu_selected(enq_flags) ((enq_flags) & SCX_ENQ_CPU_SELECTED)

#endif /* __HOST_SCX_COMPAT_BPF_H */
