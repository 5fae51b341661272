/*
 * claims_link - a pod's network namespace in a benchmark, and things that happen in it.
 *
 * The time of an event is when the kernel's notification can be read here: the driver gets the same
 * one at that time. A failure ends the program.
 */
#ifndef BENCH_CLAIMS_LINK_H
#define BENCH_CLAIMS_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct claims_link;

/* A new namespace with nothing in it. Lives as long as the process. */
struct claims_link *claims_link_new(void);

/* Leads to the namespace while this process lives. */
const char *claims_link_path(const struct claims_link *l);

/* Pulls the cable of the one interface (a veth), at its end that is here; or puts it back. */
int64_t claims_link_carrier(struct claims_link *l, bool on);

/* Gives the interface one address more, or takes that away. */
int64_t claims_link_address(struct claims_link *l, bool add);

/* The interface leaves; the next one will be another. */
void claims_link_forget(struct claims_link *l);

#endif
