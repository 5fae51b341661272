/*
 * boot - which run of the machine this is.
 */
#ifndef BASE_SYSTEM_BOOT_H
#define BASE_SYSTEM_BOOT_H

/*
 * The kernel's number of this boot, another one after each start of the machine: what is only true
 * until then is written down with it. "" where the kernel does not tell. Heap.
 */
char *boot_id(void);

#endif
