// SPDX-License-Identifier: GPL-2.0-only
// A mains adapter and a battery, as the firmware of a laptop describes them: QEMU emulates none, and Debian's kernel
// is built without test_power. Which of the two the machine runs on is what a test last wrote into the scratch
// register of the second serial port, a byte that nothing else uses: 0xB0 for the battery, anything else for the mains.
DefinitionBlock ("", "SSDT", 2, "PNDMNM", "BATTERY", 0x00000001)
{
    Scope (\_SB)
    {
        OperationRegion (SCRT, SystemIO, 0x02FF, 0x01)
        Field (SCRT, ByteAcc, NoLock, Preserve)
        {
            SRCE, 8
        }

        Device (ADP1)
        {
            Name (_HID, "ACPI0003")
            Name (_PCL, Package () { \_SB })

            Method (_PSR, 0, Serialized)
            {
                If (SRCE == 0xB0)
                {
                    Return (Zero)
                }
                Return (One)
            }
        }

        Device (BAT0)
        {
            Name (_HID, EisaId ("PNP0C0A"))
            Name (_UID, Zero)
            Name (_STA, 0x1F)
            Name (_PCL, Package () { \_SB })

            // In mWh and mV: full at 50 Wh, 11 V, one that can be charged.
            Name (_BIF, Package (0x0D)
            {
                Zero, 50000, 50000, One, 11000, 5000, 1000, 1, 1, "Test", "1", "LION", "PANDEMONIUM"
            })

            // Half full and at 10 W on the battery; full and idle on the mains.
            Method (_BST, 0, Serialized)
            {
                If (SRCE == 0xB0)
                {
                    Return (Package (0x04) { One, 10000, 25000, 11000 })
                }
                Return (Package (0x04) { Zero, Zero, 50000, 11000 })
            }
        }
    }
}
