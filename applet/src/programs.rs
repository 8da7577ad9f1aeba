//! What was learned about programs, as the list shows it, and how it is fetched: page by page.

use pandemonium_api::{MAX_ROWS, ProfileFilter, ProfileRow};

use crate::link::Daemon;

/// How often a list is fetched anew because it changed meanwhile. The next change is announced anyway.
const ATTEMPTS: u32 = 3;

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What the daemon says.
    pub row: ProfileRow,
    /// Somebody decided on its tier.
    pub is_pinned: bool,
    /// Launches of any program since it was seen.
    pub launches_since: u64,
}

/// Everything that is known, in the order of the names.
pub async fn fetch(daemon: Daemon) -> zbus::Result<Vec<Program>> {
    let pinned = ProfileFilter {
        is_pinned: Some(true),
        ..ProfileFilter::default()
    };
    let mut attempt = 1;
    loop {
        let decided = pages(&daemon, &pinned).await?;
        let known = pages(&daemon, &ProfileFilter::default()).await?;
        let is_one = decided.generation == known.generation && decided.is_one && known.is_one;
        if is_one || attempt == ATTEMPTS {
            let launches = launches(&daemon, &known.rows).await?;
            return Ok(join(known.rows, &decided.rows, launches));
        }
        attempt += 1;
    }
}

struct Pages {
    rows: Vec<ProfileRow>,
    generation: u64,
    /// Nothing changed from the first page to the last.
    is_one: bool,
}

async fn pages(daemon: &Daemon, filter: &ProfileFilter) -> zbus::Result<Pages> {
    let list = |offset| daemon.processes.list(offset, MAX_ROWS, filter.to_options());
    let (mut rows, total, generation) = list(0).await?;
    let mut is_one = true;
    while rows.len() < total as usize {
        let (page, _, now) = list(rows.len() as u32).await?;
        is_one &= now == generation;
        if page.is_empty() {
            break;
        }
        rows.extend(page);
    }
    Ok(Pages {
        rows,
        generation,
        is_one,
    })
}

/// The launches of any program so far, which only the details of one tell: those of the last seen.
async fn launches(daemon: &Daemon, rows: &[ProfileRow]) -> zbus::Result<u64> {
    let Some(last) = rows.iter().max_by_key(|row| row.last_used) else {
        return Ok(0);
    };
    // It may be forgotten by now, and then it is the present.
    Ok(match daemon.processes.get(&last.comm).await {
        Ok((row, details)) => row.last_used.saturating_add(details.launches_since),
        Err(_) => last.last_used,
    })
}

/// What the programs are in the order of. The list is shown in it at first, so that nothing that comes later
/// pushes away what is above.
pub fn key(row: &ProfileRow) -> (String, Vec<u8>) {
    (row.name.to_lowercase(), row.comm.clone())
}

/// Both lists as one.
fn join(mut rows: Vec<ProfileRow>, decided: &[ProfileRow], launches: u64) -> Vec<Program> {
    rows.sort_by_cached_key(key);
    // Of a list that changed while it was fetched, a program may be on two pages.
    rows.dedup_by(|a, b| a.comm == b.comm);
    let pinned: std::collections::BTreeSet<&[u8]> =
        decided.iter().map(|row| row.comm.as_slice()).collect();
    rows.into_iter()
        .map(|row| Program {
            is_pinned: pinned.contains(row.comm.as_slice()),
            launches_since: launches.saturating_sub(row.last_used),
            row,
        })
        .collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A program of this name.
    pub fn program(name: &str) -> Program {
        Program {
            row: ProfileRow {
                comm: name.as_bytes().to_vec(),
                name: name.to_owned(),
                tier: "interactive".to_owned(),
                confidence_permille: 900,
                observations: 9,
                avg_runtime_ns: 250_000,
                runtime_dev_ns: 10_000,
                wakeup_freq: 6,
                last_used: 7,
            },
            is_pinned: false,
            launches_since: 3,
        }
    }

    #[test]
    fn a_list_is_in_order_without_doubles_and_knows_who_is_pinned() {
        let row = |name| program(name).row;
        let rows = vec![row("b"), row("C"), row("a"), row("b")];
        let joined = join(rows, &[row("b")], 10);
        let seen: Vec<_> = joined
            .iter()
            .map(|p| (p.row.name.as_str(), p.is_pinned, p.launches_since))
            .collect();
        assert_eq!(seen, [("a", false, 3), ("b", true, 3), ("C", false, 3)]);
    }
}
