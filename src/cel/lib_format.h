/*
 * lib_format - named formats of text: what format.dns1123Label() and its like are.
 */
#ifndef CEL_LIB_FORMAT_H
#define CEL_LIB_FORMAT_H

#include "cel/value.h"

enum { CEL_FORMAT_FAULTS_MAX = 4 };

struct cel_named_format {
	const char *function; /* "dns1123Label": of format.named() */
	const char *name; /* "DNS1123Label": equality compares it */
	/* Fills in what is wrong, in upstream's words; none when the text is fine. */
	struct cel_value (*check)(struct cel_eval *ev, struct str text);
	unsigned pattern_size; /* of the regular expression that it stands for: costs */
};

/* NULL: there is no such format. */
const struct cel_named_format *cel_named_format_find(struct str function);

#endif
