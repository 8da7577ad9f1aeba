//! `org.pandemonium.Processes1`: what was learned about programs.

use std::collections::HashMap;

use pandemonium_api::{BusError, MAX_ROWS, ProfileFilter, ProfileRow, Refusal};
use pandemonium_policy::{Profile, Profiles, Tier};
use tokio::sync::watch;
use zbus::message::Header;
use zbus::{Connection, OwnedVariant, Variant, interface};

use super::authority::{Authority, Call, Permit};
use crate::status::{Learned, Status};

/// The interface object.
pub struct Processes {
    /// What was published.
    pub status: watch::Receiver<Status>,
    /// Who may.
    pub authority: Authority,
}

#[interface(name = "org.pandemonium.Processes1", introspection_docs = false)]
impl Processes {
    #[zbus(out_args("profiles", "total", "generation"))]
    async fn list(
        &self,
        offset: u32,
        limit: u32,
        filter: HashMap<String, OwnedVariant>,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(Vec<ProfileRow>, u32, u64), Refusal> {
        let filter = parse(&filter)?;
        let call = Call {
            connection,
            header: &header,
            member: "List",
            details: &[],
        };
        let permit = self.authority.permit(call).await?;
        let learned = self.status.borrow().learned.clone();
        Ok(page(&permit, &learned, &filter, offset, limit))
    }

    #[zbus(property)]
    fn count(&self) -> u32 {
        count(&self.status.borrow().learned)
    }

    #[zbus(property)]
    fn confident_count(&self) -> u32 {
        self.status.borrow().learned.confident
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn capacity(&self) -> u32 {
        Profiles::CAPACITY as u32
    }

    #[zbus(property)]
    fn generation(&self) -> u64 {
        self.status.borrow().learned.generation
    }
}

/// The properties whose changes are announced, with their values.
pub fn properties(status: &Status) -> Vec<(&'static str, Variant<'static>)> {
    vec![
        ("Count", count(&status.learned).into()),
        ("ConfidentCount", status.learned.confident.into()),
        ("Generation", status.learned.generation.into()),
    ]
}

fn count(learned: &Learned) -> u32 {
    u32::try_from(learned.profiles.len()).unwrap_or(u32::MAX)
}

fn parse(options: &HashMap<String, OwnedVariant>) -> Result<ProfileFilter, Refusal> {
    let invalid = |sentence: String| BusError::InvalidArgs.because(sentence);
    let filter = ProfileFilter::from_options(options).map_err(invalid)?;
    let known = Tier::ALL.map(Tier::name);
    match &filter.tier {
        Some(tier) if !known.contains(&tier.as_str()) => Err(invalid(format!(
            "unknown tier; choose one of {}",
            known.join(", ")
        ))),
        _ => Ok(filter),
    }
}

/// The names of other users' programs are in here, hence the permit.
fn page(
    _: &Permit,
    learned: &Learned,
    filter: &ProfileFilter,
    offset: u32,
    limit: u32,
) -> (Vec<ProfileRow>, u32, u64) {
    let matches: Vec<_> = learned
        .profiles
        .iter()
        .filter(|profile| is_match(profile, filter))
        .collect();
    let limit = if limit == 0 {
        MAX_ROWS
    } else {
        limit.min(MAX_ROWS)
    };
    let rows = matches.iter().skip(offset as usize).take(limit as usize);
    let rows = rows.map(|profile| row(profile)).collect();
    (
        rows,
        u32::try_from(matches.len()).unwrap_or(u32::MAX),
        learned.generation,
    )
}

fn is_match(profile: &Profile, filter: &ProfileFilter) -> bool {
    let is_tier = filter
        .tier
        .as_ref()
        .is_none_or(|tier| profile.tier().name() == tier);
    let is_named = filter
        .name
        .as_ref()
        .is_none_or(|name| profile.display_name().contains(name));
    let is_sure = filter
        .min_confidence_permille
        .is_none_or(|least| profile.confidence_permille() >= least);
    is_tier && is_named && is_sure
}

fn row(profile: &Profile) -> ProfileRow {
    let comm = profile
        .comm
        .split(|byte| *byte == 0)
        .next()
        .unwrap_or_default();
    ProfileRow {
        comm: comm.to_vec(),
        name: profile.display_name(),
        tier: profile.tier().name().to_owned(),
        confidence_permille: profile.confidence_permille(),
        observations: profile.observations,
        avg_runtime_ns: profile.avg_runtime_ns,
        runtime_dev_ns: profile.runtime_dev_ns,
        wakeup_freq: profile.wakeup_freq,
        last_used: profile.last_used,
    }
}
