//! The application: one window, one link, and what goes between them.

use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;

use adw::prelude::*;
use gettextrs::gettext;
use gtk::{gdk, gio, glib};

use crate::arguments::Arguments;
use crate::clock::Clock;
use crate::demo::Demo;
use crate::link::{Link, Where};
use crate::model::News;
use crate::page::Page;
use crate::window::Window;

/// The name on the session bus, of the desktop file and of the icon.
const ID: &str = "org.pandemonium.Applet";
const RESOURCES: &str = "/org/pandemonium/Applet";

/// Runs until the person quits. An error is a sentence.
pub fn run(arguments: Arguments) -> Result<ExitCode, String> {
    gio::resources_register_include!("applet.gresource")
        .map_err(|error| format!("the user interface cannot be read: {error}"))?;
    let demo = match arguments.demo {
        true => Some(Demo::start(&arguments)?),
        false => None,
    };
    let (at, clock) = match &demo {
        Some(demo) => (Where::Address(demo.address().to_owned()), demo.clock()),
        None => (Where::System, Clock::REAL),
    };
    // A demo beside the real one is another application.
    let (id, flags) = match demo {
        Some(_) => (
            "org.pandemonium.Applet.Demo",
            gio::ApplicationFlags::NON_UNIQUE,
        ),
        None => (ID, gio::ApplicationFlags::empty()),
    };
    let app = adw::Application::builder()
        .application_id(id)
        .resource_base_path(RESOURCES)
        .flags(flags)
        .build();
    add_actions(&app);
    app.connect_startup(|_| {
        gtk::Window::set_default_icon_name(ID);
        load_style();
    });
    let window: RefCell<Option<Rc<Window>>> = RefCell::new(None);
    let show = Rc::new(move |app: &adw::Application, page: Option<Page>| {
        let mut window = window.borrow_mut();
        if window.is_none() {
            *window = open(app, at.clone(), clock);
        }
        match (&*window, page) {
            (Some(window), Some(page)) => {
                window.turn_to(page);
                window.present();
            }
            (Some(window), None) => window.present(),
            (None, _) => app.quit(),
        }
    });
    add_page_action(&app, Rc::clone(&show));
    app.connect_activate(move |app| show(app, None));
    if let Some(page) = arguments.page {
        app.register(None::<&gio::Cancellable>)
            .map_err(|error| format!("the session bus does not take it: {error}"))?;
        // If it runs already, that window turns to the page.
        app.activate_action("page", Some(&page.name().to_variant()));
    }
    // Its own arguments were read already; GTK's are read from here.
    let code = app.run_with_args::<&str>(&[]);
    drop(demo);
    Ok(match code {
        glib::ExitCode::SUCCESS => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Makes the window and keeps it up to date.
fn open(app: &adw::Application, at: Where, clock: Clock) -> Option<Rc<Window>> {
    let (link, mut news) = match Link::start(at, clock) {
        Ok(started) => started,
        Err(sentence) => {
            eprintln!("pandemonium-applet: {sentence}");
            return None;
        }
    };
    let window = Window::new(app, link, clock);
    let receiver = Rc::downgrade(&window);
    glib::spawn_future_local(async move {
        while let Some(told) = news.recv().await {
            let Some(window) = receiver.upgrade() else {
                return;
            };
            match told {
                News::Presence(presence) => window.show(presence),
                News::History(points) => window.overview().show_history(points),
                News::Sample(sample) => window.overview().show_sample(&sample),
                News::Profiles => window.reload_processes(),
            }
        }
    });
    Some(window)
}

fn load_style() {
    let style = gtk::CssProvider::new();
    style.load_from_resource(&format!("{RESOURCES}/style.css"));
    if let Some(display) = gdk::Display::default() {
        let priority = gtk::STYLE_PROVIDER_PRIORITY_APPLICATION;
        gtk::style_context_add_provider_for_display(&display, &style, priority);
    }
}

fn add_actions(app: &adw::Application) {
    let quit = gio::ActionEntry::builder("quit")
        .activate(|app: &adw::Application, _, _| app.quit())
        .build();
    let about = gio::ActionEntry::builder("about")
        .activate(|app: &adw::Application, _, _| show_about(app))
        .build();
    app.add_action_entries([quit, about]);
    app.set_accels_for_action("app.quit", &["<Control>q"]);
    app.set_accels_for_action("window.close", &["<Control>w"]);
}

/// The action that opens the window at a page, for the keyboard, the command line and the bus.
fn add_page_action(
    app: &adw::Application,
    show: Rc<impl Fn(&adw::Application, Option<Page>) + 'static>,
) {
    let page = gio::ActionEntry::builder("page")
        .parameter_type(Some(glib::VariantTy::STRING))
        .activate(move |app: &adw::Application, _, name| {
            let name = name.and_then(glib::Variant::str);
            if let Some(page) = name.and_then(Page::named) {
                show(app, Some(page));
            }
        })
        .build();
    app.add_action_entries([page]);
    for (number, page) in (1..).zip(Page::ALL) {
        let action = format!("app.page::{}", page.name());
        app.set_accels_for_action(&action, &[&format!("<Alt>{number}")]);
    }
}

fn show_about(app: &adw::Application) {
    let about = adw::AboutDialog::builder()
        .application_name("PANDEMONIUM")
        .application_icon(ID)
        .version(env!("CARGO_PKG_VERSION"))
        .license_type(gtk::License::Gpl20Only)
        .comments(gettext(
            "Keeps what you see and hear responsive while everything else runs.",
        ))
        .build();
    about.present(app.active_window().as_ref());
}
