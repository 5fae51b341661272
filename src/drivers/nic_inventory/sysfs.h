/*
 * nic_sysfs - reads properties of a network interface that only sysfs has.
 *
 * SYSFS/class/net/NAME has a few small files of the kernel; reading them does not block.
 */
#ifndef DRIVERS_NIC_INVENTORY_SYSFS_H
#define DRIVERS_NIC_INVENTORY_SYSFS_H

#include <stdbool.h>
#include <stdint.h>

struct nic_hardware {
	bool there; /* it is hardware: has a device of a bus, be it a virtual machine's */
	uint32_t speed; /* Mbit/s; 0: not known, as while it is down */
	int numa; /* -1: not known */
	char driver[64]; /* the kernel's; "": not known */
};

void nic_sysfs_read(const char *sysfs, const char *interface, struct nic_hardware *ret_hardware);
bool nic_hardware_equal(const struct nic_hardware *a, const struct nic_hardware *b);

#endif
