// Stops the machine that it runs on, and prints which script to run once the machine goes on: tools/started.sh keeps
// the machine in between. The device is QEMU's pvpanic, as which a machine that says it has panicked is stopped, and
// whose register for the number of an interrupt line is free: it has none. Not through ports, which a kernel may forbid.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICE "/sys/bus/pci/devices/0000:00:10.0/"

enum {
	PANICKED = 1,
	INTERRUPT_LINE = 0x3c,
};

int main(void)
{
	int enable = open(DEVICE "enable", O_WRONLY);
	int registers = open(DEVICE "resource0", O_RDWR);
	int configuration = open(DEVICE "config", O_RDONLY);
	if (write(enable, "1", 1) != 1) {
		perror("await-script: " DEVICE "enable");
		return 1;
	}
	volatile uint8_t *events = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, registers, 0);
	if (events == MAP_FAILED) {
		perror("await-script: " DEVICE "resource0");
		return 1;
	}
	events[0] = PANICKED;
	uint8_t number;
	if (pread(configuration, &number, 1, INTERRUPT_LINE) != 1) {
		perror("await-script: " DEVICE "config");
		return 1;
	}
	printf("%d\n", number);
	return 0;
}
