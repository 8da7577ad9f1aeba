// SPDX-License-Identifier: GPL-2.0-only
/*
 * A scheduler of somebody else: without a callback the kernel takes tasks in the order in which they come. Of
 * the kernel's structure only what is set here has to be known.
 */
struct sched_ext_ops {
	char name[128];
};

__attribute__((section("license"), used)) char _license[] = "GPL";
__attribute__((section(".struct_ops.link"), used)) struct sched_ext_ops foreign = {
	.name = "foreign",
};
