/*
 * saver_header - the first line of a state file, and the check of the rest against it. Pure.
 *
 *	devplane-state <kind> <version> <crc32 of the body, 8 hex digits> <bytes of the body>\n
 *
 * The check sum is CRC-32 as in Ethernet and zip, so that other tools can verify it.
 */
#ifndef NODE_HOST_SAVER_HEADER_H
#define NODE_HOST_SAVER_HEADER_H

#include "base/core/buf.h"
#include "base/core/error.h"

/* Appends the line for this body. `kind` is a word without spaces. */
int saver_header_add(struct buf *out, const char *kind, unsigned version, struct str body);

/*
 * Returns the body of a file's content, borrowed from it. The message of -ERR_CONFLICT describes
 * the fault: no such header, another kind or version, or a body that is too short, too long or
 * changed.
 */
int saver_header_check(struct str content, const char *kind, unsigned version, struct str *ret_body,
		       struct error *err);

#endif
