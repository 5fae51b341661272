/*
 * The prefix marks passes, because the server looks them up on the state's loop, as sessions, and
 * other tokens on the stream's loop.
 */
#include "server/ui/pass.h"

#include "base/core/arena.h"
#include "net/http/http.h"
#include "server/request/request.h"

#define PREFIX "devplane-pass-"

struct str ui_pass_token(struct arena *a, const char *secret)
{
	return str_from(arena_printf(a, PREFIX "%s", secret));
}

bool ui_pass_claim(const struct http_head *in, struct str *ret_secret)
{
	struct str value = http_fields_get(&in->fields, STR("authorization"));

	if (!str_starts(value, STR("Bearer " PREFIX)))
		return false;
	*ret_secret = str_skip(value, sizeof("Bearer " PREFIX) - 1);
	return true;
}

static bool reads(const struct request *r, struct str method)
{
	if (!r->resource.n)
		return str_eqz(method, "GET");
	return (r->verb == REQUEST_GET || r->verb == REQUEST_LIST) && !r->subresource.n;
}

static bool asks_for_rights(const struct request *r)
{
	return r->verb == REQUEST_CREATE && str_eqz(r->group, "authorization.k8s.io") &&
	       str_eqz(r->resource, "selfsubjectaccessreviews");
}

int ui_pass_check(const struct request *r, struct str method, struct error *err)
{
	if (reads(r, method) || asks_for_rights(r))
		return 0;
	return error_set(err, ERR_FORBIDDEN, "this token is for reading only");
}
