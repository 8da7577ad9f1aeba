//! Examples for the long help and for the manual pages, written once.

/// A command line and what it does.
type Example = (&'static str, &'static str);

/// Examples by the name of the manual page they belong to.
const EXAMPLES: [(&str, &[Example]); 10] = [
    (
        "pandemonium-mode",
        &[
            ("pandemonium mode bpf", "Switch, until the daemon ends"),
            (
                "pandemonium mode off --persist",
                "Switch, and start like this the next time too",
            ),
            (
                "pandemonium mode adaptive --confirm-timeout 30",
                "Switch, and go back after half a minute unless it is confirmed",
            ),
        ],
    ),
    (
        "pandemonium-hold",
        &[
            (
                "pandemonium hold adaptive -- game --fullscreen",
                "Play in adaptive mode, whatever the mode is otherwise",
            ),
            (
                "pandemonium hold off --optional --reason measuring -- perf bench sched pipe",
                "Measure the kernel's own scheduler, also where no daemon runs",
            ),
        ],
    ),
    (
        "pandemonium-compositor",
        &[
            (
                "pandemonium compositor",
                "List the names whose programs are treated as compositors",
            ),
            (
                "pandemonium compositor add gamescope-wl",
                "Treat programs of exactly this name as compositors",
            ),
            (
                "pandemonium compositor add 'wayfire-*'",
                "Treat all programs whose names start like this as compositors",
            ),
            (
                "pandemonium compositor remove picom",
                "Take a name back, a built-in one too",
            ),
            (
                "pandemonium compositor reset",
                "Go back to the names of the configuration",
            ),
        ],
    ),
    (
        "pandemonium-domain",
        &[
            ("pandemonium domain", "Show which CPUs are taken first"),
            (
                "pandemonium domain set performance",
                "Take the fast CPUs first while one of them is free",
            ),
            (
                "pandemonium domain set 0xff",
                "Take CPUs 0 to 7 first: bit N of the mask stands for CPU N",
            ),
            ("pandemonium domain set all", "Prefer no CPU over another"),
            (
                "pandemonium domain reset",
                "Go back to the domain of the configuration",
            ),
        ],
    ),
    (
        "pandemonium-power",
        &[
            (
                "pandemonium power",
                "Show the power situation and which primary domain auto stands for in it",
            ),
            (
                "pandemonium power set battery=powersave",
                "Let auto take the economical CPUs first while on battery",
            ),
            (
                "pandemonium power set battery=none",
                "Follow the battery no longer",
            ),
            (
                "pandemonium power reset",
                "Go back to the map of the configuration",
            ),
        ],
    ),
    (
        "pandemonium-idle-selector",
        &[
            (
                "pandemonium idle-selector",
                "Print whether the scheduler chooses idle CPUs itself",
            ),
            (
                "pandemonium idle-selector off",
                "Leave the choice of idle CPUs to the kernel",
            ),
            (
                "pandemonium idle-selector reset",
                "Go back to what the configuration says",
            ),
        ],
    ),
    (
        "pandemonium-profiles",
        &[
            (
                "pandemonium profiles show cc1plus",
                "Show what is known about a program, and why it has its tier",
            ),
            (
                "pandemonium profiles pin cc1plus batch",
                "Treat a program as batch work, whatever it does",
            ),
            (
                "pandemonium profiles export profiles.toml",
                "Write what is known into a file, for another machine",
            ),
            (
                "pandemonium profiles import profiles.toml",
                "Add what was learned there",
            ),
        ],
    ),
    (
        "pandemonium-bench",
        &[
            (
                "pandemonium bench",
                "The whole set, once under each scheduler; takes about five minutes",
            ),
            (
                "pandemonium bench --rows wakeup,burst --modes adaptive --seconds 10",
                "Two workloads, longer, in one mode",
            ),
            (
                "pandemonium bench --rows build --rounds 7",
                "Throughput: seven pairs, and how sure their ratio is",
            ),
            (
                "pandemonium bench --rows hogs,sleepers,workers,chains",
                "Crowds whose parts are in each other's way; only if they are named",
            ),
            (
                "pandemonium bench --prom before.prom",
                "Keep the values for a comparison",
            ),
        ],
    ),
    (
        "pandemonium-bench-compare",
        &[
            (
                "pandemonium bench compare before.prom after.prom",
                "What changed by more than 10 percent",
            ),
            (
                "pandemonium bench compare --threshold 25 before.prom after.prom",
                "What changed by more than a quarter",
            ),
        ],
    ),
    (
        "pandemonium-bench-idle",
        &[
            (
                "sudo pandemonium bench idle",
                "Compare six rounds, on and off in turn, with the cost of one selection",
            ),
            (
                "pandemonium bench idle -i 20000 --rounds 20",
                "More and shorter rounds show how much the gain varies",
            ),
            (
                "pandemonium bench idle --no-compare --json",
                "Measure one round under whatever scheduler runs, for a script",
            ),
        ],
    ),
];

/// Those of a manual page, if it has any.
fn of(page: &str) -> Option<&'static [Example]> {
    let found = EXAMPLES.iter().find(|(name, _)| *name == page);
    found.map(|(_, examples)| *examples)
}

/// The end of the long help of a command.
pub fn help(page: &str) -> String {
    let mut text = String::from("Examples:");
    for (command, meaning) in of(page).unwrap_or_default() {
        text.push_str(&format!("\n  {command}\n      {meaning}"));
    }
    text
}

/// The section of a manual page, if it has one.
pub fn section(page: &str) -> Option<String> {
    let mut text = String::from("\n.SH EXAMPLES\n");
    for (command, meaning) in of(page)? {
        let command = command.replace('-', "\\-");
        text.push_str(&format!(".TP\n.B {command}\n{meaning}\n"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn every_example_is_understood() {
        for (page, examples) in EXAMPLES {
            for (command, meaning) in examples {
                let words: Vec<String> = command
                    .split(' ')
                    .map(|word| word.trim_matches('\'').to_owned())
                    .filter(|word| word != "sudo")
                    .collect();
                let parsed = Arguments::try_parse_from(&words);
                assert!(parsed.is_ok(), "{command}: {parsed:?}");
                assert!(words.join("-").starts_with(page), "{command} in {page}");
                assert!(!meaning.ends_with('.'), "{meaning}");
            }
        }
    }
}
