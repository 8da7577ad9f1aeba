//! Sets of CPUs and their text.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;

use pandemonium_policy::CpuSet;
use pandemonium_policy::cpuset::CpuSetError;
use proptest::prelude::*;

fn set(cpus: &[u32]) -> CpuSet {
    cpus.iter().copied().collect()
}

fn parsed(text: &str) -> Result<CpuSet, CpuSetError> {
    text.parse()
}

#[test]
fn a_set_remembers_the_cpus_put_into_it() {
    let cpus = set(&[1023, 0, 64, 63, 0]);
    assert_eq!(cpus.iter().collect::<Vec<_>>(), [0, 63, 64, 1023]);
    assert_eq!(cpus.len(), 4);
    assert!(cpus.contains(64) && !cpus.contains(65));
    assert_eq!(cpus.words()[0], 1 << 63 | 1);
    assert_eq!((cpus.words()[1], cpus.words()[15]), (1, 1 << 63));
}

#[test]
fn the_empty_set_has_no_cpus() {
    let empty = CpuSet::empty();
    assert!(empty.is_empty());
    assert_eq!((empty.len(), empty.iter().count()), (0, 0));
    assert_eq!(empty, CpuSet::default());
    assert_eq!(empty.to_string(), "0x0");
    assert_eq!(parsed("0x0"), Ok(empty));
}

#[test]
fn numbers_beyond_the_last_cpu_are_ignored() {
    let cpus = set(&[CpuSet::MAX, CpuSet::MAX + 1, u32::MAX]);
    assert!(cpus.is_empty());
    assert!(!cpus.contains(CpuSet::MAX) && !cpus.contains(u32::MAX));
}

#[test]
fn an_intersection_has_what_both_sets_have() {
    let both = set(&[1, 70, 900]).intersection(&set(&[0, 70, 900, 901]));
    assert_eq!(both, set(&[70, 900]));
}

#[test]
fn masks_are_written_without_leading_zeros() {
    assert_eq!(set(&[0, 1, 2, 3, 8]).to_string(), "0x10f");
    assert_eq!(set(&[64]).to_string(), "0x10000000000000000");
    assert_eq!(set(&[68, 3]).to_string(), "0x100000000000000008");
    assert_eq!(format!("{:?}", set(&[5])), "CpuSet(0x20)");
}

#[test]
fn masks_are_read_as_people_and_the_kernel_write_them() {
    assert_eq!(parsed("f"), Ok(set(&[0, 1, 2, 3])));
    assert_eq!(parsed("0XFf"), Ok((0..8).collect()));
    assert_eq!(parsed("00000001,00000003"), Ok(set(&[0, 1, 32])));
    assert_eq!(parsed("0x1_0000"), Ok(set(&[16])));
    assert_eq!(
        parsed(&format!("0x{}1", "0".repeat(5000))),
        Ok(set(&[0])),
        "leading zeros"
    );
    assert_eq!(
        parsed(&"f".repeat(256)),
        Ok((0..1024).collect()),
        "every CPU"
    );
}

#[test]
fn what_is_not_a_mask_is_refused() {
    for text in ["", "0x", ",", "0x_,_"] {
        assert_eq!(parsed(text), Err(CpuSetError::Empty), "{text:?}");
    }
    for (text, wrong) in [
        ("12g", 'g'),
        (" 1", ' '),
        ("1\n", '\n'),
        ("-1", '-'),
        ("0x0x1", 'x'),
        ("ä", 'ä'),
    ] {
        assert_eq!(parsed(text), Err(CpuSetError::NotHex(wrong)), "{text:?}");
    }
    let too_high = format!("1{}", "0".repeat(256));
    assert_eq!(parsed(&too_high), Err(CpuSetError::TooHigh));
    assert_eq!(
        CpuSetError::NotHex('\n').to_string(),
        "'\\n' is not a hexadecimal digit of a CPU mask"
    );
}

fn any_cpus() -> impl Strategy<Value = BTreeSet<u32>> {
    prop::collection::btree_set(0..CpuSet::MAX, 0..200)
}

proptest! {
    #[test]
    fn the_text_of_any_set_reads_back_as_the_same_set(cpus in any_cpus()) {
        let set: CpuSet = cpus.iter().copied().collect();
        let text = set.to_string();
        prop_assert_eq!(parsed(&text), Ok(set));
        prop_assert_eq!(parsed(&text.to_uppercase()), Ok(set));
        prop_assert_eq!(parsed(&text[2..]), Ok(set));
        prop_assert!(text == "0x0" || !text.starts_with("0x0"));
    }

    #[test]
    fn a_set_agrees_with_an_ordinary_one(a in any_cpus(), b in any_cpus()) {
        let [x, y] = [&a, &b].map(|cpus| cpus.iter().copied().collect::<CpuSet>());
        prop_assert!(x.iter().eq(a.iter().copied()));
        prop_assert_eq!(x.len() as usize, a.len());
        prop_assert!(x.intersection(&y).iter().eq(a.intersection(&b).copied()));
        prop_assert_eq!(x == y, a == b);
    }

    #[test]
    fn any_text_is_read_or_refused_without_harm(text in "\\PC*") {
        if let Ok(set) = parsed(&text) {
            prop_assert_eq!(parsed(&set.to_string()), Ok(set));
        }
    }
}
