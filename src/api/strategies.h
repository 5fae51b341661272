/*
 * strategies - what kinds do to objects that are to be stored.
 *
 * The functions that schema/ names; their rows say which is called for what.
 */
#ifndef API_STRATEGIES_H
#define API_STRATEGIES_H

#include "api/schema.h"

#endif
