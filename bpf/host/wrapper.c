/* SPDX-License-Identifier: GPL-2.0-only */
/* Each inline formula as a function that other languages can call. */
#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;

#include "intf.h"
#include "formulas.h"

u64 host_ewma(u64 old, u64 sample, u32 age)
{
	return ewma(old, sample, age);
}

u64 host_abs_diff(u64 a, u64 b)
{
	return abs_diff(a, b);
}

bool host_has_room_in_fair_share(u64 batch, u64 interactive, u64 running, u64 nr_cpus)
{
	return has_room_in_fair_share(batch, interactive, running, nr_cpus);
}

u32 host_rate_per_window(u64 events, u64 interval_ns, u32 cap)
{
	return rate_per_window(events, interval_ns, cap);
}

u32 host_lat_cri_score(u32 wakeup_freq, u32 csw_rate, u64 avg_runtime_ns, u64 runtime_dev_ns)
{
	return lat_cri_score(wakeup_freq, csw_rate, avg_runtime_ns, runtime_dev_ns);
}

u32 host_tier_of_score(u32 score, u64 thresh_high, u64 thresh_low)
{
	return tier_of_score(score, thresh_high, thresh_low);
}

u32 host_tier_weight(u32 weight, u32 tier)
{
	return tier_weight(weight, tier);
}

u64 host_vtime_delta(u64 run_ns, u32 weight, u64 share)
{
	return vtime_delta(run_ns, weight, share);
}

u64 host_shared_weight(u32 weight, u64 share)
{
	return shared_weight(weight, share);
}

u64 host_share_in_group(u64 share, u64 group_load, s64 load_inside)
{
	return share_in_group(share, group_load, load_inside);
}

s64 host_boost_refill(s64 credit_ns, u64 elapsed_ns)
{
	return boost_refill(credit_ns, elapsed_ns);
}

s64 host_boost_spend(s64 credit_ns, u64 ran_ns)
{
	return boost_spend(credit_ns, ran_ns);
}

bool host_cusum_step(struct cusum *c, u64 interval_ns)
{
	return cusum_step(c, interval_ns);
}

u64 host_moving_threshold(u64 average, u64 thresh_low, u64 thresh_high)
{
	return moving_threshold(average, thresh_low, thresh_high);
}

u64 host_moving_average(u64 old, u64 sample)
{
	return moving_average(old, sample);
}

u64 host_idle_cores(u64 idle, u64 single, u64 pair)
{
	return idle_cores(idle, single, pair);
}

u64 host_core_bit(u64 bit, u64 pair)
{
	return core_bit(bit, pair);
}

s64 host_vtime_diff(u64 a, u64 b)
{
	return vtime_diff(a, b);
}

u64 host_vtime_later(u64 a, u64 b)
{
	return vtime_later(a, b);
}

u64 host_vtime_clamp(u64 vtime, u64 clock, u64 credit_ns, u64 ceiling_ns)
{
	return vtime_clamp(vtime, clock, credit_ns, ceiling_ns);
}

u64 host_wake_credit_ns(u32 wakeup_freq, u64 lag_scale, u64 queued_per_cpu, u64 avg_runtime_ns)
{
	return wake_credit_ns(wakeup_freq, lag_scale, queued_per_cpu, avg_runtime_ns);
}

u64 host_awake_penalty_ns(u64 awake_run_ns, u32 tier)
{
	return awake_penalty_ns(awake_run_ns, tier);
}

u64 host_slice_of_sleeper(u32 tier, u64 avg_runtime_ns, u64 slice_ns)
{
	return slice_of_sleeper(tier, avg_runtime_ns, slice_ns);
}

u64 host_slice_of_batch(u64 batch_slice_ns, u32 weight, u64 queued, u32 nr_cpus)
{
	return slice_of_batch(batch_slice_ns, weight, queued, nr_cpus);
}

u32 host_top_bit(u64 v)
{
	return top_bit(v);
}

u32 host_hist_bucket(u64 ns)
{
	return hist_bucket(ns);
}

u32 host_sleep_bucket(u64 ns)
{
	return sleep_bucket(ns);
}
