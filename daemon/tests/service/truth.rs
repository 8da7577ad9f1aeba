//! The state that is published is the kernel's; it is told once, and the journal has one entry for it.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use futures_util::StreamExt;
use pandemonium_api::{message_id, mode, state};
use rustix::process::Signal;
use zbus::fdo::PropertiesChangedStream;

use crate::harness::{FAST, World, stays, until};

/// No attempt follows by itself while the test runs.
const PATIENT: &str = "tick_ms = 20\nbackoff_ms = 600000\n";

/// After this a test has failed, however slow the machine is.
const TOLD_WITHIN: Duration = Duration::from_secs(60);

/// A daemon that is loaded, and what it tells from then on.
struct Story {
    world: World,
    changes: PropertiesChangedStream,
}

/// What a signal with a new state says, and what the kernel was said to run then.
type Told = (String, String, String);

/// The properties of an announcement; what is no text is empty.
type Texts = HashMap<String, String>;

impl Story {
    async fn start() -> Story {
        Story::start_with(PATIENT).await
    }

    async fn start_with(pace: &str) -> Story {
        let mut world = World::prepare(pace).await;
        launch(&mut world).await;
        world.until_state(state::RUNNING).await;
        let changes = world.changes().await;
        Story { world, changes }
    }

    /// Loads anew, which the script refuses.
    async fn fail_to_restart(&self, script: &str) {
        self.world.script(script);
        self.world.scheduler().await.restart().await.unwrap_err();
    }

    async fn next_retry(&self) -> u64 {
        self.world
            .scheduler()
            .await
            .next_retry_usec()
            .await
            .unwrap()
    }

    /// The entries with a message id: the id, with a mark at those that are only warnings.
    fn entries(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.world.path("journal")).unwrap();
        let entry = |line: &str| {
            let (message, fields) = line.split_once(" MESSAGE_ID=")?;
            let id = fields.split(' ').next()?;
            let mark = if message.contains(": warning: ") {
                "~"
            } else {
                ""
            };
            Some(format!("{mark}{id}"))
        };
        text.lines().filter_map(entry).collect()
    }

    /// The texts of each announcement up to and with the one of which this is true.
    async fn texts_until(&mut self, is_last: impl Fn(&Texts) -> bool) -> Vec<Texts> {
        let mut all = Vec::new();
        while !all.last().is_some_and(&is_last) {
            let next = tokio::time::timeout(TOLD_WITHIN, self.changes.next()).await;
            let change = next.expect("the end is told").unwrap();
            let changed = change.args().unwrap().changed_properties.into_iter();
            let texts = changed.map(|(name, value)| {
                let text = String::try_from(value.try_to_owned().unwrap());
                (name.to_owned(), text.unwrap_or_default())
            });
            all.push(texts.collect());
        }
        all
    }

    /// Switches off, which is announced after everything before, and returns the states told up to and
    /// with that. "Starting" is left out: it may be over before it was told.
    async fn told(&mut self) -> Vec<Told> {
        self.world.set_mode(mode::OFF).await.unwrap();
        let is_off =
            |texts: &Texts| texts.get("RequestedMode").map(String::as_str) == Some(mode::OFF);
        let (mut told, mut kernel) = (Vec::new(), ["enabled".to_owned(), "pandemonium".to_owned()]);
        for texts in self.texts_until(is_off).await {
            for (known, name) in kernel.iter_mut().zip(["KernelState", "KernelOps"]) {
                *known = texts.get(name).unwrap_or(known).clone();
            }
            let [kernel, ops] = kernel.clone();
            if let Some(state) = texts.get("State").filter(|state| *state != state::STARTING) {
                told.push((state.clone(), kernel, ops));
            }
        }
        told
    }
}

/// Starts the daemon, whose log goes on in the same file.
async fn launch(world: &mut World) {
    let mut options = OpenOptions::new();
    let journal = options
        .append(true)
        .create(true)
        .open(world.path("journal"));
    let mut command = world.command();
    command
        .args(["--bus-address", &world.bus.address, "--verbose"])
        .stderr(journal.unwrap());
    world.adopt(command.spawn().unwrap());
    world.wait_for_daemon().await;
}

fn told(states: &[(&str, &str, &str)]) -> Vec<Told> {
    let own = |(state, kernel, ops): &(&str, &str, &str)| {
        ((*state).to_owned(), (*kernel).to_owned(), (*ops).to_owned())
    };
    states.iter().map(own).collect()
}

fn warning(id: &str) -> String {
    format!("~{id}")
}

#[tokio::test]
async fn an_end_by_sysrq_is_told_once() {
    let mut story = Story::start().await;
    let exit = "[[step]]\nexit = { kind = \"sysrq\", reason = \"disabled by sysrq-S\" }\n";
    story.world.script(&format!("{PATIENT}{exit}"));
    story.world.until_state(state::EJECTED).await;
    assert_eq!(story.next_retry().await, 0);
    let expected = [("ejected", "disabled", ""), ("stopped", "disabled", "")];
    assert_eq!(story.told().await, told(&expected));
    let entries = [
        warning(message_id::EJECTED),
        message_id::MODE_CHANGED.to_owned(),
    ];
    assert_eq!(story.entries(), entries);
}

#[tokio::test]
async fn a_stall_is_told_once_and_another_attempt_planned() {
    let mut story = Story::start().await;
    let exit = "[[step]]\nexit = { kind = \"error_stall\", reason = \"stall\", retry = true }\n";
    story.world.script(&format!("{PATIENT}{exit}"));
    story.world.until_state(state::EJECTED).await;
    assert!(story.next_retry().await > 0);
    let expected = [("ejected", "disabled", ""), ("stopped", "disabled", "")];
    assert_eq!(story.told().await, told(&expected));
    let entries = [
        warning(message_id::EJECTED),
        message_id::MODE_CHANGED.to_owned(),
    ];
    assert_eq!(story.entries(), entries);
}

#[tokio::test]
async fn a_scheduler_loaded_before_ours_is_told_once() {
    let mut story = Story::start().await;
    story.fail_to_restart("foreign = \"scx_other\"").await;
    let of_other = |state| (state, "enabled", "scx_other");
    let expected = ["conflict", "stopped"].map(of_other);
    stays("a conflict", async || {
        story.world.state().await == state::CONFLICT
    })
    .await;
    assert_eq!(story.told().await, told(&expected));
    let entries = [
        warning(message_id::CONFLICT),
        message_id::MODE_CHANGED.to_owned(),
    ];
    assert_eq!(story.entries(), entries);
}

#[tokio::test]
async fn a_scheduler_loaded_after_ours_was_ended_is_told_once() {
    let mut story = Story::start().await;
    let exit = "[[step]]\nexit = { kind = \"error\", retry = true }\n";
    story.world.script(&format!("{PATIENT}{exit}"));
    story.world.until_state(state::EJECTED).await;
    story.world.script("foreign = \"scx_other\"");
    story.world.until_state(state::CONFLICT).await;
    stays("a conflict", async || {
        story.world.state().await == state::CONFLICT
    })
    .await;
    let of_other = |state| (state, "enabled", "scx_other");
    let states: Vec<_> = story.told().await;
    assert_eq!(states.last(), told(&[of_other("stopped")]).last());
    let names: Vec<_> = states.iter().map(|(state, ..)| state.as_str()).collect();
    assert_eq!(names, ["ejected", "conflict", "stopped"]);
    assert_eq!(states[1], told(&[of_other("conflict")])[0]);
    let entries = [
        warning(message_id::EJECTED),
        warning(message_id::CONFLICT),
        message_id::MODE_CHANGED.to_owned(),
    ];
    assert_eq!(story.entries(), entries);
}

#[tokio::test]
async fn a_failed_load_is_told_once_and_another_attempt_planned() {
    let mut story = Story::start().await;
    let script = format!("{PATIENT}attach = [\"load\"]");
    story.fail_to_restart(&script).await;
    assert!(story.next_retry().await > 0);
    assert_eq!(story.told().await, told(&[("stopped", "disabled", "")]));
    let entries = [
        warning(message_id::NOT_LOADED),
        message_id::MODE_CHANGED.to_owned(),
    ];
    assert_eq!(story.entries(), entries);
}

#[tokio::test]
async fn loads_that_fail_end_with_the_fifth_which_is_the_error() {
    let story = Story::start_with(FAST).await;
    let script = format!("attach = [{}]", "\"load\",".repeat(9));
    story.fail_to_restart(&script).await;
    let four = [message_id::NOT_LOADED; 4].map(warning);
    let entries = [four.as_slice(), &[message_id::NOT_LOADED.to_owned()]].concat();
    until("the fifth", async || story.entries() == entries).await;
    stays("quiet", async || story.entries() == entries).await;
    assert_eq!(story.next_retry().await, 0);
    assert_eq!(story.world.state().await, state::STOPPED);
}

#[tokio::test]
async fn what_fails_for_good_is_told_once_and_then_quiet() {
    for (script, state, kernel) in [
        ("attach = [\"permission\"]", state::STOPPED, "disabled"),
        ("unsupported = true", state::UNSUPPORTED, "unavailable"),
    ] {
        let mut story = Story::start().await;
        story.fail_to_restart(script).await;
        stays("quiet", async || {
            story.next_retry().await == 0 && story.entries() == [message_id::NOT_LOADED]
        })
        .await;
        let states = story.told().await;
        assert_eq!(states[0], told(&[(state, kernel, "")])[0]);
        let after = states.iter().skip(1).map(|(state, ..)| state.as_str());
        assert!(
            after.eq((state != state::STOPPED).then_some(state::STOPPED)),
            "{states:?}"
        );
    }
}

#[tokio::test]
async fn a_daemon_that_was_killed_says_nothing_and_tells_its_return_once() {
    let mut story = Story::start().await;
    story.world.signal(Signal::KILL);
    let status = story.world.ended_within(500).await;
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    let scheduler = story.world.scheduler().await;
    scheduler.state().await.unwrap_err();
    // As systemd does.
    launch(&mut story.world).await;
    story.world.until_state(state::RUNNING).await;
    let expected = [
        ("running", "enabled", "pandemonium"),
        ("stopped", "disabled", ""),
    ];
    assert_eq!(story.told().await, told(&expected));
    assert_eq!(story.entries(), [message_id::MODE_CHANGED]);
}

#[tokio::test]
async fn a_scheduler_loaded_while_ours_is_off_is_shown_and_no_conflict() {
    let mut story = Story::start().await;
    let expected = [("stopped", "disabled", "")];
    assert_eq!(story.told().await, told(&expected));
    let scheduler = story.world.scheduler().await;
    for (script, ops) in [
        (format!("{PATIENT}foreign = \"scx_other\""), "scx_other"),
        (PATIENT.to_owned(), ""),
    ] {
        story.world.script(&script);
        until("the kernel's word is shown", async || {
            scheduler.kernel_ops().await.unwrap() == ops
        })
        .await;
        stays("off", async || story.world.state().await == state::STOPPED).await;
    }
    scheduler.set_idle_selector(false).await.unwrap();
    let is_last = |texts: &Texts| texts.contains_key("IdleSelector");
    let mut all = story.texts_until(is_last).await;
    all.pop();
    let kernel = |state: &str, ops: &str| {
        let texts = [("KernelState", state), ("KernelOps", ops)];
        let texts = texts.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Texts::from(texts)
    };
    // Nothing but this, and once.
    assert_eq!(
        all,
        [kernel("enabled", "scx_other"), kernel("disabled", "")]
    );
    assert_eq!(story.entries(), [message_id::MODE_CHANGED]);
}
