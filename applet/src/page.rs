//! The pages of the window, by the names that the command line and the view stack know them by.

use clap::ValueEnum;

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Page {
    /// State, mode and chart.
    Overview,
    /// What was learned about programs.
    Processes,
    /// What holds for every user of the machine.
    Preferences,
}

impl Page {
    /// Every page, in the order of the switcher.
    pub const ALL: [Page; 3] = [Page::Overview, Page::Processes, Page::Preferences];

    /// Its name, which no translation changes.
    pub fn name(self) -> &'static str {
        match self {
            Page::Overview => "overview",
            Page::Processes => "processes",
            Page::Preferences => "preferences",
        }
    }

    /// The page of this name.
    pub fn named(name: &str) -> Option<Page> {
        Page::ALL.into_iter().find(|page| page.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_and_the_view_stack_use_one_name() {
        for page in Page::ALL {
            let value = page.to_possible_value().map(|v| v.get_name().to_owned());
            assert_eq!(value.as_deref(), Some(page.name()));
            assert_eq!(Page::named(page.name()), Some(page));
        }
        assert_eq!(Page::named("other"), None);
    }
}
