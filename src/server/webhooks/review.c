/*
 * The review is printed with its uid first. So the uid's position is known, and the rest of the
 * text shows whether two questions are the same.
 */
#include "server/webhooks/review.h"

#include <assert.h>

#include "base/json/writer.h"
#include "base/text/base64.h"
#include "base/text/print.h"
#include "server/server_limits.h"

#define HEAD_V1        "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\","
#define HEAD_V1BETA1   "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1beta1\","
#define BEFORE_REQUEST "\"request\":"
#define BEFORE_UID     "{\"uid\":\""
#define NO_UID         "00000000-0000-0000-0000-000000000000"

enum webhook_version webhook_review_version(const struct json *versions)
{
	JSON_FOREACH (it, versions) {
		if (str_eqz(json_str(it), "v1"))
			return WEBHOOK_V1;
		if (str_eqz(json_str(it), "v1beta1"))
			return WEBHOOK_V1BETA1;
	}
	return WEBHOOK_NO_VERSION;
}

/* --- requests --------------------------------------------------------------------- */

static void member_tree(struct json_writer *w, struct str key, const struct json *tree)
{
	json_writer_key(w, key);
	if (tree)
		json_writer_tree(w, tree);
	else
		json_writer_null(w);
}

/* Members that are printed separately from the rest of the request. */
static bool review_is_ours(struct str key)
{
	return str_eqz(key, "uid") || str_eqz(key, "object") || str_eqz(key, "oldObject");
}

int webhook_review_print(const struct webhook_question *q, struct buf *out)
{
	struct json_writer w;
	int r;

	(void)buf_addz(out, q->version == WEBHOOK_V1 ? HEAD_V1 : HEAD_V1BETA1);
	(void)buf_addz(out, BEFORE_REQUEST);
	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "uid");
	json_writer_strz(&w, NO_UID);
	JSON_FOREACH (it, q->request)
		if (!review_is_ours(json_key(it)))
			member_tree(&w, json_key(it), it);
	member_tree(&w, STR("object"), q->object);
	member_tree(&w, STR("oldObject"), q->old);
	json_writer_end_object(&w);
	r = json_writer_finish(&w);
	return r < 0 ? r : buf_addz(out, "}");
}

void webhook_review_name(enum webhook_version version, char *text, struct str uid)
{
	size_t head = version == WEBHOOK_V1 ? sizeof(HEAD_V1) - 1 : sizeof(HEAD_V1BETA1) - 1;
	char *at = text + head + sizeof(BEFORE_REQUEST BEFORE_UID) - 1;

	assert(uid.n == sizeof(NO_UID) - 1 && memcmp(at, NO_UID, uid.n) == 0);
	str_put(at, uid);
}

/* --- answers ---------------------------------------------------------------------- */

static int invalid(struct error *err, const char *why)
{
	return error_set(err, ERR_UNAVAILABLE, "received invalid webhook response: %s", why);
}

static int check_identity(struct arena *a, const struct json *review, struct str uid,
			  struct error *err)
{
	struct str got = json_text_at(json_getz(review, "response"), "uid");
	struct str version = json_text_at(review, "apiVersion"),
		   kind = json_text_at(review, "kind");

	if (!str_eq(got, uid))
		return invalid(err, arena_printf(a, "expected response.uid=\"%.*s\", got \"%.*s\"",
						 STR_ARG(uid), STR_ARG(got)));
	if (str_eqz(version, "admission.k8s.io/v1") && str_eqz(kind, "AdmissionReview"))
		return 0;
	return invalid(err, arena_printf(a,
					 "expected webhook response of admission.k8s.io/v1, "
					 "Kind=AdmissionReview, got %.*s, Kind=%.*s",
					 STR_ARG(version), STR_ARG(kind)));
}

/* Checks which of patch and patchType are present. */
static int check_patch(struct arena *a, const struct json *response, bool mutating,
		       struct error *err)
{
	const struct json *type = json_getz(response, "patchType");
	bool patch = json_text_at(response, "patch").n, typed = type && type->type != JSON_NULL;

	if (!mutating && patch)
		return invalid(err, "validating webhook may not return response.patch");
	if (!mutating && typed)
		return invalid(err, "validating webhook may not return response.patchType");
	if (patch && !typed)
		return invalid(err, "webhook returned response.patch but not response.patchType");
	if (!patch && typed)
		return invalid(err, "webhook returned response.patchType but not response.patch");
	if (typed && !json_str(type).n)
		return invalid(err, "webhook returned invalid response.patchType of \"\"");
	if (typed && !str_eqz(json_str(type), "JSONPatch"))
		return error_set(err, ERR_UNAVAILABLE, "%s",
				 arena_printf(a, "unsupported patch type \"%.*s\"",
					      STR_ARG(json_str(type))));
	return 0;
}

static int read_patch(struct arena *a, struct str text, const struct json **ret_patch,
		      struct error *err)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT(WEBHOOK_ANSWER_MAX);
	struct json *patch = NULL;
	int r;

	if (!text.n)
		return 0;
	r = base64_decode(&plain, text, BASE64_STD, err);
	if (r < 0)
		return error_set(err, ERR_UNAVAILABLE,
				 "failed to call webhook: response.patch is not base64");
	r = json_parse(a, arena_str(a, buf_str(&plain)), NULL, &patch, err);
	if (r == 0 && !json_is(patch, JSON_ARRAY))
		r = error_set(err, ERR_UNAVAILABLE, "a JSON Patch is a list of operations");
	if (r < 0)
		return error_wrap(err, error_recode(err, ERR_UNAVAILABLE),
				  "received undecodable patch in webhook response");
	if (json_count(patch))
		*ret_patch = patch;
	return 0;
}

static int parse_review(struct arena *a, struct str text, struct json **ret_review,
			struct error *err)
{
	struct error why = { 0 };

	if (json_parse(a, text, NULL, ret_review, &why) < 0)
		return error_set(err, ERR_UNAVAILABLE,
				 "failed to call webhook: couldn't get version/kind; json parse "
				 "error: %.300s",
				 why.msg);
	if (!json_is(*ret_review, JSON_OBJECT))
		return error_set(err, ERR_UNAVAILABLE,
				 "failed to call webhook: the response is not an AdmissionReview");
	return 0;
}

int webhook_review_read(struct arena *a, struct str text, enum webhook_version version,
			struct str uid, bool mutating, struct webhook_verdict *ret_verdict,
			struct error *err)
{
	struct webhook_verdict v = { 0 };
	struct json *review, *response;
	int r;

	r = parse_review(a, text, &review, err);
	if (r < 0)
		return r;
	response = json_getz(review, "response");
	if (!json_is(response, JSON_OBJECT))
		return invalid(err, "webhook response was absent");
	/* The older version was never checked this strictly. */
	if (version == WEBHOOK_V1)
		r = check_identity(a, review, uid, err);
	if (r == 0 && version == WEBHOOK_V1)
		r = check_patch(a, response, mutating, err);
	if (r < 0)
		return r;
	v.allowed = json_true_at(response, "allowed");
	v.status = json_getz(response, "status");
	v.warnings = json_getz(response, "warnings");
	v.annotations = json_getz(response, "auditAnnotations");
	if (mutating && v.allowed)
		r = read_patch(a, json_text_at(response, "patch"), &v.patch, err);
	if (r < 0)
		return r;
	*ret_verdict = v;
	return 0;
}

int webhook_verdict_keep(struct arena *a, struct webhook_verdict *v, struct error *err)
{
	const struct json **parts[] = { &v->status, &v->patch, &v->warnings, &v->annotations };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts) && r == 0; i++) {
		struct json *copy = NULL;

		if (*parts[i])
			r = json_copy(a, *parts[i], &copy, err);
		*parts[i] = copy;
	}
	return r;
}

static void copy_text(struct arena *a, struct json *to, const struct json *from, const char *key)
{
	struct str text = json_text_at(from, key);

	if (text.n)
		json_put_str(a, to, key, text);
}

struct json *webhook_review_refusal(struct arena *a, struct str webhook,
				    const struct webhook_verdict *verdict, int *ret_code)
{
	struct json *status = json_make_object(a), *details = NULL;
	struct str message = json_text_at(verdict->status, "message");
	struct str reason = json_text_at(verdict->status, "reason");
	int64_t code = json_i64_at(verdict->status, "code", 0);
	struct str said = message.n ? message : reason;
	const char *denied = arena_printf(a, "admission webhook \"%.*s\" denied the request",
					  STR_ARG(webhook));

	/* A rejection has at least code 400; a code that HTTP does not know is an error. */
	if (code < 400)
		code = 400;
	if (code > 599)
		code = 500;
	json_put_str(a, status, "kind", STR("Status"));
	json_put_str(a, status, "apiVersion", STR("v1"));
	json_setz(status, "metadata", json_make_object(a));
	json_put_str(a, status, "status", STR("Failure"));
	json_put_str(a, status, "message",
		     str_from(said.n ? arena_printf(a, "%s: %.*s", denied, STR_ARG(said))
				     : arena_printf(a, "%s without explanation", denied)));
	copy_text(a, status, verdict->status, "reason");
	if (json_is(json_getz(verdict->status, "details"), JSON_OBJECT) &&
	    json_copy(a, json_getz(verdict->status, "details"), &details, NULL) == 0)
		json_setz(status, "details", details);
	json_put_i64(a, status, "code", code);
	*ret_code = (int)code;
	return status;
}

int webhook_review_bad_status(int status, struct str body, struct error *err)
{
	static const struct {
		int status;
		const char *words;
	} known[] = {
		{ 400, "the server rejected our request for an unknown reason" },
		{ 401, "the server has asked for the client to provide credentials" },
		{ 404, "the server could not find the requested resource" },
		{ 405, "the server does not allow this method on the requested resource" },
		{ 409, "the server reported a conflict" },
		{ 422, "the server rejected our request due to an error in our request" },
		{ 429, "the server has received too many requests and has asked us to try again "
		       "later" },
		{ 503, "the server is currently unable to handle the request" },
		{ 504, "the server was unable to return a response in the time allotted, but may "
		       "still be processing the request" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].status == status)
			return error_set(err, ERR_UNAVAILABLE, "failed to call webhook: %s",
					 known[i].words);
	if ((status >= 500 || status == 403) && body.n && body.n <= 256 && print_is_clean(body))
		return error_set(err, ERR_UNAVAILABLE,
				 "failed to call webhook: an error on the server (\"%.*s\") has "
				 "prevented the request from succeeding",
				 STR_ARG(body));
	return error_set(err, ERR_UNAVAILABLE,
			 "failed to call webhook: the server responded with the status code %d but "
			 "did not return more information",
			 status);
}
