/*
 * metadata - converts a call's key-value pairs to and from HTTP fields.
 *
 * Keys are lower case letters, digits and "_-."; values are printable ASCII. If a key ends in
 * "-bin", its value may have any bytes, in base64 on the wire. Names that the protocol itself uses
 * are rejected when sending, and skipped when receiving.
 */
#ifndef GRPC_METADATA_H
#define GRPC_METADATA_H

#include "grpc/grpc.h"
#include "net/http/http.h"

struct grpc_metadata_list {
	struct grpc_metadata *v;
	size_t n;
};

/*
 * Checks an entry and appends it to the fields, encoded and copied into the arena. Returns
 * -ERR_INVALID, or -ERR_TOO_LARGE beyond GRPC_METADATA_MAX.
 */
int grpc_metadata_add(struct http_fields *f, struct arena *a, struct grpc_metadata md,
		      struct error *err);

/*
 * The entries among the fields, decoded. Values without "-bin" are borrowed from the fields.
 * Returns -ERR_PROTOCOL if a binary value is not base64.
 */
int grpc_metadata_read(const struct http_fields *f, struct arena *a,
		       struct grpc_metadata_list *ret_list, struct error *err);

/* First value of the key, or an empty str with p == NULL. */
struct str grpc_metadata_get(const struct grpc_metadata_list *l, struct str key);

/*
 * Parses grpc-timeout (up to eight digits and a unit) to ms, rounded up. Returns -ERR_PROTOCOL if
 * malformed.
 */
int grpc_timeout_parse(struct str text, int64_t *ret_ms, struct error *err);

/* The same as text. Times too long for eight digits of ms are rounded up to a coarser unit. */
enum { GRPC_TIMEOUT_TEXT = 16 };
void grpc_timeout_format(int64_t ms, char ret_text[GRPC_TIMEOUT_TEXT]);

#endif
