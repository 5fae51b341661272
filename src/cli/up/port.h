/*
 * up_port - whether a TCP port is free, and which process uses it if not.
 */
#ifndef CLI_UP_PORT_H
#define CLI_UP_PORT_H

#include <stdbool.h>

#include "base/core/error.h"

/*
 * Returns 0 if it is free. Otherwise the error names the process that uses it, if that can be
 * seen, and says what to do.
 */
int up_port_check(const char *address, int port, struct error *err);

/* A port of 127.0.0.1 that is free now, for a program that cannot say which one it has taken. */
int up_port_pick(int *ret_port, struct error *err);

#endif
