use std::fs;

use pandemonium_policy::{Observation, Tier};
use proptest::prelude::*;

use super::*;

fn observation(name: u64, tier: usize, avg_runtime_ns: u64) -> Observation {
    let mut comm = [0; 16];
    let text = format!("p{name:x}");
    let length = text.len().min(15);
    comm[..length].copy_from_slice(&text.as_bytes()[..length]);
    Observation {
        comm,
        tier: Tier::ALL[tier % 3],
        avg_runtime_ns,
        runtime_dev_ns: avg_runtime_ns / 8,
        wakeup_freq: 12,
        csw_rate: 3,
        lat_cri: 4,
        exited: true,
    }
}

fn table(programs: u64) -> Profiles {
    let mut profiles = Profiles::new();
    for name in 0..programs {
        for _ in 0..4 {
            profiles.learn(&observation(name, name as usize, 100_000 * (name + 1)));
        }
    }
    profiles
}

/// The file that a daemon of an older version, whose records have this size, would have written of these.
fn old_version(profiles: &Profiles, version: u32, record_bytes: usize) -> Vec<u8> {
    let now = encode(profiles);
    let mut bytes = now[..HEADER_BYTES].to_vec();
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    for record in now[HEADER_BYTES..now.len() - CHECKSUM_BYTES].chunks_exact(RECORD_BYTES) {
        bytes.extend(&record[..record_bytes]);
    }
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes
}

fn first_version(profiles: &Profiles) -> Vec<u8> {
    old_version(profiles, 1, 68)
}

fn second_version(profiles: &Profiles) -> Vec<u8> {
    old_version(profiles, 2, 72)
}

fn rows(profiles: &Profiles) -> (u64, Vec<Profile>) {
    (profiles.launches(), profiles.iter().cloned().collect())
}

fn store() -> (tempfile::TempDir, ProfileStore, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let store = ProfileStore::new(dir.path());
    let path = dir.path().join(FILE_NAME);
    (dir, store, path)
}

fn set_aside(dir: &Path) -> usize {
    let names = fs::read_dir(dir).expect("readable");
    names
        .filter(|e| {
            e.as_ref()
                .is_ok_and(|e| e.path().to_string_lossy().contains(".corrupt-"))
        })
        .count()
}

#[test]
fn what_was_saved_is_loaded() {
    let (_dir, store, path) = store();
    let profiles = table(40);
    store.save(&profiles).expect("saves");
    let (loaded, warning) = store.load();
    assert_eq!(rows(&loaded), rows(&profiles));
    assert_eq!(warning, None);
    assert!(check(&path).is_ok_and(|sentence| sentence.contains("40 profiles")));
}

#[test]
fn nothing_stored_is_not_worth_a_warning() {
    let (_dir, store, path) = store();
    let (loaded, warning) = store.load();
    assert!(loaded.is_empty() && warning.is_none());
    assert!(check(&path).is_err_and(|sentence| sentence.contains("does not exist")));
}

#[test]
fn a_full_table_fits() {
    let full = table(Profiles::CAPACITY as u64 + 50);
    let bytes = encode(&full);
    assert_eq!(bytes.len(), MAX_BYTES);
    assert_eq!(decode(&bytes).map(|loaded| rows(&loaded)), Ok(rows(&full)));
}

#[test]
fn cut_anywhere_is_refused() {
    let bytes = encode(&table(3));
    for length in 0..bytes.len() {
        assert!(
            decode(&bytes[..length]).is_err(),
            "{length} bytes were accepted"
        );
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    let bytes = encode(&table(3));
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&flipped).is_err(), "flipping bit {bit} was accepted");
    }
}

#[test]
fn a_bad_file_is_set_aside_and_nothing_is_lost() {
    let (dir, store, path) = store();
    fs::write(&path, b"garbage").expect("writes");
    let (loaded, warning) = store.load();
    assert!(loaded.is_empty());
    let warning = warning.expect("a warning");
    assert!(
        warning.contains("corrupt-1") && warning.contains("not a PANDEMONIUM"),
        "{warning}"
    );
    assert_eq!(
        fs::read(dir.path().join("profiles.bin.corrupt-1")).expect("kept"),
        b"garbage"
    );
    assert!(!path.exists());
}

#[test]
fn context_switches_survive() {
    let loaded = decode(&encode(&table(1))).expect("valid");
    assert_eq!(
        loaded.iter().map(|profile| profile.csw_rate).sum::<u32>(),
        3
    );
}

#[test]
fn the_first_version_is_read_and_written_anew() {
    let (dir, store, path) = store();
    let profiles = table(7);
    fs::write(&path, first_version(&profiles)).expect("writes");
    assert!(check(&path).is_ok_and(|sentence| sentence.contains("7 profiles")));
    let (loaded, warning) = store.load();
    assert_eq!((warning, set_aside(dir.path())), (None, 0));
    let expected: Vec<_> = profiles
        .iter()
        .map(|profile| Profile {
            csw_rate: 0,
            ..profile.clone()
        })
        .collect();
    assert_eq!(rows(&loaded), (profiles.launches(), expected));
    store.save(&loaded).expect("saves");
    assert_eq!(
        fs::read(&path).expect("readable")[8..12],
        VERSION.to_le_bytes()
    );
    assert_eq!(rows(&store.load().0), rows(&loaded));
}

#[test]
fn records_of_the_wrong_version_are_refused() {
    for (bytes, version) in [
        (encode(&table(3)), 1u32),
        (first_version(&table(3)), 2),
        (second_version(&table(3)), 3),
    ] {
        let mut bytes = bytes[..bytes.len() - CHECKSUM_BYTES].to_vec();
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        bytes.extend(checksum(&bytes).to_le_bytes());
        assert_eq!(decode(&bytes).err(), Some(FormatError::Length));
    }
}

#[test]
fn a_file_of_the_second_version_is_read_with_nothing_pinned() {
    let mut profiles = table(3);
    let loaded = decode(&second_version(&profiles)).expect("valid");
    assert_eq!(rows(&loaded), rows(&profiles));
    let comm = profiles.iter().next().expect("one").comm;
    assert!(profiles.pin(&comm, Tier::Batch));
    let loaded = decode(&second_version(&profiles)).expect("valid");
    assert_eq!(loaded.pinned_count(), 0);
}

#[test]
fn pins_survive_and_a_word_that_is_none_is_none() {
    let mut profiles = table(2);
    let comm = profiles.iter().next().expect("one").comm;
    for tier in Tier::ALL {
        assert!(profiles.pin(&comm, tier) && profiles.pin(&[b'n'; 16], tier));
        let loaded = decode(&encode(&profiles)).expect("valid");
        assert_eq!(rows(&loaded), rows(&profiles));
        assert_eq!(loaded.pinned_count(), 2);
    }
    assert_eq!([0, 4, u32::MAX].map(pin_of), [None; 3]);
}

#[test]
fn a_first_version_cut_or_flipped_is_refused() {
    let bytes = first_version(&table(2));
    for length in 0..bytes.len() {
        assert!(
            decode(&bytes[..length]).is_err(),
            "{length} bytes were accepted"
        );
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&flipped).is_err(), "flipping bit {bit} was accepted");
    }
}

#[test]
fn a_future_version_is_named() {
    let (_dir, store, path) = store();
    let mut bytes = encode(&table(1));
    bytes[8] = 9;
    fs::write(&path, bytes).expect("writes");
    let (_, warning) = store.load();
    assert!(warning.is_some_and(|warning| warning.contains("version 9")));
}

#[test]
fn links_fifos_and_directories_are_not_followed() {
    let (dir, store, path) = store();
    let target = dir.path().join("target");
    fs::write(&target, encode(&table(2))).expect("writes");
    std::os::unix::fs::symlink(&target, &path).expect("links");
    let (loaded, warning) = store.load();
    assert!(loaded.is_empty() && warning.is_some_and(|w| w.contains("not a regular file")));
    assert!(target.exists());

    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).expect("a fifo");
    assert!(
        store
            .load()
            .1
            .is_some_and(|w| w.contains("not a regular file"))
    );
    fs::create_dir(&path).expect("a directory");
    assert!(
        store
            .load()
            .1
            .is_some_and(|w| w.contains("not a regular file"))
    );
    assert_eq!(set_aside(dir.path()), 3);
    store
        .save(&table(2))
        .expect("saves where the directory was");
}

#[test]
fn a_huge_file_is_not_read() {
    let (_dir, store, path) = store();
    let file = fs::File::create(&path).expect("creates");
    file.set_len(10 << 30).expect("a sparse file");
    assert!(
        store
            .load()
            .1
            .is_some_and(|warning| warning.contains("larger than"))
    );
}

#[test]
fn quarantine_is_bounded_and_keeps_the_newest() {
    let (dir, store, path) = store();
    for round in 0..9 {
        fs::write(&path, format!("garbage {round}")).expect("writes");
        assert!(store.load().1.is_some());
    }
    assert_eq!(set_aside(dir.path()), state_file::MAX_SET_ASIDE);
    let newest = fs::read_to_string(dir.path().join("profiles.bin.corrupt-9"));
    assert_eq!(newest.expect("kept"), "garbage 8");
}

#[test]
fn a_failed_save_keeps_the_old_file() {
    let (dir, store, path) = store();
    store.save(&table(2)).expect("saves");
    let before = fs::read(&path).expect("readable");
    // A directory in the way of the temporary file makes every write fail, for root as well.
    fs::create_dir_all(dir.path().join(".profiles.bin.new/full")).expect("creates");
    assert!(store.save(&table(5)).is_err());
    assert_eq!(fs::read(&path).expect("readable"), before);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn arbitrary_content_with_a_right_frame_is_bounded(
        launches: u64,
        version in 1..=VERSION,
        mut records in proptest::collection::vec(proptest::collection::vec(any::<u8>(), RECORD_BYTES), 0..64),
    ) {
        let size = record_bytes(version).unwrap_or(RECORD_BYTES);
        records.iter_mut().for_each(|record| record.truncate(size));
        let mut bytes = MAGIC.to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend((records.len() as u32).to_le_bytes());
        bytes.extend(launches.to_le_bytes());
        bytes.extend(records.concat());
        bytes.extend(checksum(&bytes).to_le_bytes());
        let loaded = decode(&bytes);
        prop_assert!(loaded.is_ok());
        if let Ok(loaded) = loaded {
            prop_assert!(loaded.len() <= records.len());
            for profile in loaded.iter() {
                prop_assert!(profile.confidence_permille() <= 1000);
                let _ = (profile.tier(), profile.display_name());
            }
        }
    }

    #[test]
    fn any_table_survives(names in proptest::collection::vec((any::<u64>(), 0usize..3, any::<u64>()), 0..80)) {
        let mut profiles = Profiles::new();
        for (name, tier, avg) in names {
            profiles.learn(&observation(name, tier, avg));
        }
        let loaded = decode(&encode(&profiles));
        prop_assert_eq!(loaded.map(|loaded| rows(&loaded)), Ok(rows(&profiles)));
    }
}
