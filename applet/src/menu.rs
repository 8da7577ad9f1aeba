//! What a screen reader says of the button of a menu and of what is in the menu.

use adw::prelude::*;
use gtk::accessible::Property;

/// Names the button, and each item after its words. GTK names an item by a label that it hides from screen readers, and
/// so not at all.
pub fn name(button: &gtk::MenuButton, name: &str) {
    button.update_property(&[Property::Label(name)]);
    if let Some(menu) = button.popover() {
        // Names that are given before it is seen do not last.
        menu.connect_map(|menu| name_items(menu.upcast_ref()));
    }
}

fn name_items(widget: &gtk::Widget) {
    // The class is private to GTK.
    if widget.type_().name() == "GtkModelButton" && widget.find_property("text").is_some() {
        let words: String = widget.property("text");
        widget.reset_relation(gtk::AccessibleRelation::LabelledBy);
        widget.update_property(&[Property::Label(&words)]);
        return;
    }
    let mut child = widget.first_child();
    while let Some(this) = child {
        name_items(&this);
        child = this.next_sibling();
    }
}
