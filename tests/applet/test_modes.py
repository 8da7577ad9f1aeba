"""The overview: the mode, and what is told when something is wrong."""

from case import SCRIPT, Case
from desktop import until


class Modes(Case):
    def test_off_takes_effect_at_once_and_another_mode_is_kept_or_goes_back(self):
        self.until_shown("Your system is tuned")
        self.hands.press("Off", "radio button")
        self.until_mode("off")
        self.until_shown("Switched off")
        self.hands.press("Fixed", "radio button")
        self.until_mode("bpf")
        self.hands.press("Go Back")
        self.until_mode("off")
        until("off is chosen again", lambda: self.hands.is_checked("Off"))
        self.hands.press("Fixed", "radio button")
        self.hands.press("Keep")
        until("nothing waits", lambda: "Keep" not in self.hands.names())
        self.assertEqual(self.status()["requested_mode"], "bpf")
        self.hands.press("Adaptive", "radio button")
        self.hands.press("Keep")
        self.until_mode("adaptive")

    def test_a_mode_that_somebody_else_chose_is_shown(self):
        self.applet.pandemonium("mode", "bpf")
        until("it is shown", lambda: self.hands.is_checked("Fixed"))
        self.applet.pandemonium("mode", "adaptive")
        until("it is shown", lambda: self.hands.is_checked("Adaptive"))

    def test_every_control_has_a_name(self):
        self.until_shown("PANDEMONIUM")
        self.assert_named()

    def test_what_is_in_the_main_menu_has_names_too(self):
        self.hands.choose_in_menu("Main Menu", "About PANDEMONIUM")
        self.until_shown("Legal")
        self.hands.keys("Escape")


class Troubles(Case):
    def test_each_trouble_is_told_with_one_button_that_helps(self):
        self.until_shown("Your system is tuned")
        exit_step = '[[step]]\nexit = { kind = "sysrq", reason = "disabled by sysrq-S" }\n'
        self.play(SCRIPT + exit_step)
        self.until_shown("disabled by sysrq-S")
        self.hands.press("Try Now")
        self.until_shown("Your system is tuned")
        self.play(SCRIPT + 'foreign = "scx_other"\n' + exit_step)
        self.until_shown("Another scheduler is loaded: scx_other.")


class Unsupported(Case):
    script = SCRIPT + "unsupported = true\n"

    def test_a_kernel_without_sched_ext_is_explained_at_the_press_of_a_button(self):
        self.until_shown("This kernel cannot load a scheduler.")
        self.hands.press("Why?")
        self.until_shown("it has no /sys/kernel/sched_ext")
        self.hands.press("Close")


class Keyboard(Case):
    def test_the_keyboard_alone_switches_the_mode_and_turns_pages(self):
        self.until_shown("Your system is tuned")
        self.hands.until_focused("Adaptive", "Tab")
        self.hands.until_focused("Fixed", "Down")
        self.hands.keys("space")
        self.until_mode("bpf")
        self.hands.find("Keep", "button", "push button")
        self.hands.keys("Escape")
        self.until_mode("adaptive")
        for number, text in [("2", "Nothing Learned Yet"), ("3", "Mode at Start"), ("1", "Your system is tuned")]:
            self.hands.keys(f"alt+{number}")
            self.until_shown(text)
