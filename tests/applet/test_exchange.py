"""Profiles to a file and from one."""

from case import Case
from desktop import until
from test_processes import EVIL, LEARNED, PROGRAMS

NAMES = {EVIL, *(name for name, _, _ in PROGRAMS[:-1])}


class Exchange(Case):
    # Files have numbers so that they are among the first, which the dialog shows.
    script = LEARNED
    arguments = ("--page", "processes")

    def known(self):
        """The programs that the daemon knows."""
        return {row["name"] for row in self.ask("profiles", "list")}

    def export_to(self, file):
        self.hands.choose_in_menu("More", "Export…")
        self.hands.save_as("Export Profiles", file)

    def import_from(self, file):
        self.hands.choose_in_menu("More", "Import…")
        self.hands.open_file("Import Profiles", file.name)

    def test_1_what_was_exported_can_be_imported(self):
        until("all are learned", lambda: self.known() == NAMES)
        file = self.desktop.directory / "1-exported.toml"
        self.export_to(file)
        self.until_shown("Profiles exported")
        self.applet.pandemonium("profiles", "forget", "--all", "--yes")
        until("all are forgotten", lambda: not self.known())
        self.import_from(file)
        self.until_shown(f"{len(NAMES)} programs imported")
        self.assertEqual(self.known(), NAMES)
        self.until_shown("firefox, Interactive")

    def test_2_what_are_no_profiles_is_told_in_one_sentence(self):
        before = self.known()
        file = self.desktop.directory / "2-other"
        for content, reason in [(b"\x7fELF\xff", "The text is not UTF-8."), (b"Dear diary\n", "At byte 5: ")]:
            file.write_bytes(content)
            self.import_from(file)
            self.until_shown(f"These are no profiles: {reason}")
        self.assertEqual(self.known(), before)
