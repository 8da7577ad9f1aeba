//! The application: one window, one link, and what goes between them.

use std::cell::{Cell, RefCell};
use std::io;
use std::process::ExitCode;
use std::rc::Rc;

use adw::prelude::*;
use gettextrs::gettext;
use gtk::{gdk, gio, glib};

use crate::arguments::Arguments;
use crate::autostart;
use crate::clock::Clock;
use crate::demo::Demo;
use crate::link::{Link, Trouble, Where};
use crate::model::News;
use crate::page::Page;
use crate::shell::Shell;
use crate::window::Window;

/// The name on the session bus, of the desktop file and of the icon.
const ID: &str = "org.pandemonium.Applet";
const RESOURCES: &str = "/org/pandemonium/Applet";

/// Everything that shows something, once there is any.
type Running = Rc<RefCell<Option<Rc<Shell>>>>;

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
    let (id, flags) = match (&demo, arguments.gapplication_service) {
        (Some(_), _) => (
            "org.pandemonium.Applet.Demo",
            gio::ApplicationFlags::NON_UNIQUE,
        ),
        (None, true) => (ID, gio::ApplicationFlags::IS_SERVICE),
        (None, false) => (ID, gio::ApplicationFlags::empty()),
    };
    let app = adw::Application::builder()
        .application_id(id)
        .resource_base_path(RESOURCES)
        .flags(flags)
        .build();
    let shell = Running::default();
    add_actions(&app, &shell);
    app.connect_startup(|_| {
        gtk::Window::set_default_icon_name(ID);
        load_style();
    });
    // What the demo does leaves no trace.
    match demo {
        Some(_) => add_autostart(&app, &shell, false, |_| Ok(())),
        None => add_autostart(
            &app,
            &shell,
            autostart::is_enabled(),
            autostart::set_enabled,
        ),
    }
    let is_hidden = Cell::new(arguments.hidden);
    let show = Rc::new(move |app: &adw::Application, page: Option<Page>| {
        let is_hidden = is_hidden.take();
        let mut shell = shell.borrow_mut();
        if shell.is_none() {
            *shell = open(app, at.clone(), clock);
        }
        let Some(shell) = &*shell else {
            app.quit();
            return;
        };
        if let Some(page) = page {
            shell.window().turn_to(page);
        }
        match is_hidden {
            true => shell.begin_hidden(),
            false => shell.window().present(None),
        }
    });
    add_page_action(&app, Rc::clone(&show));
    app.connect_activate(move |app| show(app, None));
    app.register(gio::Cancellable::NONE)
        .map_err(|error| format!("the session bus does not take it: {error}"))?;
    // One that runs already is left as it is, or turns to the page.
    if app.is_remote() && arguments.hidden {
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(page) = arguments.page {
        app.activate_action("page", Some(&page.name().to_variant()));
    }
    // The session bus may be started anew, and whoever talks to the daemon does not need it.
    if let Some(bus) = app.dbus_connection() {
        bus.set_exit_on_close(false);
    }
    // Its own arguments were read already; GTK's are read from here.
    let code = app.run_with_args::<&str>(&[]);
    drop(demo);
    Ok(match code {
        glib::ExitCode::SUCCESS => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Makes everything that shows something, and keeps it up to date.
fn open(app: &adw::Application, at: Where, clock: Clock) -> Option<Rc<Shell>> {
    let (link, mut news) = match Link::start(at, clock) {
        Ok(started) => started,
        Err(sentence) => {
            eprintln!("pandemonium-applet: {sentence}");
            return None;
        }
    };
    let window = Window::new(app, link, clock);
    let shell = Shell::new(app, window);
    let receiver = Rc::downgrade(&shell);
    glib::spawn_future_local(async move {
        while let Some(told) = news.recv().await {
            let Some(shell) = receiver.upgrade() else {
                return;
            };
            let window = shell.window();
            match told {
                News::Presence(presence) => {
                    shell.show(&presence);
                    window.show(presence);
                }
                News::History(points) => window.overview().show_history(points),
                News::Profiles => window.reload_processes(),
                News::Sample(sample) => {
                    shell.show_sample(&sample);
                    window.overview().show_sample(&sample);
                }
                News::Reverted(revert) => shell.reverted(&revert),
            }
        }
    });
    Some(shell)
}

fn load_style() {
    let style = gtk::CssProvider::new();
    style.load_from_resource(&format!("{RESOURCES}/style.css"));
    if let Some(display) = gdk::Display::default() {
        let priority = gtk::STYLE_PROVIDER_PRIORITY_APPLICATION;
        gtk::style_context_add_provider_for_display(&display, &style, priority);
    }
}

fn add_actions(app: &adw::Application, shell: &Running) {
    let quit = gio::ActionEntry::builder("quit")
        .activate(|app: &adw::Application, _, _| app.quit())
        .build();
    let about = gio::ActionEntry::builder("about")
        .activate(|app: &adw::Application, _, _| show_about(app))
        .build();
    // What notifications offer, also when the program has to be started for it.
    let open = gio::ActionEntry::builder("open")
        .activate(|app: &adw::Application, _, _| app.activate())
        .build();
    let shell = Rc::clone(shell);
    let load_again = gio::ActionEntry::builder("load-again")
        .activate(move |app: &adw::Application, _, _| {
            let running = shell.borrow().clone();
            match running {
                Some(shell) => shell.load_again(),
                None => app.activate(),
            }
        })
        .build();
    app.add_action_entries([quit, about, open, load_again]);
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

/// The switch of the session's start, for whatever control names it.
fn add_autostart(
    app: &adw::Application,
    shell: &Running,
    is_enabled: bool,
    set_enabled: fn(bool) -> io::Result<()>,
) {
    let shell = Rc::clone(shell);
    let autostart = gio::ActionEntry::builder("autostart")
        .state(is_enabled.to_variant())
        .change_state(move |_: &adw::Application, action, wanted| {
            let Some(is_enabled) = wanted.and_then(glib::Variant::get) else {
                return;
            };
            match (set_enabled(is_enabled), &*shell.borrow()) {
                (Ok(()), _) => action.set_state(&is_enabled.to_variant()),
                (Err(error), shell) => {
                    // A switch may have moved by itself, and only follows what changes.
                    action.set_state(&is_enabled.to_variant());
                    action.set_state(&(!is_enabled).to_variant());
                    if let Some(shell) = shell {
                        let trouble = Trouble::Failed(error.to_string());
                        shell.window().asker().tell(&trouble);
                    }
                }
            }
        })
        .build();
    app.add_action_entries([autostart]);
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
