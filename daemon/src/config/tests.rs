use std::fs;
use std::path::Path;

use pandemonium_policy::PrimaryDomain;

use super::files::{ADMINISTRATOR, MAX_BYTES, VENDOR, drop_ins};
use super::*;

fn load_text(bytes: &[u8]) -> Result<Config, String> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("config.toml");
    fs::write(&path, bytes).expect("a file");
    load(&Source::File(path)).map_err(|error| error.to_string())
}

#[test]
fn the_shipped_file_is_the_default() {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/config.toml");
    let config = load(&Source::File(shipped.into())).expect("the shipped file is valid");
    assert_eq!(config, Config::default());
}

#[test]
fn a_value_is_taken() {
    assert_eq!(load_text(b"mode = \"bpf\"").map(|c| c.mode), Ok(Mode::Bpf));
    assert_eq!(load_text(b"").map(|c| c.mode), Ok(Mode::Adaptive));
}

#[test]
fn choices_are_taken() {
    let text = b"compositors = [\"mywm\", \"other*\"]\ndefault_compositors = false\n\
        primary_domain = \"performance\"\nidle_selector = false\nlocal_kthreads = true\n\
        slice_lag_us = -20000\n[power-map]\nbattery = \"0x3\"\nac = \"all\"\n";
    let choices = load_text(text).expect("valid").choices;
    let names: Vec<_> = choices.compositors.iter().map(Pattern::to_string).collect();
    assert_eq!(names, ["mywm", "other*"]);
    assert_eq!(choices.domain, PrimaryDomain::Performance);
    assert!(!choices.idle_selector && choices.local_kthreads);
    assert_eq!(choices.slice_lag_us, -20_000);
    let map: Vec<_> = choices.power_map.entries().collect();
    let expected = [("ac", "all"), ("battery", "0x3")];
    assert_eq!(
        map,
        expected.map(|(key, text)| (key, text.parse().expect("a domain")))
    );
}

#[test]
fn names_are_added_to_the_built_in_ones() {
    let added = load_text(b"compositors = [\"mywm\", \"sway\"]").expect("valid");
    let built_in = Choices::default().compositors;
    assert_eq!(added.choices.compositors.len(), built_in.len() + 1);
    assert!(added.choices.compositors.is_superset(&built_in));
}

#[test]
fn a_choice_out_of_range_names_file_line_and_key() {
    let many: Vec<_> = (0..65).map(|n| format!("\"wm-{n}\"")).collect();
    for (text, line, words) in [
        (
            "\nslice_lag_us = 20001\n".to_owned(),
            2,
            ["slice_lag_us", "-20000 to 20000"],
        ),
        (
            "slice_lag_us = -20001".to_owned(),
            1,
            ["slice_lag_us", "-20001"],
        ),
        ("slice_lag_us = 1.5".to_owned(), 1, ["float", "1.5"]),
        (
            "\n\nprimary_domain = \"fast\"".to_owned(),
            3,
            ["primary_domain", ""],
        ),
        (
            "primary_domain = \"0x0\"".to_owned(),
            1,
            ["primary_domain", ""],
        ),
        (
            "compositors = [\n  \"good\",\n  \"b/ad\",\n]".to_owned(),
            3,
            ["compositors", ""],
        ),
        ("compositors = [\"*\"]".to_owned(), 1, ["compositors", ""]),
        (
            format!("\ncompositors = [{}]", many.join(",")),
            2,
            ["compositors", "64"],
        ),
        (
            "default_compositors = 1".to_owned(),
            1,
            ["integer", "boolean"],
        ),
        (
            "[power-map]\nac = \"all\"\nbatery = \"all\"".to_owned(),
            3,
            ["power-map", "battery"],
        ),
        (
            "[power-map]\nbattery = \"auto\"".to_owned(),
            2,
            ["power-map", "auto"],
        ),
        (
            "power-map = { ac = \"slow\" }".to_owned(),
            1,
            ["power-map", "powersave"],
        ),
        ("[power-map]\nac = 1".to_owned(), 2, ["integer", "string"]),
    ] {
        let said = load_text(text.as_bytes()).expect_err(&text);
        let place = format!("config.toml:{line}: ");
        assert!(said.contains(&place) && !said.ends_with('.'), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
}

#[test]
fn every_key_is_in_the_manual_page_and_in_the_shipped_file() {
    let said = load_text(b"no_such_key = 1").expect_err("unknown");
    let (_, known) = said.split_once("expected one of ").expect("the known keys");
    let keys: Vec<_> = known.split(", ").map(|key| key.trim_matches('`')).collect();
    assert!(
        keys.contains(&"mode") && keys.contains(&"power-map"),
        "{keys:?}"
    );
    let read = |file: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../data")
            .join(file);
        fs::read_to_string(path).expect("readable")
    };
    let (page, shipped) = (read("man/pandemoniumd-config.5"), read("config.toml"));
    for key in keys {
        let item = format!("\n.TP\n.B {}\n", key.replace('-', "\\-"));
        assert!(page.contains(&item), "{key} is not in the manual page");
        let shown = [format!("\n{key} = "), format!("\n[{key}]\n")];
        assert!(
            shown.iter().any(|shown| shipped.contains(shown)),
            "{key} is not in the shipped file"
        );
    }
}

#[test]
fn the_administrator_wins_over_the_vendor_and_drop_ins_over_both() {
    let root = tempfile::tempdir().expect("a directory");
    let source = Source::System(root.path().to_owned());
    assert_eq!(
        load(&source).expect("files may be missing"),
        Config::default()
    );
    let write = |file: &str, text: &str| {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        fs::write(path, text).expect("written");
    };
    let shown = || {
        let config = load(&source).expect("valid");
        let choices = config.choices;
        let first = choices.power_map.entries().next();
        (
            choices.slice_lag_us,
            choices.local_kthreads,
            config.mode,
            first.map(|(key, _)| key),
        )
    };
    write(
        VENDOR,
        "slice_lag_us = 1\nlocal_kthreads = true\nmode = \"bpf\"\n[power-map]\nac = \"0x1\"\n",
    );
    assert_eq!(shown(), (1, true, Mode::Bpf, Some("ac")));
    write(ADMINISTRATOR, "slice_lag_us = 2\nmode = \"off\"\n");
    assert_eq!(shown(), (2, true, Mode::Off, Some("ac")));
    write(
        "etc/pandemonium/config.d/20-late.toml",
        "slice_lag_us = 4\n[power-map]\n",
    );
    write(
        "etc/pandemonium/config.d/10-early.toml",
        "slice_lag_us = 3\nlocal_kthreads = false\n",
    );
    assert_eq!(shown(), (4, false, Mode::Off, None));
    write("etc/pandemonium/config.d/30-bad.toml", "\nmood = 1\n");
    let said = load(&source).expect_err("a bad drop-in").to_string();
    assert!(
        said.contains("config.d/30-bad.toml:2:") && said.contains("mood"),
        "{said}"
    );
}

#[test]
fn a_later_file_replaces_the_list_and_keeps_the_rest() {
    let mut names = Names {
        own: Vec::new(),
        has_built_in: true,
    };
    let mut config = Config::default();
    for text in [
        "compositors = [\"early\"]\ndefault_compositors = false\nslice_lag_us = 5",
        "compositors = [\"late\"]\nmode = \"bpf\"",
    ] {
        let place = Place {
            path: Path::new("a.toml"),
            text,
        };
        let layer = place.parse().expect("valid");
        names.lay(&layer, &place).expect("valid");
        config.lay(&layer, &names, &place).expect("valid");
    }
    let names: Vec<_> = config
        .choices
        .compositors
        .iter()
        .map(Pattern::to_string)
        .collect();
    assert_eq!(names, ["late"]);
    assert_eq!((config.mode, config.choices.slice_lag_us), (Mode::Bpf, 5));
}

#[test]
fn an_error_names_file_line_and_key() {
    let unknown = load_text(b"# comment\nmdoe = \"bpf\"\n").expect_err("unknown key");
    assert!(
        unknown.contains("config.toml:2:") && unknown.contains("mdoe"),
        "{unknown}"
    );
    let value = load_text(b"\n\nmode = \"fast\"\n").expect_err("bad value");
    assert!(
        value.contains("config.toml:3:") && value.contains("adaptive"),
        "{value}"
    );
    let syntax = load_text(b"mode = \"bpf\n").expect_err("bad syntax");
    assert!(syntax.contains("config.toml:1:"), "{syntax}");
}

#[test]
fn odd_files_are_refused_and_do_not_hang() {
    assert!(load_text(b"\xff\xfe").is_err_and(|m| m.contains("UTF-8")));
    let huge = vec![b'#'; MAX_BYTES as usize + 1];
    assert!(load_text(&huge).is_err_and(|m| m.contains("1 MiB")));
    let dir = tempfile::tempdir().expect("a directory");
    let refused = |path: PathBuf| load(&Source::File(path)).expect_err("refused").to_string();
    assert!(refused(dir.path().to_owned()).contains("not a regular file"));
    let fifo = dir.path().join("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, mode).expect("a fifo");
    assert!(refused(fifo).contains("not a regular file"));
    assert!(refused(dir.path().join("none")).contains("cannot be read"));
}

#[test]
fn drop_ins_are_sorted_and_only_toml() {
    let dir = tempfile::tempdir().expect("a directory");
    for name in ["20-b.toml", "10-a.toml", "README"] {
        fs::write(dir.path().join(name), "").expect("a file");
    }
    let names: Vec<_> = drop_ins(dir.path())
        .expect("readable")
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    assert_eq!(names, ["10-a.toml", "20-b.toml"]);
    assert!(drop_ins(&dir.path().join("none")).is_ok_and(|files| files.is_empty()));
}
