/*
 * The spec of a Job, also as a CronJob has it: limits, policies, and the selector that the server
 * has made. Words are upstream's.
 */
#include "api/check/job.h"

#include "api/check/checks.h"
#include "api/selector/label_selector.h"

enum {
	RULES_MAX = 20, /* of each policy */
	EXIT_CODES_MAX = 255,
	PATTERNS_MAX = 20,
	SUCCEEDED_INDEXES_MAX = 64 * 1024, /* bytes */
	MANAGED_BY_MAX = 63,
	INDEXED_PARALLELISM_MAX = 100000,
	INDEXED_FAILURES_MAX = 100000,
	MANY_COMPLETIONS = 100000, /* above it, with a limit for each index: */
	MANY_PARALLELISM_MAX = 10000,
	MANY_FAILURES_MAX = 10000,
};

/* --- indexes --------------------------------------------------------------------------------- */

static int read_index(struct str text, int64_t completions, int64_t *ret_index, struct error *err)
{
	if (!str_to_i64(text, ret_index))
		return error_set(err, ERR_INVALID,
				 "cannot convert string to integer for index: \"%.*s\"",
				 STR_ARG(text));
	if (*ret_index >= completions)
		return error_set(err, ERR_INVALID, "too large index: \"%.*s\"", STR_ARG(text));
	return 0;
}

int check_job_interval(struct str text, int64_t completions, struct check_interval *ret,
		       struct error *err)
{
	struct str whole = text, first = STR_NULL;
	bool pair = str_chr(text, '-') >= 0;
	int r;

	(void)str_split(&text, '-', &first);
	if (pair && str_chr(text, '-') >= 0)
		return error_set(err, ERR_INVALID,
				 "the fragment \"%.*s\" violates the requirement that an index "
				 "interval can have at most two parts separated by '-'",
				 STR_ARG(whole));
	r = read_index(first, completions, &ret->first, err);
	ret->last = ret->first;
	if (r < 0 || !pair)
		return r;
	r = read_index(text, completions, &ret->last, err);
	if (r == 0 && ret->first >= ret->last)
		r = error_set(err, ERR_INVALID,
			      "non-increasing order, previous: %lld, current: %lld",
			      (long long)ret->first, (long long)ret->last);
	return r;
}

int check_job_indexes(struct str text, int64_t completions, int64_t *ret_total, struct error *err)
{
	struct check_interval i;
	int64_t last = -1, total = 0;
	struct str piece;

	while (text.n > 0) {
		bool comma = str_ends(text, STR(",")) &&
			     str_chr(text, ',') == (ptrdiff_t)text.n - 1;
		int r;

		(void)str_split(&text, ',', &piece);
		r = check_job_interval(piece, completions, &i, err);
		/* A list must not end with a comma. */
		if (r == 0 && comma)
			r = read_index(STR(""), completions, &i.first, err);
		if (r < 0)
			return r;
		if (last >= i.first)
			return error_set(err, ERR_INVALID,
					 "non-increasing order, previous: %lld, current: %lld",
					 (long long)last, (long long)i.first);
		total += i.last - i.first + 1;
		last = i.last;
	}
	*ret_total = total;
	return 0;
}

/* --- limits ---------------------------------------------------------------------------------- */

struct job_check {
	struct validation *v;
	const struct json *spec;
	const struct field_path *path;
};

static int64_t job_number(const struct job_check *c, const char *name)
{
	return json_i64_at(c->spec, name, -1);
}

static void job_invalid(const struct job_check *c, const char *name, const char *words)
{
	struct field_path at = field_path_name(c->path, name);

	field_errors_invalid(c->v->errs, &at, validate_shown(c->v, json_getz(c->spec, name)),
			     words);
}

static void job_required(const struct job_check *c, const char *name, const char *words)
{
	struct field_path at = field_path_name(c->path, name);

	field_errors_required(c->v->errs, &at, words);
}

static void job_most(const struct job_check *c, const char *name, int64_t most, const char *when)
{
	if (job_number(c, name) > most)
		job_invalid(c, name,
			    arena_printf(c->v->arena, "must be less than or equal to %lld%s",
					 (long long)most, when));
}

static void check_many(const struct job_check *c)
{
	static const char when[] =
		" when completions are above 100000 and used with backoff limit per index";

	if (job_number(c, "completions") <= MANY_COMPLETIONS ||
	    !json_getz(c->spec, "backoffLimitPerIndex"))
		return;
	if (!json_getz(c->spec, "maxFailedIndexes"))
		job_required(c, "maxFailedIndexes",
			     "must be specified when completions is above 100000");
	job_most(c, "parallelism", MANY_PARALLELISM_MAX, when);
	job_most(c, "maxFailedIndexes", MANY_FAILURES_MAX, when);
}

static void check_indexed(const struct job_check *c)
{
	if (!json_getz(c->spec, "completions"))
		job_required(c, "completions", "when completion mode is Indexed");
	job_most(c, "parallelism", INDEXED_PARALLELISM_MAX, " when completion mode is Indexed");
	if (json_getz(c->spec, "completions") &&
	    job_number(c, "maxFailedIndexes") > job_number(c, "completions"))
		job_invalid(c, "maxFailedIndexes", "must be less than or equal to completions");
	job_most(c, "maxFailedIndexes", INDEXED_FAILURES_MAX, "");
	check_many(c);
}

static void check_not_indexed(const struct job_check *c)
{
	static const char *const names[] = { "backoffLimitPerIndex", "maxFailedIndexes",
					     "successPolicy" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (json_getz(c->spec, names[i]))
			job_invalid(c, names[i], "requires indexed completion mode");
	}
}

static bool is_indexed(const struct json *spec)
{
	return str_eqz(json_text_at(spec, "completionMode"), "Indexed");
}

static void check_manager(const struct job_check *c)
{
	struct str by = json_text_at(c->spec, "managedBy"), path = by, domain = STR_NULL;
	struct field_path at = field_path_name(c->path, "managedBy");
	bool slash = str_chr(by, '/') >= 0;

	if (!json_getz(c->spec, "managedBy"))
		return;
	(void)str_split(&path, '/', &domain);
	if (!slash || domain.n == 0 || path.n == 0)
		job_invalid(c, "managedBy",
			    "must be a domain-prefixed path (such as \"acme.io/foo\")");
	else
		validate_format(c->v, SCHEMA_FORMAT_DNS_SUBDOMAIN, domain, &at);
	if (by.n > MANAGED_BY_MAX)
		field_errors_too_long(c->v->errs, &at, MANAGED_BY_MAX);
}

/* --- failure policy -------------------------------------------------------------------------- */

static bool has_container(const struct json *spec, struct str name)
{
	const struct json *pod = json_pointer(spec, STR("/template/spec"));

	return json_find(json_getz(pod, "containers"), "name", name) ||
	       json_find(json_getz(pod, "initContainers"), "name", name);
}

/* Whether the list has the value before. A list that is too long is not searched. */
static bool is_repeated(const struct json *values, const struct json *value)
{
	JSON_FOREACH (it, values) {
		if (it == value || values->n > EXIT_CODES_MAX)
			return false;
		if (json_equal(it, value))
			return true;
	}
	return false;
}

static void check_exit_values(struct validation *v, const struct json *rule,
			      const struct field_path *path)
{
	const struct json *values = json_getz(rule, "values");
	bool in = str_eqz(json_text_at(rule, "operator"), "In"), ordered = true;
	struct field_path at = field_path_name(path, "values");
	int64_t n, before = INT64_MIN;
	size_t index = 0;

	if (json_count(values) == 0)
		field_errors_invalid(v->errs, &at, validate_shown(v, values),
				     "at least one value is required");
	if (json_count(values) > EXIT_CODES_MAX)
		field_errors_too_many(v->errs, &at, (int64_t)json_count(values), EXIT_CODES_MAX);
	JSON_FOREACH (it, values) {
		struct field_path value_at = field_path_index(&at, index++);

		if (!json_i64(it, &n))
			continue;
		if (in && n == 0)
			field_errors_invalid(v->errs, &value_at, FIELD_I64(n),
					     "must not be 0 for the In operator");
		if (is_repeated(values, it))
			field_errors_duplicate(v->errs, &value_at, FIELD_I64(n));
		ordered = ordered && n >= before;
		before = n;
	}
	if (!ordered)
		field_errors_invalid(v->errs, &at, validate_shown(v, values), "must be ordered");
}

static void check_exit_codes(const struct job_check *c, const struct json *rule,
			     const struct field_path *path)
{
	struct field_path at = field_path_name(path, "containerName");
	const struct json *name = json_getz(rule, "containerName");

	if (name && !has_container(c->spec, json_str(name)))
		field_errors_invalid(c->v->errs, &at, FIELD_STR(json_str(name)),
				     "must be one of the container or initContainer names in the "
				     "pod template");
	check_exit_values(c->v, rule, path);
}

static void check_patterns(const struct job_check *c, const struct json *patterns,
			   const struct field_path *path)
{
	size_t index = 0;

	if (json_count(patterns) > PATTERNS_MAX)
		field_errors_too_many(c->v->errs, path, (int64_t)json_count(patterns),
				      PATTERNS_MAX);
	JSON_FOREACH (it, patterns) {
		struct field_path at = field_path_index(path, index++);
		struct field_path type_at = field_path_name(&at, "type");

		validate_format(c->v, SCHEMA_FORMAT_LABEL_KEY, json_text_at(it, "type"), &type_at);
	}
}

static void check_failure_rule(const struct job_check *c, const struct json *rule,
			       const struct field_path *path)
{
	const struct json *codes = json_getz(rule, "onExitCodes");
	const struct json *patterns = json_getz(rule, "onPodConditions");
	struct field_path action_at = field_path_name(path, "action");
	struct field_path codes_at = field_path_name(path, "onExitCodes");
	struct field_path patterns_at = field_path_name(path, "onPodConditions");

	if (str_eqz(json_text_at(rule, "action"), "FailIndex") &&
	    !json_getz(c->spec, "backoffLimitPerIndex"))
		field_errors_invalid(c->v->errs, &action_at, FIELD_STR(STR("FailIndex")),
				     "requires the backoffLimitPerIndex to be set");
	if (codes)
		check_exit_codes(c, codes, &codes_at);
	check_patterns(c, patterns, &patterns_at);
	if (codes && json_count(patterns) > 0)
		field_errors_invalid(c->v->errs, path, FIELD_OMITTED,
				     "specifying both OnExitCodes and OnPodConditions is not "
				     "supported");
	if (!codes && json_count(patterns) == 0)
		field_errors_invalid(c->v->errs, path, FIELD_OMITTED,
				     "specifying one of OnExitCodes and OnPodConditions is "
				     "required");
}

static void check_failure_policy(const struct job_check *c)
{
	static const struct str failed[] = { { "Failed", 6 } };
	const struct json *rules = json_getz(json_getz(c->spec, "podFailurePolicy"), "rules");
	struct field_path policy_at = field_path_name(c->path, "podFailurePolicy");
	struct field_path rules_at = field_path_name(&policy_at, "rules");
	struct field_path replace_at = field_path_name(c->path, "podReplacementPolicy");
	struct str replace = json_text_at(c->spec, "podReplacementPolicy");
	size_t index = 0;

	if (!json_getz(c->spec, "podFailurePolicy"))
		return;
	if (json_count(rules) > RULES_MAX)
		field_errors_too_many(c->v->errs, &rules_at, (int64_t)json_count(rules), RULES_MAX);
	JSON_FOREACH (it, rules) {
		struct field_path at = field_path_index(&rules_at, index++);

		check_failure_rule(c, it, &at);
	}
	if (replace.n > 0 && !str_eqz(replace, "Failed"))
		field_errors_not_supported(c->v->errs, &replace_at, FIELD_STR(replace), failed,
					   ARRAY_SIZE(failed));
}

/* Containers that are restarted have no exit code to judge. */
static void check_failure_restart(const struct job_check *c)
{
	struct str policy = json_text_at(json_pointer(c->spec, STR("/template/spec")),
					 "restartPolicy");
	struct field_path template_at = field_path_name(c->path, "template");
	struct field_path spec_at = field_path_name(&template_at, "spec");
	struct field_path at = field_path_name(&spec_at, "restartPolicy");

	if (json_getz(c->spec, "podFailurePolicy") && str_eqz(policy, "OnFailure"))
		field_errors_invalid(c->v->errs, &at, FIELD_STR(policy),
				     "only \"Never\" is supported when podFailurePolicy is "
				     "specified");
}

/* --- success policy -------------------------------------------------------------------------- */

static int64_t check_success_indexes(const struct job_check *c, const struct json *rule,
				     const struct field_path *path)
{
	struct str text = json_text_at(rule, "succeededIndexes");
	struct field_path at = field_path_name(path, "succeededIndexes");
	int64_t total = 0;
	struct error err;

	if (text.n > SUCCEEDED_INDEXES_MAX)
		field_errors_too_long(c->v->errs, &at, SUCCEEDED_INDEXES_MAX);
	else if (check_job_indexes(text, job_number(c, "completions"), &total, &err) < 0)
		field_errors_invalid(
			c->v->errs, &at, FIELD_STR(text),
			arena_printf(c->v->arena, "error parsing succeededIndexes: %s", err.msg));
	return total;
}

static void check_success_rule(const struct job_check *c, const struct json *rule,
			       const struct field_path *path)
{
	struct field_path at = field_path_name(path, "succeededCount");
	bool indexes = json_getz(rule, "succeededIndexes") != NULL;
	int64_t count = json_i64_at(rule, "succeededCount", -1), total = 0;
	const char *fmt = "must be less than or equal to %lld (the number of %s)";

	if (!indexes && !json_getz(rule, "succeededCount"))
		field_errors_required(c->v->errs, path,
				      "at least one of succeededCount or succeededIndexes must be "
				      "specified");
	if (indexes)
		total = check_success_indexes(c, rule, path);
	if (count > job_number(c, "completions"))
		field_errors_addf(c->v->errs, FIELD_INVALID, &at, FIELD_I64(count), fmt,
				  (long long)job_number(c, "completions"), "specified completions");
	if (indexes && count > total)
		field_errors_addf(c->v->errs, FIELD_INVALID, &at, FIELD_I64(count), fmt,
				  (long long)total,
				  "indexes in the specified succeededIndexes field");
}

static void check_success_policy(const struct job_check *c)
{
	const struct json *rules = json_getz(json_getz(c->spec, "successPolicy"), "rules");
	struct field_path policy_at = field_path_name(c->path, "successPolicy");
	struct field_path rules_at = field_path_name(&policy_at, "rules");
	size_t index = 0;

	if (!json_getz(c->spec, "successPolicy"))
		return;
	if (json_count(rules) == 0)
		field_errors_required(c->v->errs, &rules_at,
				      "at least one rules must be specified when the "
				      "successPolicy is specified");
	if (json_count(rules) > RULES_MAX)
		field_errors_too_many(c->v->errs, &rules_at, (int64_t)json_count(rules), RULES_MAX);
	JSON_FOREACH (it, rules) {
		struct field_path at = field_path_index(&rules_at, index++);

		check_success_rule(c, it, &at);
	}
}

/* --- the spec -------------------------------------------------------------------------------- */

void check_job_spec(struct validation *v, const struct json *spec, const struct field_path *path)
{
	struct job_check c = { v, spec, path };

	if (json_getz(spec, "maxFailedIndexes") && !json_getz(spec, "backoffLimitPerIndex"))
		job_required(&c, "backoffLimitPerIndex", "when maxFailedIndexes is specified");
	check_manager(&c);
	if (is_indexed(spec)) {
		check_indexed(&c);
		check_success_policy(&c);
	} else {
		check_not_indexed(&c);
	}
	check_failure_policy(&c);
	check_failure_restart(&c);
}

/* --- identity -------------------------------------------------------------------------------- */

static void check_has_label(struct validation *v, const struct json *job, const char *key,
			    struct str value)
{
	const struct json *labels = json_pointer(job, STR("/spec/template/metadata/labels"));
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path template_at = field_path_name(&spec_at, "template");
	struct field_path meta_at = field_path_name(&template_at, "metadata");
	struct field_path labels_at = field_path_name(&meta_at, "labels");
	struct field_path at = field_path_key(&labels_at, str_from(key));
	const char *words = arena_printf(v->arena, "must be '%.*s'", STR_ARG(value));

	if (!json_getz(labels, key))
		field_errors_required(v->errs, &at, words);
	else if (!str_eq(json_text_at(labels, key), value))
		field_errors_invalid(v->errs, &at, validate_shown(v, labels), words);
}

/* Jobs of older servers lack the labels with a prefix; they may keep it so. */
static bool needs_prefixed(const struct validation *v)
{
	const struct json *old = json_pointer(v->old, STR("/spec/template/metadata/labels"));

	return !v->old || (json_getz(old, "batch.kubernetes.io/job-name") &&
			   json_getz(old, "batch.kubernetes.io/controller-uid"));
}

static void check_generated(struct validation *v, const struct json *job)
{
	static const char *const keys[][2] = {
		{ "controller-uid", "job-name" },
		{ "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name" },
	};
	const struct json *meta = json_getz(job, "metadata"), *spec = json_getz(job, "spec");
	struct str uid = json_text_at(meta, "uid"), name = json_text_at(meta, "name");
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path at = field_path_name(&spec_at, "selector");
	struct json *expected = json_make_object(v->arena);
	size_t n = needs_prefixed(v) ? 2 : 1;

	for (size_t i = 0; i < n; i++) {
		check_has_label(v, job, keys[i][0], uid);
		check_has_label(v, job, keys[i][1], name);
		json_put_str(v->arena, expected, keys[i][0], uid);
		json_put_str(v->arena, expected, keys[i][1], name);
	}
	if (!label_selector_matches(json_getz(spec, "selector"), expected))
		field_errors_invalid(v->errs, &at, validate_shown(v, json_getz(spec, "selector")),
				     "`selector` not auto-generated");
}

/* The pod's host name is the Job's name with the index. */
static void check_name(struct validation *v, const struct json *job)
{
	const struct json *spec = json_getz(job, "spec");
	struct str name = json_text_at(json_getz(job, "metadata"), "name");
	int64_t completions = json_i64_at(spec, "completions", 0);
	struct field_path meta_at = field_path_name(NULL, "metadata");
	struct field_path at = field_path_name(&meta_at, "name");
	struct field_errors scratch;
	struct validation trial = *v;
	const char *host;

	if (!is_indexed(spec) || completions <= 0)
		return;
	host = arena_printf(v->arena, "%.*s-%lld", STR_ARG(name), (long long)completions - 1);
	field_errors_init(&scratch, v->arena);
	trial.errs = &scratch;
	validate_format(&trial, SCHEMA_FORMAT_DNS_LABEL, str_from(host), &at);
	if (field_errors_any(&scratch))
		field_errors_invalid(
			v->errs, &at, FIELD_STR(name),
			arena_printf(v->arena,
				     "will not able to create pod with invalid DNS label: %s",
				     host));
}

void check_job_identity(struct validation *v, const struct json *job)
{
	const struct json *spec = json_getz(job, "spec");

	if (!v->old && json_getz(spec, "selector") && !json_true_at(spec, "manualSelector"))
		check_generated(v, job);
	check_name(v, job);
}
