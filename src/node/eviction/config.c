/*
 * Thresholds as text. A flag may be given several times; a later text about a signal replaces an
 * earlier one, as in upstream's map.
 */
#include <stdio.h>

#include "base/core/mem.h"
#include "base/json/quantity.h"
#include "base/time/duration.h"
#include "node/eviction/eviction.h"

static const struct {
	const char *name, *resource;
} signals[EVICTION_SIGNALS] = {
	[EVICTION_MEMORY] = { "memory.available", "memory" },
	[EVICTION_NODEFS] = { "nodefs.available", "ephemeral-storage" },
	[EVICTION_NODEFS_INODES] = { "nodefs.inodesFree", "inodes" },
	[EVICTION_IMAGEFS] = { "imagefs.available", "ephemeral-storage" },
	[EVICTION_IMAGEFS_INODES] = { "imagefs.inodesFree", "inodes" },
};

static const char *const defaults[] = { "memory.available<100Mi", "nodefs.available<10%",
					"imagefs.available<15%", "nodefs.inodesFree<5%",
					"imagefs.inodesFree<5%" };

const char *eviction_signal_name(enum eviction_signal s)
{
	return signals[s].name;
}

const char *eviction_resource(enum eviction_signal s)
{
	return signals[s].resource;
}

static int config_signal(struct str name, enum eviction_signal *ret_signal, struct error *err)
{
	for (size_t i = 0; i < EVICTION_SIGNALS; i++) {
		if (str_eqz(name, signals[i].name)) {
			*ret_signal = (enum eviction_signal)i;
			return 0;
		}
	}
	return error_set(err, ERR_INVALID, "unsupported eviction signal %.*s", STR_ARG(name));
}

static int config_percent(struct str text, double *ret_part, struct error *err)
{
	struct str number = str_of(text.p, text.n - 1);
	struct quantity q;

	/* A quantity, because the parser of numbers would take "0x1p3" and "nan". */
	if (quantity_parse(number, &q, NULL) < 0 || quantity_sign(q) < 0 ||
	    quantity_double(q) > 100)
		return error_set(err, ERR_INVALID, "\"%.*s\" is not a part of 0%% to 100%%",
				 STR_ARG(text));
	*ret_part = quantity_double(q) / 100;
	return 0;
}

static int config_amount(struct str text, struct eviction_amount *ret_amount, struct error *err)
{
	struct quantity q;

	*ret_amount = (struct eviction_amount){ 0 };
	if (str_ends(text, STR("%"))) {
		ret_amount->relative = true;
		return config_percent(text, &ret_amount->part, err);
	}
	if (quantity_parse(text, &q, NULL) < 0 || quantity_sign(q) < 0)
		return error_set(err, ERR_INVALID,
				 "\"%.*s\" is neither a quantity such as 1Gi nor a part such as "
				 "10%%",
				 STR_ARG(text));
	ret_amount->value = quantity_value(q);
	return 0;
}

static bool amount_is_off(const struct eviction_amount *a)
{
	return a->relative && (a->part <= 0 || a->part >= 1);
}

static struct eviction_threshold *config_find(struct eviction_config *c, enum eviction_signal s,
					      bool soft)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].signal == s && c->v[i].soft == soft)
			return &c->v[i];
	}
	return NULL;
}

static void config_drop(struct eviction_config *c, struct eviction_threshold *t)
{
	if (!t)
		return;
	*t = c->v[c->n - 1];
	c->n--;
}

/* "memory.available<100Mi" */
static int config_threshold(struct eviction_config *c, const char *text, bool soft,
			    struct error *err)
{
	struct str value = str_from(text), name;
	struct eviction_threshold t = { .soft = soft };
	int r;

	if (!str_split(&value, '<', &name) || value.n == 0)
		return error_set(err, ERR_INVALID, "\"%s\" is not SIGNAL<AMOUNT", text);
	r = config_signal(str_trim(name), &t.signal, err);
	if (r == 0)
		r = config_amount(str_trim(value), &t.amount, err);
	if (r < 0)
		return r;
	if (!t.amount.relative && t.amount.value == 0)
		return error_set(err, ERR_INVALID, "the threshold \"%s\" must be positive", text);
	config_drop(c, config_find(c, t.signal, soft));
	if (!amount_is_off(&t.amount))
		c->v[c->n++] = t;
	return 0;
}

static int config_thresholds(struct eviction_config *c, const char *const *v, size_t n, bool soft,
			     struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (v[i][0] && strcmp(v[i], "none") != 0)
			r = config_threshold(c, v[i], soft, err);
	}
	return r;
}

static int config_pair(const char *text, enum eviction_signal *ret_signal, struct str *ret_value,
		       struct error *err)
{
	struct str value = str_from(text), name;

	if (!str_split(&value, '=', &name) || value.n == 0)
		return error_set(err, ERR_INVALID, "\"%s\" is not SIGNAL=VALUE", text);
	*ret_value = str_trim(value);
	return config_signal(str_trim(name), ret_signal, err);
}

static int config_grace(struct eviction_config *c, const char *text, struct error *err)
{
	struct eviction_threshold *t;
	enum eviction_signal signal;
	struct str value;
	int64_t ns = 0;
	int r = config_pair(text, &signal, &value, err);

	if (r < 0)
		return r;
	if (duration_parse(value, &ns, NULL) < 0 || ns < 0)
		return error_set(err, ERR_INVALID, "\"%s\" is not a grace period such as 1m30s",
				 text);
	t = config_find(c, signal, true);
	if (t)
		t->grace_ms = ns / 1000000;
	return 0;
}

static int config_reclaim(struct eviction_config *c, const char *text, struct error *err)
{
	struct eviction_amount amount;
	enum eviction_signal signal;
	struct str value;
	int r = config_pair(text, &signal, &value, err);

	if (r == 0)
		r = config_amount(value, &amount, err);
	for (int soft = 0; soft < 2 && r == 0; soft++) {
		struct eviction_threshold *t = config_find(c, signal, soft);

		if (t)
			t->reclaim = amount;
	}
	return r;
}

/* Whether the signal of a soft threshold has a grace period. */
static bool config_has_grace(const struct eviction_flags *f, enum eviction_signal signal)
{
	for (size_t i = 0; i < f->ngrace; i++) {
		struct str rest = str_from(f->grace[i]), name;

		if (str_split(&rest, '=', &name) &&
		    str_eqz(str_trim(name), eviction_signal_name(signal)))
			return true;
	}
	return false;
}

static int config_check_grace(const struct eviction_config *c, const struct eviction_flags *f,
			      struct error *err)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].soft && !config_has_grace(f, c->v[i].signal))
			return error_set(err, ERR_INVALID,
					 "the soft threshold of %s needs a grace period",
					 eviction_signal_name(c->v[i].signal));
	}
	return 0;
}

int eviction_config_read(const struct eviction_flags *f, struct eviction_config *ret_config,
			 struct error *err)
{
	struct eviction_config c = { .transition_ms = ret_config->transition_ms,
				     .max_pod_grace_s = ret_config->max_pod_grace_s };
	int r;

	if (f->nhard == 0)
		r = config_thresholds(&c, defaults, ARRAY_SIZE(defaults), false, err);
	else
		r = config_thresholds(&c, f->hard, f->nhard, false, err);
	if (r == 0)
		r = config_thresholds(&c, f->soft, f->nsoft, true, err);
	for (size_t i = 0; i < f->ngrace && r == 0; i++)
		r = config_grace(&c, f->grace[i], err);
	if (r == 0)
		r = config_check_grace(&c, f, err);
	for (size_t i = 0; i < f->nreclaim && r == 0; i++)
		r = config_reclaim(&c, f->reclaim[i], err);
	if (r == 0)
		*ret_config = c;
	return r;
}

int64_t eviction_amount_at(const struct eviction_amount *a, int64_t capacity)
{
	return a->relative ? (int64_t)((double)capacity * a->part) : a->value;
}
