/*
 * PriorityLevelConfigurations.
 *
 * Upstream states some rules twice and keeps the later, shorter message: errors about members that
 * the type forbids or requires come last. So there are two passes.
 */
#include "api/check/flow.h"

#include "api/check/checks.h"

enum { QUEUES_MAX = 10 * 1000 * 1000, HAND_BITS_MAX = 60, PERCENT_MAX = 100 };

/* An annotation that upstream's conversions use internally. */
#define RESERVED "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"

static const struct json none = { .type = JSON_OBJECT };

/* --- values ----------------------------------------------------------------------- */

static void flow_level_check_range(struct validation *v, const struct json *object,
				   const char *name, int64_t max, const char *fault,
				   const struct field_path *path)
{
	struct field_path at = field_path_name(path, name);
	int64_t n = json_i64_at(object, name, 0);

	if (n < 0 || n > max)
		field_errors_invalid(v->errs, &at, FIELD_I64(n), fault);
}

/* Whether dealing so large a hand needs more bits than a request's hash has. */
static bool takes_too_many_bits(int64_t queues, int64_t hand)
{
	int64_t deals = 1;

	for (; hand > 0 && deals <= INT64_C(1) << HAND_BITS_MAX; hand--) {
		if (deals > (INT64_C(1) << HAND_BITS_MAX) / queues)
			return true;
		deals *= queues;
	}
	return false;
}

static void check_hand(struct validation *v, int64_t queues, int64_t hand,
		       const struct field_path *path)
{
	struct field_path at = field_path_name(path, "handSize");

	if (hand <= 0)
		field_errors_invalid(v->errs, &at, FIELD_I64(hand), "must be positive");
	else if (hand > queues)
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_I64(hand),
				  "should not be greater than queues (%lld)", (long long)queues);
	else if (takes_too_many_bits(queues, hand))
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_I64(hand),
				  "required entropy bits of deckSize %lld and handSize %lld "
				  "should not be greater than %d",
				  (long long)queues, (long long)hand, HAND_BITS_MAX);
}

static void check_queuing(struct validation *v, const struct json *queuing,
			  const struct field_path *path)
{
	struct field_path length_at = field_path_name(path, "queueLengthLimit");
	struct field_path queues_at = field_path_name(path, "queues");
	int64_t length = json_i64_at(queuing, "queueLengthLimit", 0);
	int64_t queues = json_i64_at(queuing, "queues", 0);

	if (length <= 0)
		field_errors_invalid(v->errs, &length_at, FIELD_I64(length), "must be positive");
	if (queues <= 0)
		field_errors_invalid(v->errs, &queues_at, FIELD_I64(queues), "must be positive");
	else if (queues > QUEUES_MAX)
		field_errors_addf(v->errs, FIELD_INVALID, &queues_at, FIELD_I64(queues),
				  "must not be greater than %d", QUEUES_MAX);
	check_hand(v, queues, json_i64_at(queuing, "handSize", 0), path);
}

static void check_response(struct validation *v, const struct json *response,
			   const struct field_path *path)
{
	static const struct str types[] = { { "Queue", 5 }, { "Reject", 6 } };
	struct field_path type_at = field_path_name(path, "type");
	struct field_path queuing_at = field_path_name(path, "queuing");
	struct str type = json_text_at(response, "type");
	const struct json *queuing = json_getz(response, "queuing");

	if (str_eqz(type, "Queue") && queuing)
		check_queuing(v, queuing, &queuing_at);
	else if (type.n && !check_flow_known(type, types, ARRAY_SIZE(types)))
		field_errors_not_supported(v->errs, &type_at, FIELD_STR(type), types,
					   ARRAY_SIZE(types));
}

static void check_limited(struct validation *v, const struct json *limited,
			  const struct field_path *path)
{
	struct field_path response_at = field_path_name(path, "limitResponse");

	flow_level_check_range(v, limited, "nominalConcurrencyShares", INT64_MAX,
			       "must be a non-negative integer", path);
	check_response(v, json_getz(limited, "limitResponse"), &response_at);
	flow_level_check_range(v, limited, "lendablePercent", PERCENT_MAX,
			       "must be between 0 and 100, inclusive", path);
	flow_level_check_range(v, limited, "borrowingLimitPercent", INT64_MAX,
			       "if specified, must be a non-negative integer", path);
}

static void check_exempt(struct validation *v, const struct json *exempt,
			 const struct field_path *path)
{
	flow_level_check_range(v, exempt, "nominalConcurrencyShares", INT64_MAX,
			       "must be a non-negative integer", path);
	flow_level_check_range(v, exempt, "lendablePercent", PERCENT_MAX,
			       "must be between 0 and 100, inclusive", path);
}

static void check_values(struct validation *v, const struct json *spec, struct str name,
			 const struct field_path *path)
{
	static const struct str types[] = { { "Exempt", 6 }, { "Limited", 7 } };
	struct field_path type_at = field_path_name(path, "type");
	struct field_path limited_at = field_path_name(path, "limited");
	struct field_path exempt_at = field_path_name(path, "exempt");
	struct str type = json_text_at(spec, "type");
	bool exempt = str_eqz(type, "Exempt");

	if (str_eqz(name, "exempt") != exempt)
		field_errors_invalid(v->errs, &type_at, FIELD_STR(type),
				     "must be 'Exempt' if and only if `name` is 'exempt'");
	if (exempt)
		check_exempt(v, json_getz(spec, "exempt"), &exempt_at);
	else if (str_eqz(type, "Limited") && json_getz(spec, "limited"))
		check_limited(v, json_getz(spec, "limited"), &limited_at);
	else if (type.n && !check_flow_known(type, types, ARRAY_SIZE(types)))
		field_errors_not_supported(v->errs, &type_at, FIELD_STR(type), types,
					   ARRAY_SIZE(types));
}

/* --- mandatory levels ------------------------------------------------------------- */

/* For the level "exempt", only `exempt` may be changed. */
static void check_fixed(struct validation *v, const struct json *spec, struct str name,
			const struct field_path *path)
{
	const struct json *fixed = check_flow_fixed(v, FLOW_LEVEL, name);
	bool exempt = str_eqz(name, "exempt"), same;

	if (!fixed)
		return;
	if (exempt)
		same = str_eqz(json_text_at(spec, "type"), "Exempt") && !json_getz(spec, "limited");
	else
		same = json_equal(spec, fixed);
	if (!same)
		field_errors_addf(v->errs, FIELD_INVALID, path,
				  check_flow_shown(v, "PriorityLevelConfigurationSpec", spec),
				  "spec of '%.*s' %smust equal the fixed value", STR_ARG(name),
				  exempt ? "except the 'spec.exempt' field " : "");
}

/* --- members of each type --------------------------------------------------------- */

static void check_absent(struct validation *v, const struct json *object, const char *name,
			 const struct field_path *path)
{
	struct field_path at = field_path_name(path, name);

	if (json_getz(object, name))
		field_errors_forbidden(v->errs, &at, NULL);
}

static void check_present(struct validation *v, const struct json *object, const char *name,
			  const struct field_path *path)
{
	struct field_path at = field_path_name(path, name);

	if (!json_getz(object, name))
		field_errors_required(v->errs, &at, NULL);
}

static void flow_level_check_type(struct validation *v, const struct json *object,
				  const struct field_path *path)
{
	struct field_path at = field_path_name(path, "type");

	if (!json_text_at(object, "type").n)
		field_errors_required(v->errs, &at, NULL);
}

static void check_response_members(struct validation *v, const struct json *limited,
				   const struct field_path *path)
{
	struct field_path at = field_path_name(path, "limitResponse");
	const struct json *response = json_getz(limited, "limitResponse");

	if (str_eqz(json_text_at(response, "type"), "Queue"))
		check_present(v, response, "queuing", &at);
	else
		check_absent(v, response, "queuing", &at);
	flow_level_check_type(v, response, &at);
}

static void check_members(struct validation *v, const struct json *spec,
			  const struct field_path *path)
{
	struct field_path limited_at = field_path_name(path, "limited");
	struct str type = json_text_at(spec, "type");

	if (!str_eqz(type, "Exempt"))
		check_absent(v, spec, "exempt", path);
	if (str_eqz(type, "Limited"))
		check_present(v, spec, "limited", path);
	else
		check_absent(v, spec, "limited", path);
	flow_level_check_type(v, spec, path);
	if (json_getz(spec, "limited"))
		check_response_members(v, json_getz(spec, "limited"), &limited_at);
}

void check_flow_level(struct validation *v, const struct json *level)
{
	struct field_path path = field_path_name(NULL, "spec");
	struct field_path meta_at = field_path_name(NULL, "metadata");
	struct field_path notes_at = field_path_name(&meta_at, "annotations");
	const struct json *meta = json_getz(level, "metadata"), *spec = json_getz(level, "spec");
	struct str name = json_text_at(meta, "name");

	spec = spec ? spec : &none;
	if (json_getz(json_getz(meta, "annotations"), RESERVED))
		field_errors_forbidden(v->errs, &notes_at,
				       "annotation '" RESERVED "' is forbidden");
	check_values(v, spec, name, &path);
	check_fixed(v, spec, name, &path);
	check_members(v, spec, &path);
}
