/* boot - identifies the current boot of the machine. */
#ifndef BASE_SYSTEM_BOOT_H
#define BASE_SYSTEM_BOOT_H

/*
 * The kernel's ID of this boot, which changes with each start of the machine. Store it with data
 * that is only valid until a reboot. "" if the kernel has none. On the heap.
 */
char *boot_id(void);

#endif
