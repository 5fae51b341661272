/*
 * Until authn.c, authz.c and the reviews are there: certificates and static tokens; who is
 * authenticated may do all.
 */
#include "api/write.h"
#include "base/mem.h"
#include "net/http.h"
#include "server/auth.h"
#include "server/authn.h"
#include "server/authz.h"
#include "server/review.h"
#include "server/server_impl.h"
#include "server/verb_impl.h"
#define AUTHN_INTERIM 0
#define AUTHZ_INTERIM 0

#if AUTHN_INTERIM
struct authn {
	struct server s;
};
struct authn *authn_new(const struct authn_opts *opts)
{
	struct authn *n = XNEW(struct authn);

	n->s.tokens = (struct tokens *)(uintptr_t)opts->tokens;
	return n;
}
void authn_free(struct authn *n)
{
	free(n);
}
int authn_user(struct authn *n, size_t lane, struct http_stream *stream, struct arena *a,
	       struct user *ret_user, struct error *err)
{
	return auth_user(&n->s, stream, a, ret_user, err);
}
int authn_check_binding(struct state *st, const struct user *u, int64_t now_ns, struct error *err)
{
	return 0;
}
int authn_impersonated(const struct http_fields *fields, struct arena *a, struct user *ret_user,
		       struct error *err)
{
	*ret_user = (struct user){ 0 };
	return 0;
}
size_t authn_impersonation_checks(const struct user *wanted, struct arena *a,
				  struct authz_query **ret_queries)
{
	return 0;
}
int review_token(struct review *r, struct error *err)
{
	return error_set(err, ERR_METHOD_NOT_ALLOWED, "not yet");
}
int review_self_subject(struct review *r, struct error *err)
{
	return error_set(err, ERR_METHOD_NOT_ALLOWED, "not yet");
}
int review_token_request(struct review *r, struct error *err)
{
	return error_set(err, ERR_METHOD_NOT_ALLOWED, "not yet");
}
#endif

#if AUTHZ_INTERIM
struct authz {
	int none;
};
struct authz *authz_new(void)
{
	return XNEW(struct authz);
}
void authz_free(struct authz *az)
{
	free(az);
}
const struct state_observer *authz_observers(struct authz *az, size_t *ret_n)
{
	*ret_n = 0;
	return NULL;
}
void authz_attach(struct authz *az, struct state *st)
{
}
int authz_require(struct authz *az, const struct authz_query *q, struct arena *a, struct error *err)
{
	if (q->is_path && (str_starts(q->path, STR("/healthz")) || str_starts(q->path, STR("/livez")) ||
			   str_starts(q->path, STR("/readyz")) || str_eqz(q->path, "/version")))
		return 0;
	if (!q->user->authenticated)
		return error_set(err, ERR_UNAUTHORIZED, "Unauthorized");
	return 0;
}
int authz_admit_rbac(struct mutation *m, const struct json *old, struct json *object,
		     struct error *err)
{
	return 0;
}
int authz_admit_node(struct mutation *m, const struct json *old, struct json *object,
		     struct error *err)
{
	return 0;
}
int review_subject_access(struct review *r, struct error *err)
{
	return error_set(err, ERR_METHOD_NOT_ALLOWED, "not yet");
}
int review_self_subject_access(struct review *r, struct error *err)
{
	return error_set(err, ERR_METHOD_NOT_ALLOWED, "not yet");
}
int review_local_subject_access(struct review *r, struct error *err)
{
	return error_set(err, ERR_METHOD_NOT_ALLOWED, "not yet");
}
int review_self_subject_rules(struct review *r, struct error *err)
{
	return error_set(err, ERR_METHOD_NOT_ALLOWED, "not yet");
}
#endif
#include "api/crd.h"
#define CRD_INTERIM 1
#if CRD_INTERIM
struct crd *crd_ref(struct crd *crd)
{
	return crd;
}
void crd_unref(struct crd *crd)
{
}
struct crd *crd_of(const struct schema_kind *kind)
{
	return (struct crd *)(uintptr_t)kind->custom;
}
#endif
