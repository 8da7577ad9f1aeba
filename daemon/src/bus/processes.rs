//! `org.pandemonium.Processes1`: what was learned about programs.

use std::cmp::Reverse;
use std::collections::HashMap;

use pandemonium_api::{
    BusError, MAX_ROWS, ProfileDetails, ProfileFilter, ProfileRow, Refusal, check_name, escape,
    import, sort,
};
use pandemonium_policy::{Profile, Profiles, Tier};
use tokio::sync::watch;
use zbus::message::Header;
use zbus::{Connection, OwnedFd, OwnedVariant, Variant, interface};

use super::Requests;
use super::authority::{Authority, Origin, Permit};
use super::inlet::Inlet;
use super::options::Options;
use super::outlet::Outlet;
use super::transfer::Transfers;
use crate::daemon::{Comm, Command, Edit};
use crate::profile_text;
use crate::status::{Learned, Status};

/// The interface object.
pub struct Processes {
    /// What was published.
    pub status: watch::Receiver<Status>,
    /// Where requests go.
    pub requests: Requests,
    /// Text through descriptors.
    pub transfers: Transfers,
    /// Who may.
    pub authority: Authority,
}

impl Processes {
    /// One of the changes that concern a single name.
    async fn edit(
        &self,
        member: &'static str,
        name: &[u8],
        from: Origin<'_>,
        edit: impl FnOnce(Comm) -> Edit,
    ) -> Result<(), Refusal> {
        let comm = parse_name(name)?;
        let shown = escape(name, name.len());
        let details = [("program", shown.as_str())];
        let permit = self.authority.permit(from, member, &details).await?;
        let command = Command::Edit(edit(comm));
        self.requests.send(permit, command).await
    }

    fn learned(&self) -> Learned {
        self.status.borrow().learned.clone()
    }
}

#[interface(name = "org.pandemonium.Processes1", introspection_docs = false)]
impl Processes {
    #[zbus(out_args("profiles", "total", "generation"))]
    async fn list(
        &self,
        offset: u32,
        limit: u32,
        filter: Options,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(Vec<ProfileRow>, u32, u64), Refusal> {
        let filter = parse(&filter)?;
        let permit = self
            .authority
            .permit((&header, connection), "List", &[])
            .await?;
        Ok(page(&permit, &self.learned(), &filter, offset, limit))
    }

    #[zbus(out_args("profile", "details"))]
    async fn get(
        &self,
        name: &[u8],
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(ProfileRow, ProfileDetails), Refusal> {
        let comm = parse_name(name)?;
        let permit = self
            .authority
            .permit((&header, connection), "Get", &[])
            .await?;
        look_up(&permit, &self.status.borrow(), &comm)
    }

    async fn pin(
        &self,
        name: &[u8],
        tier: &str,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let tier = parse_tier(tier)?;
        let from = (&header, connection);
        self.edit("Pin", name, from, |comm| Edit::Pin(comm, tier))
            .await
    }

    async fn unpin(
        &self,
        name: &[u8],
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let from = (&header, connection);
        self.edit("Unpin", name, from, Edit::Unpin).await
    }

    async fn forget(
        &self,
        name: &[u8],
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let from = (&header, connection);
        self.edit("Forget", name, from, Edit::Forget).await
    }

    #[zbus(out_args("count"))]
    async fn forget_all(
        &self,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<u32, Refusal> {
        let permit = self
            .authority
            .permit((&header, connection), "ForgetAll", &[])
            .await?;
        let command = Command::Edit(Edit::ForgetAll);
        self.requests.count(permit, command).await
    }

    async fn export(
        &self,
        to: OwnedFd,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<(), Refusal> {
        let invalid = |sentence: String| BusError::InvalidArgs.because(sentence);
        let outlet = Outlet::new(to.into()).map_err(invalid)?;
        let permit = self
            .authority
            .permit((&header, connection), "Export", &[])
            .await?;
        let text = export(&permit, &self.learned())?;
        self.transfers.write(&permit, outlet, text).await
    }

    #[zbus(out_args("count"))]
    async fn import(
        &self,
        from: OwnedFd,
        options: Options,
        #[zbus(header)] header: Header<'_>,
        #[zbus(connection)] connection: &Connection,
    ) -> Result<u32, Refusal> {
        let is_replacing = parse_import(&options)?;
        let invalid = |sentence: String| BusError::InvalidArgs.because(sentence);
        let inlet = Inlet::new(from.into()).map_err(invalid)?;
        let permit = self
            .authority
            .permit((&header, connection), "Import", &[])
            .await?;
        let profiles = self.transfers.read(&permit, inlet, read_profiles);
        let profiles = profiles.await?;
        let command = Command::Edit(Edit::Import(profiles, is_replacing));
        self.requests.count(permit, command).await
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
    if let Some(tier) = &filter.tier {
        parse_tier(tier)?;
    }
    Ok(filter)
}

fn parse_tier(tier: &str) -> Result<Tier, Refusal> {
    let known = Tier::ALL.into_iter().find(|known| known.name() == tier);
    known.ok_or_else(|| {
        let tier = escape(tier.as_bytes(), 64);
        let names = Tier::ALL.map(Tier::name).join(", ");
        BusError::InvalidArgs.because(format!(
            "There is no tier \"{tier}\"; choose one of {names}."
        ))
    })
}

fn parse_name(name: &[u8]) -> Result<Comm, Refusal> {
    check_name(name).map_err(|what| BusError::InvalidName.because(format!("The name {what}.")))?;
    Ok(std::array::from_fn(|i| name.get(i).copied().unwrap_or(0)))
}

/// Whether all that is known goes.
fn parse_import(options: &HashMap<String, OwnedVariant>) -> Result<bool, Refusal> {
    let mut is_replacing = false;
    for (key, value) in options {
        match (key.as_str(), &**value) {
            (import::REPLACE, Variant::Bool(is_on)) => is_replacing = *is_on,
            _ => {
                let key = escape(key.as_bytes(), 64);
                return Err(BusError::InvalidArgs.because(format!(
                    "Import has no option \"{key}\" of this type; it has {} (b).",
                    import::REPLACE
                )));
            }
        }
    }
    Ok(is_replacing)
}

fn read_profiles(bytes: Vec<u8>) -> Result<Vec<Profile>, Refusal> {
    let invalid = |sentence: String| BusError::InvalidArgs.because(sentence);
    let text = String::from_utf8(bytes).map_err(|_| invalid("The text is not UTF-8.".into()))?;
    profile_text::read(&text).map_err(invalid)
}

/// The names of other users' programs are in here, hence the permit.
fn export(_: &Permit, learned: &Learned) -> Result<String, Refusal> {
    profile_text::write(&learned.profiles, learned.launches)
        .map_err(|error| BusError::InvalidArgs.because(format!("{error}.")))
}

/// As [`page`].
fn look_up(
    _: &Permit,
    status: &Status,
    comm: &Comm,
) -> Result<(ProfileRow, ProfileDetails), Refusal> {
    let learned = &status.learned;
    let found = learned.profiles.iter().find(|p| p.comm == *comm);
    let profile = found.ok_or_else(|| {
        BusError::NotFound.because("Nothing is known about a program of this name.")
    })?;
    let knob = |name: &str| status.tick.as_ref().and_then(|tick| tick.knobs.get(name));
    let [batch, interactive, critical] = profile.votes;
    let since = |use_: u64| learned.launches.saturating_sub(use_);
    let details = ProfileDetails {
        pinned: profile.pinned.is_some(),
        learned_tier: profile.learned_tier().name().to_owned(),
        votes: (batch, interactive, critical),
        confident: profile.is_confident(),
        score: profile.score(),
        interactive_from: knob("lat_cri_thresh_low"),
        lat_critical_from: knob("lat_cri_thresh_high"),
        csw_rate: profile.csw_rate,
        launches_since: since(profile.last_used),
        launches_since_first: since(profile.first_used),
    };
    Ok((row(profile), details))
}

/// Sorts; equals stay in the order of their names, whichever way round.
fn put_in_order(profiles: &mut [&Profile], filter: &ProfileFilter) {
    let key = |p: &Profile| match filter.sort.as_deref() {
        Some(sort::TIER) => p.tier().index() as u64,
        Some(sort::CONFIDENCE) => p.confidence_permille().into(),
        Some(sort::AVG_RUN) => p.avg_runtime_ns,
        Some(sort::WAKEUPS) => p.wakeup_freq.into(),
        Some(sort::LAST_USE) => p.last_used,
        _ => 0,
    };
    let is_by_name = filter
        .sort
        .as_deref()
        .is_none_or(|order| order == sort::NAME);
    match (is_by_name, filter.is_descending) {
        (true, false) => {}
        (true, true) => profiles.reverse(),
        (false, false) => profiles.sort_by_key(|p| key(p)),
        (false, true) => profiles.sort_by_key(|p| Reverse(key(p))),
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
    let mut matches: Vec<_> = learned
        .profiles
        .iter()
        .filter(|profile| is_match(profile, filter))
        .collect();
    put_in_order(&mut matches, filter);
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
    let is_decided = filter
        .is_pinned
        .is_none_or(|is_pinned| profile.pinned.is_some() == is_pinned);
    is_tier && is_named && is_sure && is_decided
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
