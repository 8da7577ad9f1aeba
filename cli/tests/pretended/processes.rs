//! Two programs that were learned.

use std::collections::HashMap;
use std::io::{Read, Write};

use pandemonium_api::{ProfileDetails, ProfileRow, Refusal};
use zbus::{OwnedFd, OwnedVariant, Variant, interface};

use super::Shared;

pub(super) struct Processes(pub(super) Shared);

fn row(name: &[u8], tier: &str) -> ProfileRow {
    ProfileRow {
        comm: name.to_vec(),
        name: String::from_utf8_lossy(name).into_owned(),
        tier: tier.into(),
        confidence_permille: 900,
        observations: 12,
        avg_runtime_ns: 300_000,
        runtime_dev_ns: 20_000,
        wakeup_freq: 60,
        last_used: 3,
    }
}

#[interface(name = "org.pandemonium.Processes1")]
impl Processes {
    #[zbus(property)]
    fn generation(&self) -> u64 {
        1
    }

    fn list(
        &self,
        _offset: u32,
        _limit: u32,
        filter: HashMap<String, OwnedVariant>,
    ) -> (Vec<ProfileRow>, u32, u64) {
        let mut rows = vec![row(b"kwin", "lat_critical")];
        if filter.is_empty() {
            rows.push(row(b"cc1", "batch"));
        }
        let total = rows.len() as u32;
        (rows, total, 1)
    }

    fn get(&self, name: Vec<u8>) -> (ProfileRow, ProfileDetails) {
        let details = ProfileDetails {
            pinned: true,
            ..ProfileDetails::default()
        };
        (row(&name, "batch"), details)
    }

    fn pin(&self, name: Vec<u8>, tier: String) -> Result<(), Refusal> {
        self.0.lock().ask(format!("pin {name:?} {tier}"))
    }

    fn unpin(&self, name: Vec<u8>) -> Result<(), Refusal> {
        self.0.lock().ask(format!("unpin {name:?}"))
    }

    fn forget(&self, name: Vec<u8>) -> Result<(), Refusal> {
        self.0.lock().ask(format!("forget {name:?}"))
    }

    fn forget_all(&self) -> Result<u32, Refusal> {
        self.0.lock().ask("forget all".to_owned()).map(|()| 7)
    }

    /// More than a pipe holds.
    fn export(&self, to: OwnedFd) -> Result<(), Refusal> {
        self.0.lock().ask("export".to_owned())?;
        let to = std::os::fd::OwnedFd::from(to);
        std::thread::spawn(move || {
            let _ = std::fs::File::from(to).write_all(&vec![b'#'; EXPORTED]);
        });
        Ok(())
    }

    fn import(
        &self,
        from: OwnedFd,
        options: HashMap<String, OwnedVariant>,
    ) -> Result<u32, Refusal> {
        let mut text = String::new();
        let mut from = std::fs::File::from(std::os::fd::OwnedFd::from(from));
        from.read_to_string(&mut text).expect("readable");
        let is_replacing = options
            .values()
            .any(|value| matches!(**value, Variant::Bool(true)));
        self.0
            .lock()
            .ask(format!("import {text} {is_replacing}"))
            .map(|()| 2)
    }
}

/// How much the pretended export is.
pub const EXPORTED: usize = 200_000;
