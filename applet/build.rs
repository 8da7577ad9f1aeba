//! Puts the user interface and the icons into the program.

fn main() {
    glib_build_tools::compile_resources(
        &["ui", "icons"],
        "ui/applet.gresource.xml",
        "applet.gresource",
    );
}
