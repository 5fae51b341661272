/*
 * Walks over argv and stores values through the table's offsets. Each kind of value is a row of
 * `kinds`: how its text is checked and stored, and whether it may be omitted. Errors always use the
 * flag's long name, as help does.
 */
#include "base/system/flags.h"

#include <assert.h>
#include <inttypes.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/text/columns.h"
#include "base/text/nearest.h"
#include "base/time/duration.h"

/* The state of a parse. */
struct walk {
	struct flags *f;
	char *const *argv;
	int argc, at; /* argv[at] is the next argument */
	bool *given; /* one per row of the table */
};

struct kind {
	int (*store)(struct arena *arena, const struct flag *flag, const char *text, void *option,
		     struct error *err);
	const char *alone; /* the value of a flag without one; NULL: it needs one */
};

static int check_choice(const struct flag *flag, struct str text, struct error *err)
{
	struct str rest = str_from(flag->choices), choice;
	struct nearest near;

	if (!flag->choices)
		return 0;
	nearest_init(&near, text);
	while (str_split(&rest, '|', &choice)) {
		if (str_eq(choice, text))
			return 0;
		nearest_offer(&near, choice);
	}
	choice = nearest_get(&near);
	return error_set(err, ERR_BAD_REQUEST, "flag --%s: \"%.*s\" is not one of %s%s%.*s%s",
			 flag->name, STR_ARG(text), flag->choices,
			 choice.n ? "; did you mean " : "", STR_ARG(choice), choice.n ? "?" : "");
}

static int store_bool(struct arena *arena UNUSED, const struct flag *flag, const char *text,
		      void *option, struct error *err)
{
	static const struct {
		struct str text;
		bool value;
	} words[] = {
		{ STR("true"), true }, { STR("false"), false }, { STR("t"), true },
		{ STR("f"), false },   { STR("1"), true },      { STR("0"), false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (str_ieq(words[i].text, str_from(text))) {
			*(bool *)option = words[i].value;
			return 0;
		}
	}
	return error_set(err, ERR_BAD_REQUEST, "flag --%s: \"%s\" is neither true nor false",
			 flag->name, text);
}

static int store_string(struct arena *arena UNUSED, const struct flag *flag, const char *text,
			void *option, struct error *err)
{
	int r = check_choice(flag, str_from(text), err);

	if (r == 0)
		*(const char **)option = text;
	return r;
}

static bool in_bounds(const struct flag *flag, int64_t value)
{
	return (flag->min == 0 && flag->max == 0) || (value >= flag->min && value <= flag->max);
}

static int store_int(struct arena *arena UNUSED, const struct flag *flag, const char *text,
		     void *option, struct error *err)
{
	int64_t value;

	if (!str_to_i64(str_from(text), &value))
		return error_set(err, ERR_BAD_REQUEST, "flag --%s: \"%s\" is not an integer",
				 flag->name, text);
	if (!in_bounds(flag, value))
		return error_set(err, ERR_BAD_REQUEST,
				 "flag --%s: %s is not between %" PRId64 " and %" PRId64,
				 flag->name, text, flag->min, flag->max);
	*(int64_t *)option = value;
	return 0;
}

static int store_duration(struct arena *arena UNUSED, const struct flag *flag, const char *text,
			  void *option, struct error *err)
{
	char min[DURATION_SIZE], max[DURATION_SIZE];
	int64_t value;

	if (flag->seconds && str_to_i64(str_from(text), &value) && value <= INT64_MAX / CLOCK_SEC &&
	    value >= INT64_MIN / CLOCK_SEC)
		value *= CLOCK_SEC;
	else if (duration_parse(str_from(text), &value, NULL) < 0)
		return error_set(err, ERR_BAD_REQUEST,
				 "flag --%s: \"%s\" is not a duration such as 300ms, 15s or 1h30m",
				 flag->name, text);
	if (!in_bounds(flag, value))
		return error_set(err, ERR_BAD_REQUEST, "flag --%s: %s is not between %s and %s",
				 flag->name, text, duration_print(flag->min, min).p,
				 duration_print(flag->max, max).p);
	*(int64_t *)option = value;
	return 0;
}

/* Grows whenever the count reaches a power of two, so that no capacity is stored. */
static void list_push(struct arena *arena, struct flag_list *list, const char *text)
{
	const char **grown;

	if ((list->n & (list->n - 1)) == 0) {
		grown = ARENA_ARRAY(arena, const char *, list->n ? list->n * 2 : 1);
		if (list->n)
			memcpy(grown, list->v, list->n * sizeof(*grown));
		list->v = grown;
	}
	list->v[list->n++] = text;
}

static int store_list(struct arena *arena, const struct flag *flag, const char *text, void *option,
		      struct error *err)
{
	struct str rest = str_from(text), piece;
	int r;

	while (str_split(&rest, ',', &piece)) {
		if (piece.n == 0)
			continue;
		r = check_choice(flag, piece, err);
		if (r < 0)
			return r;
		list_push(arena, option, arena_strdup(arena, piece));
	}
	return 0;
}

static int store_repeat(struct arena *arena, const struct flag *flag, const char *text,
			void *option, struct error *err)
{
	int r = check_choice(flag, str_from(text), err);

	if (r == 0)
		list_push(arena, option, text);
	return r;
}

static const struct kind kinds[] = {
	[FLAG_KIND_BOOL] = { .store = store_bool, .alone = "true" },
	[FLAG_KIND_STRING] = { .store = store_string },
	[FLAG_KIND_INT] = { .store = store_int },
	[FLAG_KIND_DURATION] = { .store = store_duration },
	[FLAG_KIND_LIST] = { .store = store_list },
	[FLAG_KIND_REPEAT] = { .store = store_repeat },
};

static const struct flag *find_name(const struct flag *table, struct str name)
{
	for (const struct flag *flag = table; flag && flag->name; flag++)
		if (str_eqz(name, flag->name))
			return flag;
	return NULL;
}

static const struct flag *find_letter(const struct flag *table, char letter)
{
	for (const struct flag *flag = table; flag && flag->name; flag++)
		if (flag->letter == letter)
			return flag;
	return NULL;
}

static void *option_of(const struct flags *f, const struct flag *flag)
{
	return (char *)f->options + flag->offset;
}

static int set_value(struct walk *w, const struct flag *flag, const char *text, struct error *err)
{
	void *option = option_of(w->f, flag);
	bool *given = &w->given[flag - w->f->table];

	/* The first value of a list replaces its default; later ones are added. */
	if (!*given && (flag->kind == FLAG_KIND_LIST || flag->kind == FLAG_KIND_REPEAT))
		*(struct flag_list *)option = (struct flag_list){ 0 };
	*given = true;
	return kinds[flag->kind].store(w->f->arena, flag, text, option, err);
}

static const char *alone_of(const struct flag *flag)
{
	return flag->alone ? flag->alone : kinds[flag->kind].alone;
}

bool flags_wants_value(const struct flag *flag)
{
	return !alone_of(flag);
}

/* `text` is NULL if no value is attached to the flag. */
static int take_value(struct walk *w, const struct flag *flag, const char *text, struct error *err)
{
	if (!text)
		text = alone_of(flag);
	if (!text && w->at < w->argc)
		text = w->argv[w->at++];
	if (!text)
		return error_set(err, ERR_BAD_REQUEST, "flag --%s needs a value", flag->name);
	return set_value(w, flag, text, err);
}

/* A long name behind one dash is a common mistake, so letters get the same advice. */
static int unknown(const struct flag *table, const char *dashes, struct str name, struct error *err)
{
	struct nearest near;
	struct str guess;

	nearest_init(&near, name);
	for (const struct flag *flag = table; flag && flag->name; flag++)
		nearest_offer(&near, str_from(flag->name));
	nearest_offer(&near, STR("help"));
	guess = nearest_get(&near);
	if (guess.n == 0)
		return error_set(err, ERR_BAD_REQUEST, "unknown flag %s%.*s", dashes,
				 STR_ARG(name));
	return error_set(err, ERR_BAD_REQUEST, "unknown flag %s%.*s; did you mean --%.*s?", dashes,
			 STR_ARG(name), STR_ARG(guess));
}

/* `body` is what follows the two dashes. */
static int parse_long(struct walk *w, const char *body, struct error *err)
{
	const char *equals = strchr(body, '=');
	struct str name = equals ? str_of(body, (size_t)(equals - body)) : str_from(body);
	const struct flag *flag = find_name(w->f->table, name);

	if (flag)
		return take_value(w, flag, equals ? equals + 1 : NULL, err);
	if (!str_eqz(name, "help"))
		return unknown(w->f->table, "--", name, err);
	w->f->help = true;
	return 0;
}

/* `body` is what follows one dash: letters, the last of which may have a value. */
static int parse_letters(struct walk *w, const char *body, struct error *err)
{
	const struct flag *flag;
	int r;

	for (; *body; body++) {
		flag = find_letter(w->f->table, *body);
		if (!flag && *body == 'h') {
			w->f->help = true;
			continue;
		}
		if (!flag)
			return unknown(w->f->table, "-", str_from(body), err);
		if (body[1] == '=')
			return take_value(w, flag, body + 2, err);
		if (body[1] && flags_wants_value(flag))
			return take_value(w, flag, body + 1, err);
		r = take_value(w, flag, NULL, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_all(struct walk *w, struct error *err)
{
	bool flags_ended = false;
	const char *arg;
	int r = 0;

	while (r == 0 && w->at < w->argc) {
		arg = w->argv[w->at++];
		if (flags_ended || arg[0] != '-' || arg[1] == '\0')
			list_push(w->f->arena, &w->f->operands, arg);
		else if (strcmp(arg, "--") == 0)
			flags_ended = true;
		else if (arg[1] == '-')
			r = parse_long(w, arg + 2, err);
		else
			r = parse_letters(w, arg + 1, err);
	}
	return r;
}

static void set_initial(const struct flags *f, const struct flag *flag)
{
	int r = 0;

	if (flag->initial)
		r = kinds[flag->kind].store(f->arena, flag, flag->initial, option_of(f, flag),
					    NULL);
	assert(r == 0 && "a table's initial value must be valid");
	(void)r;
}

static int check_required(const struct walk *w, struct error *err)
{
	const struct flag *table = w->f->table;

	for (size_t i = 0; table && table[i].name; i++)
		if (table[i].required && !w->given[i])
			return error_set(err, ERR_BAD_REQUEST, "flag --%s is required",
					 table[i].name);
	return 0;
}

int flags_parse(struct flags *f, int argc, char *const *argv, struct error *err)
{
	struct walk w = { .f = f, .argc = argc, .argv = argv };
	size_t rows = 0;
	int r;

	f->operands = (struct flag_list){ 0 };
	f->help = false;
	for (; f->table && f->table[rows].name; rows++)
		set_initial(f, &f->table[rows]);
	w.given = ARENA_ARRAY(f->arena, bool, rows + 1);
	r = parse_all(&w, err);
	if (r < 0 || f->help)
		return r;
	return check_required(&w, err);
}

void flags_value(const struct flag *flag, struct buf *out)
{
	const char *arg = flag->choices ? flag->choices : flag->arg;

	if (flag->kind == FLAG_KIND_BOOL)
		return;
	(void)buf_printf(out, flag->alone ? "[=%s]" : "%s", arg ? arg : "VALUE");
	if (flag->kind == FLAG_KIND_LIST)
		(void)buf_addz(out, ",..");
	if (flag->kind == FLAG_KIND_REPEAT)
		(void)buf_addz(out, " ..");
}

void flags_about(const struct flag *flag, struct buf *out)
{
	(void)buf_addz(out, flag->help);
	if (flag->required)
		(void)buf_addz(out, " (required)");
	else if (flag->initial && *flag->initial)
		(void)buf_printf(out, " (default %s)", flag->initial);
}

static void add_label(struct buf *out, const struct flag *flag)
{
	if (flag->letter)
		(void)buf_printf(out, "-%c, ", flag->letter);
	else
		(void)buf_addz(out, "    ");
	(void)buf_printf(out, "--%s", flag->name);
	if (flags_wants_value(flag))
		(void)buf_addc(out, ' ');
	flags_value(flag, out);
}

static void flags_add_row(struct buf *out, const struct columns *c, const struct flag *flag)
{
	CLEANUP(buf_release) struct buf label = BUF_INIT(KIB);
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);

	add_label(&label, flag);
	flags_about(flag, &text);
	columns_row(out, c, buf_str(&label), buf_str(&text));
}

static size_t longest_label(const struct flag *table)
{
	CLEANUP(buf_release) struct buf label = BUF_INIT(KIB);
	size_t longest = strlen("-h, --help");

	for (; table && table->name; table++) {
		buf_clear(&label);
		add_label(&label, table);
		longest = MAX(longest, columns_count(buf_str(&label)));
	}
	return longest;
}

const struct flag flags_help_row = { "help", 'h', .help = "show this help" };

struct flag flags_help_of(const struct flag *table)
{
	struct flag help = flags_help_row;

	if (find_letter(table, help.letter))
		help.letter = 0;
	return help;
}

void flags_help(const struct flag *table, size_t width, struct buf *out)
{
	struct columns c = { .indent = 2, .width = width };
	struct flag help = flags_help_of(table);

	c.left = columns_left(c.indent, longest_label(table), width);
	for (; table && table->name; table++)
		flags_add_row(out, &c, table);
	flags_add_row(out, &c, &help);
}
