/*
 * priority - how the kernel shares processors between processes.
 *
 * Stateless.
 */
#ifndef BASE_SYSTEM_PRIORITY_H
#define BASE_SYSTEM_PRIORITY_H

#include "base/core/compiler.h"

enum { PRIORITY_LOW_NICE = 10 };

/*
 * Lets other processes go before this one, which is not one of our threads. Without effect where
 * the system does not allow it.
 */
void priority_lower(int pid);

#endif
