#!/usr/bin/env python3
"""package.py SERVICE.deb WINDOW.deb: what the packages install, for those who have nothing else."""

import re
import subprocess
import sys
import tempfile
import unittest
from configparser import ConfigParser
from pathlib import Path

TOP = Path(__file__).parents[2]
ID = "org.pandemonium.Applet"
LANGUAGES = (TOP / "po/LINGUAS").read_text().split()


def say(*command, **environment):
    """What a program prints; it fails with what it said."""
    done = subprocess.run(command, env=environment or None, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def entries(file, section):
    """The keys of a file as desktops write them."""
    parser = ConfigParser(interpolation=None, delimiters="=")
    parser.optionxform = str
    parser.read(file)
    return parser[section]


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        root = Path(cls.place.name)
        cls.service, cls.window = root / "service", root / "window"
        for package, directory in zip(PACKAGES, (cls.service, cls.window)):
            say("dpkg-deb", "-x", package, str(directory))
        cls.share = cls.window / "usr/share"

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def files(self, root):
        return {file.relative_to(root) for file in root.rglob("*") if not file.is_dir()}

    def test_no_file_belongs_to_both(self):
        self.assertEqual(self.files(self.service) & self.files(self.window), set())
        self.assertTrue(all("pplet" not in file.name for file in self.files(self.service)))

    def test_a_desktop_starts_it_by_its_name(self):
        file = self.share / f"applications/{ID}.desktop"
        say("desktop-file-validate", str(file))
        desktop = entries(file, "Desktop Entry")
        self.assertEqual(desktop["DBusActivatable"], "true")
        self.assertEqual(desktop["Icon"], ID)
        service = entries(self.share / f"dbus-1/services/{ID}.service", "D-BUS Service")
        self.assertEqual(service["Name"], ID)
        program, *arguments = service["Exec"].split()
        self.assertEqual(arguments, ["--gapplication-service"])
        program = self.window / program.lstrip("/")
        self.assertIn("pandemonium-applet", say(str(program), "--version"))
        self.assertTrue(program.samefile(self.window / "usr/bin" / desktop["Exec"]))

    def test_it_has_a_manual_page(self):
        page = self.share / "man/man1/pandemonium-applet.1.gz"
        self.assertIn("pandemonium-applet [--page NAME]", say("man", "--warnings", "-l", str(page)))

    def test_its_page_in_a_catalogue_is_sound(self):
        # There is no page to link to yet.
        say("appstreamcli", "validate", "--no-net", "--override=url-homepage-missing=info",
            str(self.share / f"metainfo/{ID}.metainfo.xml"))
        source = (TOP / f"data/applet/{ID}.metainfo.xml.in").read_text()
        pictures = re.findall("<image>@PICTURES@/(.*)</image>", source)
        self.assertGreater(len(pictures), 3)
        for picture in pictures:
            self.assertTrue((TOP / "docs/pictures" / picture).exists(), picture)

    def test_the_icon_of_every_state_can_be_found_by_its_name(self):
        icons = self.share / "icons/hicolor"
        names = set(re.findall(r'"(pandemonium-\w+-symbolic)"', (TOP / "applet/src/words.rs").read_text()))
        self.assertEqual(len(names), 4)
        installed = {file.stem for file in (icons / "symbolic/apps").iterdir()}
        self.assertEqual(installed, names | {f"{ID}-symbolic"})
        self.assertTrue((icons / f"scalable/apps/{ID}.svg").exists())
        # Nobody looks into others.
        known = entries(Path("/usr/share/icons/hicolor/index.theme"), "Icon Theme")["Directories"].split(",")
        used = {str(file.parent.relative_to(icons)) for file in icons.rglob("*.svg")}
        self.assertLessEqual(used, set(known))

    def test_every_language_has_its_catalogue_and_its_line_in_the_menu(self):
        desktop = entries(self.share / f"applications/{ID}.desktop", "Desktop Entry")
        metainfo = (self.share / f"metainfo/{ID}.metainfo.xml").read_text()
        policy = (self.service / "usr/share/polkit-1/actions/org.pandemonium.policy").read_text()
        for language in LANGUAGES:
            with self.subTest(language):
                catalogue = self.share / f"locale/{language}/LC_MESSAGES/pandemonium.mo"
                self.assertIn('msgid "Switched off"', say("msgunfmt", str(catalogue)))
                self.assertNotEqual(desktop[f"Comment[{language}]"], desktop["Comment"])
                self.assertIn(f'<summary xml:lang="{language}">', metainfo)
                self.assertIn(f'<message xml:lang="{language}">', policy)


if __name__ == "__main__":
    PACKAGES = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
