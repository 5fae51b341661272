/*
 * up_port - whether a TCP port can be listened on, and who has it when not.
 */
#ifndef CLI_UP_PORT_H
#define CLI_UP_PORT_H

#include <stdbool.h>

#include "base/core/error.h"

/*
 * 0 when it is free. Else a sentence that names the process that has it, where that can be seen,
 * and what to do.
 */
int up_port_check(const char *address, int port, struct error *err);

/* The process that listens on the port: "nginx (pid 812)"; false when nobody is seen. */
bool up_port_owner(int port, char *ret_text, size_t size);

#endif
