//! Colours of the chart: those of the desktop's palette that can be told apart on either background.
//! Lines differ by their dashes as well, for those who see no colours.

use gtk::gdk::RGBA;

/// The colours for the background that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    is_dark: bool,
}

impl Palette {
    /// For the style of this moment.
    pub fn current() -> Palette {
        let is_dark = adw::StyleManager::default().is_dark();
        Palette { is_dark }
    }

    /// Of a tier: batch, interactive, latency-critical.
    pub fn tier(self, tier: usize) -> RGBA {
        let (light, dark) = match tier {
            0 => (0xc6_46_00, 0xff_a3_48),
            1 => (0x1a_5f_b4, 0x78_ae_ed),
            _ => (0x81_3d_9c, 0xdc_8a_dd),
        };
        rgb(if self.is_dark { dark } else { light })
    }

    /// Lengths of dash and gap; none for a line without gaps.
    pub fn dashes(self, tier: usize) -> &'static [f32] {
        match tier {
            0 => &[2.0, 3.0],
            1 => &[8.0, 3.0],
            _ => &[],
        }
    }

    /// Of a fork storm.
    pub fn burst(self) -> RGBA {
        rgb(if self.is_dark { 0xf8_e4_5c } else { 0xe5_a5_0a })
    }

    /// Of batch work that waits for seconds.
    pub fn longrun(self) -> RGBA {
        rgb(if self.is_dark { 0xff_7b_63 } else { 0xc0_1c_28 })
    }
}

fn rgb(hex: u32) -> RGBA {
    let part = |shift: u32| ((hex >> shift) & 0xff) as f32 / 255.0;
    RGBA::new(part(16), part(8), part(0), 1.0)
}

/// A colour as markup takes it.
pub fn markup(color: &RGBA) -> String {
    let byte = |part: f32| (part * 255.0).round() as u8;
    let (red, green, blue) = (color.red(), color.green(), color.blue());
    format!("#{:02x}{:02x}{:02x}", byte(red), byte(green), byte(blue))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, as the accessibility guidelines define it.
    fn luminance(color: RGBA) -> f32 {
        let linear = |part: f32| {
            if part <= 0.040_45 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(color.red())
            + 0.7152 * linear(color.green())
            + 0.0722 * linear(color.blue())
    }

    fn contrast(a: RGBA, b: RGBA) -> f32 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_line_stands_out_from_its_background() {
        for (is_dark, background) in [(false, 0xff_ff_ff), (true, 0x38_38_3b)] {
            let palette = Palette { is_dark };
            for tier in 0..3 {
                let seen = contrast(palette.tier(tier), rgb(background));
                assert!(seen >= 4.5, "tier {tier}, dark {is_dark}: {seen}");
            }
        }
    }

    #[test]
    fn tiers_differ_by_more_than_colour() {
        let palette = Palette { is_dark: false };
        let all = [0, 1, 2].map(|tier| palette.dashes(tier));
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
    }
}
