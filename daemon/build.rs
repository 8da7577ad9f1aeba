//! Compiles the BPF half and generates its skeleton, when the real kernel is wanted at all.

fn main() {
    #[cfg(feature = "bpf")]
    build_bpf();
}

#[cfg(feature = "bpf")]
fn build_bpf() {
    // The scheduler is C23. SAFETY: a build script of one thread.
    unsafe {
        std::env::set_var(
            "BPF_EXTRA_CFLAGS_PRE_INCL",
            "-std=gnu23 -Wno-missing-declarations",
        )
    };
    println!("cargo:rerun-if-changed=../bpf");
    scx_cargo::BpfBuilder::new()
        .and_then(|mut builder| builder.enable_skel("../bpf/main.bpf.c", "bpf").build())
        .expect("the BPF scheduler compiles (needs clang 18 or newer)");
}
