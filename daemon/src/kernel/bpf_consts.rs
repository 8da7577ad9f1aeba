//! Kernel constants by name, from the running kernel's own type information.
//!
//! sched_ext's flags and ids change from release to release, so the scheduler carries none of them:
//! each is looked up here, and one this kernel does not have is zero.

use anyhow::{Context, Result};
use libbpf_rs::OpenObject;
use libbpf_rs::btf::{Btf, ReferencesType, TypeId, types};
use pandemonium_api::NEEDED_KFUNCS;
use std::collections::HashMap;

/// The enums that hold sched_ext's constants.
const ENUMS: &[&str] = &[
    "scx_public_consts",
    "scx_consts",
    "scx_dsq_id_flags",
    "scx_enq_flags",
    "scx_deq_flags",
    "scx_wake_flags",
    "scx_kick_flags",
    "scx_pick_idle_cpu_flags",
    "scx_ops_flags",
    "scx_ent_flags",
    "scx_rq_flags",
    "scx_cpu_preempt_reason",
    "scx_exit_kind",
    "scx_exit_code",
    "scx_opi",
];

/// Every sched_ext constant of the running kernel.
pub struct KernelConsts {
    values: HashMap<String, u64>,
    exit_kinds: HashMap<u64, String>,
    has_immediate_moves: bool,
    has_reenqueue_anywhere: bool,
    unusable: Vec<&'static str>,
}

/// Whether a program can call `name`: the kernel has it, and where it takes an argument that only
/// the verifier supplies (`aux`, since 7.0), its full prototype is there as well.
fn is_callable(btf: &Btf<'_>, name: &str) -> bool {
    let find = |name: &str| btf.type_by_name::<types::Func<'_>>(name);
    let Some(func) = find(name) else { return false };
    let takes_aux = btf
        .type_by_id::<types::FuncProto<'_>>(func.referenced_type().type_id())
        .is_some_and(|proto| proto.iter().any(|p| text(p.name).as_deref() == Some("aux")));
    !takes_aux || find(&format!("{name}_impl")).is_some()
}

/// Functions and types whose presence decides how the scheduler is loaded.
const ASKED: &[&str] = &[
    "scx_bpf_dsq_insert_vtime_args",
    "__scx_bpf_dsq_insert_vtime",
    MOVE_WITH_FLAGS,
    REENQUEUE_LOCAL,
    REENQUEUE,
];
const MOVE_WITH_FLAGS: &str = "scx_bpf_dsq_move_to_local___v2";
const REENQUEUE_LOCAL: &str = "scx_bpf_reenqueue_local___v2";
const REENQUEUE: &str = "scx_bpf_dsq_reenq";

/// Every type and function that is looked for here.
pub fn names() -> Vec<String> {
    let functions = NEEDED_KFUNCS.iter().chain(ASKED);
    let prototypes = functions.clone().map(|name| format!("{name}_impl"));
    let names = ENUMS
        .iter()
        .chain(functions.clone())
        .map(|&name| name.to_owned());
    names.chain(prototypes).collect()
}

impl KernelConsts {
    /// Reads them from type information that has all of [`names`] that the kernel has.
    pub fn of(btf: &Btf<'_>) -> KernelConsts {
        let mut values = HashMap::new();
        for name in ENUMS {
            if let Some(wide) = btf.type_by_name::<types::Enum64<'_>>(name) {
                values.extend(
                    wide.iter()
                        .filter_map(|m| Some((text(m.name)?, m.value as u64))),
                );
            }
            if let Some(narrow) = btf.type_by_name::<types::Enum<'_>>(name) {
                values.extend(
                    narrow
                        .iter()
                        .filter_map(|m| Some((text(m.name)?, m.value as u64))),
                );
            }
        }
        let exit_kinds = btf
            .type_by_name::<types::Enum<'_>>("scx_exit_kind")
            .map(|kinds| {
                kinds
                    .iter()
                    .filter_map(|m| Some((m.value as u64, text(m.name)?)))
                    .collect()
            })
            .unwrap_or_default();
        let has_immediate_moves =
            values.contains_key("SCX_ENQ_IMMED") && is_callable(btf, MOVE_WITH_FLAGS);
        let has_reenqueue_anywhere =
            is_callable(btf, REENQUEUE_LOCAL) || is_callable(btf, REENQUEUE);
        let mut needed = NEEDED_KFUNCS.to_vec();
        // Where the arguments have a struct of their own, the older function is not tried.
        if btf
            .type_by_name::<types::Struct<'_>>("scx_bpf_dsq_insert_vtime_args")
            .is_some()
        {
            needed.push("__scx_bpf_dsq_insert_vtime");
        }
        let unusable = needed
            .into_iter()
            .filter(|name| !is_callable(btf, name))
            .collect();
        KernelConsts {
            values,
            exit_kinds,
            has_immediate_moves,
            has_reenqueue_anywhere,
            unusable,
        }
    }

    /// The constant's value, 0 where this kernel lacks it.
    pub fn get(&self, name: &str) -> u64 {
        self.values.get(name).copied().unwrap_or(0)
    }

    /// Functions the scheduler needs that no program can call on this kernel.
    pub fn unusable(&self) -> &[&'static str] {
        &self.unusable
    }

    /// Whether a local queue can be drained from outside `cpu_release()` (since 6.19).
    pub fn has_reenqueue_anywhere(&self) -> bool {
        self.has_reenqueue_anywhere
    }

    /// Whether a task moved to a local queue comes back if it cannot run there at once (since 7.1).
    pub fn has_immediate_moves(&self) -> bool {
        self.has_immediate_moves
    }

    /// The name of an exit kind, for example `SCX_EXIT_SYSRQ`.
    pub fn exit_kind_name(&self, kind: u64) -> Option<&str> {
        self.exit_kinds.get(&kind).map(String::as_str)
    }

    /// Fills every `__SCX_*` constant in the scheduler's read-only data.
    ///
    /// # Errors
    /// When the object has no such section, which would be a broken build.
    pub fn fill(&self, object: &OpenObject, rodata: &mut [u8]) -> Result<()> {
        use libbpf_rs::AsRawLibbpf;
        // SAFETY: the object outlives the borrow taken here.
        let raw = unsafe { object.as_libbpf_object().as_ref() };
        let btf = Btf::from_bpf_object(raw)?.context("the scheduler has no type information")?;
        let section = btf
            .type_by_name::<types::DataSec<'_>>(".rodata")
            .context("the scheduler has no read-only data")?;
        for var in section.iter() {
            let Some(name) = variable_name(&btf, var.ty) else {
                continue;
            };
            let Some(name) = name
                .strip_prefix("__")
                .filter(|name| name.starts_with("SCX_"))
            else {
                continue;
            };
            let (start, end) = (var.offset as usize, var.offset as usize + var.size);
            let bytes = rodata
                .get_mut(start..end)
                .context("a constant outside its section")?;
            let value = self.get(name).to_ne_bytes();
            anyhow::ensure!(
                bytes.len() == value.len(),
                "{name} is not a 64-bit constant"
            );
            bytes.copy_from_slice(&value);
        }
        Ok(())
    }
}

fn text(name: Option<&std::ffi::OsStr>) -> Option<String> {
    name.and_then(|name| name.to_str()).map(str::to_owned)
}

fn variable_name(btf: &Btf<'_>, id: TypeId) -> Option<String> {
    btf.type_by_id::<types::Var<'_>>(id)
        .and_then(|var| text(var.name()))
}
