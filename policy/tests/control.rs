//! The control loop's layers, one by one and together.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::{
    Control, Counters, Decision, Knobs, Limits, Mode, Reading, Regime, Sample,
};

const SEC: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const US: u64 = 1_000;

/// A second on 8 CPUs without dispatches or wake-ups.
fn tick(idle_permille: u32) -> Sample {
    Sample {
        elapsed_ns: SEC,
        nr_online: 8,
        idle_permille,
        ..Sample::default()
    }
}

fn with_p99(sample: Sample, p99_ms: u64) -> Sample {
    Sample {
        p99_all_ns: Some(p99_ms * MS),
        ..sample
    }
}

fn with_dispatches(sample: Sample, dispatches: u64) -> Sample {
    Sample {
        counters: Counters {
            dispatches,
            ..Counters::default()
        },
        ..sample
    }
}

fn control(cpus: u32) -> Control {
    Control::new(Limits::for_cpus(cpus))
}

fn run(control: &mut Control, sample: &Sample, ticks: u32) -> Decision {
    let mut decision = control.step(Mode::Adaptive, sample);
    for _ in 1..ticks {
        decision = control.step(Mode::Adaptive, sample);
    }
    decision
}

#[test]
fn each_regime_sets_its_baseline() {
    let knobs = |idle| run(&mut control(8), &tick(idle), 2).knobs;
    let (light, mixed, heavy) = (knobs(900), knobs(400), knobs(20));
    assert_eq!(
        [light.slice_ns, mixed.slice_ns, heavy.slice_ns],
        [2 * MS, MS, 4 * MS]
    );
    assert_eq!(
        [light.lag_scale, mixed.lag_scale, heavy.lag_scale],
        [6, 4, 2]
    );
    assert_eq!(
        [
            light.affinity_mode,
            mixed.affinity_mode,
            heavy.affinity_mode
        ],
        [1, 2, 1]
    );
    assert_eq!(heavy.preempt_thresh_ns, 2 * MS);
}

/// Reads a machine of 8 CPUs once a second that idles for this share and wakes tasks all the time.
fn regime_after(idle_permille: u64, seconds: u64) -> Regime {
    let reading = |second: u64| Reading {
        at_ns: 100 * SEC + second * SEC,
        nr_online: 8,
        busy_ns: second * 8 * SEC / 1000 * (1000 - idle_permille),
        counters: Counters {
            dispatches: second * 60_000,
            idle_placements: second * 25_000,
            wakeups: second * 50_000,
            ..Counters::default()
        },
        ..Reading::default()
    };
    let mut control = control(8);
    for second in 0..seconds {
        let sample = Sample::between(&reading(second), &reading(second + 1));
        control.step(Mode::Adaptive, &sample);
    }
    control.regime()
}

#[test]
fn idle_time_alone_decides_between_light_mixed_and_heavy() {
    assert_eq!(regime_after(970, 3), Regime::Light);
    assert_eq!(regime_after(500, 10), Regime::Mixed);
    assert_eq!(regime_after(10, 3), Regime::Heavy);
}

#[test]
fn few_cpus_cap_slices_in_mixed() {
    let knobs = |cpus| run(&mut control(cpus), &tick(400), 1).knobs;
    assert_eq!(
        (knobs(1).slice_ns, knobs(1).batch_slice_ns),
        (500 * US, 5 * MS)
    );
    assert_eq!((knobs(2).slice_ns, knobs(2).batch_slice_ns), (MS, 10 * MS));
    assert_eq!(
        (knobs(16).slice_ns, knobs(16).batch_slice_ns),
        (MS, 20 * MS)
    );
}

#[test]
fn sleep_pattern_moves_the_batch_slice_outside_a_dead_zone() {
    let batch_ms = |io_pct, cpus| {
        let sample = Sample {
            io_pct,
            ..tick(400)
        };
        run(&mut control(cpus), &sample, 1).knobs.batch_slice_ns / US
    };
    assert_eq!(batch_ms(Some(61), 8), 25_000);
    assert_eq!(batch_ms(Some(60), 8), 20_000);
    assert_eq!(batch_ms(Some(15), 8), 20_000);
    assert_eq!(batch_ms(Some(14), 8), 15_000);
    assert_eq!(batch_ms(None, 8), 20_000);
    assert_eq!(batch_ms(Some(100), 2), 12_500);
}

#[test]
fn a_longrun_overrides_sleep_tuning_and_affinity() {
    let sample = Sample {
        longrun: true,
        io_pct: Some(90),
        ..tick(400)
    };
    let decision = run(&mut control(8), &sample, 1);
    assert_eq!(decision.knobs.affinity_mode, 1);
    assert_eq!(decision.knobs.batch_slice_ns, 20 * MS);
    assert_eq!(decision.reason, "longrun");
    let mut control = control(8);
    run(&mut control, &sample, 3);
    let over = run(
        &mut control,
        &Sample {
            longrun: false,
            ..sample
        },
        1,
    );
    assert_eq!(over.knobs.affinity_mode, 2);
    assert_eq!(over.knobs.batch_slice_ns, 25 * MS);
}

#[test]
fn a_longrun_neither_undoes_nor_stops_tightening_and_the_sojourn_threshold() {
    let calm = with_p99(with_dispatches(tick(400), 8 * 200), 9);
    let longrun = Sample {
        longrun: true,
        ..calm.clone()
    };
    let (mut twins, mut reasons) = ([control(8), control(8)], Vec::new());
    for _ in 0..6 {
        let usual = twins[0].step(Mode::Adaptive, &calm).knobs;
        let decision = twins[1].step(Mode::Adaptive, &longrun);
        reasons.push(decision.reason);
        assert_eq!(
            decision.knobs,
            Knobs {
                affinity_mode: 1,
                ..usual
            }
        );
    }
    assert_eq!(twins[1].knobs().slice_ns, 500 * US);
    assert!(twins[1].sojourn_target_ns() > 6 * MS);
    assert_eq!(reasons, ["longrun"; 6]);
}

#[test]
fn a_longrun_leaves_the_affinity_of_light_and_heavy_alone() {
    for idle in [900, 20] {
        let sample = Sample {
            longrun: true,
            ..tick(idle)
        };
        let (mut usual, mut longrun) = (control(8), control(8));
        assert_eq!(
            run(&mut longrun, &sample, 3).knobs,
            run(&mut usual, &tick(idle), 3).knobs
        );
    }
}

#[test]
fn the_layers_act_in_their_order() {
    let mut samples = vec![tick(400)];
    samples.push(Sample {
        io_pct: Some(90),
        ..tick(400)
    });
    samples.push(with_dispatches(samples[1].clone(), 8 * 200));
    samples.push(with_p99(samples[2].clone(), 9));
    samples.push(Sample {
        longrun: true,
        ..samples[3].clone()
    });
    // What each layer changed is still there after the next one.
    let last = samples.iter().map(|sample| {
        let mut control = control(8);
        let decision = run(&mut control, sample, 2);
        let k = decision.knobs;
        let moved = k.sojourn_thresh_ns > 6 * MS;
        (
            decision.reason,
            k.batch_slice_ns / MS,
            moved,
            k.slice_ns / US,
            k.affinity_mode,
        )
    });
    assert_eq!(
        last.collect::<Vec<_>>(),
        [
            ("regime", 20, false, 1000, 2),
            ("sleep", 25, false, 1000, 2),
            ("sojourn", 25, true, 1000, 2),
            ("tighten", 25, true, 750, 2),
            ("longrun", 20, true, 750, 1),
        ]
    );
}

#[test]
fn a_burst_is_left_to_the_kernel_half() {
    let sample = Sample {
        burst: true,
        ..tick(400)
    };
    assert_eq!(
        run(&mut control(8), &sample, 5),
        run(&mut control(8), &tick(400), 5)
    );
}

#[test]
fn the_sojourn_threshold_moves_from_ceiling_to_floor_and_back() {
    let mut control = control(8);
    // 4 ms slices on saturated CPUs: four intervals are 16 ms, above the ceiling.
    let long_slices = with_dispatches(tick(0), 8 * 250);
    assert_eq!(
        run(&mut control, &long_slices, 180).knobs.sojourn_thresh_ns,
        12 * MS
    );
    // 2.2 ms per dispatch: between floor and ceiling.
    let between = run(&mut control, &with_dispatches(tick(0), 8 * 455), 180);
    assert_eq!(between.knobs.sojourn_thresh_ns / (MS / 10), 87);
    assert_eq!(between.knobs.sojourn_thresh_ns, control.sojourn_target_ns());
    // 100 us wake-ups: down to the floor.
    let short = run(&mut control, &with_dispatches(tick(0), 80_000), 180);
    assert_eq!(short.knobs.sojourn_thresh_ns, 6 * MS);
    assert!(run(&mut control, &long_slices, 1).knobs.sojourn_thresh_ns > 6 * MS);
}

#[test]
fn the_sojourn_threshold_is_smoothed_by_an_eighth() {
    let mut control = control(8);
    let start = control.sojourn_target_ns();
    assert_eq!(start, 6 * MS, "the default is below the floor of 8 CPUs");
    let next = run(&mut control, &with_dispatches(tick(0), 8 * 250), 1)
        .knobs
        .sojourn_thresh_ns;
    assert_eq!(next, start - start / 8 + 12 * MS / 8);
}

#[test]
fn the_sojourn_threshold_depends_on_elapsed_time_not_on_ticks() {
    let after = |elapsed_ns, dispatches| {
        let sample = Sample {
            elapsed_ns,
            ..with_dispatches(tick(0), dispatches)
        };
        run(&mut control(8), &sample, 4).knobs.sojourn_thresh_ns
    };
    assert_eq!(after(SEC, 4000), after(3 * SEC, 12_000));
}

#[test]
fn without_dispatches_the_sojourn_threshold_stays() {
    let mut control = control(4);
    let before = control.sojourn_target_ns();
    assert_eq!(
        run(&mut control, &tick(1000), 5).knobs.sojourn_thresh_ns,
        before
    );
}

#[test]
fn two_bad_ticks_tighten_and_the_floor_holds() {
    let mut control = control(8);
    let bad = with_p99(tick(400), 6);
    assert_eq!(run(&mut control, &bad, 1).knobs.slice_ns, MS);
    let decision = run(&mut control, &bad, 1);
    assert_eq!(
        (decision.knobs.slice_ns, decision.reason),
        (750 * US, "tighten")
    );
    assert_eq!(run(&mut control, &bad, 1).knobs.slice_ns, 750 * US);
    assert_eq!(run(&mut control, &bad, 1).knobs.slice_ns, 562_500);
    assert_eq!(run(&mut control, &bad, 2).knobs.slice_ns, 500 * US);
    assert_eq!(run(&mut control, &bad, 50).knobs.slice_ns, 500 * US);
}

#[test]
fn a_good_tick_between_two_bad_ones_prevents_tightening() {
    let mut control = control(8);
    for _ in 0..10 {
        run(&mut control, &with_p99(tick(400), 9), 1);
        assert_eq!(
            run(&mut control, &with_p99(tick(400), 5), 1).knobs.slice_ns,
            MS
        );
    }
}

#[test]
fn latency_is_bad_only_above_the_ceiling_of_mixed() {
    let slice_ns = |p99_ns| {
        let sample = Sample {
            p99_all_ns: Some(p99_ns),
            ..tick(400)
        };
        run(&mut control(8), &sample, 2).knobs.slice_ns
    };
    assert_eq!(slice_ns(5 * MS), MS);
    assert_eq!(slice_ns(5 * MS + 1), 750 * US);
}

#[test]
fn a_slice_that_starts_at_the_floor_is_not_tightened() {
    let mut control = control(1);
    let decision = run(&mut control, &with_p99(tick(400), 50), 10);
    assert_eq!(decision.knobs.slice_ns, 500 * US);
    assert_ne!(decision.reason, "tighten");
}

#[test]
fn light_and_heavy_never_tighten() {
    for idle in [900, 10] {
        let mut control = control(8);
        let baseline = run(&mut control, &tick(idle), 3).knobs.slice_ns;
        assert_eq!(
            run(&mut control, &with_p99(tick(idle), 500), 20)
                .knobs
                .slice_ns,
            baseline
        );
    }
}

#[test]
fn relaxing_waits_for_two_good_ticks_and_stops_at_the_baseline() {
    let mut control = control(8);
    run(&mut control, &with_p99(tick(400), 9), 8);
    assert_eq!(control.knobs().slice_ns, 500 * US);
    let good = with_p99(tick(400), 1);
    assert_eq!(run(&mut control, &good, 1).knobs.slice_ns, 500 * US);
    let decision = run(&mut control, &good, 1);
    assert_eq!((decision.knobs.slice_ns, decision.reason), (MS, "relax"));
    assert_eq!(run(&mut control, &good, 5).knobs.slice_ns, MS);
}

#[test]
fn a_bad_tick_starts_the_hold_before_relaxing_anew() {
    let mut control = control(8);
    run(&mut control, &with_p99(tick(400), 9), 2);
    for _ in 0..5 {
        for p99_ms in [1, 9] {
            let decision = run(&mut control, &with_p99(tick(400), p99_ms), 1);
            assert_eq!(decision.knobs.slice_ns, 750 * US);
        }
    }
    run(&mut control, &with_p99(tick(400), 1), 2);
    assert_eq!(control.knobs().slice_ns, MS);
}

#[test]
fn one_step_of_relaxing_is_at_most_half_a_millisecond() {
    let mut control = control(8);
    let mut before = control.knobs().slice_ns;
    for p99_ms in [9, 9, 9, 9, 1, 1, 1, 9, 9, 9, 9, 9, 9, 1, 1] {
        let decision = run(&mut control, &with_p99(tick(400), p99_ms), 1);
        let now = decision.knobs.slice_ns;
        assert!(now <= before + 500 * US);
        assert_eq!(now > before, decision.reason == "relax");
        before = now;
    }
    assert_eq!(before, MS);
}

#[test]
fn a_tick_without_wakeups_is_good() {
    let mut control = control(8);
    run(&mut control, &with_p99(tick(400), 9), 2);
    assert_eq!(run(&mut control, &tick(400), 2).knobs.slice_ns, MS);
}

#[test]
fn a_new_regime_starts_from_its_own_baseline() {
    let mut control = control(8);
    run(&mut control, &with_p99(tick(400), 9), 8);
    assert_eq!(run(&mut control, &tick(10), 2).knobs.slice_ns, 4 * MS);
    assert_eq!(run(&mut control, &tick(400), 2).knobs.slice_ns, MS);
}

#[test]
fn bpf_mode_observes_the_regime_with_default_knobs() {
    let mut control = control(8);
    run(&mut control, &with_p99(tick(400), 9), 2);
    for mode in [Mode::Bpf, Mode::Off] {
        control.step(mode, &tick(10));
        let decision = control.step(mode, &tick(10));
        assert_eq!(
            (decision.regime, decision.knobs),
            (Regime::Heavy, Knobs::default())
        );
        assert_eq!(control.knobs(), Knobs::default());
    }
    assert_eq!(run(&mut control, &tick(10), 1).knobs.slice_ns, 4 * MS);
}

#[test]
fn a_sample_without_time_changes_nothing() {
    let mut control = control(8);
    let before = run(&mut control, &tick(900), 2);
    for _ in 0..5 {
        let decision = control.step(Mode::Adaptive, &Sample::default());
        assert_eq!(
            (decision.regime, decision.knobs),
            (before.regime, before.knobs)
        );
    }
    let fresh = Control::new(Limits::for_cpus(8)).step(Mode::Bpf, &Sample::default());
    assert_eq!(fresh.knobs, Knobs::default());
}

#[test]
fn the_window_of_a_suspend_is_ignored_and_counts_start_over() {
    let mut control = control(8);
    control.step(Mode::Adaptive, &with_p99(tick(400), 9));
    control.discard_window();
    let ignored = control.step(Mode::Adaptive, &with_p99(tick(0), 9000));
    assert_eq!(
        (ignored.regime, ignored.knobs.slice_ns),
        (Regime::Mixed, MS)
    );
    assert_eq!(ignored.reason, "no usable window");
    assert_eq!(
        run(&mut control, &with_p99(tick(400), 9), 1).knobs.slice_ns,
        MS
    );
    assert_eq!(
        run(&mut control, &with_p99(tick(400), 9), 1).knobs.slice_ns,
        750 * US
    );
}

#[test]
fn hotplug_moves_the_bounds_at_once() {
    let mut control = control(8);
    run(&mut control, &with_dispatches(tick(400), 1000), 40);
    control.set_limits(Limits::for_cpus(2));
    assert_eq!(control.sojourn_target_ns(), 4 * MS);
    let knobs = run(&mut control, &tick(400), 1).knobs;
    assert_eq!(
        (knobs.batch_slice_ns, knobs.sojourn_thresh_ns),
        (10 * MS, 4 * MS)
    );
}

#[test]
fn mode_names_parse_and_a_wrong_one_lists_the_right_ones() {
    for mode in Mode::ALL {
        assert_eq!(mode.name().parse::<Mode>().unwrap(), mode);
        assert_eq!(mode.to_string(), mode.name());
        let json = serde_json::to_string(&mode).unwrap();
        assert_eq!(serde_json::from_str::<Mode>(&json).unwrap(), mode);
        assert_eq!(json, format!("\"{}\"", mode.name()));
    }
    let error = "turbo".parse::<Mode>().unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown mode \"turbo\", expected one of: adaptive, bpf, off"
    );
}
