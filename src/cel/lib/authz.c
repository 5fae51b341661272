/*
 * Questions about rights. A value of any of the types is a struct question, as far as it was put
 * together; a decision has its answer, too.
 */
#include "cel/lib/authz.h"

#include "cel/lib/libraries.h"

struct question {
	const struct cel_authorizer *authorizer;
	struct cel_authz_query q;
	struct cel_authz_answer answer; /* of a decision */
};

#define TYPE(last)                                                                     \
	{                                                                              \
		.kind = CEL_TYPE_OBJECT, .name = STR("kubernetes.authorization." last) \
	}

const struct cel_type cel_authorizer_type = TYPE("Authorizer");
const struct cel_type cel_resource_check_type = TYPE("ResourceCheck");
static const struct cel_type path_check_type = TYPE("PathCheck");
static const struct cel_type group_check_type = TYPE("GroupCheck");
static const struct cel_type decision_type = TYPE("Decision");

/* --- values ------------------------------------------------------------------------- */

static const struct cel_type *authorizer_type(const void *self)
{
	(void)self;
	return &cel_authorizer_type;
}

static const struct cel_type *resource_type(const void *self)
{
	(void)self;
	return &cel_resource_check_type;
}

static const struct cel_type *path_type(const void *self)
{
	(void)self;
	return &path_check_type;
}

static const struct cel_type *group_type(const void *self)
{
	(void)self;
	return &group_check_type;
}

static const struct cel_type *decided_type(const void *self)
{
	(void)self;
	return &decision_type;
}

static struct cel_value no_field(struct cel_eval *ev, const void *self, struct str field)
{
	(void)ev;
	(void)self;
	(void)field;
	return CEL_NOTHING;
}

static bool never_equal(struct cel_eval *ev, const void *a, const void *b)
{
	(void)ev;
	return a == b;
}

static const struct cel_object_class authorizer_class = { authorizer_type, no_field, never_equal };
static const struct cel_object_class resource_class = { resource_type, no_field, never_equal };
static const struct cel_object_class path_class = { path_type, no_field, never_equal };
static const struct cel_object_class group_class = { group_type, no_field, never_equal };
static const struct cel_object_class decision_class = { decided_type, no_field, never_equal };

/* Another question that begins as this one; NULL without memory. */
static struct question *continued(struct cel_eval *ev, const struct cel_value *v)
{
	struct question *q = cel_alloc(ev, sizeof(*q));

	if (q)
		*q = *(const struct question *)v->object.self;
	return q;
}

static struct cel_value as(const struct cel_object_class *class, const struct question *q)
{
	if (!q)
		return cel_too_large();
	return (struct cel_value){ .kind = CEL_OBJECT, .object = { class, q } };
}

struct cel_value cel_authorizer_resource(struct cel_eval *ev, const struct cel_authorizer *a,
					 const struct cel_authz_query *q)
{
	struct question *made = cel_alloc(ev, sizeof(*made));

	if (made)
		*made = (struct question){ .authorizer = a, .q = *q };
	return as(&resource_class, made);
}

struct cel_value cel_authorizer_value(struct cel_eval *ev, const struct cel_authorizer *a)
{
	struct cel_value v = cel_authorizer_resource(ev, a, &(struct cel_authz_query){ 0 });

	if (v.kind == CEL_OBJECT)
		v.object.class = &authorizer_class;
	return v;
}

/* --- putting a question together ---------------------------------------------------- */

/* Nothing but white space. */
static bool is_blank(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!strchr(" \t\n\v\f\r", s.p[i]) || !s.p[i])
			return false;
	return true;
}

static struct cel_value of_path(struct cel_eval *ev, const struct cel_value *args)
{
	struct question *q;

	if (is_blank(args[1].s))
		return cel_errorf(ev, "path must not be empty");
	q = continued(ev, &args[0]);
	if (q) {
		q->q.is_path = true;
		q->q.path = args[1].s;
	}
	return as(&path_class, q);
}

static struct cel_value of_group(struct cel_eval *ev, const struct cel_value *args)
{
	struct question *q = continued(ev, &args[0]);

	if (q)
		q->q.group = args[1].s;
	return as(&group_class, q);
}

/* DNS labels, joined by dots where `dots` are allowed. */
static bool is_dns(struct str s, bool dots, size_t max)
{
	bool begins = true;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool alphanumeric = (c >= 'a' && c <= 'z') || str_is_digit(c);

		if (alphanumeric)
			begins = false;
		else if (begins || (c != '-' && !(c == '.' && dots && s.p[i - 1] != '-')))
			return false;
		else if (c == '.')
			begins = true;
	}
	return s.n > 0 && s.n <= max && !begins && s.p[s.n - 1] != '-';
}

static struct cel_value of_account(struct cel_eval *ev, const struct cel_value *args)
{
	enum { LABEL_MAX = 63, SUBDOMAIN_MAX = 253 };
	struct question *q;

	if (!is_dns(args[2].s, true, SUBDOMAIN_MAX))
		return cel_errorf(ev, "Invalid service account name");
	if (!is_dns(args[1].s, false, LABEL_MAX))
		return cel_errorf(ev, "Invalid service account namespace");
	q = continued(ev, &args[0]);
	if (q) {
		q->q.account_ns = args[1].s;
		q->q.account = args[2].s;
	}
	return as(&authorizer_class, q);
}

static struct cel_value of_resource(struct cel_eval *ev, const struct cel_value *args)
{
	struct question *q;

	if (is_blank(args[1].s))
		return cel_errorf(ev, "resource must not be empty");
	q = continued(ev, &args[0]);
	if (q)
		q->q.resource = args[1].s;
	return as(&resource_class, q);
}

static struct cel_value of_subresource(struct cel_eval *ev, const struct cel_value *args)
{
	struct question *q = continued(ev, &args[0]);

	if (q)
		q->q.subresource = args[1].s;
	return as(&resource_class, q);
}

static struct cel_value of_namespace(struct cel_eval *ev, const struct cel_value *args)
{
	struct question *q = continued(ev, &args[0]);

	if (q)
		q->q.ns = args[1].s;
	return as(&resource_class, q);
}

static struct cel_value of_name(struct cel_eval *ev, const struct cel_value *args)
{
	struct question *q = continued(ev, &args[0]);

	if (q)
		q->q.name = args[1].s;
	return as(&resource_class, q);
}

static struct cel_value of_fields(struct cel_eval *ev, const struct cel_value *args)
{
	struct question *q = continued(ev, &args[0]);

	if (q)
		q->q.field_selector = args[1].s;
	return as(&resource_class, q);
}

static struct cel_value of_labels(struct cel_eval *ev, const struct cel_value *args)
{
	struct question *q = continued(ev, &args[0]);

	if (q)
		q->q.label_selector = args[1].s;
	return as(&resource_class, q);
}

/* --- answers ------------------------------------------------------------------------ */

static struct cel_value authz_check(struct cel_eval *ev, const struct cel_value *args)
{
	struct question *q = continued(ev, &args[0]);

	if (q) {
		q->q.verb = args[1].s;
		q->authorizer->decide(q->authorizer, ev, &q->q, &q->answer);
	}
	return as(&decision_class, q);
}

static const struct cel_authz_answer *answer_of(const struct cel_value *v)
{
	return &((const struct question *)v->object.self)->answer;
}

static struct cel_value is_allowed(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(answer_of(args)->allowed);
}

static struct cel_value has_error(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(answer_of(args)->error.n > 0);
}

static struct cel_value error_of(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_STRING_V(answer_of(args)->error);
}

static struct cel_value authz_reason_of(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_STRING_V(answer_of(args)->reason);
}

/* --- the table ---------------------------------------------------------------------- */

#define RESOURCE &cel_resource_check_type
#define MEMBER(function, id, result, self, call)              \
	{                                                     \
		function, id, result, { self }, 1, true, call \
	}
#define MEMBER1(function, id, result, self, call)                          \
	{                                                                  \
		function, id, result, { self, &cel_string }, 2, true, call \
	}

static const struct cel_overload overloads[] = {
	MEMBER("allowed", "decision_allowed", &cel_bool, &decision_type, is_allowed),
	MEMBER1("check", "pathcheck_check", &decision_type, &path_check_type, authz_check),
	MEMBER1("check", "resourcecheck_check", &decision_type, RESOURCE, authz_check),
	MEMBER("error", "decision_error", &cel_string, &decision_type, error_of),
	MEMBER("errored", "decision_errored", &cel_bool, &decision_type, has_error),
	MEMBER1("fieldSelector", "authorizer_fieldselector", RESOURCE, RESOURCE, of_fields),
	MEMBER1("group", "authorizer_group", &group_check_type, &cel_authorizer_type, of_group),
	MEMBER1("labelSelector", "authorizer_labelselector", RESOURCE, RESOURCE, of_labels),
	MEMBER1("name", "resourcecheck_name", RESOURCE, RESOURCE, of_name),
	MEMBER1("namespace", "resourcecheck_namespace", RESOURCE, RESOURCE, of_namespace),
	MEMBER1("path", "authorizer_path", &path_check_type, &cel_authorizer_type, of_path),
	MEMBER("reason", "decision_reason", &cel_string, &decision_type, authz_reason_of),
	MEMBER1("resource", "groupcheck_resource", RESOURCE, &group_check_type, of_resource),
	{ "serviceAccount",
	  "authorizer_serviceaccount",
	  &cel_authorizer_type,
	  { &cel_authorizer_type, &cel_string, &cel_string },
	  3,
	  true,
	  of_account },
	MEMBER1("subresource", "resourcecheck_subresource", RESOURCE, RESOURCE, of_subresource),
};

/* As upstream, expressions cannot name these types. */
const struct cel_library cel_lib_authz = {
	.name = "kubernetes.authz",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
