//! `pandemonium profiles`: what the scheduler learned about programs.

mod change;
mod show;

use std::cmp::Reverse;
use std::io::Write;

use pandemonium_api::{MAX_ROWS, ProfileFilter, ProfileRow};
use serde_json::{Value, json};

use crate::arguments::{ListArguments, ProfilesAction, Sort};
use crate::connection::{Daemon, answer, block_on};
use crate::error::Error;
use crate::text::{Style, latency, pad, plural, print_json, printable};

/// Does what was asked for.
pub fn run(action: &ProfilesAction, style: Style, out: &mut dyn Write) -> Result<(), Error> {
    match action {
        ProfilesAction::List(wanted) => list(wanted, style, out),
        ProfilesAction::Show { name, json } => show::run(&name.0, *json, out),
        ProfilesAction::Pin { name, tier } => change::pin(name, tier),
        ProfilesAction::Unpin { name } => change::unpin(name),
        ProfilesAction::Forget { name, yes, .. } => match name {
            Some(name) => change::forget(name),
            None => change::forget_all(*yes, out),
        },
        ProfilesAction::Export { file } => change::export(file.as_deref(), out),
        ProfilesAction::Import { file, replace } => change::import(file, *replace, out),
    }
}

/// Prints the learned profiles in the wanted order, at most `limit` of them.
fn list(wanted: &ListArguments, style: Style, out: &mut dyn Write) -> Result<(), Error> {
    let filter = ProfileFilter {
        is_pinned: wanted.pinned.then_some(true),
        ..ProfileFilter::default()
    };
    let mut rows = block_on(async { fetch(&Daemon::connect().await?, &filter).await })?;
    let total = rows.len();
    sort(&mut rows, wanted.sort);
    if let Some(limit) = wanted.limit {
        rows.truncate(limit as usize);
    }
    if wanted.json {
        let rows: Vec<Value> = rows.iter().map(to_json).collect();
        print_json(&rows, out)?;
    } else if rows.is_empty() && wanted.pinned {
        writeln!(out, "nothing is pinned")?;
    } else if rows.is_empty() {
        writeln!(out, "nothing has been learned yet")?;
    } else {
        print(&rows, total, style, out)?;
    }
    Ok(())
}

/// All profiles, page by page. A password dialog may come first, so only later pages are hurried.
async fn fetch(daemon: &Daemon, filter: &ProfileFilter) -> Result<Vec<ProfileRow>, Error> {
    let list = |offset| daemon.processes.list(offset, MAX_ROWS, filter.to_options());
    let (mut rows, total, _) = list(0).await.map_err(crate::connection::explain)?;
    while rows.len() < total as usize {
        let (page, ..) = answer(list(rows.len() as u32)).await?;
        if page.is_empty() {
            break;
        }
        rows.extend(page);
    }
    Ok(rows)
}

/// Sorts in place; equals stay in the order of their names.
pub fn sort(rows: &mut [ProfileRow], order: Sort) {
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    match order {
        Sort::Name => {}
        Sort::Observations => rows.sort_by_key(|row| Reverse(row.observations)),
        Sort::Tier => rows.sort_by_key(|row| tier_rank(&row.tier)),
        Sort::Confidence => rows.sort_by_key(|row| Reverse(row.confidence_permille)),
        Sort::Runtime => rows.sort_by_key(|row| Reverse(row.avg_runtime_ns)),
        Sort::Wakeups => rows.sort_by_key(|row| Reverse(row.wakeup_freq)),
        Sort::LastUse => rows.sort_by_key(|row| Reverse(row.last_used)),
    }
}

fn tier_rank(tier: &str) -> u8 {
    match tier {
        "lat_critical" => 0,
        "interactive" => 1,
        "batch" => 2,
        _ => 3,
    }
}

/// The tier in words.
pub fn tier_words(tier: &str) -> &str {
    match tier {
        "lat_critical" => "latency-critical",
        other => other,
    }
}

fn print(
    rows: &[ProfileRow],
    total: usize,
    style: Style,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let width = rows
        .iter()
        .map(|row| row.name.len())
        .max()
        .unwrap_or(0)
        .max("program".len());
    let head = format!(
        "{}  {}  {:>10}  {:>8}  {:>10}",
        pad("program", width),
        pad("tier", 16),
        "confidence",
        "observed",
        "average run"
    );
    writeln!(out, "{}", style.bold(&head))?;
    for row in rows {
        writeln!(
            out,
            "{}  {}  {:>9}%  {:>8}  {:>11}",
            pad(&printable(&row.name), width),
            pad(tier_words(&row.tier), 16),
            row.confidence_permille / 10,
            row.observations,
            latency(row.avg_runtime_ns),
        )?;
    }
    let total = total as u64;
    let shown = rows.len() as u64;
    if shown < total {
        writeln!(
            out,
            "{}",
            style.dim(&format!("{shown} of {}", plural(total, "profile")))
        )?;
    }
    Ok(())
}

fn to_json(row: &ProfileRow) -> Value {
    json!({
        "comm": row.comm,
        "name": row.name,
        "tier": row.tier,
        "confidence_permille": row.confidence_permille,
        "observations": row.observations,
        "avg_runtime_ns": row.avg_runtime_ns,
        "runtime_dev_ns": row.runtime_dev_ns,
        "wakeup_freq": row.wakeup_freq,
        "last_used": row.last_used,
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A profile with this name, tier and number of observations.
    pub fn row(name: &str, tier: &str, observations: u32) -> ProfileRow {
        ProfileRow {
            comm: name.as_bytes().to_vec(),
            name: name.to_owned(),
            tier: tier.to_owned(),
            confidence_permille: 900,
            observations,
            avg_runtime_ns: 250_000,
            runtime_dev_ns: 10_000,
            wakeup_freq: 60,
            last_used: 3,
        }
    }

    fn names(rows: &[ProfileRow]) -> Vec<&str> {
        rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn orders_are_stable_by_name() {
        let mut rows = vec![
            row("make", "batch", 7),
            row("kwin", "lat_critical", 7),
            row("bash", "interactive", 90),
        ];
        sort(&mut rows, Sort::Observations);
        assert_eq!(names(&rows), ["bash", "kwin", "make"]);
        sort(&mut rows, Sort::Tier);
        assert_eq!(names(&rows), ["kwin", "bash", "make"]);
        sort(&mut rows, Sort::Name);
        assert_eq!(names(&rows), ["bash", "kwin", "make"]);
    }

    #[test]
    fn the_table_is_aligned_and_says_what_it_leaves_out() {
        let mut out = Vec::new();
        let rows = [
            row("kwin_wayland", "lat_critical", 1200),
            row("cc1", "batch", 3),
        ];
        print(&rows, 40, Style::default(), &mut out).expect("writing to memory");
        let text = String::from_utf8(out).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0].len(), lines[1].len(), "{text}");
        assert_eq!(lines[1].len(), lines[2].len(), "{text}");
        assert!(
            lines[1].contains("latency-critical") && lines[1].contains("250 us"),
            "{text}"
        );
        assert_eq!(lines[3], "2 of 40 profiles");
    }
}
