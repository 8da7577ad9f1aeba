//! What the machine is set to, as sysfs says it, for when no service does. The root is an argument, so it
//! can be tested.

use std::fs;
use std::path::Path;

use pandemonium_policy::PowerProfile;

/// The firmware's profile; what the desktop's power switch sets where there is one.
const PLATFORM: &str = "firmware/acpi/platform_profile";
/// Elsewhere the switch sets this, the same for every CPU.
const PREFERENCE: &str = "devices/system/cpu/cpu0/cpufreq/energy_performance_preference";

/// The profile below `root` (usually `/sys`), if anything there says one.
pub fn read(root: &Path) -> Option<PowerProfile> {
    if let Some(word) = word(&root.join(PLATFORM)) {
        return Some(match word.as_str() {
            "performance" | "balanced-performance" => PowerProfile::Performance,
            "low-power" | "quiet" | "cool" => PowerProfile::PowerSaver,
            _ => PowerProfile::Balanced,
        });
    }
    match word(&root.join(PREFERENCE))?.as_str() {
        // "balance_performance" is what many machines start with, so it asks for nothing.
        "performance" => Some(PowerProfile::Performance),
        "power" => Some(PowerProfile::PowerSaver),
        _ => Some(PowerProfile::Balanced),
    }
}

fn word(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(files: &[(&str, &str)]) -> Option<PowerProfile> {
        let root = tempfile::tempdir().expect("a directory");
        for (file, text) in files {
            let path = root.path().join(file);
            let parent = path.parent().expect("below the root");
            fs::create_dir_all(parent).expect("creates");
            fs::write(path, text).expect("writes");
        }
        read(root.path())
    }

    #[test]
    fn the_platform_profile_decides() {
        for (word, expected) in [
            ("performance\n", PowerProfile::Performance),
            ("balanced-performance\n", PowerProfile::Performance),
            ("balanced\n", PowerProfile::Balanced),
            ("custom\n", PowerProfile::Balanced),
            ("\n", PowerProfile::Balanced),
            ("low-power\n", PowerProfile::PowerSaver),
            ("quiet\n", PowerProfile::PowerSaver),
            ("cool\n", PowerProfile::PowerSaver),
        ] {
            let found = profile(&[(PLATFORM, word), (PREFERENCE, "performance\n")]);
            let alone = profile(&[(PLATFORM, word)]);
            assert_eq!((found, alone), (Some(expected), Some(expected)), "{word:?}");
        }
    }

    #[test]
    fn without_it_the_preference_of_the_first_cpu_does() {
        for (word, expected) in [
            ("performance\n", PowerProfile::Performance),
            ("balance_performance\n", PowerProfile::Balanced),
            ("default\n", PowerProfile::Balanced),
            ("balance_power\n", PowerProfile::Balanced),
            ("power\n", PowerProfile::PowerSaver),
            ("128\n", PowerProfile::Balanced),
        ] {
            assert_eq!(profile(&[(PREFERENCE, word)]), Some(expected), "{word:?}");
        }
    }

    #[test]
    fn a_machine_may_say_nothing() {
        assert_eq!(profile(&[]), None);
    }
}
