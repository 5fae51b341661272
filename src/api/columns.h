/*
 * columns - cells of Table output that are more than a field.
 *
 * The functions that schema/ names; their rows say which is called for what.
 */
#ifndef API_COLUMNS_H
#define API_COLUMNS_H

#include "api/schema.h"

#endif
