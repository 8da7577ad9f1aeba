//! Who draws the window: the processor itself. It is a small one of which little changes, and the driver of a graphics
//! processor, or worse, one that only pretends to have such a thing, takes more memory than everything else together.

use std::env;

/// Chooses, before GTK is there. `GSK_RENDERER` chooses something else.
pub fn choose() {
    if env::var_os("GSK_RENDERER").is_some_and(|name| name != "cairo") {
        return;
    }
    for (name, value) in [("GSK_RENDERER", "cairo"), ("GDK_DISABLE", "gl,vulkan")] {
        if env::var_os(name).is_none() {
            // SAFETY: this is the only thread yet, so nobody reads the environment meanwhile.
            unsafe { env::set_var(name, value) };
        }
    }
}
