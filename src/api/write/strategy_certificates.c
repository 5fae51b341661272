/*
 * Certificate signing requests. Approving and signing are separate rights: each path writes its own
 * part of the status, and the spec never changes.
 */
#include "api/write/strategies.h"

#include "api/validate/validate.h"
#include "api/write/write_impl.h"

static const char *const decisions[] = { "Approved", "Denied", "Failed" };

enum { APPROVED, DENIED, APPROVALS };

static struct json *strategy_certificates_condition_of(const struct json *object, const char *type)
{
	JSON_FOREACH (it, json_getz(json_getz(object, "status"), "conditions"))
		if (str_eqz(json_text_at(it, "type"), type))
			return it;
	return NULL;
}

/* A status write does not change approvals. The check reports one that adds or removes any. */
static void keep_approvals(struct write *w, struct json *object, const struct json *old)
{
	for (size_t i = 0; i < APPROVALS; i++) {
		const struct json *was = strategy_certificates_condition_of(old, decisions[i]);
		struct json *is = strategy_certificates_condition_of(object, decisions[i]);

		JSON_FOREACH (member, is && was ? was : NULL)
			tree_carry_key(w->arena, is, was, json_key(member));
	}
}

void strategy_signing_request_update(struct write *w, struct json *object, const struct json *old)
{
	tree_carry(w->arena, object, old, "spec");
	if (str_eq(w->subresource, STR("status")))
		keep_approvals(w, object, old);
}

/* --- checks ----------------------------------------------------------------------------- */

static void strategy_certificates_forbid(struct validation *v, const char *words, const char *type)
{
	struct field_path status = field_path_name(NULL, "status");
	struct field_path path = field_path_name(&status, "conditions");

	field_errors_addf(v->errs, FIELD_FORBIDDEN, &path, FIELD_OMITTED,
			  "updates may not %s a condition of type \"%s\"", words, type);
}

void check_signing_request_update(struct validation *v, const struct json *object,
				  const struct json *old)
{
	struct field_path status = field_path_name(NULL, "status");
	struct field_path path = field_path_name(&status, "conditions");

	for (size_t i = 0; i < ARRAY_SIZE(decisions); i++)
		if (strategy_certificates_condition_of(old, decisions[i]) &&
		    !strategy_certificates_condition_of(object, decisions[i]))
			strategy_certificates_forbid(v, "remove", decisions[i]);
	if (strategy_certificates_condition_of(object, decisions[APPROVED]) &&
	    strategy_certificates_condition_of(object, decisions[DENIED]) &&
	    !(strategy_certificates_condition_of(old, decisions[APPROVED]) &&
	      strategy_certificates_condition_of(old, decisions[DENIED])))
		field_errors_invalid(v->errs, &path, FIELD_STR(STR("Denied")),
				     "Approved and Denied conditions are mutually exclusive");
}

void check_signing_request_status(struct validation *v, const struct json *object,
				  const struct json *old)
{
	struct field_path status = field_path_name(NULL, "status");
	struct field_path path = field_path_name(&status, "certificate");
	const struct json *was = json_getz(json_getz(old, "status"), "certificate");
	const struct json *is = json_getz(json_getz(object, "status"), "certificate");

	check_signing_request_update(v, object, old);
	for (size_t i = 0; i < APPROVALS; i++)
		if (!strategy_certificates_condition_of(old, decisions[i]) &&
		    strategy_certificates_condition_of(object, decisions[i]))
			strategy_certificates_forbid(v, "add", decisions[i]);
	if (was && !json_equal(is, was))
		field_errors_forbidden(v->errs, &path,
				       "updates may not modify existing certificate content");
}
