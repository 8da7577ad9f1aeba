//! What happens on the pretended machine: an evening of browsing, a game, a build, over and over.

use std::fmt::Write;

/// A stretch of the evening.
struct Scene {
    ticks: u32,
    idle_permille: u32,
    /// Typical wait by tier, microseconds: batch, interactive, latency-critical.
    latency_us: [u32; 3],
    wakes: [u32; 3],
    interactive_running: u32,
    burst_at: Option<u32>,
    longrun_from: Option<u32>,
}

const EVENING: [Scene; 4] = [
    Scene {
        ticks: 60,
        idle_permille: 860,
        latency_us: [120, 34, 14],
        wakes: [60, 300, 180],
        interactive_running: 1,
        burst_at: None,
        longrun_from: None,
    },
    Scene {
        ticks: 90,
        idle_permille: 400,
        latency_us: [900, 62, 19],
        wakes: [240, 700, 500],
        interactive_running: 4,
        burst_at: Some(4),
        longrun_from: None,
    },
    Scene {
        ticks: 70,
        idle_permille: 10,
        latency_us: [5_200, 130, 31],
        wakes: [900, 500, 300],
        interactive_running: 3,
        burst_at: Some(30),
        longrun_from: Some(48),
    },
    Scene {
        ticks: 40,
        idle_permille: 520,
        latency_us: [600, 55, 17],
        wakes: [160, 500, 400],
        interactive_running: 3,
        burst_at: None,
        longrun_from: None,
    },
];

/// Programs that are seen: name, tier, average run in microseconds.
const PROGRAMS: [(&str, &str, u32); 28] = [
    ("kwin_wayland", "lat_critical", 310),
    ("pipewire", "lat_critical", 90),
    ("pipewire-pulse", "lat_critical", 120),
    ("wireplumber", "lat_critical", 60),
    ("gnome-shell", "lat_critical", 420),
    ("Xwayland", "lat_critical", 230),
    ("steamwebhelper", "interactive", 640),
    ("steam", "interactive", 380),
    ("vkd3d_queue", "lat_critical", 150),
    ("RenderThread", "interactive", 2_400),
    ("GameThread", "interactive", 3_100),
    ("firefox", "interactive", 900),
    ("Isolated Web Co", "interactive", 1_300),
    ("Web Content", "interactive", 1_100),
    ("Compositor", "lat_critical", 260),
    ("discord", "interactive", 700),
    ("kitty", "interactive", 210),
    ("code", "interactive", 820),
    ("rust-analyzer", "batch", 9_400),
    ("cargo", "batch", 1_900),
    ("rustc", "batch", 48_000),
    ("cc1plus", "batch", 61_000),
    ("ld.lld", "batch", 35_000),
    ("ninja", "interactive", 450),
    ("ffmpeg", "batch", 22_000),
    ("tracker-miner-f", "batch", 5_300),
    ("restic", "batch", 12_500),
    ("obs", "interactive", 1_700),
];

/// The script, with this many of its seconds in one. The last step lasts for ever, so there are hours of
/// them before it.
pub fn text(speed: u32) -> String {
    let mut text = format!(
        "nr_cpus = 8\nmax_khz = [5000, 5000, 5000, 5000, 3600, 3600, 3600, 3600]\n\
         tick_ms = {}\nbackoff_ms = 1000\n",
        1_000 / speed.clamp(1, 50)
    );
    let mut dice = Dice(7);
    let mut next = 0;
    for _ in 0..12 {
        for scene in &EVENING {
            for tick in 0..scene.ticks {
                step(&mut text, scene, tick, &mut dice);
                for _ in 0..6 {
                    let (name, tier, avg_us) = PROGRAMS[next % PROGRAMS.len()];
                    next += 1;
                    // Fails never: it writes to a string.
                    let _ = writeln!(
                        text,
                        "[[step.observe]]\ncomm = {name:?}\ntier = {tier:?}\navg_us = {avg_us}"
                    );
                }
            }
        }
    }
    text
}

fn step(text: &mut String, scene: &Scene, tick: u32, dice: &mut Dice) {
    let [batch, interactive, critical] = scene.latency_us.map(|typical| dice.around(typical));
    let [w0, w1, w2] = scene.wakes.map(|typical| dice.around(typical));
    let is_burst = scene
        .burst_at
        .is_some_and(|at| (at..at + 5).contains(&tick));
    let is_longrun = scene.longrun_from.is_some_and(|from| tick >= from);
    let _ = writeln!(
        text,
        "[[step]]\nidle_permille = {}\nlatency_us = [{batch}, {interactive}, {critical}]\n\
         wakes = [{w0}, {w1}, {w2}]\ninteractive_running = {}\nburst = {is_burst}\n\
         longrun = {is_longrun}",
        dice.around(scene.idle_permille).min(990),
        scene.interactive_running,
    );
}

/// Numbers that look like chance and are always the same.
struct Dice(u64);

impl Dice {
    /// Three quarters to five quarters of this.
    fn around(&mut self, typical: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let share = (self.0 >> 33) % 501;
        (u64::from(typical) * (750 + share) / 1_000) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_stays_within_a_quarter() {
        let mut dice = Dice(1);
        let thrown: Vec<_> = (0..1_000).map(|_| dice.around(1_000)).collect();
        assert!(thrown.iter().all(|value| (750..=1_250).contains(value)));
        assert!(thrown.iter().any(|value| *value < 800));
        assert!(thrown.iter().any(|value| *value > 1_200));
    }

    #[test]
    fn a_tick_is_a_second_at_the_speed_that_is_asked_for() {
        assert!(text(1).contains("tick_ms = 1000\n"));
        assert!(text(10).contains("tick_ms = 100\n"));
        assert_eq!(text(1).matches("[[step]]").count(), 12 * 260);
    }
}
