/*
 * URLs and Accept headers from untrusted clients: a method, a target, a line break, an Accept
 * header. Accepted values must be text that the server can use in keys and replies, and an accepted
 * continue token must print the same again.
 */
#include <stdint.h>

#include "base/core/buf.h"
#include "server/request/negotiate.h"
#include "server/request/request.h"
#include "target.h"

static void must_be_part(struct str s)
{
	require(str_is_utf8(s) && str_chr(s, '\0') < 0 && str_chr(s, '/') < 0);
}

static void try_continue(struct arena *a, struct str token)
{
	struct str key, again_key, again;
	int64_t revision, again_revision;

	if (request_continue_parse(token, a, &revision, &key, NULL) < 0)
		return;
	again = request_continue_print(a, revision, key);
	require(request_continue_parse(again, a, &again_revision, &again_key, NULL) == 0);
	require(again_revision == revision && str_eq(again_key, key));
}

static void try_request(struct arena *a, struct str method, struct str target)
{
	ptrdiff_t mark = str_chr(target, '?');
	struct str path = mark < 0 ? target : str_of(target.p, (size_t)mark);
	struct str query = mark < 0 ? STR_NULL : str_skip(target, (size_t)mark + 1);
	struct field_errors errs;
	struct request r;
	struct error err;
	int ret;

	field_errors_init(&errs, a);
	ret = request_parse(&r, a, method, path, query, &errs, &err);
	require((ret == -ERR_INVALID) == field_errors_any(&errs) || ret == -ERR_BAD_REQUEST);
	(void)request_options_kind(&r);
	if (ret < 0)
		return;
	must_be_part(r.group);
	must_be_part(r.version);
	must_be_part(r.resource);
	must_be_part(r.ns);
	must_be_part(r.name);
	must_be_part(r.subresource);
	require(r.limit >= 0 && r.revision >= -1);
	require(r.verb == REQUEST_NONE || r.resource.n > 0);
	try_continue(a, r.cont);
}

static void try_headers(struct str header)
{
	struct accept accept;
	enum decode_format format;
	enum patch_type type;

	if (negotiate_accept(ACCEPT_OF_RESOURCES | 1U << ACCEPT_DISCOVERY_V2, header, header,
			     header, &accept, NULL) == 0)
		require(accept.as <= ACCEPT_DISCOVERY_V2 && accept.as_version.n > 0);
	(void)negotiate_body(header, &format, NULL);
	(void)negotiate_patch(header, &type, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = str_dup(str_of(data, size));
	struct str rest = str_of(copy, size), line, method;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	if (str_split(&rest, '\n', &line)) {
		if (!str_split(&line, ' ', &method))
			method = STR_NULL;
		try_request(&a, method, line);
		try_headers(rest);
		try_continue(&a, rest);
	}
	arena_release(&a);
	free(copy);
	return 0;
}
