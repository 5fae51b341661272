/*
 * The query. Each parameter is a row: the verbs that it is for, its parser, its destination.
 * Upstream decodes the query into the options of the verb and ignores the rest, so a parameter of
 * another verb is ignored even if it is malformed. For repeated parameters the first one counts.
 */
#include <stddef.h>

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/text/print.h"
#include "base/time/duration.h"
#include "server/request/request_impl.h"

#define ON(verb)   (1U << (verb))
#define ON_LIST    (ON(REQUEST_LIST) | ON(REQUEST_WATCH) | ON(REQUEST_DELETE_COLLECTION))
#define ON_WRITE   (ON(REQUEST_CREATE) | ON(REQUEST_UPDATE) | ON(REQUEST_PATCH))
#define ON_DELETE  (ON(REQUEST_DELETE) | ON(REQUEST_DELETE_COLLECTION))
#define ON_RV      (ON_LIST | ON(REQUEST_GET))
#define ON_DRY_RUN (ON_WRITE | ON_DELETE)
#define ON_ALL     UINT32_MAX

/* Values that can be checked only after all are read. */
struct query {
	struct request *r;
	struct arena *arena;
	struct str match; /* resourceVersionMatch as it was sent */
	struct buf dry_run; /* its values, as JSON strings */
	bool dry_run_bad;
};

struct param {
	const char *name;
	uint32_t verbs;
	int (*read)(struct query *q, const struct param *p, struct str value, struct error *err);
	size_t at; /* offset in struct request */
	size_t given; /* offset of the flag that it is present; 0: no flag */
};

/* --- parsers of values ------------------------------------------------------------ */

static void *query_place(struct query *q, const struct param *p)
{
	return (char *)q->r + p->at;
}

static int query_read_text(struct query *q, const struct param *p, struct str value,
			   struct error *err UNUSED)
{
	*(struct str *)query_place(q, p) = value;
	return 0;
}

bool request_read_bool(struct str value)
{
	return !str_eq(value, STR("0")) && !str_ieq(value, STR("false"));
}

static int read_bool(struct query *q, const struct param *p, struct str value,
		     struct error *err UNUSED)
{
	*(bool *)query_place(q, p) = request_read_bool(value);
	return 0;
}

/* As strconv.ParseBool; an invalid value is false. */
static int read_pretty(struct query *q, const struct param *p UNUSED, struct str value,
		       struct error *err UNUSED)
{
	static const char *const yes[] = { "1", "t", "T", "true", "TRUE", "True" };

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		q->r->pretty = q->r->pretty || str_eqz(value, yes[i]);
	q->r->pretty_given = value.n > 0;
	return 0;
}

static bool is_decimal(struct str s)
{
	if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
		s = str_skip(s, 1);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

/* The error text of Go's strconv, which upstream passes on. */
static int bad_number(struct str value, const char *function, struct error *err)
{
	CLEANUP(buf_release) struct buf quoted = BUF_INIT(4 * value.n + 16);

	(void)print_quoted(&quoted, value);
	return error_set(err, ERR_BAD_REQUEST, "strconv.%s: parsing %.*s: %s", function,
			 STR_ARG(buf_str(&quoted)),
			 is_decimal(value) ? "value out of range" : "invalid syntax");
}

int request_read_i64(struct str value, int64_t *ret_number, struct error *err)
{
	struct str digits = value.n > 1 && value.p[0] == '+' ? str_skip(value, 1) : value;

	if (!is_decimal(value) || !str_to_i64(digits, ret_number))
		return bad_number(value, "ParseInt", err);
	return 0;
}

static int read_i64(struct query *q, const struct param *p, struct str value, struct error *err)
{
	return request_read_i64(value, query_place(q, p), err);
}

static int read_match(struct query *q, const struct param *p UNUSED, struct str value,
		      struct error *err UNUSED)
{
	q->match = value;
	if (str_eq(value, STR("Exact")))
		q->r->match = MATCH_EXACT;
	else if (str_eq(value, STR("NotOlderThan")))
		q->r->match = MATCH_NOT_OLDER_THAN;
	return 0;
}

static int read_labels(struct query *q, const struct param *p UNUSED, struct str value,
		       struct error *err)
{
	q->r->label_selector = value;
	return selector_parse_labels(q->arena, value, &q->r->labels, err);
}

static int read_fields(struct query *q, const struct param *p UNUSED, struct str value,
		       struct error *err)
{
	q->r->field_selector = value;
	return selector_parse_fields(q->arena, value, &q->r->fields, err);
}

/* The only parameter all of whose values count. */
static int read_dry_run(struct query *q, const struct param *p UNUSED, struct str value,
			struct error *err UNUSED)
{
	if (q->dry_run.n)
		(void)buf_addc(&q->dry_run, ',');
	(void)print_json(&q->dry_run, value);
	q->r->dry_run = true;
	q->dry_run_bad = q->dry_run_bad || !str_eq(value, STR("All"));
	return 0;
}

static int read_deadline(struct query *q, const struct param *p UNUSED, struct str value,
			 struct error *err)
{
	int64_t ns;
	int r;

	if (!value.n)
		return 0;
	r = duration_parse(value, &ns, err);
	if (r < 0)
		return error_wrap(err, r, "invalid timeout specified in the request URL");
	if (ns > 0)
		q->r->deadline_ms = MAX(ns / CLOCK_MS, 1);
	return 0;
}

#define AT(field) offsetof(struct request, field)
#define ROW(name, on, fn)          \
	{                          \
		name, on, fn, 0, 0 \
	}

static const struct param params[] = {
	{ "allowWatchBookmarks", ON_LIST, read_bool, AT(bookmarks), 0 },
	{ "continue", ON_LIST, query_read_text, AT(cont), 0 },
	ROW("dryRun", ON_DRY_RUN, read_dry_run),
	{ "fieldManager", ON_WRITE, query_read_text, AT(write.field_manager), 0 },
	ROW("fieldSelector", ON_LIST, read_fields),
	{ "fieldValidation", ON_WRITE, query_read_text, AT(field_validation), 0 },
	{ "force", ON(REQUEST_PATCH), read_bool, AT(write.force), AT(force_given) },
	{ "gracePeriodSeconds", ON_DELETE, query_read_text, AT(grace), 0 },
	{ "includeObject", ON_ALL, query_read_text, AT(include_object), 0 },
	ROW("labelSelector", ON_LIST, read_labels),
	{ "limit", ON_LIST, read_i64, AT(limit), 0 },
	{ "orphanDependents", ON_DELETE, read_bool, AT(orphan), AT(orphan_given) },
	ROW("pretty", ON_ALL, read_pretty),
	{ "propagationPolicy", ON_DELETE, query_read_text, AT(propagation), 0 },
	{ "resourceVersion", ON_RV, query_read_text, AT(resource_version), 0 },
	ROW("resourceVersionMatch", ON_LIST, read_match),
	{ "sendInitialEvents", ON_LIST, read_bool, AT(send_initial), AT(send_initial_given) },
	ROW("timeout", ON_ALL & ~ON(REQUEST_WATCH), read_deadline),
	{ "timeoutSeconds", ON_LIST, read_i64, AT(timeout_s), 0 },
	{ "watch", ON_LIST, read_bool, AT(watch), 0 },
};
_Static_assert(ARRAY_SIZE(params) <= 32, "one bit each");

/* --- parsing all parameters ------------------------------------------------------- */

static int read_param(struct query *q, uint32_t *seen, struct str name, struct str value,
		      struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		const struct param *p = &params[i];
		bool again = *seen & (1U << i);

		if (!str_eqz(name, p->name))
			continue;
		if (!(p->verbs & ON(q->r->verb)) || (again && p->read != read_dry_run))
			return 0;
		*seen |= 1U << i;
		if (p->given)
			*(bool *)((char *)q->r + p->given) = true;
		return p->read(q, p, value, err);
	}
	return 0;
}

static int query_read_all(struct query *q, struct str query, struct error *err)
{
	struct str name, value;
	uint32_t seen = 0;
	int r = 0;

	while (r == 0 && request_param(&query, q->arena, &name, &value))
		r = read_param(q, &seen, name, value, err);
	return r;
}

/* --- checking --------------------------------------------------------------------- */

static void query_forbid(struct field_errors *errs, const char *field, const char *detail)
{
	struct field_path path = field_path_name(NULL, field);

	field_errors_forbidden(errs, &path, detail);
}

static void check_watch(const struct query *q, struct field_errors *errs)
{
	static const struct str supported[] = { { "NotOlderThan", 12 } };
	struct field_path path = field_path_name(NULL, "resourceVersionMatch");
	bool newer = q->r->match == MATCH_NOT_OLDER_THAN;

	if (q->r->send_initial_given && !newer)
		query_forbid(
			errs, "resourceVersionMatch",
			"sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
	if (!q->match.n)
		return;
	if (!q->r->send_initial_given)
		query_forbid(
			errs, "resourceVersionMatch",
			"resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
			"provided");
	if (!newer)
		field_errors_not_supported(errs, &path, FIELD_STR(q->match), supported, 1);
	if (q->r->cont.n)
		query_forbid(errs, "resourceVersionMatch",
			     "resourceVersionMatch is forbidden when continue is provided");
}

static void check_match(const struct query *q, struct field_errors *errs)
{
	static const struct str supported[] = { { "Exact", 5 }, { "NotOlderThan", 12 }, { "", 0 } };
	struct field_path path = field_path_name(NULL, "resourceVersionMatch");
	const struct request *r = q->r;

	if (!r->resource_version.n)
		query_forbid(
			errs, "resourceVersionMatch",
			"resourceVersionMatch is forbidden unless resourceVersion is provided");
	if (r->cont.n)
		query_forbid(errs, "resourceVersionMatch",
			     "resourceVersionMatch is forbidden when continue is provided");
	if (r->match == MATCH_UNSET)
		field_errors_not_supported(errs, &path, FIELD_STR(q->match), supported, 3);
	if (r->match == MATCH_EXACT && str_eq(r->resource_version, STR("0")))
		query_forbid(
			errs, "resourceVersionMatch",
			"resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
}

static void query_check_list(const struct query *q, struct field_errors *errs)
{
	if (q->match.n)
		check_match(q, errs);
	if (q->r->send_initial_given)
		query_forbid(errs, "sendInitialEvents", "sendInitialEvents is forbidden for list");
}

/* Decodes one code point at s; returns its length. The text has been checked to be UTF-8. */
static size_t decode_rune(struct str s, uint32_t *ret_rune)
{
	unsigned char c = (unsigned char)s.p[0];
	size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	uint32_t rune = c < 0x80 ? c : c & (0x7fU >> n);

	for (size_t i = 1; i < n; i++)
		rune = rune << 6 | ((unsigned char)s.p[i] & 0x3f);
	*ret_rune = rune;
	return n;
}

static void check_field_manager(struct str name, struct field_errors *errs)
{
	struct field_path path = field_path_name(NULL, "fieldManager");
	uint32_t rune;

	if (name.n > FIELD_MANAGER_MAX)
		field_errors_too_long(errs, &path, FIELD_MANAGER_MAX);
	if (!str_is_utf8(name)) {
		field_errors_invalid(errs, &path, FIELD_STR(name), "must be UTF-8");
		return;
	}
	for (size_t i = 0, n; i < name.n; i += n) {
		n = decode_rune(str_skip(name, i), &rune);
		if (rune >= 0x20 && (rune < 0x7f || rune > 0xa0))
			continue;
		field_errors_addf(errs, FIELD_INVALID, &path, FIELD_STR(name),
				  "invalid character U+%04X (at position %zu)", rune, i);
	}
}

static void check_dry_run(struct query *q, struct field_errors *errs)
{
	static const struct str supported[] = { { "All", 3 } };
	struct field_path path = field_path_name(NULL, "dryRun");
	const char *values;

	if (!q->dry_run_bad)
		return;
	values = arena_printf(q->arena, "[%.*s]", STR_ARG(buf_str(&q->dry_run)));
	field_errors_not_supported(errs, &path, FIELD_JSON(str_from(values)), supported, 1);
}

static void check_write(struct query *q, struct field_errors *errs)
{
	static const struct str supported[] = {
		{ "", 0 }, { "Ignore", 6 }, { "Strict", 6 }, { "Warn", 4 }
	};
	static const int meanings[] = { WRITE_WARN, WRITE_IGNORE, WRITE_STRICT, WRITE_WARN };
	struct field_path path = field_path_name(NULL, "fieldValidation");
	struct str v = q->r->field_validation;

	check_field_manager(q->r->write.field_manager, errs);
	check_dry_run(q, errs);
	for (size_t i = 0; i < ARRAY_SIZE(supported); i++)
		if (str_eq(v, supported[i])) {
			q->r->write.field_validation = meanings[i];
			return;
		}
	field_errors_not_supported(errs, &path, FIELD_STR(v), supported, ARRAY_SIZE(supported));
}

void request_check_patch(const struct request *r, bool apply, struct field_errors *errs)
{
	struct field_path path = field_path_name(NULL, "fieldManager");

	if (apply && !r->write.field_manager.n)
		field_errors_required(errs, &path, "is required for apply patch");
	if (!apply && r->force_given)
		query_forbid(errs, "force", "may not be specified for non-apply patch");
}

const char *request_options_kind(const struct request *r)
{
	static const char *const kinds[REQUEST_VERBS] = {
		[REQUEST_NONE] = "",
		[REQUEST_GET] = "GetOptions",
		[REQUEST_LIST] = "ListOptions",
		[REQUEST_WATCH] = "ListOptions",
		[REQUEST_CREATE] = "CreateOptions",
		[REQUEST_UPDATE] = "UpdateOptions",
		[REQUEST_PATCH] = "PatchOptions",
		[REQUEST_DELETE] = "DeleteOptions",
		[REQUEST_DELETE_COLLECTION] = "ListOptions",
	};

	return kinds[r->verb];
}

/* --- the whole query -------------------------------------------------------------- */

static int parse_revision(struct query *q, struct error *err)
{
	struct str text = q->r->resource_version;
	uint64_t value;

	if (!text.n)
		return 0;
	if (!str_to_u64(text, &value))
		return error_wrap(err, bad_number(text, "ParseUint", err),
				  "invalid resource version: resourceVersion: Invalid value: "
				  "\"%.*s\"",
				  STR_ARG(text));
	/* Larger than any store's revision: in the future, whatever its exact value. */
	q->r->revision = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	return 0;
}

/* /watch/pods/NAME is a watch of one object. */
static int select_name(struct query *q, struct error *err)
{
	struct selector_term *term;
	struct str *value, wanted;
	struct request *r = q->r;

	if (r->verb != REQUEST_WATCH || !r->name.n)
		return 0;
	if (r->fields.n) {
		wanted = selector_required_value(&r->fields, STR("metadata.name"));
		if (str_eq(wanted, r->name))
			return 0;
		return error_set(err, ERR_BAD_REQUEST,
				 "fieldSelector metadata.name doesn't match requested name");
	}
	value = ARENA_NEW(q->arena, struct str);
	term = ARENA_NEW(q->arena, struct selector_term);
	*value = r->name;
	*term = (struct selector_term){ STR("metadata.name"), SELECTOR_EQUALS, value, 1 };
	r->fields = (struct selector){ term, 1 };
	return 0;
}

static int query_judge(struct query *q, struct field_errors *errs, struct error *err)
{
	uint32_t on = ON(q->r->verb);

	if (q->r->verb == REQUEST_WATCH)
		check_watch(q, errs);
	else if (on & ON_LIST)
		query_check_list(q, errs);
	if (on & ON_WRITE)
		check_write(q, errs);
	if (on & ON_DELETE)
		check_dry_run(q, errs);
	if (!field_errors_any(errs))
		return 0;
	(void)error_set(err, ERR_INVALID, "%s", "");
	return -ERR_INVALID;
}

int request_parse_query(struct request *r, struct arena *a, struct str query,
			struct field_errors *errs, struct error *err)
{
	struct query q = { .r = r, .arena = a, .dry_run = BUF_INIT(64 * KIB) };
	int ret;

	ret = query_read_all(&q, query, err);
	if (ret == 0 && r->verb == REQUEST_LIST && r->watch)
		r->verb = REQUEST_WATCH;
	if (ret == 0)
		ret = query_judge(&q, errs, err);
	if (ret == 0)
		ret = parse_revision(&q, err);
	if (ret == 0)
		ret = select_name(&q, err);
	r->limit = MAX(r->limit, 0);
	buf_release(&q.dry_run);
	return ret;
}
