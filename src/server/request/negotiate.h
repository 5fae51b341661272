/*
 * negotiate - content types: of a body, and of the reply that a client accepts.
 */
#ifndef SERVER_REQUEST_NEGOTIATE_H
#define SERVER_REQUEST_NEGOTIATE_H

#include "api/codec/decode.h"
#include "api/patch/patch.h"
#include "api/table/table.h"
#include "base/core/error.h"
#include "base/core/str.h"

enum accept_as {
	ACCEPT_OBJECT,
	ACCEPT_TABLE,
	ACCEPT_PARTIAL,
	ACCEPT_PARTIAL_LIST,
	ACCEPT_DISCOVERY_V2
};
enum accept_format { ACCEPT_JSON, ACCEPT_YAML, ACCEPT_PROTOBUF };

struct accept {
	enum accept_as as;
	enum accept_format format;
	enum accept_format failure_format; /* of an error's Status, which is never converted */
	struct str as_version; /* of the form: "v1", "v1beta1"; for discovery "v2", "v2beta1" */
	bool pretty;
	bool gzip; /* Accept-Encoding has it */
};

/*
 * Forms that can be served: bits 1 << ACCEPT_*. By upstream's rules, objects are served as
 * protobuf only with the last bit, partial objects always, and tables never.
 */
#define ACCEPT_OBJECT_AS_PROTOBUF (1U << 8)
#define ACCEPT_OF_RESOURCES                                                \
	(1U << ACCEPT_OBJECT | 1U << ACCEPT_TABLE | 1U << ACCEPT_PARTIAL | \
	 1U << ACCEPT_PARTIAL_LIST)
#define ACCEPT_OF_DISCOVERY (1U << ACCEPT_OBJECT | 1U << ACCEPT_DISCOVERY_V2)

/*
 * Picks the first offer of an Accept header (by q, then by order) that is among `forms`. An empty
 * header accepts anything. -ERR_NOT_ACCEPTABLE with upstream's text, which names protobuf whether
 * or not this kind has it; *ret_accept is then JSON, with the format for the error's Status.
 */
int negotiate_accept(unsigned forms, struct str accept, struct str accept_encoding,
		     struct str user_agent, struct accept *ret_accept, struct error *err);

/* The media type of a format, without parameters. */
struct str negotiate_media_type(enum accept_format format);

/*
 * The format of a body with this Content-Type (empty means JSON), and the type of a patch.
 * -ERR_UNSUPPORTED_MEDIA_TYPE.
 */
int negotiate_body(struct str content_type, enum decode_format *ret_format, struct error *err);
int negotiate_patch(struct str content_type, enum patch_type *ret_type, struct error *err);

#endif
