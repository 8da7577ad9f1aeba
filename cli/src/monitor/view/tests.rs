use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::monitor::feed::Now;
use crate::profiles::tests::row;
use crate::status::Status;

fn glyphs() -> Glyphs {
    Glyphs {
        bars: ratatui::symbols::bar::NINE_LEVELS,
        rule: "-",
        has_colour: true,
    }
}

fn running() -> Model {
    let mut model = Model::default();
    for second in 1..=90u64 {
        model.sampled(Now {
            status: Status {
                state: "running".into(),
                mode: "adaptive".into(),
                kernel_state: "enabled".into(),
                kernel_ops: "pandemonium".into(),
                ..Status::default()
            },
            snapshot: Snapshot {
                state: "running".into(),
                regime: if second < 60 {
                    "LIGHT".into()
                } else {
                    "HEAVY".into()
                },
                dispatches_per_sec: 251_000,
                p99_nsec: Some(10_900),
                p99_by_tier_nsec: (second * 10_000, 45_000, 9_000),
                profiles: 2,
                confident_profiles: 1,
                interactive_running: 3,
                online_cpus: 8,
                ..Snapshot::default()
            },
            generation: 1,
        });
    }
    model.learned(Ok(vec![
        row("cc1", "batch", 3),
        row("kwin_wayland", "lat_critical", 1200),
    ]));
    model
}

fn frame(model: &Model, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal
        .draw(|frame| draw(frame, model, &glyphs()))
        .expect("a frame");
    let buffer = terminal.backend().buffer();
    (0..height)
        .map(|y| {
            (0..width)
                .map(|x| buffer[(x, y)].symbol())
                .collect::<String>()
        })
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[test]
fn an_ordinary_terminal_shows_everything() {
    let lines = frame(&running(), 80, 24);
    let text = lines.join("\n");
    assert_eq!(
        lines[0],
        "PANDEMONIUM  running  mode adaptive  sched_ext enabled, pandemonium loaded"
    );
    for part in [
        "latency-critical 9.00 us",
        "up to 900 us",
        "regime HEAVY",
        "251 000 dispatches/s",
        "interactive on 3 of 8 CPUs",
    ] {
        assert!(text.contains(part), "{part} is missing from\n{text}");
    }
    assert!(text.contains("LLLLHHHH"), "the regime's history:\n{text}");
    let kwin = lines
        .iter()
        .position(|line| line.starts_with("kwin_wayland"));
    let cc1 = lines.iter().position(|line| line.starts_with("cc1"));
    assert!(
        kwin.is_some() && kwin < cc1,
        "the most observed comes first:\n{text}"
    );
    assert_eq!(lines[23], "q quit   a adaptive   b bpf   o off");
}

#[test]
fn burst_and_longrun_stand_beside_the_regime() {
    let mut model = running();
    if let Some(now) = &mut model.now {
        now.snapshot.burst = true;
        now.snapshot.longrun = true;
    }
    let text = frame(&model, 80, 24).join("\n");
    assert!(text.contains("regime HEAVY BURST LONGRUN"), "{text}");
    assert!(
        frame(&model, 50, 24).join("\n").contains("HEAVY BURST"),
        "in a narrow window too"
    );
}

#[test]
fn any_size_can_be_drawn() {
    for model in [Model::default(), running()] {
        for width in (0..30).chain([60, 79, 200, 700]) {
            for height in 0..30 {
                frame(&model, width, height);
            }
        }
    }
}

#[test]
fn a_tiny_window_keeps_the_state_and_the_keys() {
    let lines = frame(&running(), 30, 6);
    assert!(lines[0].starts_with("PANDEMONIUM  running"), "{lines:?}");
    assert!(lines[1].starts_with("LC 9.00 us"), "{lines:?}");
    assert!(lines[5].starts_with("q quit"), "{lines:?}");
}

#[test]
fn a_lost_daemon_is_said_and_its_numbers_are_not_shown_as_present() {
    let mut model = running();
    model.lost("the daemon is not running".to_owned());
    let text = frame(&model, 80, 24).join("\n");
    assert!(
        text.contains("no daemon") && text.contains("the daemon is not running"),
        "{text}"
    );
    assert!(
        !text.contains("251 000") && !text.contains("kwin_wayland"),
        "{text}"
    );
    assert!(text.contains("LLLLHHHH"), "the past stays:\n{text}");
}

#[test]
fn a_scheduler_that_is_off_has_no_numbers() {
    let mut model = running();
    model.sampled(Now {
        status: Status {
            state: "stopped".into(),
            mode: "off".into(),
            ..Status::default()
        },
        snapshot: Snapshot {
            state: "stopped".into(),
            ..Snapshot::default()
        },
        generation: 1,
    });
    let text = frame(&model, 80, 24).join("\n");
    assert!(text.contains("the kernel's own scheduler runs"), "{text}");
    assert!(!text.contains("dispatches/s"), "{text}");
}

#[test]
fn an_answer_that_does_not_fit_beside_the_keys_replaces_them() {
    let mut model = running();
    model.answered("the mode is bpf now".to_owned());
    assert!(frame(&model, 80, 24)[23].ends_with("o off   the mode is bpf now"));
    assert_eq!(frame(&model, 40, 24)[23], "the mode is bpf now");
}

#[test]
fn without_permission_the_list_says_so() {
    let mut model = running();
    model.learned(Err("not shown without permission".to_owned()));
    assert!(
        frame(&model, 80, 24)
            .join("\n")
            .contains("not shown without permission")
    );
}

#[test]
fn nothing_but_text_reaches_the_terminal() {
    let mut model = running();
    if let Some(now) = &mut model.now {
        now.status.warnings = vec!["bad\x1b[2Jname".into()];
    }
    assert!(frame(&model, 80, 24).join("\n").contains("bad\\x1b[2Jname"));
}
