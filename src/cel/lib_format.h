/*
 * lib_format - named formats of text: what format.dns1123Label() and its like are.
 */
#ifndef CEL_LIB_FORMAT_H
#define CEL_LIB_FORMAT_H

#include "base/error.h"
#include "base/names.h"

struct cel_named_format {
	const char *function; /* "dns1123Label": of format.named() */
	const char *name; /* "DNS1123Label": equality compares it */
	/* Adds what is wrong with a text; `err` is room for a message that is not constant. */
	void (*find_faults)(struct str text, struct names_faults *faults, struct error *err);
	unsigned pattern_size; /* of the regular expression that it stands for: costs */
};

/* NULL: there is no such format. */
const struct cel_named_format *cel_named_format_find(struct str function);

#endif
