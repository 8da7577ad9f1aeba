//! Compiles the scheduler as the host's C compiler sees it.

fn main() {
    println!("cargo::rerun-if-changed=..");
    cc::Build::new()
        .files([
            "wrapper.c",
            "queues.c",
            "kernel.c",
            "migration.c",
            "kfuncs.c",
            "scheduler.c",
        ])
        .include("kernel")
        .include("..")
        .include(".")
        .std("gnu23")
        .opt_level(2)
        .warnings_into_errors(true)
        .extra_warnings(true)
        // The scheduler is written for the kernel, where these conversions are intended and a program
        // need not use all there is; scheduler.c leaves out `const`.
        .flag_if_supported("-Wno-sign-compare")
        .flag_if_supported("-Wno-unused-function")
        .flag_if_supported("-Wno-unused-parameter")
        .flag_if_supported("-Wno-ignored-qualifiers")
        .compile("pandemonium_host");
}
