//! What holds for the control loop whatever it is told.
#![allow(clippy::unwrap_used, missing_docs)]

use pandemonium_policy::{Control, Counters, Knobs, Limits, Mode, Sample};
use proptest::prelude::*;

const SEC: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const US: u64 = 1_000;

prop_compose! {
    fn any_sample()(
        v in any::<[u64; 6]>(), idle_permille: u32, nr_online: u32, longrun: bool,
        io_pct in prop::option::of(any::<u32>()), p99 in prop::option::of(any::<u64>()),
        small in any::<bool>()
    ) -> Sample {
        let scale = |value: u64| if small { value % (20 * SEC) } else { value };
        Sample {
            elapsed_ns: scale(v[0]),
            idle_permille: if small { idle_permille % 1001 } else { idle_permille },
            counters: Counters { dispatches: scale(v[1]), ..Counters::default() },
            p99_all_ns: p99.map(|ns| if small { ns % (20 * MS) } else { ns }),
            io_pct,
            batch_wait_ns: v[2],
            longrun,
            nr_online: if small { nr_online % 1025 } else { nr_online },
            ..Sample::default()
        }
    }
}

fn any_mode() -> impl Strategy<Value = Mode> {
    prop::sample::select(vec![
        Mode::Adaptive,
        Mode::Adaptive,
        Mode::Adaptive,
        Mode::Bpf,
        Mode::Off,
    ])
}

proptest! {
    #[test]
    fn knobs_stay_in_range_for_arbitrary_samples(
        cpus: u32, steps in prop::collection::vec((any_mode(), any_sample(), any::<bool>()), 1..60)
    ) {
        let limits = Limits::for_cpus(cpus);
        let mut control = Control::new(limits);
        for (mode, sample, discard) in steps {
            if discard {
                control.discard_window();
            }
            let decision = control.step(mode, &sample);
            for spec in Knobs::SPECS {
                let value = decision.knobs.get(spec.name).unwrap();
                prop_assert!((spec.min..=spec.max).contains(&value), "{} = {}", spec.name, value);
            }
            prop_assert_eq!(decision.knobs, control.knobs());
            prop_assert_eq!(decision.regime, control.regime());
            let sojourn = control.sojourn_target_ns();
            prop_assert!(sojourn >= limits.sojourn_floor_ns && sojourn <= limits.sojourn_ceiling_ns);
        }
    }

    #[test]
    fn the_slice_never_leaves_the_span_from_its_floor_to_the_baseline(
        cpus in 1u32..=1024, steps in prop::collection::vec(any_sample(), 1..60)
    ) {
        let limits = Limits::for_cpus(cpus);
        let mut control = Control::new(limits);
        for sample in steps {
            let decision = control.step(Mode::Adaptive, &sample);
            if decision.reason != "no usable window" {
                let baseline_ns = decision.regime.baseline(&limits).slice_ns;
                prop_assert!(decision.knobs.slice_ns <= baseline_ns);
                prop_assert!(decision.knobs.slice_ns >= baseline_ns.min(500 * US));
            }
        }
    }

    #[test]
    fn the_same_samples_always_give_the_same_decisions(
        steps in prop::collection::vec((any_mode(), any_sample()), 1..40)
    ) {
        let mut twins = [(); 2].map(|()| Control::new(Limits::for_cpus(8)));
        for (mode, sample) in steps {
            let [a, b] = twins.each_mut().map(|twin| twin.step(mode, &sample));
            prop_assert_eq!(a, b);
        }
    }
}
