/*
 * named_format - a named format of text, such as format.dns1123Label().
 */
#ifndef CEL_CORE_NAMED_FORMAT_H
#define CEL_CORE_NAMED_FORMAT_H

#include "base/core/error.h"
#include "base/text/names.h"

struct cel_named_format {
	const char *function; /* "dns1123Label": of format.named() */
	const char *name; /* "DNS1123Label": equality compares it */
	/* Adds the faults of a text. `err` is storage for a message that is not constant. */
	void (*find_faults)(struct str text, struct names_faults *faults, struct error *err);
	unsigned pattern_size; /* length of the equivalent regular expression, for costs */
};

#endif
