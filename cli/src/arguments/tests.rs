use clap::CommandFactory;
use clap::error::ErrorKind;

use super::*;

fn refusal(line: &str) -> ErrorKind {
    match Arguments::try_parse_from(line.split(' ')) {
        Ok(parsed) => panic!("{line} was accepted as {parsed:?}"),
        Err(error) => error.kind(),
    }
}

#[test]
fn the_definition_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn defaults_are_the_documented_ones() {
    let parsed = Arguments::try_parse_from(["pandemonium", "probe"]).expect("valid");
    assert!(matches!(
        parsed.command,
        Command::Probe {
            seconds: 10,
            interval_us: 1000,
            json: false
        }
    ));
}

#[test]
fn a_command_without_an_action_shows_what_is() {
    let parse = |line: &str| Arguments::try_parse_from(line.split(' ')).map(|a| a.command);
    assert!(matches!(
        parse("pandemonium compositor --json"),
        Ok(Command::Compositor {
            json: true,
            action: None
        })
    ));
    assert!(matches!(
        parse("pandemonium domain"),
        Ok(Command::Domain {
            json: false,
            action: None
        })
    ));
    assert!(matches!(
        parse("pandemonium idle-selector"),
        Ok(Command::IdleSelector { wanted: None, .. })
    ));
    assert!(matches!(
        parse("pandemonium idle-selector off --json"),
        Ok(Command::IdleSelector {
            wanted: Some(Selector::Off),
            json: true
        })
    ));
    // The daemon decides what a domain is: a newer one may know more.
    assert!(matches!(
        parse("pandemonium domain set turbo"),
        Ok(Command::Domain {
            action: Some(DomainAction::Set { domain, .. }),
            ..
        }) if domain == "turbo"
    ));
}

#[test]
fn a_mode_is_set_by_either_name_of_the_command() {
    for line in ["pandemonium mode bpf", "pandemonium set bpf"] {
        let parsed = Arguments::try_parse_from(line.split(' ')).expect(line);
        assert!(
            matches!(&parsed.command, Command::Mode(ModeArguments { mode: Some(mode), .. }) if mode == "bpf")
        );
    }
}

#[test]
fn a_benchmark_has_the_usual_options() {
    let idle = |line: &str| match Arguments::try_parse_from(line.split(' ')) {
        Ok(Arguments {
            command:
                Command::Bench {
                    what: Some(Benchmark::Idle(idle)),
                    ..
                },
        }) => idle,
        other => panic!("{line}: {other:?}"),
    };
    let usual = idle("pandemonium bench idle");
    assert_eq!(
        (usual.rounds, usual.no_compare, usual.json),
        (6, false, false)
    );
    let plan = usual.options.plan(16);
    assert_eq!((plan.iterations, plan.warmup), (100_000, 5_000));
    assert_eq!((plan.threads, plan.background), (16, 8));
    let told = idle("pandemonium bench idle -i 10 -t 2 -b 0 -w 1 --seed 9 --no-compare --json");
    let plan = told.options.plan(16);
    assert_eq!((plan.iterations, plan.warmup, plan.seed), (10, 1, 9));
    assert_eq!((plan.threads, plan.background), (2, 0));
    assert!(told.no_compare && told.json);
}

#[test]
fn out_of_range_and_contradicting_arguments_are_refused() {
    for line in [
        "pandemonium probe --interval-us 99",
        "pandemonium probe --seconds 0",
        "pandemonium monitor --count 0",
        "pandemonium history --since 1d",
        "pandemonium profiles --limit -1",
        "pandemonium profiles show sixteen-letters!",
        "pandemonium profiles pin a\\x00 batch",
        "pandemonium profiles pin gam* interactive",
        "pandemonium profiles forget *",
        "pandemonium bench idle -i 0",
        "pandemonium bench idle -i 10000001",
        "pandemonium bench idle -t 10001",
        "pandemonium bench idle -t 0",
        "pandemonium bench idle --rounds 5",
        "pandemonium bench idle --rounds 0",
        "pandemonium bench idle --rounds 102",
        "pandemonium bench --seconds 0",
        "pandemonium bench --rounds 0",
        "pandemonium bench compare a b --threshold -1",
    ] {
        let kind = refusal(line);
        assert!(
            matches!(
                kind,
                ErrorKind::ValueValidation | ErrorKind::UnknownArgument
            ),
            "{line}: {kind:?}"
        );
    }
    assert_eq!(refusal("pandemonium mode turbo"), ErrorKind::InvalidValue);
    assert_eq!(
        refusal("pandemonium monitor --json --full"),
        ErrorKind::ArgumentConflict
    );
    assert_eq!(
        refusal("pandemonium metrics --json --prometheus"),
        ErrorKind::ArgumentConflict
    );
    assert_eq!(
        refusal("pandemonium monitor --full --plain"),
        ErrorKind::ArgumentConflict
    );
    assert_eq!(
        refusal("pandemonium bench idle --no-compare --rounds 4"),
        ErrorKind::ArgumentConflict
    );
    assert_eq!(
        refusal("pandemonium idle-selector maybe"),
        ErrorKind::InvalidValue
    );
    assert_eq!(
        refusal("pandemonium compositor add"),
        ErrorKind::MissingRequiredArgument
    );
    assert_eq!(
        refusal("pandemonium profiles forget"),
        ErrorKind::MissingRequiredArgument
    );
    assert_eq!(
        refusal("pandemonium profiles forget kwin --all"),
        ErrorKind::ArgumentConflict
    );
    assert_eq!(
        refusal("pandemonium profiles pin kwin warp"),
        ErrorKind::InvalidValue
    );
    assert_eq!(
        refusal("pandemonium power set battery"),
        ErrorKind::ValueValidation
    );
    assert_eq!(
        refusal("pandemonium power set"),
        ErrorKind::MissingRequiredArgument
    );
    assert_eq!(refusal("pandemonium fly"), ErrorKind::InvalidSubcommand);
}
