/*
 * checks - what fields, types and kinds must obey that tables cannot say.
 *
 * The functions that schema/ names; their rows say which is called for what.
 */
#ifndef API_CHECKS_H
#define API_CHECKS_H

#include "api/schema.h"

#endif
