//! Learned profiles on disk.
//!
//! The file is: magic, version, record count, launch counter, records of fixed size, checksum; numbers
//! are little-endian. A file that is not exactly that is set aside, never repaired and never deleted.
//! Older versions are read, and written anew as the present one: records of version 1 lack the context
//! switches, those of version 2 the pin.

use std::io;
use std::path::{Path, PathBuf};

use pandemonium_policy::{Profile, Profiles, Tier};
use thiserror::Error;

use crate::state_file::{self, ReadError};

const MAGIC: &[u8; 8] = b"PANDPROF";
const VERSION: u32 = 3;
const HEADER_BYTES: usize = 24;
const RECORD_BYTES: usize = 76;
const CHECKSUM_BYTES: usize = 8;
const MAX_BYTES: usize = HEADER_BYTES + Profiles::CAPACITY * RECORD_BYTES + CHECKSUM_BYTES;

/// The file's name in the state directory.
pub const FILE_NAME: &str = "profiles.bin";

/// Why a profile file is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// It does not start like one.
    #[error("is not a PANDEMONIUM profile file")]
    Magic,
    /// Another version of the daemon wrote it.
    #[error("has format version {0}, this pandemoniumd reads versions 1 to {VERSION}")]
    Version(u32),
    /// Its length is not that of its records.
    #[error("is cut short or has something appended")]
    Length,
    /// Its content was changed.
    #[error("is damaged: the checksum does not match")]
    Checksum,
}

/// Why there are no profiles to start from.
#[derive(Debug, Error)]
pub enum LoadError {
    /// There is nothing to read.
    #[error("{0}")]
    File(#[from] ReadError),
    /// Its content is wrong.
    #[error("{0}")]
    Format(#[from] FormatError),
}

/// Where profiles are kept.
#[derive(Clone, Debug)]
pub struct ProfileStore {
    directory: PathBuf,
}

impl ProfileStore {
    /// A store in this directory, which is made when first needed.
    pub fn new(directory: &Path) -> ProfileStore {
        ProfileStore {
            directory: directory.to_owned(),
        }
    }

    /// The stored profiles, or none and one sentence on what became of the file.
    pub fn load(&self) -> (Profiles, Option<String>) {
        let path = self.directory.join(FILE_NAME);
        match read(&path) {
            Ok(profiles) => (profiles, None),
            Err(LoadError::File(ReadError::Missing)) => (Profiles::new(), None),
            Err(error) => {
                let fate = state_file::fate(&self.directory, FILE_NAME);
                let sentence = format!(
                    "The profile file {} {error}; {fate}, and learning starts afresh.",
                    path.display()
                );
                (Profiles::new(), Some(sentence))
            }
        }
    }

    /// Writes the profiles so that after a power cut either the old or the new file is there.
    pub fn save(&self, profiles: &Profiles) -> io::Result<()> {
        state_file::replace(&self.directory, FILE_NAME, &encode(profiles))
    }
}

/// `1 profile`, `2 profiles`.
pub fn counted(count: usize) -> String {
    format!("{count} profile{}", if count == 1 { "" } else { "s" })
}

/// One sentence about a profile file: `Ok` if it is valid.
pub fn check(path: &Path) -> Result<String, String> {
    match read(path) {
        Ok(profiles) => Ok(format!(
            "{} is valid: {}, {} confident.",
            path.display(),
            counted(profiles.len()),
            profiles.confident_count()
        )),
        Err(error) => Err(format!("{} {error}.", path.display())),
    }
}

fn read(path: &Path) -> Result<Profiles, LoadError> {
    Ok(decode(&state_file::read(path, MAX_BYTES)?)?)
}

/// The bytes of a profile file.
pub fn encode(profiles: &Profiles) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAX_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    // The table is bounded far below this.
    let count = u32::try_from(profiles.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&count.to_le_bytes());
    bytes.extend_from_slice(&profiles.launches().to_le_bytes());
    for profile in profiles.iter() {
        bytes.extend_from_slice(&profile.comm);
        for votes in profile.votes {
            bytes.extend_from_slice(&votes.to_le_bytes());
        }
        bytes.extend_from_slice(&profile.observations.to_le_bytes());
        bytes.extend_from_slice(&profile.avg_runtime_ns.to_le_bytes());
        bytes.extend_from_slice(&profile.runtime_dev_ns.to_le_bytes());
        bytes.extend_from_slice(&profile.wakeup_freq.to_le_bytes());
        bytes.extend_from_slice(&profile.last_used.to_le_bytes());
        bytes.extend_from_slice(&profile.first_used.to_le_bytes());
        bytes.extend_from_slice(&profile.csw_rate.to_le_bytes());
        bytes.extend_from_slice(&pin_word(profile.pinned).to_le_bytes());
    }
    bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
    bytes
}

/// The profiles in these bytes.
pub fn decode(bytes: &[u8]) -> Result<Profiles, FormatError> {
    let mut header = Cursor(bytes);
    if header.array::<8>().as_ref() != Some(MAGIC) {
        return Err(FormatError::Magic);
    }
    let version = header.u32().ok_or(FormatError::Length)?;
    let record_bytes = record_bytes(version).ok_or(FormatError::Version(version))?;
    let count = header.u32().ok_or(FormatError::Length)? as usize;
    let launches = header.u64().ok_or(FormatError::Length)?;
    let expected = HEADER_BYTES + count.min(Profiles::CAPACITY) * record_bytes + CHECKSUM_BYTES;
    if count > Profiles::CAPACITY || bytes.len() != expected {
        return Err(FormatError::Length);
    }
    let (content, sum) = bytes.split_at(expected - CHECKSUM_BYTES);
    if sum != checksum(content).to_le_bytes() {
        return Err(FormatError::Checksum);
    }
    let records = content[HEADER_BYTES..].chunks_exact(record_bytes);
    let stored: Option<Vec<Profile>> = records.map(|record| Cursor(record).profile()).collect();
    Ok(Profiles::from_stored(
        launches,
        stored.ok_or(FormatError::Length)?,
    ))
}

/// The size of a record in a file of this version, if it can be read.
fn record_bytes(version: u32) -> Option<usize> {
    match version {
        1 => Some(RECORD_BYTES - 2 * size_of::<u32>()),
        2 => Some(RECORD_BYTES - size_of::<u32>()),
        VERSION => Some(RECORD_BYTES),
        _ => None,
    }
}

/// A pin as a word of a record: one more than the tier, or 0.
fn pin_word(pinned: Option<Tier>) -> u32 {
    pinned.map_or(0, |tier| tier.index() as u32 + 1)
}

fn pin_of(word: u32) -> Option<Tier> {
    Tier::from_index((word as usize).checked_sub(1)?)
}

/// FNV-1a: catches every single changed byte, and needs no table.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Reads numbers off the front of a slice.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*front)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn profile(&mut self) -> Option<Profile> {
        Some(Profile {
            comm: self.array()?,
            votes: [self.u32()?, self.u32()?, self.u32()?],
            observations: self.u32()?,
            avg_runtime_ns: self.u64()?,
            runtime_dev_ns: self.u64()?,
            wakeup_freq: self.u32()?,
            last_used: self.u64()?,
            first_used: self.u64()?,
            // Last in the record, because files of version 1 end before it.
            csw_rate: self.u32().unwrap_or(0),
            // And those of version 2 before this.
            pinned: pin_of(self.u32().unwrap_or(0)),
        })
    }
}

#[cfg(test)]
mod tests;
