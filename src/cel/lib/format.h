/*
 * lib_format - the table of named formats.
 */
#ifndef CEL_LIB_FORMAT_H
#define CEL_LIB_FORMAT_H

#include "cel/core/named_format.h"

/* Returns NULL if there is no such format. */
const struct cel_named_format *cel_named_format_find(struct str function);

#endif
