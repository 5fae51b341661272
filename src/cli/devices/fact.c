/* The only place that counts devices for the command line. */
#include "cli/devices/fact.h"

const char *device_fact_state_name(int state)
{
	return state < DEVICE_STATES ? device_state_name((enum device_state)state) : "Unknown";
}

static int fact_state_of(struct str text)
{
	for (int i = 0; i < DEVICE_STATES; i++)
		if (str_eqz(text, device_fact_state_name(i)))
			return i;
	return DEVICE_FACT_UNKNOWN;
}

struct device_fact device_fact_read(const struct json *entry)
{
	struct device_fact f = { .state = fact_state_of(json_text_at(entry, "state")),
				 .reason = json_text_at(entry, "stateReason"),
				 .health = json_text_at(entry, "health"),
				 .message = json_text_at(entry, "healthMessage"),
				 .since = json_text_at(entry, "healthSince"),
				 .source = json_text_at(entry, "healthSource") };

	f.unhealthy = str_eqz(f.health, "Unhealthy");
	f.unsure = !entry;
	f.omitted = (size_t)MAX(json_i64_at(entry, "omittedAllocations", 0), 0);
	return f;
}

struct device_fact device_fact_copy(struct arena *a, const struct device_fact *f)
{
	struct device_fact own = *f;

	own.reason = arena_str(a, f->reason);
	own.health = arena_str(a, f->health);
	own.message = arena_str(a, f->message);
	own.since = arena_str(a, f->since);
	own.source = arena_str(a, f->source);
	return own;
}

void device_fact_computed(struct device_fact *f)
{
	if (str_starts(f->source, STR("pod ")))
		f->since = STR_NULL;
}

struct str device_fact_state_text(const struct device_fact *f)
{
	if (f->state == DEVICE_AVAILABLE && f->unhealthy)
		return STR("Available, unhealthy");
	return str_from(device_fact_state_name(f->state));
}

struct str device_fact_health_name(const struct device_fact *f)
{
	if (f->health.n > 0)
		return f->health;
	return f->unsure ? STR("?") : STR("NotReported");
}

/* --- counts ---------------------------------------------------------------------------------- */

void device_counts_add(struct device_counts *c, const struct device_fact *f)
{
	c->devices++;
	c->by_state[f->state]++;
	c->unhealthy += f->unhealthy;
	c->free_unhealthy += f->unhealthy && f->state == DEVICE_AVAILABLE;
	c->unsure += f->unsure;
}

void device_counts_sum(struct device_counts *sum, const struct device_counts *more)
{
	sum->devices += more->devices;
	for (int i = 0; i < DEVICE_FACT_STATES; i++)
		sum->by_state[i] += more->by_state[i];
	sum->unhealthy += more->unhealthy;
	sum->free_unhealthy += more->free_unhealthy;
	sum->unsure += more->unsure;
}

size_t device_counts_at(const struct device_counts *c, size_t column)
{
	const size_t v[DEVICE_COUNTS_COLUMNS] = {
		c->devices,
		c->by_state[DEVICE_AVAILABLE],
		c->by_state[DEVICE_PARTIALLY_ALLOCATED],
		c->by_state[DEVICE_ALLOCATED],
		c->by_state[DEVICE_UNAVAILABLE],
		c->unhealthy,
	};

	return v[column];
}

size_t device_counts_unknown_at(const struct device_counts *c, size_t column)
{
	if (column == 0)
		return 0;
	return column + 1 == DEVICE_COUNTS_COLUMNS ? c->unsure : c->by_state[DEVICE_FACT_UNKNOWN];
}

void device_counts_put(struct arena *a, struct json *object, const struct device_counts *c)
{
	static const char *const names[DEVICE_COUNTS_COLUMNS] = {
		"devices", "free", "partial", "allocated", "unavailable", "unhealthy",
	};

	for (size_t i = 0; i < DEVICE_COUNTS_COLUMNS; i++)
		json_put_i64(a, object, names[i], (int64_t)device_counts_at(c, i));
	json_put_i64(a, object, "freeUnhealthy", (int64_t)c->free_unhealthy);
	json_put_i64(a, object, "unknown", (int64_t)c->by_state[DEVICE_FACT_UNKNOWN]);
	if (c->unsure > 0)
		json_put_i64(a, object, "healthUnknown", (int64_t)c->unsure);
}
