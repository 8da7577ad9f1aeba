//! Who may do what on a system bus as people have it, and callers that mean harm. What is called comes from
//! the shipped interface file, so a new member is covered by itself.

use futures_util::StreamExt;
use pandemonium_api::{BusError, Metrics1Proxy, SCHEDULER_INTERFACE, Scheduler1Proxy, mode, state};

use crate::harness::until;
use crate::system_bus::{FAVOURED, MANY, ORDINARY, SystemBus};

/// Methods that answer everybody.
const OPEN: [&str; 4] = [
    "org.pandemonium.Metrics1.GetSnapshot",
    "org.pandemonium.Metrics1.GetHistory",
    "org.pandemonium.Metrics1.Subscribe",
    "org.pandemonium.Metrics1.Unsubscribe",
];

/// Messages for every member, unless `PANDEMONIUM_FUZZ` says how many.
const MESSAGES: u32 = 100;
const SEED: &str = "1";
/// Less than the longest message that the bus lets through, KiB.
const GROWTH_KIB: u64 = 30 << 10;
/// A few times the longest message, KiB.
const PEAK_KIB: u64 = 256 << 10;
/// Bytes of a line of the log.
const MAX_LINE: usize = 1_000;

/// One line of `caller.py reach`.
#[derive(Debug)]
struct Answer {
    who: String,
    error: String,
    what: String,
    member: String,
}

async fn reach(bus: &SystemBus, user: &str, arguments: &[&str]) -> Vec<Answer> {
    let arguments = [&["reach"], arguments].concat();
    let text = bus.call_as(user, &arguments).await;
    let lines = text.lines().map(|line| {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        let [who, error, what, member] = words.try_into().unwrap();
        Answer {
            who,
            error,
            what,
            member,
        }
    });
    lines.collect()
}

fn only<'a>(answers: &'a [Answer], what: &'a str) -> impl Iterator<Item = &'a Answer> {
    let found = move |answer: &&Answer| answer.what == what;
    assert!(answers.iter().any(|answer| found(&answer)), "{what}");
    answers.iter().filter(found)
}

const DENIED: &str = "org.freedesktop.DBus.Error.AccessDenied";

#[tokio::test]
async fn an_ordinary_user_reaches_every_member_and_may_only_read() {
    let mut bus = SystemBus::start().await;
    let scheduler = bus.scheduler().await;
    until("it runs", async || {
        scheduler.state().await.unwrap() == state::RUNNING
    })
    .await;
    for (arguments, refusal) in [
        (&[][..], BusError::InteractiveAuthorizationRequired.name()),
        // Nobody is there to answer a dialog.
        (&["--dialog"], BusError::AccessDenied.name()),
    ] {
        let answers = reach(&bus, ORDINARY, arguments).await;
        for answer in only(&answers, "call") {
            let is_open = OPEN.contains(&answer.member.as_str());
            let expected = if is_open { "ok" } else { refusal };
            assert_eq!(
                (answer.who.as_str(), answer.error.as_str()),
                ("daemon", expected),
                "{answer:?}"
            );
        }
        for what in ["get", "standard"] {
            for answer in only(&answers, what) {
                assert_eq!(answer.error, "ok", "{answer:?}");
            }
        }
        for what in ["set", "other", "own"] {
            for answer in only(&answers, what) {
                let told = (answer.who.as_str(), answer.error.as_str());
                assert_eq!(told, ("bus", DENIED), "{answer:?}");
            }
        }
    }
    assert_eq!(scheduler.mode().await.unwrap(), mode::ADAPTIVE);
    assert!(scheduler.holds().await.unwrap().is_empty());
    assert!(bus.daemon_lives());
}

#[tokio::test]
async fn a_rule_of_the_administrator_opens_one_action_and_root_may_do_everything() {
    let bus = SystemBus::start().await;
    let outcome = |answers: &[Answer], name: &str| {
        let member = format!("{SCHEDULER_INTERFACE}.{name}");
        let mut calls = only(answers, "call");
        let call = calls.find(|call| call.member == member);
        call.unwrap().error.clone()
    };
    let answers = reach(&bus, FAVOURED, &[]).await;
    assert_eq!(outcome(&answers, "Hold"), "ok");
    let refusal = BusError::InteractiveAuthorizationRequired.name();
    for member in ["SetMode", "Reload", "AddCompositor"] {
        assert_eq!(outcome(&answers, member), refusal, "{member}");
    }
    let answers = reach(&bus, "root", &[]).await;
    for answer in only(&answers, "call") {
        assert_eq!(answer.who, "daemon", "{answer:?}");
        let refusals = [DENIED, refusal];
        assert!(!refusals.contains(&answer.error.as_str()), "{answer:?}");
    }
    for member in ["SetMode", "Hold", "Reload", "AddCompositor"] {
        assert_eq!(outcome(&answers, member), "ok", "{member}");
    }
}

#[tokio::test]
async fn each_user_has_a_share_that_nobody_else_takes_and_that_his_programs_free() {
    let bus = SystemBus::start().await;
    let refusal = BusError::LimitsExceeded.name();
    // What the interface file says: connections that subscribe, and holds.
    let share = format!("4 {refusal} 8 {refusal}");
    let crowd = bus.crowd(FAVOURED);
    assert_eq!(crowd.0, share);
    let roots = bus.crowd("root");
    assert_eq!(roots.0, share);
    assert_eq!(bus.crowd(FAVOURED).0, format!("0 {refusal} 0 {refusal}"));
    drop(crowd);
    until("there is room", async || bus.crowd(FAVOURED).0 == share).await;
}

#[tokio::test]
async fn all_users_together_have_not_many_times_the_share_of_one() {
    let bus = SystemBus::start().await;
    let refusal = BusError::LimitsExceeded.name();
    let (mut subscribers, mut holds, mut crowds) = (0, 0, Vec::new());
    for user in MANY {
        let crowd = bus.crowd(user);
        let words: Vec<_> = crowd.0.split(' ').map(str::to_owned).collect();
        assert_eq!((&*words[1], &*words[3]), (refusal, refusal), "{user}");
        subscribers += words[0].parse::<u32>().unwrap();
        holds += words[2].parse::<u32>().unwrap();
        crowds.push(crowd);
    }
    // What the interface file says.
    assert_eq!((subscribers, holds), (64, 64));
    assert_eq!(bus.scheduler().await.holds().await.unwrap().len(), 64);
    let late = bus.crowd(ORDINARY).0;
    assert!(late.starts_with(&format!("0 {refusal} 0 ")), "{late}");
    crowds.clear();
    let share = format!("4 {refusal} 8 {refusal}");
    until("there is room", async || bus.crowd(FAVOURED).0 == share).await;
}

#[tokio::test]
async fn signals_pass_the_policy_to_those_they_are_for() {
    let bus = SystemBus::start().await;
    let metrics = Metrics1Proxy::new(&bus.client).await.unwrap();
    let mut samples = metrics.receive_sample().await.unwrap();
    metrics.subscribe(250).await.unwrap();
    assert!(samples.next().await.is_some());
    let cached = Scheduler1Proxy::new(&bus.client).await.unwrap();
    let mut selectors = cached.receive_idle_selector_changed().await;
    assert!(selectors.next().await.unwrap().get().await.unwrap());
    cached.set_idle_selector(false).await.unwrap();
    assert!(!selectors.next().await.unwrap().get().await.unwrap());
}

#[tokio::test]
async fn messages_of_the_wrong_kind_are_refused_in_one_sentence_and_leave_nothing_behind() {
    let mut bus = SystemBus::start().await;
    let messages = std::env::var("PANDEMONIUM_FUZZ").unwrap_or(MESSAGES.to_string());
    let before = bus.resident_kib();
    for user in ["root", ORDINARY] {
        let tally = bus.call_as(user, &["fuzz", &messages, SEED]).await;
        let answers = bus.call_as(user, &["flood"]).await;
        assert!(answers.contains("Get org.freedesktop"), "{answers}");
        let now = bus.resident_kib();
        let peak = bus.peak_kib();
        println!("{user}: {now} KiB after {before} KiB, at most {peak} KiB: {tally}");
        assert!(bus.daemon_lives());
        assert!(now < before + GROWTH_KIB, "{before} KiB, then {now} KiB");
        assert!(peak < before + PEAK_KIB, "{before} KiB, at most {peak} KiB");
    }
    for line in bus.log().split(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        assert!(!text.contains("panicked"), "{text}");
        assert!(line.len() <= MAX_LINE, "{} bytes: {text:.200}", line.len());
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }
    assert!(bus.scheduler().await.state().await.is_ok());
}
