//! Compiles the formulas and the idle selection as the host's C compiler sees them.

fn main() {
    for file in [
        "wrapper.c",
        "idle.c",
        "../formulas.h",
        "../idle.bpf.h",
        "../intf.h",
    ] {
        println!("cargo::rerun-if-changed={file}");
    }
    cc::Build::new()
        .files(["wrapper.c", "idle.c"])
        .include("..")
        .warnings_into_errors(true)
        .extra_warnings(true)
        // The formulas are written for the kernel, where these conversions are intended and a
        // program need not use all of them.
        .flag_if_supported("-Wno-sign-compare")
        .flag_if_supported("-Wno-unused-function")
        .compile("pandemonium_formulas");
}
